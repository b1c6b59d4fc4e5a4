"""Dense instances with all their pairs: those that are no edges get the weight 0.

A pair of weight 0 costs no clustering anything, so the optimum is the same, and so are proofs,
which name nodes. But inequalities over cliques can be written down for all sets of nodes.
"""

import numpy as np

from ..base.arrays import IntArray
from .graph import Graph

LEAST_NODES, LEAST_DENSITY, MOST_PAIRS = 20, 0.25, 50_000
"""Instances with at least so many nodes and this share of all pairs, and at most so many pairs, are
completed. Smaller ones are divided sooner than their rows are found; the LPs of larger ones become
slow by so many rows."""

LEAST_DENSITY_OPEN = 0.1
"""The same where the LP over cycles and wheels leaves a gap, of which 2-partitions close much."""


def is_complete(graph: Graph) -> bool:
    """Whether all pairs are edges."""
    return graph.m == graph.n * (graph.n - 1) // 2


def can_be_completed(graph: Graph) -> bool:
    """Whether an instance has so few pairs that an LP can have them all."""
    return graph.n * (graph.n - 1) // 2 <= MOST_PAIRS


def is_dense(graph: Graph, density: float = LEAST_DENSITY) -> bool:
    """Whether an instance is worth its missing pairs."""
    large = graph.n >= LEAST_NODES and can_be_completed(graph)
    return large and graph.m >= density * (graph.n * (graph.n - 1) // 2)


def extent(graph: Graph) -> int:
    """The number of pairs that the LP of an instance has."""
    return graph.n * (graph.n - 1) // 2 if is_dense(graph) else graph.m


def completed(graph: Graph) -> tuple[Graph, IntArray]:
    """The instance with all pairs, and where the edges are among them.

    Examples
    --------
    >>> pairs, place = completed(Graph(3, [(0, 1), (1, 2)], [2.0, -1.0]))
    >>> pairs.edges.tolist(), pairs.weights.tolist(), place.tolist()
    ([[0, 1], [0, 2], [1, 2]], [2.0, 0.0, -1.0], [0, 2])
    """
    ids = pair_ids(graph.n)
    place = ids[graph.edges[:, 0], graph.edges[:, 1]]
    edges = np.column_stack(np.triu_indices(graph.n, 1)).astype(np.int64)
    weights = np.zeros(len(edges))
    weights[place] = graph.weights
    return Graph._trusted(graph.n, edges, weights), place


def pair_ids(n: int) -> IntArray:
    """The number of every pair among the edges of a complete graph; -1 on the diagonal."""
    ids = np.full((n, n), -1)
    u, v = np.triu_indices(n, 1)
    ids[u, v] = ids[v, u] = np.arange(len(u))
    return ids
