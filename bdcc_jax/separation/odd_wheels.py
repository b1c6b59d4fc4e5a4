"""Odd-wheel inequalities: what the cycle inequalities cannot see.

A hub v and an odd cycle of k of its neighbours, the rim, satisfy::

    sum over rim edges ij of x_ij  -  sum over spokes vi of x_vi  <=  (k - 1) / 2

for every clustering: a rim edge is cut only if one of its ends is cut off from the hub, and an odd
cycle cannot alternate. Half of each spoke belongs to either rim edge at its end, so the inequality
is violated iff the odd cycle is shorter than 1/2 in the lengths ::

    c_ij = 1/2 - x_ij + (x_vi + x_vj) / 2,

which are not negative where the cycle inequalities hold. The shortest odd cycle through i is a
shortest path from i to its mirror image in two copies of the graph whose edges all change the copy.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock, TimeLimitReached
from ..base.compiled import compiled
from ..base.heap import drop_top, push
from ..base.path_search import Network, network
from ..instance.graph import Graph
from ..lp.rows import Rows
from .separation import Separation

LEAST_VIOLATION = 1e-3
"""Wheels that are violated by less hardly move the bound."""

FRACTIONAL = 1e-6
"""Spokes that are this close to 0 or 1 are left out."""


def violated_wheels(graph: Graph, x: FloatArray, clock: Clock | None = None) -> Rows:
    """Odd wheels that x violates, at most one for every hub and rim edge.

    Raises TimeLimitReached if the clock ends the search before there is any.

    Examples
    --------
    The smallest wheel is K4; the LP of its cycle inequalities is content with x = 1/2 and 1:

    >>> k4 = Graph(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], [1, 1, 1, -1, -1, -1])
    >>> rows = violated_wheels(k4, np.array([0.5, 0.5, 0.5, 1.0, 1.0, 1.0]))
    >>> rows.violation(np.array([0.5, 0.5, 0.5, 1.0, 1.0, 1.0])).tolist(), rows.upper.tolist()
    ([0.5], [1.0])
    """
    u, v = graph.edges.T
    with (clock or Clock(None)).alarm() as stop:
        rims, spokes, ends = _wheels(network(graph.n, u, v, np.arange(graph.m)), x, stop)
        if stop[0] and len(ends) == 1:
            raise TimeLimitReached
    lengths = np.diff(ends)
    row = np.repeat(np.arange(len(lengths)), lengths)
    rows, indices = np.concatenate([row, row]), np.concatenate([rims, spokes])
    values = np.repeat([1.0, -1.0], len(row))
    order = np.argsort(rows, kind="stable")
    return Rows(2 * ends, indices[order].astype(np.int32), values[order], (lengths - 1) / 2)


class OddWheels:
    """Odd wheels for the loop, as long as the last ones have closed a share of the gap.

    Parameters
    ----------
    graph : Graph
        The instance.
    share : float
        Of the gap, which wheels have to close.
    bounds : callable
        Returns the lower and the upper bound as they are now.
    """

    def __init__(
        self, graph: Graph, share: float, bounds: Callable[[], tuple[float, float]]
    ) -> None:
        self._graph, self._share, self._bounds = graph, share, bounds
        self._before = -inf  # the lower bound when wheels were last looked for

    def __call__(self, x: FloatArray, clock: Clock) -> Separation:
        """Wheels that x violates, all cycle inequalities being satisfied."""
        lower, upper = self._bounds()
        if lower - self._before < self._share * (upper - lower):
            return Separation.nothing_violated()
        self._before = lower
        with clock.measure("subproblems"):
            rows = violated_wheels(self._graph, x, clock)
        return Separation(rows, violated_roots=0, fallbacks=0, satisfied=True)


@compiled
def _wheels(edges: Network, x: FloatArray, stop: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Rim edges and spokes of all wheels, one after another, and where each begins.

    Another thread may set ``stop``: then no further wheel is looked for.
    """
    starts, heads, ids = edges
    n = len(starts) - 1
    local = np.full(n, -1)
    rims, spokes, ends = [0 for _ in range(0)], [0 for _ in range(0)], [0]
    for hub in range(n):
        if stop[0]:
            break
        around = [0 for _ in range(0)]
        for k in range(starts[hub], starts[hub + 1]):
            if FRACTIONAL < x[ids[k]] < 1.0 - FRACTIONAL:
                local[heads[k]] = len(around)
                around.append(k)
        size = len(around)
        if size >= 3:
            tail, head, edge = _rim_graph(edges, around, local)
            _rims(size, tail, head, edge, ids, around, x, rims, spokes, ends, stop)
        for k in around:
            local[heads[k]] = -1
    return np.array(rims), np.array(spokes), np.array(ends)


