"""The best clustering and the best lower bound of a solve."""

from __future__ import annotations

import logging
from math import ceil, fsum

import numpy as np

from .arrays import FloatArray, IntArray
from .certificate import Proof, Relaxation
from .graph import Graph
from .result import Status, relative_gap

logger = logging.getLogger(__name__)

TOLERANCE = 1e-9
"""Bounds that differ by less than this share of the sum of all |w| have met."""


class Bounds:
    """The best clustering and the best lower bound so far; both are valid at any moment.

    Parameters
    ----------
    graph : Graph
        The instance.
    gap, absolute_gap : float
        The relative and the absolute difference that is asked for.
    """

    def __init__(self, graph: Graph, *, gap: float = 0.0, absolute_gap: float = 0.0) -> None:
        self._graph = graph
        self._gap, self._absolute_gap = gap, absolute_gap
        self.tolerance = TOLERANCE * fsum(np.abs(graph.weights))
        unit = _unit(graph.weights)
        self._unit = unit if unit > 8 * self.tolerance else 0.0
        self._lower = graph.negative_sum
        self.proof: Proof = Relaxation.trivial(graph)
        self.labels = np.arange(graph.n)
        self.upper = graph.objective(self.labels)
        self.offer(graph.components(graph.positive))

    def offer(self, labels: IntArray) -> bool:
        """Take a clustering if it is better than the best; say whether it was."""
        # Splitting a cluster that E+ does not hold together cuts negative edges only.
        graph = self._graph
        labels = graph.components(graph.positive & ~graph.cut(labels))
        objective = graph.objective(labels)
        if objective >= self.upper:
            return False
        self.labels, self.upper = labels, objective
        return True

    def raise_lower(self, bound: float, proof: Proof) -> bool:
        """Take a lower bound if it is better, and why it holds.

        Refuse one that a known clustering contradicts. A proof that closes the gap replaces a bound
        that is merely believed.
        """
        if self._unit and np.isfinite(bound):
            # Every objective is a multiple of the unit: so is the smallest one.
            bound = self._unit * ceil((bound - self.tolerance) / self._unit)
        if bound > self.upper + self.tolerance:
            logger.warning("a bound of %g is refused: a clustering costs %g", bound, self.upper)
            return False
        meets = self.upper - bound <= self.tolerance
        if bound > self._lower or (meets and proof.proven and not self.proof.proven):
            self._lower, self.proof = float(bound), proof
        return True

    @property
    def lower(self) -> float:
        """The best lower bound; rounding errors do not put it above the upper one."""
        return min(self._lower, self.upper)

    @property
    def cutoff(self) -> float:
        """A clustering that costs this or more is no improvement worth looking for."""
        return self.upper - max(self.tolerance / 4, self._unit - 2 * self.tolerance)

    @property
    def cut(self) -> FloatArray:
        """The best clustering as a solution of the master."""
        return self._graph.cut(self.labels).astype(np.float64)

    @property
    def verdict(self) -> Status | None:
        """OPTIMAL, which takes a proof, or GAP once the bounds are close enough, else None."""
        difference = self.upper - self.lower
        if difference <= self.tolerance and self.proof.proven:
            return Status.OPTIMAL
        near = difference <= self._absolute_gap or relative_gap(self.upper, self.lower) <= self._gap
        return Status.GAP if near and difference > 0.0 else None


def _unit(weights: FloatArray) -> float:
    """The greatest common divisor of whole weights whose sums are exact; 0 for other weights."""
    if len(weights) == 0 or (weights != np.floor(weights)).any():
        return 0.0
    if fsum(np.abs(weights)) > 2.0**52:
        return 0.0
    return float(np.gcd.reduce(weights.astype(np.int64)))
