"""The edges at every node: the one form in which compiled loops and NumPy read a graph."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import IntArray
from .compiled import compiled


class Adjacency(NamedTuple):
    """Two arcs for every edge, one at each end, sorted by the node that they leave.

    The arcs of node v are ``k = starts[v] .. starts[v + 1] - 1``. Arc k leads to ``neighbours[k]``
    along the edge ``edges[k]``.
    """

    starts: IntArray
    neighbours: NDArray[np.int32]
    edges: NDArray[np.int32]


@compiled
def adjacency(n: int, u: IntArray, v: IntArray, edges: IntArray) -> Adjacency:
    """Sort the two arcs of every edge by node; edge ``edges[i]`` joins ``u[i]`` and ``v[i]``.

    At each node the arcs to the ``v`` come first, then those to the ``u``, both in the order of
    the edges.
    """
    m = len(u)
    starts = np.zeros(n + 1, np.int64)
    for i in range(m):
        starts[u[i]] += 1
        starts[v[i]] += 1
    # Ends of the slices for now: filling from the back turns them into starts.
    for node in range(n):
        starts[node + 1] += starts[node]
    neighbours, ids = np.empty(2 * m, np.int32), np.empty(2 * m, np.int32)
    for i in range(m - 1, -1, -1):
        starts[v[i]] -= 1
        neighbours[starts[v[i]]], ids[starts[v[i]]] = u[i], edges[i]
    for i in range(m - 1, -1, -1):
        starts[u[i]] -= 1
        neighbours[starts[u[i]]], ids[starts[u[i]]] = v[i], edges[i]
    return Adjacency(starts, neighbours, ids)
