"""What remains of an instance after some of its decisions: nodes joined, edges cut."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .arrays import BoolArray, FloatArray, IntArray
from .graph import Graph, canonical_labels


@dataclass(frozen=True, eq=False)
class Contraction:
    """A smaller instance, and how its clusterings are those of the original.

    For every labelling of ``graph`` that separates the ends of the removed edges,

        original objective of ``lift(labels)`` = ``constant`` + objective of ``labels``.

    Attributes
    ----------
    graph : Graph
        What is left; its nodes are groups of the original's nodes.
    node_map : ndarray of int
        The node of ``graph`` that each original node has become.
    constant : float
        What the removed edges cost.
    """

    graph: Graph
    node_map: IntArray
    constant: float

    def lift(self, labels: ArrayLike) -> IntArray:
        """Labels of the original's nodes: each has the label of its group."""
        labels = np.asarray(labels)
        if labels.shape != (self.graph.n,):
            raise ValueError(f"labels must have shape ({self.graph.n},), not {labels.shape}")
        lifted: IntArray = labels[self.node_map]
        return lifted


def contract(graph: Graph, groups: ArrayLike, removed: BoolArray | None = None) -> Contraction:
    """Merge the nodes of each group into one node, and drop edges that are decided to be cut.

    Parallel edges are summed, edges inside a group vanish, and so does what sums to zero. Groups
    are numbered by their first node.

    Parameters
    ----------
    graph : Graph
        The instance.
    groups : array_like of int, shape (n,)
        Nodes with equal entries become one node. ``range(n)`` merges nothing.
    removed : ndarray of bool, shape (m,), optional
        Edges that are cut by decision: their weight goes into the constant. That a clustering of
        what is left does separate their ends is for the caller to see to.

    Examples
    --------
    >>> from bdcc_jax import Graph
    >>> graph = Graph(4, [(0, 1), (0, 2), (1, 2), (2, 3)], [5.0, 1.0, -3.0, -1.0])
    >>> smaller = contract(graph, [0, 0, 1, 2], removed=graph.weights == -1.0)
    >>> smaller.graph.edges.tolist(), smaller.graph.weights.tolist(), smaller.constant
    ([[0, 1]], [-2.0], -1.0)
    >>> smaller.lift([0, 1, 2]).tolist()
    [0, 0, 1, 2]
    """
    groups = np.asarray(groups)
    if groups.shape != (graph.n,):
        raise ValueError(f"groups must have shape ({graph.n},), not {groups.shape}")
    if removed is None:
        removed = np.zeros(graph.m, dtype=bool)
    if removed.shape != (graph.m,):
        raise ValueError(f"removed must have shape ({graph.m},), not {removed.shape}")
    node_map = canonical_labels(groups)
    u, v = node_map[graph.edges.T]
    if (inside := removed & (u == v)).any():
        at = int(np.flatnonzero(inside)[0])
        raise ValueError(f"edge {at} is removed (cut), but its ends are in the same group")
    kept = ~removed
    return Contraction(
        graph=sum_parallel(int(node_map.max()) + 1, u[kept], v[kept], graph.weights[kept]),
        node_map=node_map,
        constant=fsum(graph.weights[removed]),
    )


def sum_parallel(n: int, u: IntArray, v: IntArray, w: FloatArray) -> Graph:
    """Build a graph of trusted edges in linear time; parallel edges are summed, loops dropped."""
    proper = u != v
    u, v, w = u[proper], v[proper], w[proper]
    ends = np.minimum(u, v), np.maximum(u, v)
    upper = sp.coo_array((w, ends), shape=(n, n)).tocsr()  # sums parallel edges
    upper.eliminate_zeros()
    upper.sort_indices()
    rows = np.repeat(np.arange(n), np.diff(upper.indptr))
    return Graph._trusted(n, np.column_stack([rows, upper.indices.astype(np.int64)]), upper.data)
