"""2-partition inequalities with one or two nodes on a side, and triangles, on complete graphs.

Disjoint sets S and T of p and q nodes satisfy, with z = 1 - x for pairs that are kept,

    sum of z between S and T  -  sum of z inside S  -  sum of z inside T  <=  min(p, q):

a cluster with a nodes of S and b of T adds ``a b - a (a - 1) / 2 - b (b - 1) / 2``, which is
``min(a, b) - d (d - 1) / 2 <= min(a, b)`` with ``d = |a - b|``; and all min(a, b) add up to at most
min(p, q). In x, with all of S and T in one cluster on the other side, and ``d = |p - q|``::

    sum of x inside S and inside T  -  sum of x between S and T  <=  d (d - 1) / 2.

p = 1, q = 2 is a triangle, p = 1, q = 3 the wheel with three spokes. (Groetschel and Wakabayashi,
1990.)
"""

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.compiled import compiled
from ..instance.completion import pair_ids
from ..lp.rows import Rows

LEAST_VIOLATION = 0.02
"""Inequalities that are violated by less are not added: they hardly move the bound."""

OPEN = 1e-6
"""T starts with a t for which x_st is this far from 0 and 1, and has none with x_st = 1."""

GAIN = 1e-9
"""T grows as long as the violation does, by more than this."""

PER_EDGE = 3
"""A pair is in at most so many triangles of a round, and a spoke on average in so many stars."""


def violated_triangles(
    ids: IntArray, x: FloatArray, most: int, violation: float
) -> tuple[Rows, float]:
    """Triangle inequalities that x violates, the worst first, and by how much the worst one.

    Examples
    --------
    >>> rows, worst = violated_triangles(np.array([[-1, 0, 1], [0, -1, 2], [1, 2, -1]]),
    ...                                  np.array([1.0, 0.25, 0.5]), 10, 1e-6)
    >>> rows.indices.tolist(), rows.values.tolist(), worst
    ([0, 1, 2], [1.0, -1.0, -1.0], 0.25)
    """
    amount, edges = _triangles(ids, x, violation)
    if len(amount) == 0:
        return Rows.empty(), 0.0
    order = np.argsort(-amount, kind="stable")
    chosen = edges[order][_apart(edges[order], len(x), most)]
    starts = np.arange(0, 3 * len(chosen) + 1, 3)
    return Rows.of_cycles(starts, chosen.ravel().astype(np.int32)), float(amount.max())


def all_triangles(n: int, u: int, v: int) -> Rows:
    """All triangle inequalities over a pair of nodes, which is decided.

    Examples
    --------
    >>> rows = all_triangles(3, 0, 1)
    >>> rows.indices.reshape(-1, 3).tolist(), rows.values[:3].tolist()
    ([[0, 1, 2], [1, 0, 2], [2, 0, 1]], [1.0, -1.0, -1.0])
    """
    ids = pair_ids(n)
    others = np.setdiff1d(np.arange(n), [u, v])
    sides = np.column_stack([np.full(n - 2, ids[u, v]), ids[u, others], ids[v, others]])
    edges = sides[:, [[0, 1, 2], [1, 0, 2], [2, 0, 1]]].reshape(-1, 3)
    return Rows.of_cycles(np.arange(0, 3 * len(edges) + 1, 3), edges.ravel().astype(np.int32))


def violated_partitions(ids: IntArray, x: FloatArray, sides: int, most: int) -> Rows:
    """2-partition inequalities with one or two nodes in S (``sides``), more in T, that x violates.

    From every S, T grows by the node that raises the violation most. The deepest ones first: the
    violation divided by the norm of the row.

    Examples
    --------
    K4 with x = 1/2 on the pairs of node 0, and 1 on the others:

    >>> x = np.array([0.5, 0.5, 0.5, 1.0, 1.0, 1.0])
    >>> rows = violated_partitions(pair_ids(4), x, 1, most=10)
    >>> rows.violation(x).tolist(), rows.upper.tolist()
    ([0.5], [1.0])
    """
    z = kept(ids, x)
    nodes, starts, amount = _stars(z) if sides == 1 else _pairs(z)
    return deepest(ids, np.full(len(amount), sides), nodes, starts, amount, len(x), most)


def kept(ids: IntArray, x: FloatArray) -> FloatArray:
    """``z = 1 - x`` of every pair of nodes, as a matrix: 0 on the diagonal."""
    return np.where(ids < 0, 0.0, 1.0 - x[np.maximum(ids, 0)])


def deepest(
    ids: IntArray,
    sizes: IntArray,
    nodes: IntArray,
    starts: IntArray,
    amount: FloatArray,
    m: int,
    most: int,
) -> Rows:
    """The rows of 2-partitions: ``sizes`` of S, the nodes of S and T, and where these begin.

    By the ``amount`` that x violates each, divided by the norm of the row, the largest first.
    """
    others = np.diff(starts) - sizes
    inner, between = (sizes * (sizes - 1) + others * (others - 1)) // 2, sizes * others
    entries = inner + between
    order = np.argsort(-amount / np.sqrt(entries), kind="stable")
    chosen, pairs = _chosen(ids, nodes, starts, order, sizes, m, most)
    d = np.abs(others - sizes)[chosen]
    return Rows(
        np.concatenate([[0], np.cumsum(entries[chosen])]),
        pairs.astype(np.int32),
        np.repeat(
            np.tile([1.0, -1.0], len(chosen)), np.column_stack([inner, between])[chosen].ravel()
        ),
        d * (d - 1) / 2,
    )


