"""What clusters are worth, and what prices have to do with it.

A cluster S is worth w(S), the sum of the weights of its pairs. With a price p for every node its
*surplus* is ``w(S) - p(S)``. If no set of nodes has a surplus, the clusters of any clustering are
worth no more than all nodes together, so that it cuts at least

    (sum of all w)  -  (sum of all p).

The smallest such prices are the dual of the LP over all clusters (a variable for each, every node
in one of them). Its bound is far above that of triangles and 2-partitions, which add up what every
node may have of a cluster, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..instance.graph import Graph
from ..lp.lagrangian import EPSILON

MORE = 1.0 + 2.0**-20
"""Two nodes exclude each other if their pair repels so many times what one of them may gain."""


@dataclass(frozen=True, eq=False)
class Worth:
    """The weights of all pairs of the nodes that are left, as a symmetric matrix.

    Some pairs are apart. ``off`` is by how much sums of weights may be off, together.
    """

    weights: FloatArray
    apart: BoolArray
    off: float = 0.0

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.weights)

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The first and the second nodes of all pairs."""
        u, v = np.triu_indices(self.n, 1)
        return u, v

    def gains(self, prices: FloatArray) -> FloatArray:
        """What nodes may gain of a set, at most."""
        attracted = np.where(self.apart, 0.0, np.maximum(0.0, self.weights)).sum(axis=1)
        gains: FloatArray = np.maximum(0.0, attracted - prices)
        return gains

    def exclusive(self, prices: FloatArray) -> BoolArray:
        """Pairs of nodes that exclude each other.

        Of a set with both, the one that may gain less only takes away: without it the set has no
        less surplus.
        """
        gains = self.gains(prices)
        repels = self.weights <= -MORE * np.minimum.outer(gains, gains)
        np.fill_diagonal(repels, False)
        return self.apart | repels

    def matrix(self, prices: FloatArray) -> FloatArray:
        """What pairs are worth to a set; those that exclude each other all the same."""
        least = -float(self.gains(prices).max(initial=0.0))
        return np.where(self.exclusive(prices), least, self.weights)

    @cached_property
    def without_prices(self) -> FloatArray:
        """What pairs are worth to clusters, whatever prices are."""
        return self.matrix(np.zeros(self.n))

    def of_sets(self, sets: BoolArray) -> FloatArray:
        """What sets of nodes, as rows of a matrix, are worth."""
        inside = sets.astype(np.float64)
        worth: FloatArray = 0.5 * ((inside @ self.without_prices) * inside).sum(axis=1)
        return worth

    @staticmethod
    def of(graph: Graph) -> Worth:
        """The pairs of a complete graph."""
        n = graph.n
        weights = np.zeros((n, n))
        u, v = graph.edges.T
        weights[u, v] = weights[v, u] = graph.weights
        return Worth(weights, np.zeros((n, n), dtype=bool))

    def with_apart(self, u: int, v: int) -> Worth:
        """The same where two nodes are apart."""
        apart = self.apart.copy()
        apart[u, v] = apart[v, u] = True
        return replace(self, apart=apart)

    def with_joined(self, u: int, v: int) -> Worth:
        """The same where two nodes are one, the first of them, which is apart from what either is.

        See :func:`joined_places` for where the others are then.
        """
        u, v = min(u, v), max(u, v)
        others = np.arange(self.n) != v
        weights, apart = self.weights[np.ix_(others, others)], self.apart[np.ix_(others, others)]
        weights[u] += self.weights[v, others]
        apart[u] |= self.apart[v, others]
        weights[u, u], apart[u, u] = 0.0, False
        weights[:, u], apart[:, u] = weights[u], apart[u]
        off = EPSILON * float(np.abs(self.weights[[u, v]]).sum())
        return Worth(weights, apart, self.off + off)


@compiled
def core(
    worth: FloatArray, prices: FloatArray, inside: IntArray, others: BoolArray
) -> tuple[IntArray, IntArray]:
    """Others that a best set with some nodes may have, and the rest in the order they go.

    A node goes if it adds nothing even beside all others that attract it: of a set that has it, the
    rest has no less surplus.
    """
    n = len(prices)
    gain, left = np.zeros(n), others.copy()
    tiny = 0.0
    for v in range(n):
        if not others[v]:
            continue
        size = prices[v]
        gain[v] = -prices[v]
        for u in inside:
            gain[v] += worth[u, v]
            size += abs(worth[u, v])
        for u in range(n):
            if others[u] and worth[u, v] > 0.0:
                gain[v] += worth[u, v]
                size += worth[u, v]
        tiny = max(tiny, size)
    tiny *= 4.0 * n * EPSILON  # more than rounding has changed
    gone, count, changed = np.empty(n, np.int64), 0, True
    while changed:
        changed = False
        for v in range(n):
            if left[v] and gain[v] <= -tiny:
                left[v], changed = False, True
                gone[count] = v
                count += 1
                for u in range(n):
                    if left[u] and worth[u, v] > 0.0:
                        gain[u] -= worth[u, v]
    return np.flatnonzero(left), gone[:count]


@compiled
def anchors(worth: FloatArray, prices: FloatArray) -> IntArray:
    """An order of the nodes: first those that have the least to gain from those that are left."""
    n = len(prices)
    gain, left, order = np.zeros(n), np.ones(n, np.bool_), np.empty(n, np.int64)
    for v in range(n):
        gain[v] = -prices[v]
        for u in range(n):
            gain[v] += max(0.0, worth[u, v])
    for k in range(n):
        best = -1
        for v in range(n):
            if left[v] and (best < 0 or gain[v] < gain[best]):
                best = v
        order[k], left[best] = best, False
        for u in range(n):
            gain[u] -= max(0.0, worth[best, u])
    return order
