"""A graph under contraction: linked lists of edges, joined in constant time and tidied later."""

from typing import NamedTuple

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import borrowing, inlined
from ..base.components import find
from ..base.sums import add, exact_unit
from .steps import SEPARATED, Log, record

NONE = -1

UNROUNDED = 2.0**40
"""If all weights are multiples of a unit and add up to at most this number of units, rules compare
their sums, and 1024ths of these, without any rounding."""

ROUNDING = 2.0**-51
"""What a sum of k terms may be off, for each of them, in units of the sum of their sizes: twice the
classic bound, because some sums are differences of sums."""

RESIDUE = 2.0**-50
"""A sum this much smaller than its terms is what their own last digits leave: 0.1 + 0.2 - 0.3."""


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
    low: FloatArray  # what float64 cannot hold of it: see sums.py
    size: FloatArray  # of each edge: the largest weight added up since it was tidied
    degree: IntArray  # length of the list
    total: FloatArray  # sum of the absolute weights, as of the last visit
    positive: FloatArray  # sum of the positive weights, likewise
    queue: IntArray  # a ring of nodes to visit
    queued: BoolArray
    limits: IntArray  # where the queue begins, how long it is, and how many edges may be compared
    seen: IntArray  # scratch: the half-edge to each neighbour of the node that is being visited
    pairs: FloatArray  # scratch: weights from two nodes to their common neighbours
    off: FloatArray  # what all sums have lost, and what residues weigh
    rounding: float  # see ROUNDING; 0 if all sums are exact
    residue: float  # see RESIDUE; 0 if residues are kept


@inlined
def multigraph(
    u: IntArray, v: IntArray, w: FloatArray, low: FloatArray, changed: BoolArray, residue: float
) -> Multigraph:
    """Build the lists of a graph; the nodes that have ``changed`` set are to be visited."""
    n, m = len(changed), len(w)
    queue, waiting = np.empty(n, np.int64), 0
    for x in range(n):
        if changed[x]:
            queue[waiting] = x
            waiting += 1
    head = np.empty(2 * m, np.int64)
    for e in range(m):
        head[2 * e], head[2 * e + 1] = v[e], u[e]
    exact = not low.any() and exact_unit(w, UNROUNDED) > 0.0
    graph = Multigraph(
        np.arange(n),  # parent
        np.full(n, NONE),  # first
        np.full(n, NONE),  # last
        np.full(2 * m, NONE),  # before
        np.full(2 * m, NONE),  # after
        head,
        w.copy(),
        low.copy(),
        np.abs(w),  # size
        np.zeros(n, np.int64),  # degree
        np.zeros(n),  # total
        np.zeros(n),  # positive
        queue,
        changed.copy(),  # queued
        np.array([0, waiting, 0]),  # limits
        np.full(n, NONE),  # seen
        np.empty((2, n)),  # pairs
        np.zeros(1),  # off
        0.0 if exact else ROUNDING,
        residue,
    )
    _link_all(graph)
    return graph


@inlined
def rest(graph: Multigraph) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """List the edges that are left: their ends and both parts of their weights."""
    m = len(graph.weight)
    u, v = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    w, low = np.empty(m), np.empty(m)
    k = 0
    for x in range(len(graph.first)):
        if graph.parent[x] != x:
            continue
        h = graph.first[x]
        while h != NONE:
            y = find(graph.parent, graph.head[h])
            if x < y:
                u[k], v[k], w[k], low[k] = x, y, graph.weight[h >> 1], graph.low[h >> 1]
                k += 1
            h = graph.after[h]
    return u[:k], v[:k], w[:k], low[:k]


@borrowing
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


@borrowing
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


@borrowing
def push(graph: Multigraph, x: int) -> None:
    """Queue a node whose edges have changed."""
    if not graph.queued[x]:
        graph.queued[x] = True
        graph.queue[(graph.limits[0] + graph.limits[1]) % len(graph.queue)] = x
        graph.limits[1] += 1


@borrowing
def rounded_down(high: float, low: float) -> float:
    """Round a pair (see ``sums.py``) down to a float64."""
    return float(np.nextafter(high, -np.inf)) if low < 0.0 else high


@borrowing
def tidy(graph: Multigraph, x: int, log: Log) -> None:
    """Sum parallel edges of x, drop its loops and zeros, and note its neighbours in ``seen``.

    Residues are dropped too: cutting them or not changes any cost by no more than their weight.
    """
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
            e, other = graph.seen[y] >> 1, h >> 1
            graph.weight[e], graph.low[e], lost = add(
                graph.weight[e], graph.low[e], graph.weight[other], graph.low[other]
            )
            graph.off[0] += lost
            graph.size[e] = max(graph.size[e], graph.size[other])
            unlink(graph, x, h)
            unlink(graph, y, h ^ 1)
            push(graph, y)
        h = following
    h = graph.first[x]
    while h != NONE:
        e = h >> 1
        if abs(graph.weight[e]) <= graph.residue * graph.size[e]:
            if graph.weight[e] != 0.0:
                cost = min(0.0, rounded_down(graph.weight[e], graph.low[e]))
                record(log, SEPARATED, x, graph.head[h], cost)
                graph.off[0] += abs(graph.weight[e]) + abs(graph.low[e])
            drop(graph, x, h)
        graph.size[e] = abs(graph.weight[e])
        h = graph.after[h]


@borrowing
def drop(graph: Multigraph, x: int, h: int) -> None:
    """Drop the edge of a half-edge of x."""
    y = graph.head[h]
    graph.seen[y] = NONE
    unlink(graph, x, h)
    unlink(graph, y, h ^ 1)
    push(graph, y)


@borrowing
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
