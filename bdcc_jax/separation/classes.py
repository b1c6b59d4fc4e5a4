"""Rows for classes: every node has one, and edges between two classes are cut.

With ``y_vl = 1`` if node v has the class l, 0 if not::

    sum over l of y_vl  =  1,                                           for every node v,
    sum over l in S of (y_vl - y_ul)  <=  x_uv,                         for every edge uv,

and for every set S of classes: if v has a class of S, and u none of them, the edge is cut. The most
violated set is that of all l with ``y_vl > y_ul``, so separation is exact.
"""

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..instance.terminals import TerminalGraph
from ..lp.rows import Rows

VIOLATION = 1e-7
"""What is violated by less is a matter of the LP's tolerances."""


def class_rows(graph: TerminalGraph, x: FloatArray) -> Rows:
    """All rows of these kinds that x violates.

    Examples
    --------
    >>> from bdcc_jax import Graph
    >>> graph = TerminalGraph.of(Graph(2, [(0, 1)], [3.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> rows = class_rows(graph, np.array([0.0, 1.0, 0.0, 0.0, 1.0]))
    >>> rows.indices.tolist(), rows.values.tolist(), rows.upper.tolist()
    ([0, 2, 4], [-1.0, -1.0, 1.0], [0.0])
    """
    y = np.where(graph.column >= 0, x[graph.column], 0.0)
    total = y.sum(axis=1)
    too_many, too_few = np.flatnonzero(total > 1.0 + VIOLATION), total < 1.0 - VIOLATION
    ends = graph.ordinary.edges
    difference = y[ends[:, 1]] - y[ends[:, 0]]
    parts = [one_class(graph, too_many, 1.0), one_class(graph, np.flatnonzero(too_few), -1.0)]
    cut = x[: len(ends)]
    forward = np.maximum(0.0, difference).sum(axis=1)
    backward = np.maximum(0.0, -difference).sum(axis=1)
    for sign, size, other in ((1.0, forward, backward), (-1.0, backward, forward)):
        # If both nodes have one class in all, the two rows of an edge are the same.
        chosen = (size > cut + VIOLATION) & ((size > other + VIOLATION) | (sign > 0))
        edges = np.flatnonzero(chosen)
        towards, away = ends[edges].T[:: -int(sign)]
        classes = sign * difference[edges] > 0.0
        parts.append(class_difference(graph, edges, towards, away, classes))
    return Rows.concatenate(parts)


def one_class(graph: TerminalGraph, nodes: IntArray, sign: float) -> Rows:
    """``sum over l of y_vl <= 1`` of some nodes, or with the sign -1 ``>= 1``."""
    columns = graph.column[nodes]
    row, label = np.nonzero(columns >= 0)
    indices = columns[row, label]
    return _rows(len(nodes), row, indices, np.full(len(row), sign), sign)


def class_difference(
    graph: TerminalGraph, edges: IntArray, towards: IntArray, away: IntArray, classes: BoolArray
) -> Rows:
    """``sum over classes of (y of the node towards - y of the node away) <= x`` of some edges."""
    plus, minus = graph.column[towards], graph.column[away]
    r1, l1 = np.nonzero(classes & (plus >= 0))
    r2, l2 = np.nonzero(classes & (minus >= 0))
    r3 = np.arange(len(edges))
    row = np.concatenate([r1, r2, r3])
    indices = np.concatenate([plus[r1, l1], minus[r2, l2], edges])
    values = np.repeat([1.0, -1.0], [len(r1), len(r2) + len(r3)])
    return _rows(len(edges), row, indices, values, 0.0)


def _rows(count: int, row: IntArray, indices: IntArray, values: FloatArray, upper: float) -> Rows:
    """Rows from entries in any order."""
    order = np.lexsort((indices, row))
    lengths = np.bincount(row, minlength=count)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return Rows(starts, indices[order].astype(np.int32), values[order], np.full(count, upper))
