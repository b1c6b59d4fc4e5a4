"""Upper bounds of bdcc_jax and of bioimage-cpp: ``python -m benchmarks.heuristics``.

Objective and seconds per instance, all in one run: those of ``--data FOLDER``, and a planar one.
Every run of bioimage-cpp has a process of its own, because nothing else can end it when it takes
too long. Times exclude reading, compilation and the construction of either side's graph object.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import bdcc_jax
from bdcc_jax import Graph
from bdcc_jax.primal import greedy_additive, kernighan_lin, local_search

from .instances import planar

FAMILIES = (
    "bsds300test-rf255ucm",
    "em-superpixel",
    "opengm-knott3d-stitched",
    "signed-network",
    "modularity",
)
OURS: dict[str, Callable[[Graph], Any]] = {
    "GAEC": greedy_additive,
    "GAEC + KLj": lambda graph: kernighan_lin(graph, greedy_additive(graph)),
    "+ 2 fusions": lambda graph: local_search(graph, rounds=2),
    "+ 8 fusions": lambda graph: local_search(graph, rounds=8),
}
THEIRS = ("bioimage GAEC", "bioimage GAEC + KL")

Outcome = tuple[float, float]


def instances(data: Path | None, pattern: str, nodes: int) -> Iterator[tuple[str, Graph]]:
    for family in FAMILIES if data is not None else ():
        for path in sorted((data / family).glob("*.txt.gz")):
            if pattern in f"{family}/{path.name}":
                yield f"{family}/{path.name.removesuffix('.txt.gz')}", bdcc_jax.read(path)
    if nodes:
        yield f"planar/{nodes}", planar(nodes)


def timed(search: Callable[[Graph], Any], graph: Graph, repeats: int) -> Outcome:
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        labels = search(graph)
        seconds.append(time.perf_counter() - begin)
    return graph.objective(labels), min(seconds)


def bioimage(pipe: Connection, n: int, edges: Any, weights: Any, repeats: int) -> None:
    from bioimage_cpp.graph import UndirectedGraph, multicut

    theirs = UndirectedGraph.from_edges(n, edges.astype(np.uint64))
    # Their Kernighan-Lin starts with their GAEC if it is given no labels.
    for solver in (multicut.GreedyAdditiveMulticut(), multicut.KernighanLinMulticut()):
        seconds = []
        for _ in range(repeats):
            objective = multicut.MulticutObjective(theirs, weights)
            begin = time.perf_counter()
            labels = np.array(solver.optimize(objective))
            seconds.append(time.perf_counter() - begin)
            if seconds[-1] > 1.0:
                break
        pipe.send((labels, min(seconds)))


def bioimage_outcomes(graph: Graph, repeats: int, limit: float) -> list[Outcome]:
    context = mp.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    arguments = (sender, graph.n, graph.edges, graph.weights, repeats)
    process = context.Process(target=bioimage, args=arguments)
    process.start()
    outcomes = []
    for _ in THEIRS:
        if not receiver.poll(limit):
            outcomes.append((np.nan, limit))
            break
        labels, seconds = receiver.recv()
        outcomes.append((graph.objective(labels), seconds))
    process.terminate()
    process.join()
    return outcomes + [(np.nan, np.nan)] * (len(THEIRS) - len(outcomes))


def show(name: str, outcomes: list[Outcome]) -> None:
    cells = [
        f"{value:,.4f}, {1e3 * seconds:,.1f}" if np.isfinite(value) else f"> {seconds:.0f} s"
        for value, seconds in outcomes
    ]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the instance families")
    parser.add_argument("--only", default="", help="a part of the names of the instances")
    parser.add_argument("--planar", type=int, default=100_000, help="nodes of a planar one, or 0")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of so many is shown")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for bioimage-cpp")
    arguments = parser.parse_args()
    compare = find_spec("bioimage_cpp") is not None
    if not compare:
        print("bioimage-cpp is not installed (pip install bioimage-cpp): ours only\n")
    local_search(planar(100))  # compiles
    names = [*OURS, *(THEIRS if compare else ())]
    print("Objective, milliseconds.\n")
    print(f"| instance | nodes | edges | {' | '.join(names)} |\n|{'---|' * (len(names) + 3)}")
    compared = ("GAEC + KLj", "+ 2 fusions", "+ 8 fusions")
    better, worse = dict.fromkeys(compared, 0), dict.fromkeys(compared, 0)
    for name, graph in instances(arguments.data, arguments.only, arguments.planar):
        outcomes = [timed(search, graph, arguments.repeats) for search in OURS.values()]
        if compare:
            outcomes += bioimage_outcomes(graph, arguments.repeats, arguments.limit)
            tolerance = 1e-9 * np.abs(graph.weights).sum()
            theirs = outcomes[-1][0] if np.isfinite(outcomes[-1][0]) else np.inf
            for method in compared:
                ours = outcomes[list(OURS).index(method)][0]
                better[method] += bool(ours < theirs - tolerance)
                worse[method] += bool(ours > theirs + tolerance)
        show(f"{name} | {graph.n} | {graph.m}", outcomes)
    for method in compared if compare else ():
        print(f"\n{method}: {better[method]} times better than {THEIRS[-1]}, {worse[method]} worse")


if __name__ == "__main__":
    main()