@compiled
def _chosen(
    ids: IntArray,
    nodes: IntArray,
    starts: IntArray,
    order: IntArray,
    sizes: IntArray,
    m: int,
    most: int,
) -> tuple[IntArray, IntArray]:
    """The first 2-partitions whose spokes are not in too many, and the pairs of each.

    First those inside S and inside T, then those between them.
    """
    used = np.zeros(m, np.int64)
    chosen, pairs = [0 for _ in range(0)], [0 for _ in range(0)]
    for i in order:
        first, others = starts[i], starts[i] + sizes[i]
        after, total = starts[i + 1], 0
        for a in range(first, others):
            for b in range(others, after):
                total += used[ids[nodes[a], nodes[b]]]
        if total > PER_EDGE * sizes[i] * (after - others):
            continue
        for begin, end in ((first, others), (others, after)):
            for a in range(begin, end):
                for b in range(a + 1, end):
                    pairs.append(ids[nodes[a], nodes[b]])
        for a in range(first, others):
            for b in range(others, after):
                pairs.append(ids[nodes[a], nodes[b]])
                used[ids[nodes[a], nodes[b]]] += 1
        chosen.append(i)
        if len(chosen) >= most:
            break
    return np.array(chosen, dtype=np.int64), np.array(pairs, dtype=np.int64)


@compiled
def _triangles(ids: IntArray, x: FloatArray, violation: float) -> tuple[FloatArray, IntArray]:
    """By how much x violates triangles, and their edges, first the one that is too long."""
    n = len(ids)
    amounts, edges = [0.0 for _ in range(0)], [0 for _ in range(0)]
    for i in range(n):
        for j in range(i + 1, n):
            e = ids[i, j]
            for k in range(j + 1, n):
                f, g = ids[i, k], ids[j, k]
                half = 0.5 * (x[e] + x[f] + x[g])
                longest = max(x[e], x[f], x[g])
                if 2.0 * (longest - half) <= violation:
                    continue
                if x[f] == longest:
                    a, b, c = f, e, g
                elif x[g] == longest:
                    a, b, c = g, e, f
                else:
                    a, b, c = e, f, g
                amounts.append(x[a] - x[b] - x[c])
                edges.append(a)
                edges.append(b)
                edges.append(c)
    return np.array(amounts), np.array(edges, dtype=np.int64).reshape(-1, 3)


@compiled
def _apart(edges: IntArray, m: int, most: int) -> IntArray:
    """The first triangles of which no edge has been in too many."""
    used = np.zeros(m, np.int64)
    chosen = [0 for _ in range(0)]
    for i in range(len(edges)):
        if used[edges[i]].max() < PER_EDGE:
            used[edges[i]] += 1
            chosen.append(i)
            if len(chosen) >= most:
                break
    return np.array(chosen, dtype=np.int64)


@compiled
def _stars(z: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The nodes s, T of violated inequalities, where each begins, and by how much it is violated.

    A start t that is in a T found before is left out: it would give the same one.
    """
    n = len(z)
    nodes, starts, amounts = [0 for _ in range(0)], [0], [0.0 for _ in range(0)]
    near, spoke = np.empty(n, np.int64), np.empty(n)
    gain, covered, chosen = np.empty(n), np.empty(n, np.bool_), np.empty(n, np.int64)
    for s in range(n):
        k = 0
        for t in range(n):
            if z[s, t] > OPEN:
                near[k], spoke[k], covered[k] = t, z[s, t], False
                k += 1
        for a in np.argsort(-spoke[:k], kind="mergesort"):
            if covered[a] or spoke[a] > 1.0 - OPEN:
                continue
            gain[:k] = spoke[:k]
            total, size, best = 0.0, 0, a
            while True:
                total += gain[best]
                chosen[size] = best
                size += 1
                gain[best] = -np.inf
                following, most = -1, GAIN
                row = z[near[best]]
                for q in range(k):
                    if gain[q] > -np.inf:
                        gain[q] -= row[near[q]]
                        if gain[q] > most:
                            following, most = q, gain[q]
                if following < 0:
                    break
                best = following
            if size < 3 or total - 1.0 <= LEAST_VIOLATION:
                continue
            nodes.append(s)
            for q in chosen[:size]:
                nodes.append(near[q])
                covered[q] = True
            starts.append(len(nodes))
            amounts.append(total - 1.0)
    return np.array(nodes, dtype=np.int64), np.array(starts, dtype=np.int64), np.array(amounts)


@compiled
def _pairs(z: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """As above for sets S of two nodes that x holds apart by more than it holds them together."""
    n = len(z)
    nodes, starts, amounts = [0 for _ in range(0)], [0], [0.0 for _ in range(0)]
    gain, chosen = np.empty(n), np.empty(n, np.int64)
    for s in range(n):
        for r in range(s + 1, n):
            if z[s, r] > 0.5:
                continue
            total, size, following, most = -2.0 - z[s, r], 0, -1, GAIN
            for q in range(n):
                gain[q] = -np.inf
                if q not in (s, r):
                    gain[q] = z[s, q] + z[r, q]
                    if gain[q] > most:
                        following, most = q, gain[q]
            while following >= 0:
                best = following
                total += gain[best]
                chosen[size] = best
                size += 1
                gain[best] = -np.inf
                following, most, row = -1, GAIN, z[best]
                for q in range(n):
                    if gain[q] > -np.inf:
                        gain[q] -= row[q]
                        if gain[q] > most:
                            following, most = q, gain[q]
            if size < 3 or total <= LEAST_VIOLATION:
                continue
            nodes.append(s)
            nodes.append(r)
            for q in chosen[:size]:
                nodes.append(q)
            starts.append(len(nodes))
            amounts.append(total)
    return np.array(nodes, dtype=np.int64), np.array(starts, dtype=np.int64), np.array(amounts)
