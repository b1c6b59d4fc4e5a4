"""Clusterings with at least, or at most, so many clusters, as a problem for branch and cut.

A cluster that edges do not hold together may be split at no cost. So with a lower limit alone, what
counts are the components of the kept edges, and the variables are the edges of the instance. With
an upper limit they are all pairs of nodes, so that the number of clusters is that of the labels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..instance.completion import MOST_PAIRS, is_complete
from ..instance.cover import vertex_cover
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..primal.count_heuristics import CountHeuristics
from ..primal.counted import counted, merged_freely, split_freely
from ..separation.complete import CompleteGraphRows
from ..separation.counts import clique_rows, forest_rows
from ..separation.odd_wheels import OddWheels
from ..separation.packing import PackingEngine
from ..separation.separation import Separation
from .cutting_planes import Separator
from .problem import Problem

LEAST_VIOLATION = 1e-6
"""Triangles that are violated by less are a matter of the LP's tolerances."""

WINDOW = 10
"""Rows over pairs that are not needed for integral x have to pay within so many rounds."""


class CountProblem(Problem):
    """Only clusterings with ``least`` to ``most`` clusters count.

    Parameters
    ----------
    graph : Graph
        The instance; with all pairs if ``most`` is less than the number of nodes.
    least, most : int
        How many clusters there may be.
    """

    restricted = True

    def __init__(self, graph: Graph, least: int, most: int) -> None:
        super().__init__(graph)
        self.least, self.most = least, most
        self.heuristics = CountHeuristics(graph, least, most)
        weighty = graph.weights != 0.0
        self.relaxed = Graph._trusted(graph.n, graph.edges[weighty], graph.weights[weighty])

    def refined(self, labels: IntArray) -> tuple[IntArray, BoolArray]:
        """The labels, or what E+ holds together of them, if these count; else a repair."""
        graph = self.graph
        finer, _ = graph.refined(labels)
        for own in (finer, canonical_labels(labels)):
            if (counts := self._freely(own)) is not None:
                return counts, graph.cut(counts)
        repaired = counted(graph, finer, self.least, self.most, rounds=0)
        return repaired, graph.cut(repaired)

    def repaired(self, labels: IntArray) -> IntArray:
        """The labels, unless they are too many or too few."""
        enough = split_freely(self.graph, labels, self.least)
        counts = self.least <= int(enough.max()) + 1 <= self.most
        return enough if counts else self.refined(labels)[0]

    def allows(self, labels: IntArray) -> bool:
        """Whether clusters can be split or put together, at no cost, until there are so many."""
        if self._freely(labels) is not None:
            return True
        if self.most < self.graph.n and not is_complete(self.graph):
            raise ValueError(
                f"max_clusters = {self.most} takes a variable for every pair of nodes, and "
                f"{self.graph.n} nodes have more than {MOST_PAIRS} pairs; without, it can only be "
                "had where the best clustering has no more clusters than that, or clusters that "
                "no edges join"
            )
        return False

    def _freely(self, labels: IntArray) -> IntArray | None:
        """A clustering that counts and cuts the same edges; None if there is none in sight."""
        relaxed = self.relaxed
        assert relaxed is not None
        merged = merged_freely(relaxed, labels, self.most)
        if merged is None:
            return None
        enough = split_freely(relaxed, merged, self.least)
        return enough if self.least <= int(enough.max()) + 1 <= self.most else None

    def separators(
        self,
        weights: FloatArray,
        bounds: Callable[[], tuple[float, float]],
        pays: float,
        clock: Clock,
    ) -> list[Separator]:
        """Cycles and rows for the number together, then all that is not needed for integral x."""
        graph = self.graph
        if graph.m == 0:
            return [self._numbers]
        if self.most < graph.n and is_complete(graph):
            pairs = CompleteGraphRows(graph, pays, WINDOW, bounds, lambda: LEAST_VIOLATION)
            return [lambda x, clock: _both(self._numbers(x, clock), pairs(x, clock))]
        signed = Graph._trusted(graph.n, graph.edges, weights)
        engine = PackingEngine(signed, vertex_cover(signed, "greedy", clock))

        def cycles(x: FloatArray, clock: Clock) -> Separation:
            """Rows for the number make edges repel that attract: any cycle may matter."""
            size = np.abs(weights)
            by_x = Graph._trusted(graph.n, graph.edges, np.where(x > 0.5, -size, size))
            return PackingEngine(by_x, vertex_cover(by_x, "greedy", clock)).separate(x, clock)

        return [
            lambda x, clock: _both(self._numbers(x, clock), engine.separate(x, clock)),
            cycles,
            OddWheels(signed, pays, bounds),
        ]

    def _numbers(self, x: FloatArray, clock: Clock) -> Separation:
        """Forests and cliques."""
        graph, rows = self.graph, Rows.empty()
        with clock.measure("subproblems"):
            if self.least > 1:
                rows = forest_rows(graph, x, self.least)
            if self.most < graph.n:
                rows = Rows.concatenate([rows, clique_rows(graph, x, self.most)])
        return Separation(rows, violated_roots=0, fallbacks=0, satisfied=len(rows) == 0)


def _both(one: Separation, other: Separation) -> Separation:
    return Separation(
        Rows.concatenate([one.rows, other.rows]),
        one.violated_roots + other.violated_roots,
        one.fallbacks + other.fallbacks,
        one.satisfied and other.satisfied,
    )
