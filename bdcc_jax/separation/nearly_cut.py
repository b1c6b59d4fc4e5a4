"""Cycle inequalities by x: those of all cycles with one edge that x cuts, whatever the weights.

Where all clusterings count, only cycles with a single negative edge matter: what x does to others
costs nothing. Where edges must be kept or cut for other reasons than their weights, it may.
"""

import numpy as np

from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.cover import vertex_cover
from ..instance.graph import Graph
from .packing import PackingEngine
from .separation import Separation


class NearlyCut:
    """Separates the cycle inequalities of edges with x above 1/2 and paths of those below.

    If x is integral these are all that it may violate.

    Parameters
    ----------
    graph : Graph
        The instance; its weights do not matter.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __call__(self, x: FloatArray, clock: Clock) -> Separation:
        """Cycle inequalities that x violates."""
        graph = self._graph
        signed = Graph._trusted(graph.n, graph.edges, np.where(x > 0.5, -1.0, 1.0))
        found = PackingEngine(signed, vertex_cover(signed, "greedy", clock)).separate(x, clock)
        # The multipliers are for other weights.
        return Separation(found.rows, found.violated_roots, found.fallbacks, found.satisfied)
