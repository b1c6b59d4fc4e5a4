"""Tiny instances, solved by looking at every clustering."""

from functools import cache
from math import fsum

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.sums import exact_unit, sum_down
from .graph import Graph

MOST_NODES = 8
"""Largest instance that is enumerated: 8 nodes have 4,140 clusterings, each further node makes
them about five times as many."""


@cache
def clusterings(n: int) -> IntArray:
    """All clusterings of n nodes, one a row, as labels in order of first appearance.

    Examples
    --------
    >>> clusterings(3).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]]
    """
    if n == 1:
        return np.zeros((1, 1), dtype=np.int64)
    fewer = clusterings(n - 1)
    choices = fewer.max(axis=1) + 2
    last = np.concatenate([np.arange(k) for k in choices])
    return np.column_stack([np.repeat(fewer, choices, axis=0), last])


def best_of_all(graph: Graph, low: FloatArray | None = None) -> tuple[IntArray, float]:
    """The best clustering of a graph with at most MOST_NODES nodes, and its cost rounded down.

    ``low`` is what float64 cannot hold of the weights.
    """
    weights, low = graph.weights, np.zeros(graph.m) if low is None else low
    labels = clusterings(graph.n)
    if graph.m == 0:
        return labels[0], 0.0
    u, v = graph.edges.T
    cut = labels[:, u] != labels[:, v]
    # Not a product: BLAS adds up in an order that depends on the number of threads.
    costs = np.where(cut, weights, 0.0).sum(axis=1)
    off = 0.0
    if low.any() or not exact_unit(weights):
        off = 2.0 * (graph.m + 1) * float(np.finfo(np.float64).eps) * np.abs(weights).sum()
    best, *others = np.flatnonzero(costs <= costs.min() + off).tolist()
    for other in others if off else ():  # too close for float64: exactly
        signs = cut[other].astype(np.float64) - cut[best]
        if fsum([*(signs * weights), *(signs * low)]) < 0.0:
            best = other
    return labels[best], sum_down([*weights[cut[best]], *low[cut[best]]])
