"""Tiny instances, solved by looking at every clustering."""

from __future__ import annotations

from functools import cache

import numpy as np

from .arrays import IntArray
from .graph import Graph

MOST_NODES = 8
"""4,140 clusterings; for every node more there are about five times as many."""


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


def best_of_all(graph: Graph) -> IntArray:
    """The best clustering of a graph with at most MOST_NODES nodes."""
    labels = clusterings(graph.n)
    u, v = graph.edges.T
    # Not a product: BLAS adds up in an order that depends on the number of threads.
    costs = np.where(labels[:, u] != labels[:, v], graph.weights, 0.0).sum(axis=1)
    best: IntArray = labels[np.argmin(costs)]
    return best
