"""Branch and bound over the LP against HiGHS' ILP solver, where the LP leaves a gap.

    python -m benchmarks.branching

Prints a Markdown table: random graphs of ever more nodes with normal weights, and with weights near
1 and -1, on each of which the two take turns. HiGHS' ILP starts from the same LP with odd wheels,
and its time includes the proof afterwards, which takes a fraction of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from bdcc_jax import Graph, Options, solve

from .markdown import print_header, print_row

Weights = Callable[[np.random.Generator, int], np.ndarray]

WEIGHTS: dict[str, Weights] = {
    "normal": lambda rng, m: rng.normal(size=m),
    "near ties": lambda rng, m: rng.choice([-1.0, 1.0], m) + 1e-6 * rng.normal(size=m),
}
SIZES = ((15, 1.0), (20, 0.8), (25, 0.5), (30, 0.5), (35, 0.5))
OPTIONS = {"branching": Options(), "HiGHS": Options(integer="whole")}
HEADINGS = (
    "weights", "nodes", "density", "instances", "branching optimal", "s", "HiGHS optimal", "s",
    "HiGHS / branching",
)  # fmt: skip


def random_instance(rng: np.random.Generator, n: int, density: float, kind: str) -> Graph:
    u, v = np.triu_indices(n, 1)
    kept = rng.random(len(u)) < density
    return Graph.from_edges(u[kept], v[kept], WEIGHTS[kind](rng, int(kept.sum())), n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5, help="instances of each kind and size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each solve")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    solve(random_instance(rng, 25, 0.5, "normal"))  # compiles what has to be compiled
    print_header(HEADINGS)
    for kind in WEIGHTS:
        for n, density in SIZES:
            seconds, optimal = dict.fromkeys(OPTIONS, 0.0), dict.fromkeys(OPTIONS, 0)
            for _ in range(arguments.count):
                graph = random_instance(rng, n, density, kind)
                for name, options in OPTIONS.items():
                    start = time.perf_counter()
                    result = solve(graph, options=options, time_limit=arguments.time_limit)
                    seconds[name] += time.perf_counter() - start
                    optimal[name] += result.status == "optimal"
            ratio = seconds["HiGHS"] / seconds["branching"]
            least = ">= " if optimal["HiGHS"] < arguments.count else ""
            cells = [cell for name in OPTIONS for cell in (optimal[name], f"{seconds[name]:.2f}")]
            print_row(kind, n, density, arguments.count, *cells, f"{least}{ratio:.1f}")


if __name__ == "__main__":
    main()
