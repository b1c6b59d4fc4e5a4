"""Cut inequalities of lifted multicut: the ends of a pair that is kept are connected.

Let v and w be the ends of a lifted edge, and S a set of nodes with v inside and w outside. Clusters
are connected by ordinary edges. So if v and w are in one cluster, an ordinary edge that leaves S is
kept::

    1 - x_vw  <=  sum over ordinary edges e that leave S  (1 - x_e) .

The smallest right-hand side is a minimum cut with the capacities ``1 - x_e``, found by augmenting
paths. Ordinary edges with ``x_e = 0`` are as wide as any left-hand side, so their ends are one
node; those with ``x_e = 1`` are closed: the network has only the edges in between, mostly few.
"""

from typing import NamedTuple

import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.compiled import borrowing, compiled
from ..base.components import connected_components
from ..instance.graph import Graph
from ..lp.rows import Rows
from .paper.ball import VIOLATION
from .separation import Separation

ZERO = 1e-9
"""Capacities that differ from 0 or 1 by less are rounding errors of the LP solver."""

ISLANDS = 4096
"""So many nodes are visited to see which edges that leave S do not lead to w, and are left out."""

LONGEST = 2_000
"""Rows with more edges than this are added only if there are no shorter ones: they say little."""


class ConnectingCuts:
    """Separates cut inequalities exactly: for every lifted edge one, if there is a violated one.

    Parameters
    ----------
    graph : Graph
        An instance with lifted edges.
    """

    def __init__(self, graph: Graph) -> None:
        assert graph.lifted is not None
        self._graph, self._lifted = graph, np.flatnonzero(graph.lifted)
        ordinary = np.flatnonzero(~graph.lifted)
        u, v = graph.edges[ordinary].T
        self._ordinary = ordinary
        self._at = adjacency(graph.n, u, v, ordinary)

    def __call__(self, x: FloatArray, clock: Clock) -> Separation:
        """Cut inequalities that x violates: some whenever there are any."""
        graph, ordinary = self._graph, self._ordinary
        with clock.measure("detection"), clock.alarm() as stop:
            u, v = graph.edges[ordinary].T
            node = connected_components(graph.n, u, v, x[ordinary] <= ZERO)
            between = ordinary[(x[ordinary] > ZERO) & (x[ordinary] < 1.0 - ZERO)]
            a, b = node[graph.edges[between]].T
            proper = a != b
            between, a, b = between[proper], a[proper], b[proper]
            groups = int(node.max()) + 1
            network = _new_network(groups, a, b, 1.0 - x[between])
            pairs = self._lifted[x[self._lifted] < 1.0 - VIOLATION]
            pairs = pairs[node[graph.edges[pairs, 0]] != node[graph.edges[pairs, 1]]]
            members = np.argsort(node, kind="stable")
            firsts = np.searchsorted(node[members], np.arange(groups + 1))
            starts, edges = _violated_cuts(
                self._at, graph.edges, network, node, members, firsts, pairs, 1.0 - x[pairs], stop
            )
        clock.check()
        if len(starts) == 1:
            return Separation.nothing_violated()
        rows = rows_of_cuts(starts, edges)
        short = np.diff(starts) <= LONGEST
        if short.any():
            rows = rows.take(short)
        return Separation(rows, len(starts) - 1, fallbacks=0, satisfied=False)


def rows_of_cuts(starts: IntArray, edges: IntArray) -> Rows:
    """Rows ``sum of x over the cut - x_vw <= size of the cut - 1``; the pair vw comes first."""
    values = np.ones(len(edges))
    values[starts[:-1]] = -1.0
    return Rows(starts, edges.astype(np.int32), values, np.diff(starts) - 2.0)


class Network(NamedTuple):
    """Groups of nodes, and the edges between them that are neither closed nor wide.

    Edge i joins the groups ``a[i]`` and ``b[i]``; what flows from a to b is ``flow[i]``, negative
    if it flows back. ``used`` are the edges that have had a flow. ``reached[g]`` is the edge
    that group g was reached by, -1 if it was not; ``queue[: size[0]]`` are the groups that were.
    """

    at: Adjacency
    a: IntArray
    b: IntArray
    capacity: FloatArray
    flow: FloatArray
    used: IntArray
    is_used: BoolArray
    reached: IntArray
    queue: IntArray
    size: IntArray


@compiled
def _new_network(groups: int, a: IntArray, b: IntArray, capacity: FloatArray) -> Network:
    m = len(capacity)
    return Network(
        adjacency(groups, a, b, np.arange(m)),
        a,
        b,
        capacity,
        np.zeros(m),
        np.empty(m, np.int64),
        np.zeros(m, np.bool_),
        np.full(groups, -1),
        np.empty(groups, np.int64),
        np.zeros(1, np.int64),
    )


