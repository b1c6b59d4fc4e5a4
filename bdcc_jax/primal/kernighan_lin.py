"""Kernighan-Lin with joins (Keuper et al., 2015): a better clustering from a good one."""

import numpy as np
from numpy.typing import ArrayLike

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, IntArray
from ..base.clock import Clock
from ..base.compiled import compiled
from ..base.labels import canonical_labels
from ..instance.graph import Graph
from .clusters import Clusters, new_clusters, new_label
from .exchange import Search, exchange, new_search, tick
from .links import Links

LEAST_GAIN = 1e-9
"""Changes that gain less than this part of the largest |w| are rounding errors."""

PATIENCE = 100
"""Moves without a new best after which a series of moves is given up."""

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
    search = new_search(graph.n, graph.weights[edges.edges], connects)
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
    clusters, search = new_clusters(labels), new_search(n, links.arc_weights, links.arc_connects)
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
        now = tick(search)
        for b in _neighbours(edges, clusters, search, a, now):
            if clusters.size[a] == 0 or stop[0]:
                break
            if clusters.size[b] == 0:
                continue
            # Nothing has changed since b was visited, and then it met a.
            if search.visited[b] > max(search.changed[a], search.changed[b]):
                continue
            gained, steps = exchange(edges, clusters, search, a, b, least, patience, stop)
            gain += gained
            work += steps
        while clusters.size[a] > 1:
            b = new_label(clusters)
            gained, steps = exchange(edges, clusters, search, a, b, least, patience, stop)
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
