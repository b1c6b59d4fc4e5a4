"""The independent pieces of an instance, and what is known about each after the LP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import fsum

import numpy as np

from .arrays import FloatArray, IntArray
from .graph import Graph
from .master import lagrangian_bound


class Pieces:
    """The connected components of a graph, cheapest first, each with a lower bound of its own.

    Parameters
    ----------
    graph : Graph
        The instance.
    reduced : ndarray, shape (m,)
        Reduced costs; see :func:`bdcc_jax.master.reduced_costs`.
    """

    def __init__(self, graph: Graph, reduced: FloatArray) -> None:
        self._graph = graph
        piece = graph.components(np.ones(graph.m, dtype=bool))
        edge_piece = piece[graph.edges[:, 0]]
        self._nodes = _groups(piece)
        self._edges = _groups(edge_piece, len(self._nodes))
        self._bounds = [lagrangian_bound(reduced[edges]) for edges in self._edges]

    def __len__(self) -> int:
        return len(self._nodes)

    def open(self, labels: IntArray, tolerance: float) -> Iterator[int]:
        """The pieces, smallest first, of which a clustering may still not be the optimum."""
        cost = self._graph.weights * self._graph.cut(labels)
        for i in sorted(range(len(self)), key=lambda i: len(self._edges[i])):
            if fsum(cost[self._edges[i]]) - self._bounds[i] > tolerance / len(self):
                yield i

    def graph(self, i: int) -> Graph:
        """Piece i as an instance."""
        local = np.searchsorted(self._nodes[i], self._graph.edges[self._edges[i]])
        return Graph(len(self._nodes[i]), local, self._graph.weights[self._edges[i]])

    def restrict(self, i: int, labels: IntArray) -> IntArray:
        """The labels of piece i."""
        return labels[self._nodes[i]]

    def lift(self, i: int, labels: IntArray) -> Callable[[IntArray], IntArray]:
        """How a clustering of piece i becomes one of all, the others being as in ``labels``."""

        def lifted(of_piece: IntArray) -> IntArray:
            together = labels.copy()
            together[self._nodes[i]] = of_piece + self._graph.n
            return together

        return lifted

    def bound_of_others(self, i: int) -> float:
        """What all pieces but i cost at least."""
        return fsum(self._bounds) - self._bounds[i]

    def raise_bound(self, i: int, bound: float) -> None:
        """Take a better lower bound on piece i."""
        self._bounds[i] = max(self._bounds[i], bound)


def _groups(labels: IntArray, count: int | None = None) -> list[IntArray]:
    """The positions of every label, in ascending order."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels, minlength=count or 0)
    return np.split(order, np.cumsum(sizes)[:-1])
