"""Rows for a given number of clusters: spanning forests (at least k), cliques (at most k).

At least k. Let T be a spanning forest of a graph with c components. The edges that a clustering
keeps leave at least k components, so no more than ``n - k`` edges of the forest are kept::

    sum of x over T  >=  k - c.

The smallest left-hand side is that of a minimum spanning forest with the lengths x, so separation
is exact. An x of a clustering with fewer clusters is cut off by a forest of edges that it keeps.

At most k (Chopra and Rao, 1993). Of p nodes, ``p = t k + q`` with ``q < k``, k clusters keep at
least as many pairs as if they were of equal size::

    sum of x over all pairs of p nodes  <=  p (p - 1) / 2 - q (t + 1) t / 2 - (k - q) t (t - 1) / 2.

For p = k + 1: not all pairs are cut. Sets of nodes are found by a greedy search, which finds one
that cuts off x if x is a clustering.
"""

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..base.components import find
from ..instance.completion import pair_ids
from ..instance.graph import Graph
from ..lp.rows import Rows

VIOLATION = 1e-6
"""What is violated by less is a matter of the LP's tolerances."""

FORESTS = 4
"""So many forests in a round: with lengths that tie, there are many shortest ones."""

CLIQUES_A_NODE = 1
"""So many cliques in a round for every node, at most."""


def forest_rows(graph: Graph, x: FloatArray, k: int, seed: int = 0) -> Rows:
    """Minimum spanning forests that x violates; none if x satisfies all of them.

    Examples
    --------
    >>> path = Graph(3, [(0, 1), (1, 2)], [1.0, 1.0])
    >>> rows = forest_rows(path, np.array([0.5, 0.0]), 2)
    >>> rows.indices.tolist(), rows.values.tolist(), rows.upper.tolist()
    ([1, 0], [-1.0, -1.0], [-1.0])
    """
    rng = np.random.default_rng(seed)
    found: dict[bytes, IntArray] = {}
    for turn in range(FORESTS):
        ties = np.abs(graph.weights) if turn == 0 else rng.random(graph.m)
        forest = shortest_forest(graph, x, ties)
        if x[forest].sum() >= least_cut(graph.n, len(forest), k) - VIOLATION:
            break
        found[np.sort(forest).tobytes()] = forest
    return forests_as_rows(graph.n, [*found.values()], k)


def shortest_forest(graph: Graph, lengths: FloatArray, ties: FloatArray) -> IntArray:
    """The edges of a minimum spanning forest, those of equal length by the second criterion."""
    order = np.lexsort((ties, lengths))
    u, v = graph.edges.T
    return order[_joins(graph.n, u[order], v[order])]


def forests_as_rows(n: int, forests: list[IntArray], k: int) -> Rows:
    """``-sum of x <= -(k - c)`` for every forest."""
    lengths = [len(forest) for forest in forests]
    indices = np.concatenate([np.empty(0, np.int64), *forests]).astype(np.int32)
    upper = np.array([-float(least_cut(n, length, k)) for length in lengths])
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return Rows(starts, indices, np.full(len(indices), -1.0), upper)


def least_cut(n: int, length: int, k: int) -> int:
    """How many edges of a forest are cut at least by clusterings with k clusters or more."""
    return k - (n - length)


@compiled
def _joins(n: int, u: IntArray, v: IntArray) -> BoolArray:
    """Which edges join what those before them do not."""
    parent, chosen = np.arange(n), np.zeros(len(u), np.bool_)
    for e in range(len(u)):
        a, b = find(parent, u[e]), find(parent, v[e])
        if a != b:
            parent[max(a, b)] = min(a, b)
            chosen[e] = True
    return chosen


def most_cut(p: int, k: int) -> int:
    """How many of the pairs of p nodes clusterings with k clusters or fewer cut at most.

    Examples
    --------
    >>> [most_cut(p, 2) for p in (2, 3, 4, 5)]
    [1, 2, 4, 6]
    """
    t, q = divmod(p, k)
    return p * (p - 1) // 2 - q * (t + 1) * t // 2 - (k - q) * t * (t - 1) // 2


