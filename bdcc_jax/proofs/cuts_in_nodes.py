"""What cut inequalities of lifted multicut say of nodes: a set of them, by the edges that leave it.

The row of a lifted edge vw and a set S, with v inside and w outside, is ::

    sum over ordinary edges e that leave S of x_e  -  x_vw  <=  how many these are - 1 .
"""

import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, IntArray
from ..base.compiled import compiled
from ..instance.graph import Graph


class CutsInNodes:
    """Finds the set of nodes of a cut inequality.

    Parameters
    ----------
    graph : Graph
        An instance with lifted edges.
    """

    def __init__(self, graph: Graph) -> None:
        assert graph.lifted is not None
        ordinary = np.flatnonzero(~graph.lifted)
        u, v = graph.edges[ordinary].T
        self._graph, self._lifted = graph, graph.lifted
        self._at = adjacency(graph.n, u, v, ordinary)
        self._cut = np.zeros(graph.m, dtype=bool)

    def __call__(
        self, edges: list[int], values: list[float], upper: float
    ) -> tuple[str, float, list[int]] | None:
        """The kind, 1, and v, w, then the other nodes of S; None if the row is no such one."""
        negative = [e for e, value in zip(edges, values, strict=True) if value < 0]
        if len(negative) != 1 or not self._lifted[negative[0]] or upper != len(edges) - 2:
            return None
        v, w = self._graph.edges[negative[0]].tolist()
        cut = np.array([e for e in edges if e != negative[0]], dtype=np.int64)
        self._cut[cut] = True
        sides = [(*_side(self._at, self._cut, a), a, b) for a, b in ((v, w), (w, v))]
        self._cut[cut] = False
        # Either side will do that all these edges leave.
        side, a, b = min(
            ((nodes, a, b) for nodes, leaving, a, b in sides if leaving == len(cut)),
            key=lambda one: len(one[0]),
        )
        return "cut", 1.0, [a, b, *side[side != a].tolist()]


@compiled
def _side(at: Adjacency, cut: BoolArray, start: int) -> tuple[IntArray, int]:
    """The nodes that ordinary edges lead to which are not cut, and how many leave them."""
    n = len(at.starts) - 1
    seen, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    seen[start], queue[0], size, i, leaving = True, start, 1, 0, 0
    while i < size:
        u = queue[i]
        i += 1
        for k in range(at.starts[u], at.starts[u + 1]):
            h = at.neighbours[k]
            if cut[at.edges[k]]:
                leaving += 1
            elif not seen[h]:
                seen[h] = True
                queue[size] = h
                size += 1
    return queue[:size].copy(), leaving
