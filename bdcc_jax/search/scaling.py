"""Weights so small that half of one may be zero: such an instance is solved in other units.

float64 has fewer digits below 2e-308, and none below 5e-324. Multiplying by a power of two is exact
upwards; the clusterings stay what they are, and bounds are brought back by :class:`Units`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf, ldexp, nextafter

import numpy as np

from ..instance.graph import Graph

SMALL = -500
"""Weights of at most 2 to this power are solved in other units."""

WHOLE = 1074
"""In units of 2 to minus this, the smallest float64, all of them are whole."""


@dataclass(frozen=True)
class Units:
    """The unit that an instance is solved in: 2 to the power of ``-exponent``.

    Examples
    --------
    >>> graph = Graph(2, [(0, 1)], [5e-324])
    >>> units = Units.of(graph)
    >>> units.graph(graph).weights.tolist(), units.below(0.5), units.below(1.0)
    ([1.0], 0.0, 5e-324)
    """

    exponent: int = 0

    @classmethod
    def of(cls, graph: Graph) -> Units:
        """Those that suit an instance: 1, unless all weights are very small."""
        _, size = frexp(np.abs(graph.weights).max(initial=0.0))
        return cls(min(WHOLE, 64 - size) if graph.m and size <= SMALL else 0)

    def graph(self, graph: Graph) -> Graph:
        """The instance in these units."""
        if self.exponent == 0:
            return graph
        return Graph._trusted(graph.n, graph.edges, np.ldexp(graph.weights, self.exponent))

    def allowance(self, gap: float) -> float:
        """An absolute gap in these units; infinite where any bounds are close enough."""
        if self.exponent == 0:
            return gap
        with np.errstate(over="ignore"):
            return float(np.ldexp(gap, self.exponent))

    def below(self, bound: float) -> float:
        """A lower bound in these units as one in units of 1: not above it."""
        if self.exponent == 0:
            return bound
        number = ldexp(bound, -self.exponent)
        return nextafter(number, -inf) if ldexp(number, self.exponent) > bound else number

    def of_cost(self, cost: float) -> float:
        """A cost in these units as one in units of 1."""
        return ldexp(cost, -self.exponent)
