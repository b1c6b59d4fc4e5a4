"""The objectives of the Magnanti-Wong problems (Sec. 5)."""

from dataclasses import dataclass

import numpy as np

from ...base.arrays import FloatArray
from ...instance.graph import Graph
from ...options import Direction
from .ball import Ball


@dataclass(frozen=True, eq=False)
class MagnantiWong:
    """Which row to prefer among those that keep the share tau of the optimal violation.

    ``rng`` is for the direction 'random', which is fresh each time; see :class:`bdcc_jax.Options`.
    """

    tau: float
    direction: Direction
    rng: np.random.Generator

    def penalty(self, graph: Graph, ball: Ball) -> FloatArray:
        """Minus the objective, positive: per edge of the ball, then per target."""
        edges = np.concatenate([ball.edges, ball.target_edges])
        penalty: FloatArray
        if self.direction == "inverse_weight":
            penalty = 1.0 / (1e-4 + np.abs(graph.weights[edges]))
        else:
            penalty = self.rng.random(len(edges))
            penalty /= np.linalg.norm(penalty)
        return penalty
