"""Instances a minute of `solve_batch` against a loop of `solve`.

    python -m benchmarks.throughput [--data FOLDER] [--family NAME] [--most N] [--engines A B]

Prints Markdown tables. Without ``--data``: small planar graphs. Each engine solves everything once
before it is timed, so that nothing is compiled then.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bdcc_jax
from bdcc_jax import Graph, Options
from bdcc_jax.base import compilation_cache

from .instances import planar
from .markdown import print_header, print_row

FAMILY = "bsds300test-rf255ucm"


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with family/name.txt.gz")
    parser.add_argument("--family", default=FAMILY, help="(default: %(default)s)")
    parser.add_argument("--most", type=int, help="so many instances")
    parser.add_argument("--workers", type=int, help="of solve_batch")
    parser.add_argument("--engines", nargs="+", default=["packing", "reference", "pdlp"])
    arguments = parser.parse_args()
    compilation_cache.enable()
    instances = graphs(arguments.data, arguments.family, arguments.most)
    print_header((
        "engine", "instances", "a minute, loop", "a minute, batch", "ratio",
        "processor seconds, loop / batch", "same labels",
    ))  # fmt: skip
    for engine in arguments.engines:
        throughput(instances, engine, arguments.workers)


if __name__ == "__main__":
    main()
