"""The bound of the dual ascent against time, and the clusterings that its reduced costs guide to.

    python -m benchmarks.dual_ascent planar/100000 signed-network/slashdot090221 --seconds 60
    python -m benchmarks.dual_ascent --sweeps

Prints a Markdown table: for some moments the seconds of the CPU, which others on the machine do not
change, the bound, and the gap to the best clustering found by then (greedy contraction of the
reduced costs and of the weights). ``--sweeps`` times one turn of both kernels instead.
"""

from __future__ import annotations

import argparse
import time

import jax
import numpy as np

from bdcc_jax.base.compilation_cache import enable
from bdcc_jax.instance.graph import Graph
from bdcc_jax.lp.dual_ascent import DualAscent, kernels
from bdcc_jax.primal.greedy_additive import greedy_additive

from .instances import add_data_option, instance
from .markdown import print_header, print_row

HEADINGS = ("instance", "CPU s", "s", "triangles", "chords", "bound", "clustering", "gap %")
SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
TURNS = 10
NAME = "planar/10000"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="family/name", help=f"(default: {NAME})")
    parser.add_argument("--seconds", type=float, default=30.0, help="of the CPU (%(default)s)")
    parser.add_argument("--sweeps", action="store_true", help="time the kernels by size")
    add_data_option(parser)
    arguments = parser.parse_args()
    enable()
    if arguments.sweeps:
        print_header(("triangles", "pairs", "sweep: CPU ns a triangle", "first-order step"))
        for size in SIZES:
            print_row(*time_kernels(size))
    names = arguments.names or ([] if arguments.sweeps else [NAME])
    if names:
        print_header(HEADINGS)
    for name in names:
        follow(name, instance(name, arguments.data).load(), arguments.seconds)


def follow(name: str, graph: Graph, seconds: float) -> None:
    """Print a row after the first round, and whenever a third more time has passed."""
    cpu, start, next_row = time.process_time(), time.perf_counter(), 0.0
    upper, guiding = 0.0, 0.0
    for relaxed in DualAscent(graph).run():
        spent = time.process_time() - cpu - guiding
        if spent < next_row:
            continue
        began = time.process_time()
        reduced = relaxed.reduced[: graph.m]
        for share in (0.1, 1.0):
            labels = greedy_additive(graph, reduced + share * graph.weights)
            upper = min(upper, graph.objective(labels))
        guiding += time.process_time() - began
        gap = 100 * (upper - relaxed.bound) / abs(upper) if upper else float("inf")
        print_row(
            name,
            f"{spent:.1f}",
            f"{time.perf_counter() - start:.1f}",
            relaxed.triangles.shape[1],
            relaxed.pairs.m - graph.m,
            f"{relaxed.bound:.2f}",
            f"{upper:.2f}",
            f"{gap:.3f}",
        )
        if spent > seconds:
            return
        next_row = max(1.0, 1.33 * spent)


def time_kernels(size: int) -> tuple[int, int, str, str]:
    """CPU nanoseconds a triangle and turn; the three pairs are near each other in memory."""
    rng = np.random.default_rng(0)
    pairs = size
    first = np.sort(rng.integers(0, pairs, size))
    triangles = [(first + rng.integers(0, 1000, size)) % pairs for _ in range(3)]
    degrees = np.maximum(np.bincount(np.concatenate(triangles), minlength=pairs), 1)
    a, b, c = (jax.device_put(each.astype(np.int32)) for each in triangles)
    zero = jax.device_put(np.zeros(size, np.float32))
    x, weights, counts = (
        jax.device_put(each.astype(np.float32))
        for each in (np.full(pairs, 0.5), rng.normal(size=pairs), degrees)
    )
    state = kernels.State((a, b, c), (zero, zero, zero), x, weights, counts)
    point, k, weight = (state.x, state.y), np.float32(0), np.float32(0.3)

    def nanoseconds(run) -> float:  # noqa: ANN001
        jax.block_until_ready(run())
        begin = time.process_time()
        jax.block_until_ready(run())
        return (time.process_time() - begin) / TURNS / size * 1e9

    sweep = nanoseconds(lambda: kernels.sweep(state, TURNS))
    step = nanoseconds(lambda: kernels.polish(state, point, k, weight, TURNS))
    return size, pairs, f"{sweep:.1f}", f"{step:.1f}"


if __name__ == "__main__":
    main()
