"""Fusion moves (Beier et al., 2015): the best of two clusterings, and more."""

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..instance.contraction import sum_parallel
from ..instance.graph import Graph
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin


def fuse(
    graph: Graph, first: ArrayLike, second: ArrayLike, *, clock: Clock | None = None
) -> IntArray:
    """Keep together what two clusterings agree on, and cluster the rest anew.

    The nodes that edges hold together which neither cuts become one node of a much smaller graph,
    on which either clustering can be expressed; local search goes on from the better of the two, or
    from a greedy clustering of that graph if this is better still.

    Parameters
    ----------
    graph : Graph
        The instance.
    first, second : array_like of int, shape (n,)
        The two clusterings.
    clock : Clock, optional
        When its time is up, the clustering so far is returned.

    Returns
    -------
    ndarray of int, shape (n,)
        A clustering that is at least as good as either.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [3.0, 2.0, -1.5, -1.0])
    >>> fuse(graph, [0, 0, 1, 1], [0, 0, 1, 2]).tolist()
    [0, 0, 0, 1]
    """
    a, b = canonical_labels(first), canonical_labels(second)
    for labels in (a, b):
        if labels.shape != (graph.n,):
            raise ValueError(f"labels must have shape ({graph.n},), not {labels.shape}")
    if clock is not None and clock.remaining == 0.0:
        return min(a, b, key=graph.objective)
    # Not the intersection: nodes that no uncut edges join are apart, which leaves more to decide.
    if graph.lifted is not None:
        (a, _), (b, _) = graph.refined(a), graph.refined(b)
    agreed = ~graph.cut(a) & ~graph.cut(b)
    blocks = graph.components(agreed if graph.lifted is None else agreed & ~graph.lifted)
    k = int(blocks.max()) + 1
    u, v = blocks[graph.edges.T]
    if graph.lifted is None:
        small, _ = sum_parallel(k, u, v, graph.weights)
    else:
        apart = u != v
        ends, weights, lifted = np.column_stack([u, v]), graph.weights, graph.lifted
        small = Graph(k, ends[apart], weights[apart], lifted=lifted[apart])
    _, member = np.unique(blocks, return_index=True)
    starts = (a[member], b[member], greedy_additive(small, clock=clock))
    best = min(starts, key=small.objective)
    return canonical_labels(kernighan_lin(small, best, clock=clock)[blocks])
