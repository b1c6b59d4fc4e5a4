"""Clusters with classes, and given numbers of clusters: bounds and CPU seconds.

    python -m benchmarks.models [--time-limit 60]

Classes: points in the plane, joined as Delaunay does it, in things that each have a class; weights
and costs are the truth with noise. Numbers: the same graphs with more clusters than an optimum has
(``+1``: one more), and dense graphs with five hidden groups and fewer.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.spatial import Delaunay

from bdcc_jax import Graph, Result, solve

from .markdown import print_header, print_row

THINGS = 25
"""Nodes in a thing, about."""


def scene(n: int, k: int, noise: float, seed: int = 0) -> tuple[Graph, np.ndarray]:
    """A planar graph of things, and what each of k classes costs each node."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    corners = Delaunay(points).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    edges = np.unique(np.sort(sides, axis=1), axis=0)
    seeds = rng.random((max(2, n // THINGS), 2))
    thing = ((points[:, None] - seeds) ** 2).sum(axis=-1).argmin(axis=1)
    kind = rng.integers(0, k, len(seeds))[thing]
    same = thing[edges[:, 0]] == thing[edges[:, 1]]
    weights = np.where(same, 1.0, -1.0) + rng.normal(0.0, noise, len(edges))
    costs = rng.normal(0.0, noise, (n, k))
    costs[np.arange(n), kind] -= 1.0
    return Graph(n, edges, weights), costs


def dense(n: int, seed: int = 0) -> Graph:
    """A complete graph with five hidden groups."""
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(n, 1)
    group = rng.integers(0, 5, n)
    weights = np.where(group[u] == group[v], 1.0, -1.0) + rng.normal(0.0, 1.5, len(u))
    return Graph(n, np.column_stack([u, v]), weights)


def row(name: str, graph: Graph, time_limit: float, **wish: object) -> Result:
    """Solve and print."""
    start = time.process_time()
    result = solve(graph, time_limit=time_limit, **wish)  # type: ignore[arg-type]
    seconds, gap = time.process_time() - start, 100 * result.relative_gap
    print_row(name, graph.n, graph.m, str(result.status), f"{gap:.3f}", f"{seconds:.2f}")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS")
    limit = parser.parse_args().time_limit
    graph, costs = scene(200, 3, 1.0)
    solve(graph, unaries=costs)  # compiles
    print_header(("instance", "nodes", "edges", "status", "gap in %", "CPU s"))
    for n in (1000, 5000, 20_000):
        for noise in (0.5, 1.0, 1.5):
            graph, costs = scene(n, 4, noise)
            row(f"4 classes, noise {noise}", graph, limit, unaries=costs)
    for n in (200, 1000):
        graph, _ = scene(n, 2, 1.0)
        count = row("any number", graph, limit).n_clusters
        for more in (1, 10, count):
            row(f"at least +{more}", graph, limit, min_clusters=count + more)
    for n in (20, 30, 40):
        graph = dense(n)
        count = row("any number", graph, limit).n_clusters
        for most in (count - 1, 3, 2):
            row(f"at most {most} of {count}", graph, limit, max_clusters=most)


if __name__ == "__main__":
    main()
