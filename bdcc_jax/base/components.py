"""Components of a graph, by union-find: SciPy's need a matrix first, which costs more."""

import numpy as np

from .arrays import BoolArray, IntArray
from .compiled import borrowing, compiled


@compiled
def connected_components(n: int, u: IntArray, v: IntArray, kept: BoolArray) -> IntArray:
    """Label n nodes by the components of the edges (u, v) in ``kept``, by first appearance."""
    parent = np.arange(n)
    for e in range(len(u)):
        if kept[e]:
            a, b = find(parent, u[e]), find(parent, v[e])
            # The smaller node leads: a leader comes before all others of its component.
            parent[max(a, b)] = min(a, b)
    count = 0
    labels = np.empty(n, np.int64)
    for node in range(n):
        leader = find(parent, node)
        if leader == node:
            labels[node] = count
            count += 1
        else:
            labels[node] = labels[leader]
    return labels


@borrowing
def find(parent: IntArray, node: int) -> int:
    """Find the leader of a node in a union-find forest, halving the path to it."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node