def clique_rows(graph: Graph, x: FloatArray, k: int) -> Rows:
    """Cliques of a complete graph that x violates, the most violated ones first.

    Examples
    --------
    >>> triangle = Graph(3, [(0, 1), (0, 2), (1, 2)], [1.0, -1.0, 1.0])
    >>> rows = clique_rows(triangle, np.ones(3), 2)
    >>> rows.indices.tolist(), rows.upper.tolist()
    ([0, 1, 2], [2.0])
    """
    n, ids = graph.n, pair_ids(graph.n)
    if k >= n:
        return Rows.empty()
    apart = np.where(ids >= 0, x[ids], 0.0)
    most = np.array([most_cut(p, k) for p in range(n + 1)], dtype=np.float64)
    order, sizes, excess = _greedy_cliques(apart, most, k)
    found: dict[bytes, tuple[float, IntArray]] = {}
    for nodes, size, violation in zip(order, sizes, excess, strict=True):
        if violation > VIOLATION:
            clique = np.sort(nodes[:size])
            found[clique.tobytes()] = violation, clique
    best = sorted(found.values(), key=lambda pair: (-pair[0], len(pair[1]), pair[1].tolist()))
    return cliques_as_rows(graph, [clique for _, clique in best[: CLIQUES_A_NODE * n]], k)


def cliques_as_rows(graph: Graph, cliques: list[IntArray], k: int) -> Rows:
    """``sum of x over the pairs of a clique <= most_cut`` for sets of nodes of a complete graph."""
    ids = pair_ids(graph.n)
    pairs = [ids[np.ix_(clique, clique)][np.triu_indices(len(clique), 1)] for clique in cliques]
    indices = np.concatenate([np.empty(0, np.int64), *pairs]).astype(np.int32)
    upper = np.array([float(most_cut(len(clique), k)) for clique in cliques])
    lengths = [len(of_one) for of_one in pairs]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    return Rows(starts, indices, np.ones(len(indices)), upper)


@compiled
def _greedy_cliques(
    apart: FloatArray, most: FloatArray, k: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """From every node, add the node that is furthest from those chosen, again and again.

    Returns the order, the size at which the row is violated most, and by how much it is. At k + 1
    nodes, where it is hardest to find the right ones, exchanges follow.
    """
    n = len(apart)
    order = np.empty((n, n), np.int64)
    sizes, excess = np.zeros(n, np.int64), np.full(n, -np.inf)
    for start in range(n):
        chosen = np.zeros(n, np.bool_)
        reach = apart[start].copy()
        order[start, 0] = start
        chosen[start] = True
        total = 0.0
        for size in range(1, n):
            best = -1
            for v in range(n):
                if not chosen[v] and (best < 0 or reach[v] > reach[best]):
                    best = v
            total += reach[best]
            order[start, size] = best
            chosen[best] = True
            for v in range(n):
                reach[v] += apart[best, v]
            if size == k:
                total = _exchange(apart, order[start], chosen, reach, size + 1, total)
            if size >= k and total - most[size + 1] > excess[start] + 1e-9:
                excess[start], sizes[start] = total - most[size + 1], size + 1
    return order, sizes, excess


@compiled
def _exchange(
    apart: FloatArray,
    nodes: IntArray,
    chosen: BoolArray,
    reach: FloatArray,
    size: int,
    total: float,
) -> float:
    """Exchange a chosen node for another one as long as that moves the set apart."""
    n = len(apart)
    for _ in range(size):
        gain, out, new = 1e-9, -1, -1
        for i in range(size):
            u = nodes[i]
            for v in range(n):
                if not chosen[v]:
                    more = reach[v] - apart[u, v] - reach[u]
                    if more > gain:
                        gain, out, new = more, i, v
        if out < 0:
            break
        u = nodes[out]
        chosen[u], chosen[new] = False, True
        nodes[out] = new
        for v in range(n):
            reach[v] += apart[new, v] - apart[u, v]
        total += gain
    return total
