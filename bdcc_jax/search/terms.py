"""In which terms an instance is solved: without links, and in other units if it must be.

float64 has fewer digits below 2e-308, and none below 5e-324. Weights so small that half of one may
be zero are multiplied by a power of two, which is exact. Must-links and cannot-links become
weights, see :mod:`~bdcc_jax.instance.unconstrained`. The search knows of neither: what it finds is
brought back here. Classes become nodes, see :mod:`~bdcc_jax.instance.terminals`, and where there
may be only so many clusters, pairs that are no edges are edges of weight 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf, ldexp, nextafter

import numpy as np

from ..base.arrays import IntArray
from ..base.sums import sum_down, sum_up
from ..instance.completion import can_be_completed, completed
from ..instance.constraints import NONE, Constraints
from ..instance.graph import Graph
from ..instance.terminals import TerminalGraph
from ..instance.unconstrained import Unconstrained, unconstrained
from ..proofs.certificate import ConstrainedProof, Proof

SMALL = -500
"""Weights of at most 2 to this power are solved in other units."""

WHOLE = 1074
"""In units of 2 to minus this, the smallest float64, all of them are whole."""


@dataclass(frozen=True, eq=False)
class Terms:
    """An instance as a user has it, and as it is solved.

    Attributes
    ----------
    original, graph : Graph
        As the user has it; as it is solved.
    exponent : int
        It is solved in units of 2 to the power of ``-exponent``.
    instead : Unconstrained or None
        What has become of its must-links and cannot-links, if it has any.

    Examples
    --------
    >>> terms = Terms.of(Graph(2, [(0, 1)], [5e-324]))
    >>> terms.graph.weights.tolist(), terms.lower_bound(0.5), terms.lower_bound(1.0)
    ([1.0], 0.0, 5e-324)
    """

    original: Graph
    graph: Graph
    exponent: int
    instead: Unconstrained | None

    @classmethod
    def of(cls, graph: Graph) -> Terms:
        """Those that suit an instance."""
        costs = np.empty(0) if graph.unaries is None else graph.unaries[np.isfinite(graph.unaries)]
        _, size = frexp(max(np.abs(part).max(initial=0.0) for part in (graph.weights, costs)))
        exponent = min(WHOLE, 64 - size) if graph.m and size <= SMALL else 0
        scaled = graph
        if exponent:
            scaled = graph._with_weights(np.ldexp(graph.weights, exponent))
            if graph.unaries is not None:
                scaled = scaled._with(unaries=np.ldexp(graph.unaries, exponent))
        instead = unconstrained(scaled) if graph.constraints.links else None
        linked = scaled if instead is None else instead.graph
        return cls(graph, _solved(linked, graph.constraints.numbers), exponent, instead)

    @property
    def constant(self) -> float:
        """What clusterings cost more than in the instance as it is solved, in its units."""
        return 0.0 if self.instead is None else self.instead.constant

    def proves(self, excess: float, tolerance: float) -> bool:
        """Whether an optimum of the instance as it is solved is one for the user.

        What float64 has lost of the weights on the way counts, too.
        """
        return self.instead is None or sum_up([excess, self.instead.off]) <= tolerance

    def lift(self, labels: IntArray) -> IntArray:
        """The clustering that one of the instance as it is solved stands for."""
        if isinstance(self.graph, TerminalGraph):
            labels = labels[: self.graph.ordinary.n]
        return labels if self.instead is None else self.instead.lift(labels)

    def drop(self, labels: IntArray) -> IntArray:
        """A clustering of the instance as it is solved, from one of the user's."""
        labels = labels if self.instead is None else self.instead.drop(labels)
        return self.graph.extended(labels) if isinstance(self.graph, TerminalGraph) else labels

    def proof(self, proof: Proof) -> Proof:
        """A proof for the user's instance, in the units of the one that is solved."""
        return proof if self.instead is None else ConstrainedProof(self.instead, proof)

    def allowance(self, gap: float) -> float:
        """An absolute gap as it is solved; infinite where any bounds are close enough."""
        if self.exponent == 0:
            return gap
        with np.errstate(over="ignore"):
            return float(np.ldexp(gap, self.exponent))

    def lower_bound(self, bound: float) -> float:
        """What a lower bound means for the user's instance, rounded down."""
        if self.instead is not None:
            bound = sum_down([bound, self.instead.constant, -self.instead.off])
        return self._below(bound)

    def excess(self, excess: float) -> float:
        """How much more than an optimum a clustering costs at most, rounded up."""
        if self.instead is not None:
            excess = sum_up([excess, self.instead.off])
        return -self._below(-excess)

    def cost(self, labels: IntArray, cost: float) -> float:
        """What a clustering that was lifted costs, whose cost as it is solved is known."""
        if self.instead is not None:
            return self.original.objective(labels)
        return ldexp(cost, -self.exponent)

    def _below(self, value: float) -> float:
        """The value in units of 1, rounded down."""
        if self.exponent == 0:
            return value
        number = ldexp(value, -self.exponent)
        return nextafter(number, -inf) if ldexp(number, self.exponent) > value else number


def _solved(graph: Graph, numbers: Constraints) -> Graph:
    """The instance with nodes for its classes, or with all pairs that are to be counted."""
    if graph.unaries is not None:
        return TerminalGraph.of(graph, graph.unaries)
    least = numbers.min_clusters if (numbers.min_clusters or 1) > 1 else None
    most = numbers.max_clusters if (numbers.max_clusters or graph.n) < graph.n else None
    if least is None and most is None:  # which is true anyway
        return graph._with(constraints=NONE) if graph.constraints else graph
    if most is not None and can_be_completed(graph):
        graph, _ = completed(graph)
    return graph._with(constraints=Constraints(min_clusters=least, max_clusters=most))
