"""Instances a minute of `solve_batch` against a loop of `solve`, and how full its batches are.

    python -m benchmarks.throughput [--data FOLDER] [--family NAME] [--most N] [--engines A B]
    python -m benchmarks.throughput --subproblems      batch size against time, and padding

Prints Markdown tables. Without ``--data``: small planar graphs. Each engine solves everything once
before it is timed, so that nothing is compiled then.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import bdcc_jax
from bdcc_jax import Graph, Options
from bdcc_jax.base import compilation_cache
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.master import Master
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.device.batched import Batch
from bdcc_jax.separation.device.flow_batch import layouts
from bdcc_jax.separation.device.flow_problems import FlowProblems
from bdcc_jax.separation.device.flows import BLOCK_ENTRIES, solve_flows
from bdcc_jax.separation.device.reduction import reduce_flows
from bdcc_jax.separation.packing import PackingEngine
from bdcc_jax.separation.paper.dijkstra import DijkstraFinder

from .instances import planar
from .markdown import print_header, print_row

FAMILY = "bsds300test-rf255ucm"
SIZES = (1, 8, 32, 128, 512, 2048, 4096)


def graphs(data: Path | None, family: str, most: int | None) -> list[Graph]:
    if data is None:
        return [planar(400, seed) for seed in range(most or 20)]
    paths = sorted((data / family).glob("*.txt.gz"))
    if not paths:
        raise SystemExit(f"no instances: {data / family} has no *.txt.gz")
    return [bdcc_jax.read(path) for path in paths[:: max(1, len(paths) // (most or len(paths)))]]


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result, the seconds on the clock and those of the processor."""
    start, busy = time.perf_counter(), time.process_time()
    result = run()
    return result, time.perf_counter() - start, time.process_time() - busy


def throughput(instances: list[Graph], engine: str, workers: int | None) -> None:
    options = Options(engine=engine)  # type: ignore[arg-type]

    def loop() -> list[Any]:
        return [bdcc_jax.solve(graph, options=options) for graph in instances]

    def batch() -> list[Any]:
        return bdcc_jax.solve_batch(instances, options=options, workers=workers)

    if engine != "packing":
        loop(), batch()
    one, alone, alone_busy = timed(loop)
    many, together, together_busy = timed(batch)
    agree = sum(a.labels.tolist() == b.labels.tolist() for a, b in zip(one, many, strict=True))
    print_row(
        engine, len(instances), f"{60 * len(instances) / alone:,.0f}",
        f"{60 * len(instances) / together:,.0f}", f"{alone / together:.2f}",
        f"{alone_busy:.1f} / {together_busy:.1f}", f"{agree} of {len(instances)}",
    )  # fmt: skip


def first_rounds(graph: Graph, rounds: int = 3) -> list[FlowProblems]:
    """What is left of the subproblems of the first rounds, as 'pdlp' meets them."""
    clock, master = Clock(None), Master(graph.weights)
    cover = vertex_cover(graph, "greedy")
    finder, engine = DijkstraFinder(graph, cover, 64), PackingEngine(graph, cover, 64)
    found = []
    for cut in islice(cutting_planes(master, [engine.separate], clock), rounds):
        if balls := finder.find(cut.x, clock):
            found.append(Batch(graph, balls, cut.x).problems)
    return found


def subproblems(instances: list[Graph]) -> None:
    whole = FlowProblems.concatenate([p for graph in instances for p in first_rounds(graph)])
    left = reduce_flows(whole).problems
    print(f"\n{len(whole)} subproblems, {len(left)} are left for the LP solver.\n")
    print_header(("slots a row", "nodes", "extra rows", "problems", "real / padded arcs"))
    real, padded = 0, 0
    for shape, (count, used, size) in sorted(_fill(left).items()):
        print_row(*shape, count, f"{used / size:.0%}")
        real, padded = real + used, padded + size
    print_row("all", "", "", len(left), f"{real / padded:.0%}")
    print()
    print_header(("batch", "us a subproblem (clock)", "(processor)"))
    for size in SIZES:
        some = _repeated(left, size)
        solve_flows(some)
        runs = [timed(lambda some=some: solve_flows(some)) for _ in range(3)]  # type: ignore[misc]
        print_row(
            size, *(f"{1e6 * min(run[k] for run in runs) / size:,.0f}" for k in (1, 2))
        )  # fmt: skip


def _fill(problems: FlowProblems) -> dict[tuple[int, int, int], tuple[int, int, int]]:
    """Problems, real arcs and padded arcs of every shape."""
    found: dict[tuple[int, int, int], tuple[int, int, int]] = {}
    for group in layouts(problems, BLOCK_ENTRIES[True], uniform=True):
        (batch, rows, width), nodes = group.padded.cost.shape, group.padded.supply.shape[1]
        shape = width, nodes, rows - nodes
        before = found.get(shape, (0, 0, 0))
        now = batch, len(group.slot), group.padded.cost.size
        found[shape] = before[0] + now[0], before[1] + now[1], before[2] + now[2]
    return found


def _repeated(problems: FlowProblems, count: int) -> FlowProblems:
    """So many of the problems, from the beginning again if there are fewer."""
    singles = [_single(problems, b % len(problems)) for b in range(min(count, len(problems)))]
    return FlowProblems.concatenate([singles[b % len(singles)] for b in range(count)])


def _single(problems: FlowProblems, b: int) -> FlowProblems:
    nodes = slice(*problems.nodes[b : b + 2].tolist())
    edges = slice(*problems.edges[b : b + 2].tolist())
    return FlowProblems(
        nodes=problems.nodes[b : b + 2] - problems.nodes[b],
        edges=problems.edges[b : b + 2] - problems.edges[b],
        **{k: getattr(problems, k)[edges] for k in ("tail", "head", "cost", "capacity")},
        **{k: getattr(problems, k)[nodes] for k in ("reward", "supply")},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with family/name.txt.gz")
    parser.add_argument("--family", default=FAMILY, help="(default: %(default)s)")
    parser.add_argument("--most", type=int, help="so many instances")
    parser.add_argument("--workers", type=int, help="of solve_batch")
    parser.add_argument("--engines", nargs="+", default=["packing", "reference", "pdlp"])
    parser.add_argument("--subproblems", action="store_true", help="batch sizes and padding")
    arguments = parser.parse_args()
    compilation_cache.enable()
    instances = graphs(arguments.data, arguments.family, arguments.most)
    if arguments.subproblems:
        subproblems(instances)
        return
    print_header((
        "engine", "instances", "a minute, loop", "a minute, batch", "ratio",
        "processor seconds, loop / batch", "same labels",
    ))  # fmt: skip
    for engine in arguments.engines:
        throughput(instances, engine, arguments.workers)


if __name__ == "__main__":
    main()
