"""What must-links and cannot-links cost: solves with and without them, in turn.

    python -m benchmarks.constraints bsds300test-rf255ucm/167083 planar/10000

A tenth of the edges is constrained: as in an optimal clustering ("right"), and a tenth of these the
other way round ("some wrong", where no contradiction follows). "Split" constrains three nodes of a
solved instance, and starts from its clustering, as a proofreader does. Seconds are medians.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from bdcc_jax import Graph, Result, solve
from bdcc_jax.graphs import split

from .instances import add_data_option, instance
from .markdown import print_header, print_row

SHARE, WRONG, REPEAT = 0.1, 0.1, 5
NAMES = ("planar/3000", "pictures/coffee-3000")


def constrained(graph: Graph, labels: np.ndarray, wrong: float, seed: int = 0) -> Graph:
    """A tenth of the edges as in a clustering, a share of these the other way round."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(graph.m)[: int(SHARE * graph.m)]
    cut = graph.cut(labels)[chosen]
    flipped = rng.random(len(chosen)) < wrong
    apart, pairs = cut != flipped, graph.edges[chosen]
    limited = graph.constrained(must_link=pairs[~apart])
    joined = limited.constraints.joined(graph.n)
    possible = joined[pairs[:, 0]] != joined[pairs[:, 1]]
    return limited.constrained(cannot_link=pairs[apart & possible])


def timed(run: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds, and what came out."""
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES, metavar="family/name")
    add_data_option(parser)
    arguments = parser.parse_args()
    print_header(("instance", "nodes", "edges", "s", "right", "some wrong", "split"))
    for name in arguments.names:
        graph = instance(name, arguments.data).load()
        labels = solve(graph).labels
        right, wrong = (constrained(graph, labels, share) for share in (0.0, WRONG))
        apart = np.random.default_rng(1).permutation(graph.n)[:3].tolist()
        runs: dict[str, Callable[[], Result]] = {
            "without": lambda graph=graph: solve(graph),  # type: ignore[misc]
            "right": lambda right=right: solve(right),  # type: ignore[misc]
            "wrong": lambda wrong=wrong: solve(wrong),  # type: ignore[misc]
            "split": lambda graph=graph, apart=apart, labels=labels: split(  # type: ignore[misc]
                graph, keep_apart=[apart], initial=labels
            ),
        }
        seconds: dict[str, list[float]] = {key: [] for key in runs}
        for _ in range(REPEAT):
            for key, run in runs.items():
                spent, result = timed(run)
                assert result.status == "optimal", f"{name}, {key}: {result}"
                seconds[key].append(spent)
        cells = (f"{median(seconds[key]):.3f}" for key in runs)
        print_row(name, graph.n, graph.m, *cells)


if __name__ == "__main__":
    main()
