"""An order of the nodes in which neighbours are close: in memory, and in the same block.

The nodes are cut into halves, which are cut into halves again: each time by the order in which a
search, breadth first, from one end of the part reaches them. So consecutive nodes make blocks with
few edges between them where the graph allows that, as planar and grid-like graphs do.
"""

import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import IntArray
from ..base.compiled import compiled
from .graph import Graph


def nested_order(graph: Graph, smallest: int) -> IntArray:
    """The nodes, one after another; parts with no more than ``smallest`` nodes are not cut.

    Examples
    --------
    The two halves of a path whose nodes are numbered at random, one after the other:

    >>> path = Graph(6, [(3, 0), (0, 4), (4, 1), (1, 5), (5, 2)], [1.0] * 5)
    >>> nested_order(path, 3).tolist()
    [1, 5, 2, 3, 0, 4]
    """
    u, v = graph.edges.T
    return _halved(adjacency(graph.n, u, v, np.arange(graph.m)), smallest)


@compiled
def _halved(around: Adjacency, smallest: int) -> IntArray:
    n = len(around.starts) - 1
    order, found = np.arange(n), np.empty(n, np.int64)
    part = np.zeros(n, np.int64)  # 2 p while nodes of part p wait, 2 p + 1 once they are found
    bounds, parts = [(0, n)], 0
    while len(bounds) > 0:
        a, b = bounds.pop()
        start = order[a]
        for _ in range(2):  # the node that is found last is at one end
            for i in range(a, b):
                part[order[i]] = 2 * parts
            last = _search(around, start, order, a, b, part, 2 * parts, found)
            parts += 1
            start = last
        for i in range(a, b):
            order[i] = found[i - a]
        if b - a > smallest:
            middle = (a + b) // 2
            bounds.append((middle, b))
            bounds.append((a, middle))
    return order


@compiled
def _search(
    around: Adjacency,
    start: int,
    order: IntArray,
    a: int,
    b: int,
    part: IntArray,
    waits: int,
    found: IntArray,
) -> int:
    """Find all nodes of a part, breadth first; returns the last one that hangs on the first.

    Those that do not are found after it, in the order of ``order``.
    """
    size, i, last = 1, 0, start
    found[0], part[start] = start, waits + 1
    following = a
    while size < b - a or i < size:
        if i == size:
            while part[order[following]] != waits:
                following += 1
            found[size] = order[following]
            part[order[following]] = waits + 1
            size += 1
        node = found[i]
        i += 1
        for k in range(around.starts[node], around.starts[node + 1]):
            other = around.neighbours[k]
            if part[other] == waits:
                part[other] = waits + 1
                found[size] = other
                size += 1
        if following == a:
            last = found[size - 1]
    return last
