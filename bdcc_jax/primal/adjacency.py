"""The edges at every node, as compiled code reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.compiled import compiled
from ..instance.graph import Graph


class Adjacency(NamedTuple):
    """Node v has the neighbours and the weights at ``starts[v] .. starts[v + 1] - 1``."""

    starts: IntArray
    neighbours: IntArray
    weights: FloatArray


def adjacency(graph: Graph) -> Adjacency:
    """The edges of both signs at every node."""
    starts = np.zeros(graph.n + 1, dtype=np.int64)
    np.cumsum(np.bincount(graph.edges.ravel(), minlength=graph.n), out=starts[1:])
    return _fill(starts, graph.edges, graph.weights)


@compiled
def _fill(starts: IntArray, edges: IntArray, weights: FloatArray) -> Adjacency:
    """Deal the edges out; in their order, so that neighbours come sorted."""
    free = starts[:-1].copy()
    neighbours = np.empty(2 * len(edges), dtype=np.int64)
    both = np.empty(2 * len(edges))
    for e in range(len(edges)):
        u, v = edges[e]
        for a, b in ((u, v), (v, u)):
            neighbours[free[a]] = b
            both[free[a]] = weights[e]
            free[a] += 1
    return Adjacency(starts, neighbours, both)
