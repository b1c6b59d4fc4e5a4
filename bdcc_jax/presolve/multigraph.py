"""A graph under contraction: linked lists of edges, joined in constant time and tidied later."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from .steps import find

NONE = -1


class Multigraph(NamedTuple):
    """A graph under contraction: linked lists of half-edges; joined lists are tidied on a visit.

    Half-edges ``2 e`` and ``2 e + 1`` are the two directions of edge ``e``. A half-edge is in the
    list of the node that it leaves, and ``head`` is the node that it entered when last looked at.
    """

    parent: IntArray  # union-find forest of the nodes
    first: IntArray  # half-edge in the list of each node
    last: IntArray
    before: IntArray  # in the list of each half-edge
    after: IntArray
    head: IntArray
    weight: FloatArray  # of each edge
    degree: IntArray  # length of the list
    total: FloatArray  # sum of the absolute weights, as of the last visit
    positive: FloatArray  # sum of the positive weights, likewise
    queue: IntArray  # a ring of nodes to visit
    queued: BoolArray
    limits: IntArray  # where the queue begins, how long it is, and how many edges may be compared
    seen: IntArray  # scratch: the half-edge to each neighbour of the node that is being visited
    pairs: FloatArray  # scratch: weights from two nodes to their common neighbours


class Log(NamedTuple):
    """Steps in local node numbers; ``used`` holds how many there are."""

    kind: IntArray
    a: IntArray
    b: IntArray
    cost: FloatArray
    used: IntArray

    def trimmed(self) -> Log:
        """Copy what is used."""
        kind, a, b, cost, (n,) = self
        return Log(kind[:n].copy(), a[:n].copy(), b[:n].copy(), cost[:n].copy(), self.used)


def multigraph(u: IntArray, v: IntArray, w: FloatArray, changed: BoolArray) -> Multigraph:
    """Build the lists of a graph; the nodes that have ``changed`` set are to be visited."""
    n, m = len(changed), len(w)
    visits = np.flatnonzero(changed)
    queue = np.empty(n, dtype=np.int64)
    queue[: len(visits)] = visits
    half = np.full((3, 2 * m), NONE, dtype=np.int64)
    half[2, 0::2], half[2, 1::2] = v, u
    node = np.full((3, n), NONE, dtype=np.int64)
    graph = Multigraph(
        parent=np.arange(n),
        first=node[0],
        last=node[1],
        before=half[0],
        after=half[1],
        head=half[2],
        weight=w.copy(),
        degree=np.zeros(n, dtype=np.int64),
        total=np.zeros(n),
        positive=np.zeros(n),
        queue=queue,
        queued=changed.copy(),
        limits=np.array([0, len(visits), 0]),
        seen=node[2],
        pairs=np.empty((2, n)),
    )
    _link_all(graph)
    return graph


@compiled
def rest(graph: Multigraph) -> tuple[IntArray, IntArray, FloatArray]:
    """List the edges that are left: their ends and their weights."""
    m = len(graph.weight)
    u, v = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    w = np.empty(m)
    k = 0
    for x in range(len(graph.first)):
        if graph.parent[x] != x:
            continue
        h = graph.first[x]
        while h != NONE:
            y = find(graph.parent, graph.head[h])
            if x < y:
                u[k], v[k], w[k] = x, y, graph.weight[h >> 1]
                k += 1
            h = graph.after[h]
    return u[:k], v[:k], w[:k]


@compiled
def _link_all(graph: Multigraph) -> None:
    for h in range(len(graph.head)):
        x = graph.head[h ^ 1]
        if graph.last[x] == NONE:
            graph.first[x] = h
        else:
            graph.after[graph.last[x]] = h
            graph.before[h] = graph.last[x]
        graph.last[x] = h
        graph.degree[x] += 1
        graph.total[x] += abs(graph.weight[h >> 1])
        graph.positive[x] += max(graph.weight[h >> 1], 0.0)


@compiled
def unlink(graph: Multigraph, x: int, h: int) -> None:
    """Take a half-edge out of the list of x."""
    before, after = graph.before[h], graph.after[h]
    if before == NONE:
        graph.first[x] = after
    else:
        graph.after[before] = after
    if after == NONE:
        graph.last[x] = before
    else:
        graph.before[after] = before
    graph.degree[x] -= 1


@compiled
def push(graph: Multigraph, x: int) -> None:
    """Queue a node whose edges have changed."""
    if not graph.queued[x]:
        graph.queued[x] = True
        graph.queue[(graph.limits[0] + graph.limits[1]) % len(graph.queue)] = x
        graph.limits[1] += 1


@compiled
def record(log: Log, kind: int, a: int, b: int, cost: float) -> None:
    """Append a step."""
    i = log.used[0]
    log.kind[i], log.a[i], log.b[i], log.cost[i] = kind, a, b, cost
    log.used[0] = i + 1


@compiled
def tidy(graph: Multigraph, x: int) -> None:
    """Sum parallel edges of x, drop its loops and zeros, and note its neighbours in ``seen``."""
    h = graph.first[x]
    while h != NONE:
        following = graph.after[h]
        y = find(graph.parent, graph.head[h])
        graph.head[h] = y
        if y == x:
            unlink(graph, x, h)  # the loop's other half-edge is in this list too
        elif graph.seen[y] == NONE:
            graph.seen[y] = h
        else:
            graph.weight[graph.seen[y] >> 1] += graph.weight[h >> 1]
            unlink(graph, x, h)
            unlink(graph, y, h ^ 1)
            push(graph, y)
        h = following
    h = graph.first[x]
    while h != NONE:
        if graph.weight[h >> 1] == 0.0:
            drop(graph, x, h)
        h = graph.after[h]


@compiled
def drop(graph: Multigraph, x: int, h: int) -> None:
    """Drop the edge of a half-edge of x."""
    y = graph.head[h]
    graph.seen[y] = NONE
    unlink(graph, x, h)
    unlink(graph, y, h ^ 1)
    push(graph, y)


@compiled
def join(graph: Multigraph, x: int, y: int) -> None:
    """Contract x into y; the lists are joined in constant time, and tidied later."""
    small = x if graph.degree[x] < graph.degree[y] else y
    h = graph.first[small]
    while h != NONE:  # common neighbours have parallel edges now
        push(graph, find(graph.parent, graph.head[h]))
        h = graph.after[h]
    graph.parent[x] = y
    push(graph, y)
    graph.after[graph.last[y]] = graph.first[x]
    graph.before[graph.first[x]] = graph.last[y]
    graph.last[y] = graph.last[x]
    graph.first[x] = graph.last[x] = NONE
    graph.degree[y] += graph.degree[x]
