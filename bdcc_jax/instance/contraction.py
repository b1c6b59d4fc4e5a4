"""What remains of an instance after some of its decisions: nodes joined, edges cut."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.labels import canonical_labels
from ..base.sums import sum_down, sum_parallel_pairs, sum_up
from .graph import Graph


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
        What the removed edges cost, rounded down.
    off : float
        What rounding has changed about the weights of ``graph``, in all.
    """

    graph: Graph
    node_map: IntArray
    constant: float
    off: float

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
    if graph.lifted is not None:
        raise ValueError("contraction knows of no lifted edges")
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
    smaller, off = sum_parallel(int(node_map.max()) + 1, u[kept], v[kept], graph.weights[kept])
    return Contraction(smaller, node_map, sum_down(graph.weights[removed]), off)


def sum_parallel(n: int, u: IntArray, v: IntArray, w: FloatArray) -> tuple[Graph, float]:
    """Build a graph of trusted edges in linear time; parallel edges are summed, loops dropped.

    Also returns how much the weights are off in all: each is the exact sum, rounded once.
    """
    edges, weights, low, lost = sum_parallel_pairs(n, u, v, w, np.zeros(len(w)))
    return Graph._trusted(n, edges, weights), sum_up(np.append(np.abs(low), lost))
