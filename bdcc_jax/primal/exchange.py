"""Two clusters exchange nodes, or are joined: the step of Kernighan-Lin."""

from typing import NamedTuple

import numpy as np

from ..base.adjacency import Adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import borrowing, compiled
from ..base.heap import Heap, clear, new_heap, pop, put
from .clusters import Clusters, move
from .pieces import Pieces, find_pieces, new_pieces, split

EDGES_A_MOVE, SERIES_WORK = 32, 4
"""A series is also given up when it has read ``max(EDGES_A_MOVE * patience, SERIES_WORK * start)``
edges since its best prefix, ``start`` being the edges that were read to find its first moves."""


class Search(NamedTuple):
    """The weight of every arc, what is to be done, and scratch space.

    A cluster is dirty from when it changes until it is next visited. ``changed`` and ``visited``
    say when that was last, in ticks of ``clock``. ``seen[v]`` is the tick of the exchange that
    last computed ``gain[v]``, ``near_at[c]`` that of the visit that last met cluster c.
    ``connects`` says which arcs are not lifted; empty where none is, and ``pieces`` are unused.
    """

    weights: FloatArray
    connects: BoolArray
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
    pieces: Pieces


@compiled
def new_search(n: int, weights: FloatArray, connects: BoolArray) -> Search:
    """All clusters of n nodes are to be visited."""
    return Search(
        weights,
        connects,
        np.ones(n, dtype=np.bool_),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(n),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        new_heap(n),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        new_pieces(n if len(connects) else 0),
    )


@borrowing
def tick(search: Search) -> int:
    """The next moment."""
    search.clock[0] += 1
    return int(search.clock[0])


@borrowing
def exchange(
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
    # Not all was read, so that what joining them gains is unknown; or they no longer touch.
    if stop[0] or search.heap.size[0] == 0:
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
        if len(search.connects):
            lost, steps = find_pieces(
                edges, search.weights, search.connects, clusters, search.pieces, a, b
            )
            gained, work = gained - lost, work + steps
            if gained <= least:
                for i in range(kept):
                    v = moved[i]
                    move(clusters, v, labels[v], a + b - labels[v])
                return 0.0, work
            split(clusters, search.pieces, search.changed, search.dirty, search.clock[0] + 1)
    now = tick(search)
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
    now = tick(search)
    between, work, lifted = 0.0, 0, len(search.connects) > 0
    v = clusters.first[a]
    while v >= 0 and not stop[0]:
        own, other, touches = 0.0, 0.0, clusters.size[b] == 0
        for k in range(edges.starts[v], edges.starts[v + 1]):
            u = edges.neighbours[k]
            if labels[u] == a:
                own += weights[k]
            elif labels[u] == b:
                other += weights[k]
                if lifted and not search.connects[k]:
                    continue
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
def _touches(edges: Adjacency, connects: BoolArray, labels: IntArray, v: int, cluster: int) -> bool:
    """Whether an edge that connects leads from a node to a cluster."""
    for k in range(edges.starts[v], edges.starts[v + 1]):
        if connects[k] and labels[edges.neighbours[k]] == cluster:
            return True
    return False


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
    lifted = len(search.connects) > 0
    while heap.size[0] > 0 and count - kept < patience and work < end and not stop[0]:
        v = pop(heap)
        if lifted and (count > 0 or clusters.size[b] > 0):
            work += edges.starts[v + 1] - edges.starts[v]
            if not _touches(edges, search.connects, labels, v, a + b - labels[v]):
                seen[v] = 0  # until a node next to it moves
                continue
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
            elif labels[u] == source and (not lifted or search.connects[k]):
                seen[u] = now
                gain[u] = _gain(edges, weights, labels, u, source, target)
                put(heap, u, gain[u])
                work += edges.starts[u + 1] - edges.starts[u]
        work += edges.starts[v + 1] - edges.starts[v]
    clear(heap)
    return best, kept, count, work
