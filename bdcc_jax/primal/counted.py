"""Clusterings with at least, or at most, so many clusters, without a proof.

Clusters are put together, or nodes taken out of them, where that costs least, and nodes are moved
while that gains and the number allows it; then again from clusterings a little off, the best kept.
"""

from __future__ import annotations

import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from ..base.compiled import compiled
from ..base.heap import Heap, new_heap, pop, put
from ..base.labels import canonical_labels
from ..instance.graph import Graph

LEAST_GAIN = 1e-9
"""Moves that gain less than this part of the largest |w| are rounding errors."""

ROUNDS, PERTURBED = 50, 0.1
"""So many times a share of the nodes is put anywhere, and moves begin anew."""


def counted(
    graph: Graph,
    labels: IntArray,
    least: int,
    most: int,
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
    clock: Clock | None = None,
) -> IntArray:
    """A clustering with ``least`` to ``most`` clusters, from one with any number of them.

    Parameters
    ----------
    graph : Graph
        The instance.
    labels : ndarray of int, shape (n,)
        Where to start.
    least, most : int
        How many clusters there may be.
    rounds : int
        How often the search begins anew from a clustering a little off the best.
    seed : int
        For what is put anywhere.
    clock : Clock, optional
        When its time is up, the clustering so far is returned.

    Examples
    --------
    >>> path = Graph(4, [(0, 1), (1, 2), (2, 3)], [3.0, 1.0, 2.0])
    >>> counted(path, np.array([0, 0, 0, 0]), 2, 4).tolist()
    [0, 0, 1, 1]
    >>> foes = Graph(3, [(0, 1), (1, 2), (0, 2)], [-1.0, -2.0, -3.0])
    >>> counted(foes, np.array([0, 1, 2]), 1, 2).tolist()
    [0, 0, 1]
    """
    clock = clock or Clock(None)
    u, v = graph.edges.T
    arcs = adjacency(graph.n, u, v, np.arange(graph.m))
    weights = graph.weights[arcs.edges]
    best = _settled(graph, arcs, weights, labels, least, most)
    cost = graph.objective(best)
    rng = np.random.default_rng(seed)
    for _ in range(rounds if graph.m else 0):
        if clock.remaining == 0.0:
            break
        off = best.copy()
        moved = rng.random(graph.n) < PERTURBED
        off[moved] = rng.integers(0, int(best.max()) + 2, int(moved.sum()))
        other = _settled(graph, arcs, weights, off, least, most)
        if (now := graph.objective(other)) < cost:
            best, cost = other, now
    return best


def merged_freely(graph: Graph, labels: IntArray, most: int) -> IntArray | None:
    """The same clustering with clusters put together that edges do not join; None if too many.

    Examples
    --------
    >>> foes = Graph(4, [(0, 1), (2, 3)], [-1.0, -1.0])
    >>> merged_freely(foes, np.array([0, 1, 2, 3]), 2).tolist()
    [0, 1, 0, 1]
    >>> merged_freely(foes, np.array([0, 1, 2, 3]), 1) is None
    True
    """
    merged = within(graph, labels, most)
    return merged if bool((graph.cut(merged) == graph.cut(labels)).all()) else None


def within(graph: Graph, labels: IntArray, most: int) -> IntArray:
    """At most so many clusters: each one, the heaviest first, goes where that costs least."""
    labels = canonical_labels(labels)
    count = int(labels.max()) + 1
    if count <= most:
        return labels
    a, b = labels[graph.edges].T
    apart = np.flatnonzero(a != b)
    arcs = adjacency(count, a[apart], b[apart], apart)
    size = np.bincount(a[apart], np.abs(graph.weights[apart]), count)
    size += np.bincount(b[apart], np.abs(graph.weights[apart]), count)
    order = np.argsort(-size, kind="stable")
    return canonical_labels(_bins(arcs, graph.weights[arcs.edges], order, most)[labels])


def split_freely(graph: Graph, labels: IntArray, least: int) -> IntArray:
    """Split clusters that edges do not hold together, until there are enough, or no more such."""
    labels = canonical_labels(labels)
    parts = graph.components(~graph.cut(labels))
    count = int(labels.max()) + 1
    if count >= least:
        return labels
    _, first = np.unique(labels, return_index=True)
    others = np.setdiff1d(np.arange(int(parts.max()) + 1), parts[first])[: least - count]
    new = np.isin(parts, others)
    return canonical_labels(np.where(new, count + parts, labels))


