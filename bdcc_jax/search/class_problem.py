"""Clusterings whose clusters have classes, as a problem for branch and cut.

The variables are those of :class:`~bdcc_jax.instance.terminals.TerminalGraph`. Cycle inequalities
hold for the edges; to these come the rows of :mod:`~bdcc_jax.separation.classes`. An integral x
that satisfies them all has one class for every set of nodes that kept edges join: a clustering.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..instance.classes import costs_of_clusters
from ..instance.cover import vertex_cover
from ..instance.graph import Graph
from ..instance.terminals import TerminalGraph
from ..lp.rows import Rows
from ..primal.class_heuristics import ClassHeuristics
from ..proofs.branching_proof import Contradiction
from ..proofs.certificate import Relaxation
from ..separation.classes import class_rows, one_class
from ..separation.odd_wheels import OddWheels
from ..separation.packing import PackingEngine
from ..separation.separation import Separation
from .cutting_planes import Separator
from .problem import Problem


class ClassProblem(Problem):
    """Every cluster has a class, which costs what it costs its nodes."""

    restricted = True
    multicut = False
    graph: TerminalGraph

    def __init__(self, graph: TerminalGraph) -> None:
        super().__init__(graph)
        self.heuristics = ClassHeuristics(graph)
        self._edges = Problem(graph.ordinary)

    def start(self, clock: Clock) -> tuple[Rows, FloatArray]:
        """The best class of every node, and a packing of cycles: each by itself."""
        graph, plain = self.graph, self.graph.ordinary
        best, nodes = graph.class_costs.min(axis=1), np.arange(plain.n)
        rows = [one_class(graph, nodes, 1.0), one_class(graph, nodes, -1.0)]
        multipliers = [np.maximum(0.0, -best), np.maximum(0.0, best)]
        if plain.negative.any():
            engine = PackingEngine(plain, vertex_cover(plain, "greedy", clock))
            packed = engine.packed_bound(clock).proof
            assert isinstance(packed, Relaxation)
            rows.append(packed.rows)
            multipliers.append(packed.multipliers)
        return Rows.concatenate(rows), np.concatenate(multipliers)

    def separators(
        self,
        weights: FloatArray,
        bounds: Callable[[], tuple[float, float]],
        pays: float,
        clock: Clock,
    ) -> list[Separator]:
        """Rows of classes and cycles together, then odd wheels."""
        graph, plain = self.graph, self.graph.ordinary
        if plain.m == 0:
            return [lambda x, clock: _only(class_rows(graph, x))]
        signed = Graph._trusted(plain.n, plain.edges, weights[: plain.m])
        engine = PackingEngine(signed, vertex_cover(signed, "greedy", clock))
        wheels = OddWheels(signed, pays, bounds)

        def both(x: FloatArray, clock: Clock) -> Separation:
            of_classes, cycles = class_rows(graph, x), engine.separate(x[: plain.m], clock)
            return Separation(
                Rows.concatenate([of_classes, cycles.rows]),
                cycles.violated_roots,
                cycles.fallbacks,
                cycles.satisfied and len(of_classes) == 0,
            )

        return [both, lambda x, clock: wheels(x[: plain.m], clock)]

    def repaired(self, labels: IntArray) -> IntArray:
        """The labels, unless a cluster can have no class."""
        own = canonical_labels(labels[: self.graph.ordinary.n])
        possible = np.isfinite(costs_of_clusters(self.graph.class_costs, own)).any(axis=1).all()
        return labels if possible else self.refined(labels)[0]

    def contradiction(self, kept: BoolArray, cut: BoolArray) -> Contradiction | None:
        """Kept edges that join the ends of one that is cut; what concerns classes, the LP sees."""
        m = self.graph.ordinary.m
        return self._edges.contradiction(kept[:m], cut[:m])


def _only(rows: Rows) -> Separation:
    return Separation(rows, violated_roots=0, fallbacks=0, satisfied=len(rows) == 0)
