"""Greedy additive edge contraction (Keuper et al., 2015): a clustering from nothing."""

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.compiled import compiled
from ..base.heap import Heap, new_heap, pop, put, remove
from ..base.labels import canonical_labels
from ..instance.graph import Graph


def greedy_additive(
    graph: Graph, weights: ArrayLike | None = None, *, clock: Clock | None = None
) -> IntArray:
    """Join the two clusters with the largest weight between them, until none is positive.

    Clusters are joined along ordinary edges only, but all weights between them count.

    Parameters
    ----------
    graph : Graph
        The instance.
    weights : array_like, shape (m,), optional
        Other weights of the same edges to be guided by, for example by a solution of the
        relaxation; those of the graph if not given.
    clock : Clock, optional
        When its time is up, what has been joined by then is returned.

    Returns
    -------
    ndarray of int, shape (n,)
        A cluster a node, numbered by first appearance.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [3.0, 2.0, -1.5, -1.0])
    >>> greedy_additive(graph).tolist()
    [0, 0, 0, 1]
    >>> greedy_additive(graph, [2.0, -2.0, -1.0, 1.0]).tolist()  # in the order of graph.edges
    [0, 0, 1, 1]
    """
    chosen = graph.weights if weights is None else np.asarray(weights, dtype=np.float64)
    if chosen.shape != (graph.m,):
        raise ValueError(f"weights must have shape ({graph.m},), not {chosen.shape}")
    clock = clock or Clock(None)
    if clock.remaining == 0.0:
        return np.arange(graph.n)
    ends, heap = graph.edges.ravel().copy(), new_heap(graph.m)
    with clock.alarm() as stop:
        connects = np.empty(0, dtype=np.bool_) if graph.lifted is None else ~graph.lifted
        return canonical_labels(contract(graph.n, ends, chosen.copy(), connects, heap, stop))


@compiled
def contract(
    n: int,
    ends: IntArray,
    weights: FloatArray,
    connects: BoolArray,
    heap: Heap,
    stop: BoolArray,
) -> IntArray:
    """Contract edges in order; the label of a node is the node that its cluster went into.

    Edge e has the half-edges 2e and 2e + 1. A cluster's half-edges form a list, which is read only
    when the cluster goes into another one: until then it may contain half-edges of merged edges.
    Where ``connects`` is not empty, only those edges, and what they are merged with, are
    contracted. Another thread may set ``stop``: then nothing more is contracted.
    """
    m = len(weights)
    lifted = len(connects) > 0
    if lifted:
        connects = connects.copy()
    first, degree = np.full(n, -1), np.zeros(n, dtype=np.int64)
    following = np.empty(2 * m, dtype=np.int64)
    merged = np.zeros(m, dtype=np.bool_)
    table = _new_table(n, ends, merged)
    keys = m
    for h in range(2 * m):
        following[h] = first[ends[h]]
        first[ends[h]] = h
        degree[ends[h]] += 1
    for e in range(m):
        if weights[e] > 0 and not stop[0] and (not lifted or connects[e]):
            put(heap, e, weights[e])
    into = np.arange(n)
    while heap.size[0] > 0 and not stop[0]:
        e = pop(heap)
        merged[e] = True
        a, b = ends[2 * e], ends[2 * e + 1]
        # The shorter list goes into the longer: a half-edge changes its cluster O(log m) times.
        if degree[a] > degree[b]:
            a, b = b, a
        into[a] = b
        degree[b] -= 1
        h = first[a]
        while h >= 0:
            rest, e = following[h], h >> 1
            if not merged[e]:
                c = ends[h ^ 1]
                slot = _slot(table, n, b, c)
                f = table[slot, 1]
                if f >= 0:
                    merged[e] = True
                    remove(heap, e)
                    degree[c] -= 1
                    weights[f] += weights[e]
                    if lifted:
                        connects[f] |= connects[e]
                    if weights[f] > 0 and (not lifted or connects[f]):
                        put(heap, f, weights[f])
                    else:
                        remove(heap, f)
                else:
                    ends[h] = b
                    following[h] = first[b]
                    first[b] = h
                    degree[b] += 1
                    # The pair (a, c) stays in the table: nobody will ask for it again.
                    table[slot, 0], table[slot, 1] = _key(n, b, c), e
                    keys += 1
            h = rest
        if 2 * keys > len(table):
            table = _new_table(n, ends, merged)
            keys = m
    for v in range(n):
        root = v
        while into[root] != root:
            root = into[root]
        while into[v] != root:
            into[v], v = root, into[v]
    return into


@compiled
def _new_table(n: int, ends: IntArray, merged: BoolArray) -> IntArray:
    """A hash table from pairs of clusters to edges, by open addressing: rows (pair, edge)."""
    size = 8
    while size < 3 * len(merged):
        size *= 2
    table = np.full((size, 2), -1)
    for e in range(len(merged)):
        if not merged[e]:
            a, b = ends[2 * e], ends[2 * e + 1]
            slot = _slot(table, n, a, b)
            table[slot, 0], table[slot, 1] = _key(n, a, b), e
    return table


@compiled
def _key(n: int, a: int, b: int) -> int:
    return min(a, b) * n + max(a, b)


@compiled
def _slot(table: IntArray, n: int, a: int, b: int) -> int:
    """The row of a pair, or the empty row where it belongs."""
    key = _key(n, a, b)
    mask = len(table) - 1
    # Fibonacci hashing: the high bits of the product depend on all bits of the key.
    slot = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
    while table[slot, 0] != key and table[slot, 0] >= 0:
        slot = (slot + 1) & mask
    return slot
