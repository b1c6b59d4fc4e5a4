"""The exact solver inside a layer."""

from __future__ import annotations

import numpy as np

from ..base.arrays import FloatArray
from ..batch import solve_batch
from ..instance.graph import Graph
from ..result import Failure, Status
from .edges import Edges


def optimal_cuts(edges: Edges, weights: FloatArray) -> FloatArray:
    """For each of B weight vectors the edges that an optimal clustering cuts, as (B, m) of 0, 1.

    Examples
    --------
    >>> triangle = Edges.of([(0, 1), (1, 2), (0, 2)])
    >>> optimal_cuts(triangle, np.array([[1.0, -3.0, 2.0]])).tolist()
    [[1.0, 1.0, 0.0]]
    """
    u, v = edges.pairs.T
    cuts = np.empty(weights.shape)
    graphs = [Graph(edges.n, edges.pairs, w) for w in weights]
    # On the CPU: inside a JAX program, its own device is busy waiting for this answer.
    for i, result in enumerate(solve_batch(graphs, device="cpu")):
        if isinstance(result, Failure):
            raise result.error
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # what it returns then must not be learnt from
        cuts[i] = result.labels[u] != result.labels[v]
    return cuts
