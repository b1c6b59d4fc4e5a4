"""Kernighan-Lin with joins (Keuper et al., 2015): a better clustering from a good one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.compiled import borrowing, compiled
from ..base.heap import Heap, clear, new_heap, pop, put
from ..instance.graph import Graph, canonical_labels
from .clusters import Clusters, move, new_clusters, new_label

LEAST_GAIN = 1e-9
"""Changes that gain less than this part of the largest |w| are rounding errors."""

PATIENCE = 100
"""Moves without a new best after which a series of moves is given up."""

EDGES_A_MOVE, SERIES_WORK = 32, 4
"""A series is also given up when it has read ``max(EDGES_A_MOVE * patience, SERIES_WORK * start)``
edges since its best prefix, ``start`` being the edges that were read to find its first moves."""

EDGES_A_CALL = 1_000_000
"""Edges read before the compiled loop comes back to let Ctrl-C through: some 10 ms."""


def kernighan_lin(
    graph: Graph, labels: ArrayLike, *, clock: Clock | None = None, patience: int = PATIENCE
) -> IntArray:
    """Improve a clustering until no change of two neighbouring clusters helps.

    Two clusters that touch exchange nodes one by one, the best first, none twice; the best prefix
    of that series of moves is kept, or the two are joined if that is better. Every cluster also
    exchanges with a new, empty one, which may split it. The result is never worse than the start;
    unless time was up, no move of a single node and no join of two clusters improves it.

    Parameters
    ----------
    graph : Graph
        The instance.
    labels : array_like of int, shape (n,)
        Where to start.
    clock : Clock, optional
        When its time is up, the clustering so far is returned.
    patience : int
        A series of moves ends this many moves after its best prefix.

    Returns
    -------
    ndarray of int, shape (n,)
        A cluster a node, numbered by first appearance.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [3.0, 2.0, -1.5, -1.0])
    >>> graph.objective([0, 1, 1, 1])
    1.5
    >>> labels = kernighan_lin(graph, [0, 1, 1, 1])
    >>> labels.tolist(), graph.objective(labels)
    ([0, 0, 0, 1], -1.0)
    """
    start = canonical_labels(labels)
    if start.shape != (graph.n,):
        raise ValueError(f"labels must have shape ({graph.n},), not {start.shape}")
    return improve(graph, start, clock, patience)[0]


def improve(
    graph: Graph, labels: IntArray, clock: Clock | None, patience: int
) -> tuple[IntArray, float]:
    """The better clustering, and by how much it is better as far as the search has counted."""
    clock = clock or Clock(None)
    if graph.m == 0 or clock.remaining == 0.0:
        return labels, 0.0
    u, v = graph.edges.T
    edges = adjacency(graph.n, v, u, np.arange(graph.m))  # neighbours in ascending order
    clusters, search = new_clusters(labels), _new_search(graph.n, graph.weights[edges.edges])
    least = LEAST_GAIN * float(np.abs(graph.weights).max())
    total = 0.0
    with clock.alarm() as stop:
        while len(todo := np.flatnonzero(search.dirty & (clusters.size > 0))):
            while len(todo):
                if stop[0] or clock.remaining == 0.0:
                    return canonical_labels(clusters.labels), total
                visited = _visit_some(
                    edges, clusters, search, todo, least, patience, EDGES_A_CALL, stop
                )
                todo, total = todo[visited[0] :], total + visited[1]
    return canonical_labels(clusters.labels), total


class Search(NamedTuple):
    """The weight of every arc, what is to be done, and scratch space.

    A cluster is dirty from when it changes until it is next visited. ``changed`` and ``visited``
    say when that was last, in ticks of ``clock``. ``seen[v]`` is the tick of the exchange that
    last computed ``gain[v]``, ``near_at[c]`` that of the visit that last met cluster c.
    """

    weights: FloatArray
    dirty: BoolArray
    changed: IntArray
    visited: IntArray
    clock: IntArray
    gain: FloatArray
    seen: IntArray
    moved: IntArray
    heap: Heap
    near: IntArray
    near_at: IntArray


def _new_search(n: int, weights: FloatArray) -> Search:
    zeros = [np.zeros(n, dtype=np.int64) for _ in range(6)]
    changed, visited, seen, moved, near, near_at = zeros
    return Search(
        weights=weights,
        dirty=np.ones(n, dtype=np.bool_),
        changed=changed,
        visited=visited,
        clock=np.zeros(1, dtype=np.int64),
        gain=np.zeros(n),
        seen=seen,
        moved=moved,
        heap=new_heap(n),
        near=near,
        near_at=near_at,
    )


@borrowing
def _tick(search: Search) -> int:
    search.clock[0] += 1
    return int(search.clock[0])


@compiled
def _visit_some(
    edges: Adjacency,
    clusters: Clusters,
    search: Search,
    todo: IntArray,
    least: float,
    patience: int,
    batch: int,
    stop: BoolArray,
) -> tuple[int, float]:
    """Visit clusters until the batch is used up; how many were visited, and what it gained.

    Another thread may set ``stop``: exchanges then end at once, the one that it falls into undone.
    """
    gain, work, done = 0.0, 0, 0
    while done < len(todo) and work < batch and not stop[0]:
        a = todo[done]
        done += 1
        search.dirty[a] = False
        now = _tick(search)
        for b in _neighbours(edges, clusters, search, a, now):
            if clusters.size[a] == 0 or stop[0]:
                break
            if clusters.size[b] == 0:
                continue
            # Nothing has changed since b was visited, and then it met a.
            if search.visited[b] > max(search.changed[a], search.changed[b]):
                continue
            gained, steps = _exchange(edges, clusters, search, a, b, least, patience, stop)
            gain += gained
            work += steps
        while clusters.size[a] > 1:
            b = new_label(clusters)
            gained, steps = _exchange(edges, clusters, search, a, b, least, patience, stop)
            gain += gained
            work += steps
            if gained == 0.0:
                break
        search.visited[a] = now
    return done, gain


@compiled
def _neighbours(edges: Adjacency, clusters: Clusters, search: Search, a: int, now: int) -> IntArray:
    """The clusters that touch cluster a."""
    count = 0
    v = clusters.first[a]
    while v >= 0:
        for k in range(edges.starts[v], edges.starts[v + 1]):
            b = clusters.labels[edges.neighbours[k]]
            if b != a and search.near_at[b] != now:
                search.near_at[b] = now
                search.near[count] = b
                count += 1
        v = clusters.following[v]
    return search.near[:count]


@borrowing
def _exchange(
    edges: Adjacency,
    clusters: Clusters,
    search: Search,
    a: int,
    b: int,
    least: float,
    patience: int,
    stop: BoolArray,
) -> tuple[float, int]:
    """Improve the partition of two clusters; what it gained, and how many edges were read."""
    if 0 < clusters.size[b] < clusters.size[a]:
        a, b = b, a
    joined, work = _meet(edges, clusters, search, a, b, stop)
    if stop[0]:  # not all was read: what joining them gains is unknown
        clear(search.heap)
        return 0.0, work
    # Where there are hubs, moves cost: not much more for the series than for finding its start.
    limit = max(EDGES_A_MOVE * patience, SERIES_WORK * work)
    gained, kept, count, steps = _move_series(edges, clusters, search, a, b, patience, limit, stop)
    work += steps
    labels, moved = clusters.labels, search.moved
    for i in range(count):
        v = moved[i]
        labels[v] = a + b - labels[v]
    if max(gained, joined) <= least:
        return 0.0, work
    if joined >= gained:
        gained = joined
        while clusters.size[a] > 0:
            move(clusters, clusters.first[a], a, b)
    else:
        for i in range(kept):
            v = moved[i]
            move(clusters, v, labels[v], a + b - labels[v])
    now = _tick(search)
    for c in (a, b):
        search.changed[c] = now
        search.dirty[c] = True
    return gained, work


@borrowing
def _meet(
    edges: Adjacency, clusters: Clusters, search: Search, a: int, b: int, stop: BoolArray
) -> tuple[float, int]:
    """Fill the heap with the nodes where the clusters touch; what joining them would gain.

    Reads the nodes of a, the smaller cluster, only. If b is empty, all nodes of a may move.
    """
    labels, gain, seen, heap = clusters.labels, search.gain, search.seen, search.heap
    weights = search.weights
    now = _tick(search)
    between, work = 0.0, 0
    v = clusters.first[a]
    while v >= 0 and not stop[0]:
        own, other, touches = 0.0, 0.0, clusters.size[b] == 0
        for k in range(edges.starts[v], edges.starts[v + 1]):
            u = edges.neighbours[k]
            if labels[u] == a:
                own += weights[k]
            elif labels[u] == b:
                other += weights[k]
                touches = True
                if seen[u] != now:
                    seen[u] = now
                    gain[u] = _gain(edges, weights, labels, u, b, a)
                    put(heap, u, gain[u])
                    work += edges.starts[u + 1] - edges.starts[u]
        work += edges.starts[v + 1] - edges.starts[v]
        between += other
        if touches:
            seen[v] = now
            gain[v] = other - own
            put(heap, v, gain[v])
        v = clusters.following[v]
    return between, work


@borrowing
def _gain(
    edges: Adjacency, weights: FloatArray, labels: IntArray, v: int, own: int, other: int
) -> float:
    """What moving a node from its own cluster to the other one gains."""
    gain = 0.0
    for k in range(edges.starts[v], edges.starts[v + 1]):
        label = labels[edges.neighbours[k]]
        if label == own:
            gain -= weights[k]
        elif label == other:
            gain += weights[k]
    return gain


@borrowing
def _move_series(
    edges: Adjacency,
    clusters: Clusters,
    search: Search,
    a: int,
    b: int,
    patience: int,
    limit: int,
    stop: BoolArray,
) -> tuple[float, int, int, int]:
    """Move the best node, again and again; leaves the labels moved, and the heap empty.

    Returns the gain and the length of the best prefix, the length of the series, and the number
    of edges that were read.
    """
    labels, gain, seen, heap = clusters.labels, search.gain, search.seen, search.heap
    weights = search.weights
    now = search.clock[0]
    total, best, kept, count, work, end = 0.0, 0.0, 0, 0, 0, limit
    while heap.size[0] > 0 and count - kept < patience and work < end and not stop[0]:
        v = pop(heap)
        total += gain[v]
        search.moved[count] = v
        count += 1
        if total > best:
            best, kept, end = total, count, work + limit
        source = labels[v]
        target = a + b - source
        labels[v] = target
        for k in range(edges.starts[v], edges.starts[v + 1]):
            u = edges.neighbours[k]
            if seen[u] == now:
                if heap.place[u] >= 0:
                    twice = 2.0 * weights[k]
                    gain[u] += twice if labels[u] == source else -twice
                    put(heap, u, gain[u])
            elif labels[u] == source:
                seen[u] = now
                gain[u] = _gain(edges, weights, labels, u, source, target)
                put(heap, u, gain[u])
                work += edges.starts[u + 1] - edges.starts[u]
        work += edges.starts[v + 1] - edges.starts[v]
    clear(heap)
    return best, kept, count, work
