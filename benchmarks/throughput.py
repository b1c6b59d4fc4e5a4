"""Instances a minute of `solve_batch` against a loop of `solve`, or of the classic cutting plane.

    python -m benchmarks.throughput [--data FOLDER] [--family NAME] [--most N] [--engines A B]
    python -m benchmarks.throughput --data FOLDER --family NAME --perturbed 1000 --classic 5

Prints Markdown tables. Without ``--data``: small planar graphs. Each engine solves everything once
before it is timed, so that nothing is compiled then.

``--perturbed`` makes many instances of a few, by noise. ``--classic k`` lets the classic cutting
plane solve every k-th of them, in turn with the others, and has milliseconds an instance.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import bdcc_jax
from bdcc_jax import Graph, Options
from bdcc_jax.base import compilation_cache

from .baselines import classic
from .exact import AGREEMENT
from .instances import planar
from .markdown import print_header, print_row

FAMILY = "bsds300test-rf255ucm"

NOISE = 0.05
"""Perturbed weights differ by up to this share."""


def graphs(data: Path | None, family: str, most: int | None) -> list[Graph]:
    if data is None:
        return [planar(400, seed) for seed in range(most or 20)]
    paths = sorted((data / family).glob("*.txt.gz"))
    if not paths:
        raise SystemExit(f"no instances: {data / family} has no *.txt.gz")
    return [bdcc_jax.read(path) for path in paths[:: max(1, len(paths) // (most or len(paths)))]]


def perturbed(graphs: list[Graph], count: int) -> list[Graph]:
    """So many different instances: these in turn, with noise on their weights."""
    rng = np.random.default_rng(0)
    return [
        Graph(g.n, g.edges, g.weights * rng.uniform(1.0 - NOISE, 1.0 + NOISE, g.m))
        for g in islice(cycle(graphs), count)
    ]


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


def against_classic(instances: list[Graph], every: int, workers: int | None, repeat: int) -> None:
    """Milliseconds an instance, of one thread after another: medians over repetitions in turn."""
    some = instances[::every]
    ways: dict[str, tuple[int, Callable[[], list[Any]]]] = {
        "classic, loop": (len(some), lambda: [classic.solve(graph) for graph in some]),
        "solve, loop": (len(instances), lambda: [bdcc_jax.solve(graph) for graph in instances]),
        "solve_batch": (len(instances), lambda: bdcc_jax.solve_batch(instances, workers=workers)),
    }
    bdcc_jax.solve_batch(instances[:100])  # compiles
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    answers: dict[str, list[Any]] = {}
    for _ in range(repeat):
        for name, (count, run) in ways.items():
            answers[name], clock, processor = timed(run)
            times[name].append((1e3 * clock / count, 1e3 * processor / count))
    for graph, known, found in zip(
        some, answers["classic, loop"], answers["solve_batch"][::every], strict=True
    ):
        if abs(known.objective - found.objective) > AGREEMENT * np.abs(graph.weights).sum():
            raise SystemExit(f"two optima: {known.objective} and {found.objective}")
    print_header((
        "way", "instances", "ms on the clock", "ms of the processor", "classic / this, clock",
        "classic / this, processor",
    ))  # fmt: skip
    medians = {name: [median(t) for t in zip(*pairs, strict=True)] for name, pairs in times.items()}
    of_classic = medians["classic, loop"]
    for name, figures in medians.items():
        ratios = (known / figure for known, figure in zip(of_classic, figures, strict=True))
        print_row(name, ways[name][0], *(f"{value:.2f}" for value in (*figures, *ratios)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with family/name.txt.gz")
    parser.add_argument("--family", default=FAMILY, help="(default: %(default)s)")
    parser.add_argument("--most", type=int, help="so many instances")
    parser.add_argument("--workers", type=int, help="of solve_batch")
    parser.add_argument("--engines", nargs="+", default=["packing", "reference", "pdlp"])
    parser.add_argument("--perturbed", type=int, metavar="N", help="make N instances of these")
    parser.add_argument("--classic", type=int, metavar="K", help="against the classic method")
    parser.add_argument("--repeat", type=int, default=3, help="of --classic (default: %(default)s)")
    arguments = parser.parse_args()
    compilation_cache.enable()
    instances = graphs(arguments.data, arguments.family, arguments.most)
    if arguments.perturbed is not None:
        instances = perturbed(instances, arguments.perturbed)
    if arguments.classic is not None:
        against_classic(instances, arguments.classic, arguments.workers, arguments.repeat)
        return
    print_header((
        "engine", "instances", "a minute, loop", "a minute, batch", "ratio",
        "processor seconds, loop / batch", "same labels",
    ))  # fmt: skip
    for engine in arguments.engines:
        throughput(instances, engine, arguments.workers)


if __name__ == "__main__":
    main()
