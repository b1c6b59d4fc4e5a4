"""Clusterings guided by a solution of the relaxation."""

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from ..instance.graph import Graph
from .fusion import fuse
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin


def lp_guided(
    graph: Graph, x: FloatArray, labels: ArrayLike | None = None, *, clock: Clock | None = None
) -> IntArray:
    """Round a solution of the relaxation: greedy contraction guided by it, then fusion.

    Without a clustering to fuse with, Kernighan-Lin improves what was contracted.

    Parameters
    ----------
    graph : Graph
        The instance.
    x : ndarray, shape (m,)
        A value in [0, 1] an edge, 1 for cut; it need not satisfy any cycle inequality.
    labels : array_like of int, shape (n,), optional
        The best clustering so far. It is fused with the rounded one: the result is never worse.
    clock : Clock, optional
        When its time is up, the clustering so far is returned.

    Returns
    -------
    ndarray of int, shape (n,)
        A cluster a node, numbered by first appearance.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [3.0, 2.0, -1.5, -1.0])
    >>> lp_guided(graph, graph.cut([0, 0, 0, 1]).astype(float)).tolist()
    [0, 0, 0, 1]
    """
    if x.shape != (graph.m,):
        raise ValueError(f"x must have shape ({graph.m},), not {x.shape}")
    # The weights, each the smaller the more x disagrees with its sign.
    guide = graph.weights * np.where(graph.positive, 1.0 - x, x)
    contracted = greedy_additive(graph, guide, clock=clock)
    if labels is None:
        return kernighan_lin(graph, contracted, clock=clock)
    return fuse(graph, labels, contracted, clock=clock)
