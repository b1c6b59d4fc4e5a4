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

from collections.abc import Callable
from math import inf

import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock, TimeLimitReached
from ..base.compiled import compiled
from ..base.path_search import clear, new_tree, search
from ..instance.graph import Graph
from ..lp.rows import Rows
from .separation import Separation

LEAST_VIOLATION = 1e-3
"""Wheels that are violated by less than this are not added: they hardly move the bound."""

FRACTIONAL_SPOKE = 1e-6
"""Only spokes with x between this and one minus this are used."""


def violated_wheels(
    graph: Graph,
    x: FloatArray,
    clock: Clock | None = None,
) -> Rows:
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
        edges = adjacency(graph.n, u, v, np.arange(graph.m))
        rims, spokes, ends = _wheels(edges, x, stop)
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
def _wheels(
    edges: Adjacency, x: FloatArray, stop: BoolArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Rim edges and spokes of all wheels, one after another, and where each begins.

    Another thread may set ``stop``: then no further wheel is looked for.
    """
    starts, neighbours, ids = edges
    n = len(starts) - 1
    local = np.full(n, -1)
    rims, spokes, ends = [0 for _ in range(0)], [0 for _ in range(0)], [0]
    for hub in range(n):
        if stop[0]:
            break
        around = [0 for _ in range(0)]
        for k in range(starts[hub], starts[hub + 1]):
            if FRACTIONAL_SPOKE < x[ids[k]] < 1.0 - FRACTIONAL_SPOKE:
                local[neighbours[k]] = len(around)
                around.append(k)
        if len(around) >= 3:
            _rims(edges, around, local, x, rims, spokes, ends, stop)
        for k in around:
            local[neighbours[k]] = -1
    return (
        np.array(rims, dtype=np.int64),
        np.array(spokes, dtype=np.int64),
        np.array(ends, dtype=np.int64),
    )


@compiled
def _two_copies(
    edges: Adjacency,
    around: list[int],
    local: IntArray,
    x: FloatArray,
    spoke: IntArray,
) -> tuple[Adjacency, IntArray, FloatArray]:
    """The edges between the neighbours of a hub, from either copy of the graph to the other.

    Node i of copy 0 is i, of copy 1 it is ``i + size``. The arcs are numbered as in copy 0, and
    these are the edges of the adjacency; also returned are the edge and the length of each arc.
    Arcs that are too long to be on a violated rim are left out.
    """
    starts, neighbours, ids = edges
    size = len(around)
    first = np.zeros(2 * size + 1, np.int64)
    head, edge, length = [0 for _ in range(0)], [0 for _ in range(0)], [0.0 for _ in range(0)]
    for i in range(size):
        node = neighbours[around[i]]
        for k in range(starts[node], starts[node + 1]):
            j = local[neighbours[k]]
            if j < 0:
                continue
            # Below 0 only by what the LP solver's tolerance lets cycle inequalities be off.
            c = max(0.0, 0.5 - x[ids[k]] + 0.5 * (x[spoke[i]] + x[spoke[j]]))
            if c < 0.5 - LEAST_VIOLATION:
                head.append(j)
                edge.append(ids[k])
                length.append(c)
        first[i + 1] = len(head)
    first[size + 1 :] = len(head) + first[1 : size + 1]
    heads, arcs = np.array(head, dtype=np.int32), np.arange(len(head)).astype(np.int32)
    both = np.concatenate((heads + np.int32(size), heads))
    copies = Adjacency(first, both, np.concatenate((arcs, arcs)))
    return copies, np.array(edge, dtype=np.int64), np.array(length, dtype=np.float64)


@compiled
def _rims(
    edges: Adjacency,
    around: list[int],
    local: IntArray,
    x: FloatArray,
    rims: list[int],
    spokes: list[int],
    ends: list[int],
    stop: BoolArray,
) -> None:
    """From every neighbour i the shortest odd cycle through it, if it is violated and new."""
    size = len(around)
    spoke = np.empty(size, np.int64)
    for i in range(size):
        spoke[i] = edges.edges[around[i]]
    copies, edge, length = _two_copies(edges, around, local, x, spoke)
    unused = np.ones(len(edge))
    tree = new_tree(copies)
    last = np.full(size, -1)  # the start whose rim a node is on
    for i in range(size):
        if stop[0]:
            break
        mirror = i + size
        tree.wanted[mirror] = True
        touched = search(
            i, copies, tree, length, unused, 0.5, 0.0, 0.5 - LEAST_VIOLATION, 1, 2 * size, 2 * size
        )
        tree.wanted[mirror] = False
        found = tree.distance[mirror] < np.inf
        # Walk back; a walk that meets a node twice is no cycle.
        mark, simple, u = len(rims), True, mirror
        while found and u != i and simple:
            b = u % size
            simple = last[b] != i
            last[b] = i
            rims.append(edge[tree.edge[u]])
            spokes.append(spoke[b])
            u = tree.parent[u]
        clear(tree, touched)
        if not simple:
            while len(rims) > mark:
                rims.pop()
                spokes.pop()
        elif found:
            ends.append(len(rims))
            for k in range(len(edge)):
                for j in range(mark, len(rims)):
                    if edge[k] == rims[j]:
                        unused[k] = 0.0