def _settled(
    graph: Graph,
    arcs: Adjacency,
    weights: FloatArray,
    labels: IntArray,
    least: int,
    most: int,
) -> IntArray:
    """Few enough, many enough, and moved until no move gains."""
    labels = within(graph, labels, most)
    labels = split_freely(graph, labels, least).copy()
    if int(labels.max()) + 1 < least:
        _split(arcs, weights, labels, least, new_heap(graph.n))
    gain = LEAST_GAIN * float(np.abs(graph.weights).max(initial=0.0))
    _move(arcs, weights, labels, least, most, gain)
    return canonical_labels(labels)


@compiled
def _bins(arcs: Adjacency, weights: FloatArray, order: IntArray, most: int) -> IntArray:
    """Put clusters into bins in order; an empty bin counts as much as one that it does not touch.

    Among equals the first: where few bins are enough, few are used.
    """
    bins = np.full(len(order), -1)
    towards = np.zeros(most)
    for c in order:
        towards[:] = 0.0
        for k in range(arcs.starts[c], arcs.starts[c + 1]):
            b = bins[arcs.neighbours[k]]
            if b >= 0:
                towards[b] += weights[k]
        bins[c] = np.argmax(towards)
    return bins


@compiled
def _split(arcs: Adjacency, weights: FloatArray, labels: IntArray, least: int, heap: Heap) -> None:
    """Take nodes out of clusters, the cheapest first, until there are enough. Changes labels."""
    n = len(labels)
    size = np.zeros(n, np.int64)
    for v in range(n):
        size[labels[v]] += 1
    count = labels.max() + 1
    held = np.zeros(n)  # by its own cluster
    for v in range(n):
        for k in range(arcs.starts[v], arcs.starts[v + 1]):
            if labels[arcs.neighbours[k]] == labels[v]:
                held[v] += weights[k]
        put(heap, v, -held[v])
    while count < least:
        v = pop(heap)
        own = labels[v]
        if size[own] == 1:
            continue
        for k in range(arcs.starts[v], arcs.starts[v + 1]):
            u = arcs.neighbours[k]
            if labels[u] == own:
                held[u] -= weights[k]
                if heap.place[u] >= 0:
                    put(heap, u, -held[u])
        size[own] -= 1
        labels[v] = count
        size[count] = 1
        count += 1


@compiled
def _move(
    arcs: Adjacency,
    weights: FloatArray,
    labels: IntArray,
    least: int,
    most: int,
    least_gain: float,
) -> None:
    """Move nodes to where they gain most, as long as the number of clusters allows it.

    A cluster that a node does not touch attracts it with 0; so does a new one. Changes labels.
    """
    n = len(labels)
    size = np.zeros(n + 1, np.int64)
    for v in range(n):
        size[labels[v]] += 1
    count = 0
    for c in range(n):
        count += size[c] > 0
    towards, met = np.zeros(n + 1), np.full(n + 1, -1)
    near = np.empty(n, np.int64)
    stamp, moving = 0, True
    while moving:
        moving = False
        for v in range(n):
            own = labels[v]
            alone = size[own] == 1
            if alone and count == least:
                continue
            stamp += 1
            met[own], towards[own] = stamp, 0.0
            found = 0
            for k in range(arcs.starts[v], arcs.starts[v + 1]):
                c = labels[arcs.neighbours[k]]
                if met[c] != stamp:
                    met[c], towards[c] = stamp, 0.0
                    near[found] = c
                    found += 1
                towards[c] += weights[k]
            target, best = -1, towards[own] + least_gain
            for i in range(found):
                if towards[near[i]] > best:
                    target, best = near[i], towards[near[i]]
            if best < 0.0:
                for c in range(n):  # one that it does not touch, or an empty one
                    free = met[c] != stamp and (size[c] > 0 or (count < most and not alone))
                    if free:
                        target, best = c, 0.0
                        break
            if target < 0:
                continue
            count += int(size[target] == 0) - int(alone)
            size[own] -= 1
            size[target] += 1
            labels[v] = target
            moving = True