@compiled
def _rim_graph(
    edges: Network, around: list[int], local: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The edges between the neighbours of a hub: slices by local node, local heads, edge ids."""
    starts, heads, ids = edges
    first = np.zeros(len(around) + 1, np.int64)
    head, edge = [np.int32(0) for _ in range(0)], [np.int32(0) for _ in range(0)]
    for i in range(len(around)):
        node = heads[around[i]]
        for k in range(starts[node], starts[node + 1]):
            if local[heads[k]] >= 0:
                head.append(np.int32(local[heads[k]]))
                edge.append(ids[k])
        first[i + 1] = len(head)
    return first, np.array(head, dtype=np.int64), np.array(edge, dtype=np.int64)


@compiled
def _rims(
    size: int,
    first: IntArray,
    head: IntArray,
    edge: IntArray,
    ids: NDArray[np.int32],
    around: list[int],
    x: FloatArray,
    rims: list[int],
    spokes: list[int],
    ends: list[int],
    stop: BoolArray,
) -> None:
    """From every neighbour i the shortest odd cycle through it, if it is violated and new."""
    spoke = np.empty(size, np.int64)
    for i in range(size):
        spoke[i] = ids[around[i]]
    used = np.zeros(len(head), np.bool_)
    distance, arc = np.empty(2 * size), np.empty(2 * size, np.int64)
    keys, nodes = np.empty(2 * len(head) + 1), np.empty(2 * len(head) + 1, np.int32)
    last = np.full(size, -1)  # the start whose rim a node is on
    for i in range(size):
        if stop[0]:
            break
        # Node j of copy 0 is j, of copy 1 it is j + size.
        distance[:] = np.inf
        distance[i], arc[i] = 0.0, -1
        keys[0], nodes[0], count = 0.0, i, 1
        while count > 0:
            d, u = keys[0], nodes[0]
            drop_top(keys, nodes, count)
            count -= 1
            if d > distance[u] or u == i + size:
                if u == i + size:
                    break
                continue
            a, other = (u, size) if u < size else (u - size, 0)
            for k in range(first[a], first[a + 1]):
                if used[k]:
                    continue
                b = head[k]
                # Below 0 only by what the LP solver's tolerance lets cycle inequalities be off.
                there = d + max(0.0, 0.5 - x[edge[k]] + 0.5 * (x[spoke[a]] + x[spoke[b]]))
                if there < 0.5 - LEAST_VIOLATION and there < distance[b + other]:
                    distance[b + other], arc[b + other] = there, k
                    push(keys, nodes, count, there, b + other)
                    count += 1
        if distance[i + size] == np.inf:
            continue
        # Walk back; a walk that meets a node twice is no cycle.
        mark, simple, u = len(rims), True, i + size
        while arc[u] >= 0 and simple:
            k = arc[u]
            b = u - size if u >= size else u
            simple = last[b] != i
            last[b] = i
            rims.append(edge[k])
            spokes.append(spoke[b])
            # The tail of arc k is the node whose slice holds it.
            a = np.searchsorted(first, k, side="right") - 1
            u = a if u >= size else a + size
        if not simple:
            while len(rims) > mark:
                rims.pop()
                spokes.pop()
            continue
        ends.append(len(rims))
        for k in range(len(head)):
            for j in range(mark, len(rims)):
                if edge[k] == rims[j]:
                    used[k] = True
