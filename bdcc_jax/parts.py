"""Node-disjoint parts of an instance, each of which raises the lower bound by itself.

The LP has relaxed the rows ``omega_i x <= b_i`` with multipliers y. Take those rows back that lie
inside a part, and relax only the others. The Lagrangian then falls apart::

    w x  >=  -b y  +  sum over edges e outside of all parts  min(0, r_e)
                   +  sum over parts                         r x on the part,     r = w + omega^T y,

where the sums of y go over the relaxed rows only. A part is a small instance with the weights r,
and its optimum can be found exactly: what the LP misses there is added to the bound. Parts that no
row and no edge leaves are independent pieces of the instance itself, with r = w.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import fsum

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .arrays import BoolArray, FloatArray, IntArray
from .fixing import FRACTIONAL
from .graph import Graph
from .lagrangian import Lagrangian
from .rows import Rows


class Parts:
    """What is known about each part.

    Parameters
    ----------
    graph : Graph
        The instance.
    rows, multipliers : Rows, ndarray
        The rows of the LP and their y.
    part : ndarray of int, shape (n,)
        The part of every node, 0, 1, ...; -1 for nodes in none.
    """

    def __init__(self, graph: Graph, rows: Rows, multipliers: FloatArray, part: IntArray) -> None:
        self._graph = graph
        u, v = part[graph.edges].T
        edge_part = np.where(u == v, u, -1)
        row_part = _common(edge_part[rows.indices], rows.starts)
        relaxed = row_part < 0
        left = Lagrangian.of(graph.weights, rows.take(relaxed), multipliers[relaxed])
        everything = Lagrangian.of(graph.weights, rows, multipliers)
        outside = edge_part < 0
        self.reduced: FloatArray = left.reduced
        self._outside = Lagrangian(left.reduced[outside], left.constant).bound
        count = int(part.max(initial=-1)) + 1
        self._nodes, self._edges = _groups(part, count), _groups(edge_part, count)
        products = multipliers * rows.upper
        self._bounds = [
            Lagrangian(everything.reduced[edges], -fsum(products[inside])).bound
            for edges, inside in zip(self._edges, _groups(row_part, count), strict=True)
        ]
        self.outside: BoolArray = outside

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def bound(self) -> float:
        """What every clustering costs at least."""
        return fsum([self._outside, *self._bounds])

    @property
    def largest(self) -> int:
        """Number of edges of the largest part."""
        return max((len(edges) for edges in self._edges), default=0)

    def smallest_first(self) -> Iterator[int]:
        """The parts by their number of edges."""
        return iter(sorted(range(len(self)), key=lambda i: len(self._edges[i])))

    def instance(self, i: int) -> Graph:
        """Part i, with the weights r."""
        local = np.searchsorted(self._nodes[i], self._graph.edges[self._edges[i]])
        return Graph(len(self._nodes[i]), local, self.reduced[self._edges[i]])

    def gap(self, i: int, labels: IntArray) -> float:
        """How much cheaper part i could be than in a clustering."""
        edges = self._edges[i]
        return fsum(self.reduced[edges[self._graph.cut(labels)[edges]]]) - self._bounds[i]

    def lift(self, i: int, labels: IntArray) -> Callable[[IntArray], IntArray]:
        """How a clustering of part i becomes one of all, the rest being as in ``labels``."""

        def lifted(of_part: IntArray) -> IntArray:
            together = labels.copy()
            together[self._nodes[i]] = of_part + self._graph.n
            return together

        return lifted

    def rest_of_bound(self, i: int) -> float:
        """The bound without the share of part i."""
        return self.bound - self._bounds[i]

    def raise_bound(self, i: int, bound: float) -> None:
        """Take a better lower bound on part i."""
        self._bounds[i] = max(self._bounds[i], bound)


def pieces(graph: Graph, rows: Rows, multipliers: FloatArray) -> Parts:
    """The connected components: independent, and nothing is outside of them."""
    return Parts(graph, rows, multipliers, graph.components(np.ones(graph.m, dtype=bool)))


def fractional_spots(graph: Graph, rows: Rows, multipliers: FloatArray, x: FloatArray) -> Parts:
    """The surroundings of the fractional edges: the nodes of all rows that make them so."""
    fractional = np.minimum(x, 1.0 - x) > FRACTIONAL
    row = rows.row_of_entry()
    involved = np.bincount(row, fractional[rows.indices], len(rows)) > 0
    involved &= multipliers > 0
    entries = involved[row]
    ends = graph.edges[rows.indices[entries]]
    # Nodes that share a row are in one spot: components of the graph of rows and nodes.
    links = np.ravel(ends), graph.n + np.repeat(row[entries], 2)
    size = graph.n + len(rows)
    incidence = sp.coo_array((np.ones(len(links[0]), dtype=bool), links), shape=(size, size))
    spot = connected_components(incidence, directed=False)[1][: graph.n]
    part = np.full(graph.n, -1)
    touched = np.unique(ends)
    part[touched] = np.unique(spot[touched], return_inverse=True)[1]
    return Parts(graph, rows, multipliers, part)


def _common(values: IntArray, starts: IntArray) -> IntArray:
    """The value that all entries of a row have; -1 if they differ."""
    if len(starts) == 1:
        return np.empty(0, dtype=np.int64)
    low, high = np.minimum.reduceat(values, starts[:-1]), np.maximum.reduceat(values, starts[:-1])
    common: IntArray = np.where(low == high, low, -1)
    return common


def _groups(labels: IntArray, count: int) -> list[IntArray]:
    """The positions of the labels 0, 1, ..., each in ascending order."""
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(count + 1))
    return [order[a:b] for a, b in pairwise(ends)]
