"""Subproblems of real instances, as the solver meets them, pooled over instances and rounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import bdcc_jax
from bdcc_jax import Graph
from bdcc_jax.base.arrays import FloatArray
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.master import Master
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.engine import FlowEngine
from bdcc_jax.separation.paper.ball import Ball
from bdcc_jax.separation.paper.dijkstra import DijkstraFinder
from bdcc_jax.separation.paper.reference import ReferenceSolver


@dataclass(frozen=True, eq=False)
class Subproblem:
    """One violated root at one solution of the master."""

    graph: Graph
    ball: Ball
    x: FloatArray


def subproblems(graph: Graph, ball_size: int) -> list[Subproblem]:
    """All subproblems of the first, the middle and the last round of the LP phase."""
    clock, master = Clock(None), Master(graph.weights)
    finder = DijkstraFinder(graph, vertex_cover(graph, "greedy"), ball_size)
    engine = FlowEngine(finder, ReferenceSolver(graph), "split")
    rounds: list[tuple[list[Ball], FloatArray]] = []
    for cut in cutting_planes(master, [engine.separate], clock):
        if not cut.last:
            rounds.append((finder.find(cut.x, clock), cut.x))
    chosen = sorted({0, len(rounds) // 2, len(rounds) - 1}) if rounds else []
    return [Subproblem(graph, ball, rounds[r][1]) for r in chosen for ball in rounds[r][0]]


def pool(
    data: Path | None, families: tuple[str, ...], ball_size: int, most: int
) -> list[Subproblem]:
    """Subproblems of the instances of some families, or of pictures that scikit-image brings."""
    found = []
    for graph in graphs(data, families, most):
        found += subproblems(graph, ball_size)
    order = np.random.default_rng(0).permutation(len(found))
    return [found[i] for i in order]


def graphs(data: Path | None, families: tuple[str, ...], most: int) -> list[Graph]:
    """At most so many instances of each family, of all sizes; without data: superpixel graphs."""
    if data is None:
        from bdcc_jax.image import example_picture, superpixel_graph

        names = ("coffee", "astronaut", "chelsea", "rocket")[:most]
        return [superpixel_graph(example_picture(name), 1500)[0] for name in names]
    chosen = []
    for family in families:
        paths = sorted((data / family).glob("*.txt.gz"), key=lambda p: p.stat().st_size)
        paths = [path for path in paths if path.stat().st_size < 100_000]
        chosen += paths[:: max(1, -(-len(paths) // most))]
    return [bdcc_jax.read(path) for path in chosen]
