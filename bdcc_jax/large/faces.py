"""What is left open of a block for those beyond its faces: prices of edges, and nodes to merge.

Both are a *rest*: a graph of some nodes of the block, or of clusters of its nodes, in which what is
left is expressed. The rests of several blocks and the faces between them are a block of the next,
smaller store; see :mod:`.levels`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..instance.graph import Graph
from .ascent import Effort, Relaxed


class Rest(NamedTuple):
    """What is left of a block.

    Attributes
    ----------
    n : int
        Number of nodes of the rest.
    place : ndarray of int, shape (nodes of the block,)
        The node of the rest that each has become; negative if there is none, ``-1 - k`` for
        number k of what is decided for good.
    u, v, w
        The edges of the rest; there may be parallel ones.
    """

    n: int
    place: NDArray[np.int32]
    u: IntArray
    v: IntArray
    w: FloatArray


def open_nodes(graph: Graph, at_faces: IntArray, effort: Effort) -> BoolArray:
    """The nodes at faces, and rings of nodes around them, as long as they are not too many."""
    near = np.zeros(graph.n, dtype=bool)
    near[at_faces] = True
    u, v = graph.edges.T
    for _ in range(effort.rings):
        wider = near.copy()
        touched = near[u] | near[v]
        wider[u[touched]] = True
        wider[v[touched]] = True
        if wider.sum() > effort.share * graph.n:
            break
        near = wider
    return near


def open_edges(graph: Graph, open_: BoolArray) -> BoolArray:
    """The edges between open nodes: they give away what their block does not need of them."""
    u, v = graph.edges.T
    both: BoolArray = open_[u] & open_[v]
    return both


def price_rest(graph: Graph, relaxed: Relaxed, open_: BoolArray, held: FloatArray | None) -> Rest:
    """The open nodes, and at their edges what is beyond them may have.

    That is what the ascent does not need of the edges, and what has been given before (``held``).
    """
    place = np.where(open_, np.cumsum(open_) - 1, -1).astype(np.int32)
    given = open_edges(graph, open_)
    u, v = place[graph.edges[given]].T.astype(np.int64)
    weights = relaxed.reduced[given]
    return Rest(int(open_.sum()), place, u, v, weights if held is None else weights + held)


def cluster_rest(graph: Graph, labels: IntArray, open_: BoolArray) -> tuple[Rest, int]:
    """The open nodes, and the clusters (without open nodes) that edges join to them.

    All other clusters are decided: their number is the second value.
    """
    u, v = graph.edges.T
    closed = ~open_
    together = closed[u] & closed[v] & (labels[u] == labels[v])
    part = graph.components(together)
    kept = np.zeros(graph.n, dtype=bool)  # by part
    kept[part[open_]] = True
    touched = open_[u] | open_[v]
    kept[part[u[touched]]] = True
    kept[part[v[touched]]] = True
    count = int(part.max(initial=-1)) + 1
    kept = kept[:count]
    # A decided cluster has no open node: it is one part of E+, or was made of several by no edge.
    number = np.where(kept, np.cumsum(kept) - 1, -np.cumsum(~kept))
    place = number[part].astype(np.int32)
    ends = place[graph.edges]
    inside = (ends >= 0).all(axis=1) & (ends[:, 0] != ends[:, 1])
    first, second = ends[inside].T.astype(np.int64)
    return Rest(int(kept.sum()), place, first, second, graph.weights[inside]), int((~kept).sum())