@compiled
def _violated_cuts(
    at: Adjacency,
    ends: IntArray,
    network: Network,
    node: IntArray,
    members: IntArray,
    firsts: IntArray,
    pairs: IntArray,
    demand: FloatArray,
    stop: BoolArray,
) -> tuple[IntArray, IntArray]:
    """Pairs with the edges of a violated cut behind them, one after another, and their starts.

    ``at`` has the ordinary edges; the nodes of group g of the network are
    ``members[firsts[g] : firsts[g + 1]]``.
    """
    n = len(at.starts) - 1
    seen, queue = np.zeros(n, np.int64), np.empty(n, np.int64)
    found, starts = [np.int64(0) for _ in range(0)], [0]
    for i in range(len(pairs)):
        if stop[0]:
            break
        v, w = ends[pairs[i], 0], ends[pairs[i], 1]
        source, sink = node[v], node[w]
        sent, touched = 0.0, 0
        while sent < demand[i] - VIOLATION:
            _reach(network, source, sink, 1.0)
            if network.reached[sink] < 0:
                break
            amount, touched = _augment(network, source, sink, demand[i], touched)
            sent += amount
        if sent < demand[i] - VIOLATION:
            # The smallest sets on either side of a minimum cut: the one that fewer edges leave.
            size = _reach(network, source, sink, 1.0)
            near = _leaving(at, network.queue[:size], members, firsts, w, seen, queue)
            size = _reach(network, sink, source, -1.0)
            far = _leaving(at, network.queue[:size], members, firsts, v, seen, queue)
            found.append(pairs[i])
            for e in near if len(near) <= len(far) else far:
                found.append(e)
            starts.append(len(found))
        for k in range(touched):
            e = network.used[k]
            network.flow[e], network.is_used[e] = 0.0, False
    return np.array(starts, dtype=np.int64), np.array(found, dtype=np.int64)


@borrowing
def _reach(network: Network, source: int, sink: int, direction: float) -> int:
    """Follow residual edges breadth first until the sink is reached; how many groups were.

    With the direction -1 they are followed backwards.
    """
    at, queue, reached = network.at, network.queue, network.reached
    for k in range(network.size[0]):
        reached[queue[k]] = -1
    queue[0], size, i = source, 1, 0
    reached[source] = len(network.flow)  # by no edge, but reached
    while i < size and reached[sink] < 0:
        g = queue[i]
        i += 1
        for k in range(at.starts[g], at.starts[g + 1]):
            h, e = at.neighbours[k], at.edges[k]
            sent = direction * (network.flow[e] if network.a[e] == g else -network.flow[e])
            if reached[h] < 0 and network.capacity[e] - sent > ZERO:
                reached[h] = e
                queue[size] = h
                size += 1
    network.size[0] = size
    return size


@borrowing
def _augment(
    network: Network, source: int, sink: int, most: float, touched: int
) -> tuple[float, int]:
    """Send what fits along the path to the sink; also how many edges have had a flow by now."""
    a, b, flow = network.a, network.b, network.flow
    amount, h = most, sink
    while h != source:
        e = network.reached[h]
        amount = min(amount, network.capacity[e] - (flow[e] if b[e] == h else -flow[e]))
        h = a[e] + b[e] - h
    h = sink
    while h != source:
        e = network.reached[h]
        flow[e] += amount if b[e] == h else -amount
        if not network.is_used[e]:
            network.is_used[e] = True
            network.used[touched] = e
            touched += 1
        h = a[e] + b[e] - h
    return amount, touched


@compiled
def _leaving(
    at: Adjacency,
    groups: IntArray,
    members: IntArray,
    firsts: IntArray,
    target: int,
    seen: IntArray,
    queue: IntArray,
) -> IntArray:
    """The ordinary edges that leave some groups, but for those to where nothing leads to target.

    ``seen`` is 1 on the groups and 2 on what is found to lead to the target; zero again at the end.
    """
    # From the target, as far as the nodes next to the groups: they, or all of them, are met soon.
    count, missing = 0, 0
    for g in groups:
        for k in range(firsts[g], firsts[g + 1]):
            seen[members[k]] = 1
    for g in groups:
        for k in range(firsts[g], firsts[g + 1]):
            for j in range(at.starts[members[k]], at.starts[members[k] + 1]):
                if seen[at.neighbours[j]] == 0:
                    seen[at.neighbours[j]] = 3
                    queue[count] = at.neighbours[j]
                    count += 1
    border, missing = queue[:count].copy(), count
    if seen[target] == 3:
        missing -= 1
    seen[target], queue[0], size, i = 2, target, 1, 0
    while i < size and missing > 0 and i < ISLANDS:
        u = queue[i]
        i += 1
        for j in range(at.starts[u], at.starts[u + 1]):
            h = at.neighbours[j]
            if seen[h] == 0 or seen[h] == 3:
                missing -= seen[h] == 3
                seen[h] = 2
                queue[size] = h
                size += 1
    everywhere = i == size  # all that leads to the target has been seen
    found = [np.int64(0) for _ in range(0)]
    for g in groups:
        for k in range(firsts[g], firsts[g + 1]):
            for j in range(at.starts[members[k]], at.starts[members[k] + 1]):
                side = seen[at.neighbours[j]]
                if side == 2 or (side == 3 and not everywhere):
                    found.append(np.int64(at.edges[j]))
    for g in groups:
        for k in range(firsts[g], firsts[g + 1]):
            seen[members[k]] = 0
    for u in border:
        seen[u] = 0
    for k in range(size):
        seen[queue[k]] = 0
    return np.array(found, dtype=np.int64)
