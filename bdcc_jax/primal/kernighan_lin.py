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
from .links import Links

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
    connects = np.empty(0, dtype=np.bool_)
    if graph.lifted is not None:
        labels, connects = graph.refined(labels)[0], ~graph.lifted[edges.edges]
    clusters = new_clusters(labels)
    search = _new_search(graph.n, graph.weights[edges.edges], connects)
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


@compiled
def climb(links: Links, labels: IntArray, stop: BoolArray) -> tuple[float, int]:
    """Improve a clustering in place, for compiled searches; the gain, and about the arcs read.

    The labels are in ``0 .. n - 1``, and clusters are connected where some edges are lifted.
    """
    n = len(labels)
    edges = Adjacency(links.starts, links.neighbours, links.neighbours)  # whose edges nobody reads
    clusters, search = new_clusters(labels), _new_search(n, links.arc_weights, links.arc_connects)
    least = LEAST_GAIN * np.abs(links.weights).max()
    total, work = 0.0, 0
    while not stop[0]:
        todo = np.flatnonzero(search.dirty & (clusters.size > 0))
        if len(todo) == 0:
            break
        _, gain = _visit_some(edges, clusters, search, todo, least, PATIENCE, 2**62, stop)
        total, work = total + gain, work + 4 * len(links.neighbours)
    labels[:] = clusters.labels
    return total, work


class Search(NamedTuple):
    """The weight of every arc, what is to be done, and scratch space.

    A cluster is dirty from when it changes until it is next visited. ``changed`` and ``visited``
    say when that was last, in ticks of ``clock``. ``seen[v]`` is the tick of the exchange that
    last computed ``gain[v]``, ``near_at[c]`` that of the visit that last met cluster c.
    ``connects`` says which arcs are not lifted; empty where none is. If some are, ``queue`` has the
    nodes of two clusters piece by piece, and ``piece`` the number of the piece of every node.
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
    piece: IntArray
    queue: IntArray
    queued: IntArray


@compiled
def _new_search(n: int, weights: FloatArray, connects: BoolArray) -> Search:
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
        np.zeros(n if len(connects) else 0, dtype=np.int64),
        np.zeros(n if len(connects) else 0, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
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
    count, lifted = 0, len(search.connects) > 0
    v = clusters.first[a]
    while v >= 0:
        for k in range(edges.starts[v], edges.starts[v + 1]):
            b = clusters.labels[edges.neighbours[k]]
            if b != a and search.near_at[b] != now and (not lifted or search.connects[k]):
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
            lost, steps = _find_pieces(edges, clusters, search, a, b)
            gained, work = gained - lost, work + steps
            if gained <= least:
                for i in range(kept):
                    v = moved[i]
                    move(clusters, v, labels[v], a + b - labels[v])
                return 0.0, work
            _split(clusters, search)
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
def _find_pieces(
    edges: Adjacency, clusters: Clusters, search: Search, a: int, b: int
) -> tuple[float, int]:
    """The pieces of two clusters that edges hold together which connect.

    Returns what it costs to split the clusters into these, and how many edges were read.
    """
    labels, piece, queue = clusters.labels, search.piece, search.queue
    size, i, number, work = 0, 0, 0, 0
    for c in (a, b):
        v = clusters.first[c]
        while v >= 0:
            piece[v] = -1
            v = clusters.following[v]
    for c in (a, b):
        v = clusters.first[c]
        while v >= 0:
            if piece[v] < 0:
                piece[v] = number
                queue[size] = v
                size += 1
                while i < size:
                    u = queue[i]
                    i += 1
                    for k in range(edges.starts[u], edges.starts[u + 1]):
                        h = edges.neighbours[k]
                        if search.connects[k] and labels[h] == c and piece[h] < 0:
                            piece[h] = number
                            queue[size] = h
                            size += 1
                number += 1
            v = clusters.following[v]
    twice = 0.0
    for j in range(size):
        u = queue[j]
        work += edges.starts[u + 1] - edges.starts[u]
        for k in range(edges.starts[u], edges.starts[u + 1]):
            h = edges.neighbours[k]
            if labels[h] == labels[u] and piece[h] != piece[u]:
                twice += search.weights[k]
    search.queued[0] = size
    return twice / 2.0, 2 * work


@borrowing
def _split(clusters: Clusters, search: Search) -> None:
    """Make clusters of the pieces that were found, but for the first one of each cluster."""
    labels, piece, queue = clusters.labels, search.piece, search.queue
    source, target = labels[queue[0]], labels[queue[0]]
    for j in range(1, search.queued[0]):
        u, before = queue[j], queue[j - 1]
        if piece[u] != piece[before]:
            if labels[u] != source:  # the first piece of the other cluster
                source = target = labels[u]
            else:
                target = new_label(clusters)
                search.changed[target] = search.clock[0] + 1
                search.dirty[target] = True
        if target != source:
            move(clusters, u, source, target)


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
