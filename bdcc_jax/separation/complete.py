"""Rows for the LP of a complete graph: few at a time, and all kinds of them.

The cycle inequalities of one edge in E- and a path in E+ suffice for the LP over cycles. With other
rows they do not: these have multipliers that change the signs of the weights, and then any triangle
may matter. In a complete graph the triangles imply all cycle inequalities.
"""

from collections.abc import Callable
from math import inf

import numpy as np

from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.completion import pair_ids
from ..instance.graph import Graph
from ..lp.rows import Rows
from .partition_search import searched_partitions
from .separation import Separation
from .two_partitions import violated_partitions, violated_triangles

TRIANGLES, PARTITIONS, SEARCHED = 8, {1: 2, 2: 1}, 2
"""So many of each in a round for every node, of 2-partitions by the size of the smaller side: with
more of them the LP becomes slow."""

STALLED = 10.0
"""Triangles must be violated so many times more where rows no longer pay."""

FEW = 1
"""The search for 2-partitions of any size waits until there are fewer other rows for every node."""


class CompleteGraphRows:
    """Triangles and 2-partition inequalities for the loop.

    Parameters
    ----------
    graph : Graph
        A complete graph; weights may be 0.
    share, rounds : float, int
        Of the gap, which all but triangles have to close in so many rounds, else there are no more.
    bounds : callable
        Returns the lower and the upper bound as they are now.
    least : callable
        Returns by how much x must violate a row: it may be the solution of an LP, or only nearly.
    first : callable, optional
        Separates cycle inequalities, until it finds none or they do not close the share either.
    """

    def __init__(
        self,
        graph: Graph,
        share: float,
        rounds: int,
        bounds: Callable[[], tuple[float, float]],
        least: Callable[[], float],
        first: Callable[[FloatArray, Clock], Separation] | None = None,
    ) -> None:
        self._graph, self._ids = graph, pair_ids(graph.n)
        self._share, self._rounds, self._bounds = share, rounds, bounds
        self._least, self._first = least, first
        self._before = -inf  # the lower bound when cycles were last looked for
        self._lower: list[float] = []  # the bounds of the rounds since then

    def __call__(self, x: FloatArray, clock: Clock) -> Separation:
        """Rows that x violates."""
        if self._first is not None:
            lower, upper = self._bounds()
            if lower - self._before >= self._share * (upper - lower):
                self._before, found = lower, self._first(x, clock)
                if len(found.rows) > 0 or not found.satisfied:
                    return found
            self._first = None
        with clock.measure("subproblems"):
            return self._violated(x, clock)

    def _violated(self, x: FloatArray, clock: Clock) -> Separation:
        n, ids = self._graph.n, self._ids
        lower, upper = self._bounds()
        self._lower.append(lower)
        before = self._lower[-self._rounds - 1] if len(self._lower) > self._rounds else -inf
        pays = lower - before >= self._share * (upper - lower)
        least = self._least() if pays else STALLED * self._least()
        triangles, worst = violated_triangles(ids, x, TRIANGLES * n, least)
        parts = [triangles]
        if pays:
            parts += [violated_partitions(ids, x, sides, PARTITIONS[sides] * n) for sides in (1, 2)]
            if sum(map(len, parts)) < FEW * n:
                parts.append(searched_partitions(ids, x, len(self._lower), SEARCHED * n))
        rows = Rows.concatenate(parts)  # three against one are a wheel, too
        rows = rows.take(
            np.isin(np.arange(len(rows)), np.unique(rows.keys(), return_index=True)[1])
        )
        return Separation(rows, violated_roots=0, fallbacks=0, satisfied=worst == 0.0)
