"""The best clustering and the best lower bound of a solve, and when the two have met."""

import logging
from collections.abc import Callable
from math import ceil, inf, isfinite, nextafter

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.records import Status, Stop
from ..base.sums import common_unit, exact_sum, exact_unit, sum_down, sum_up
from ..instance.graph import Graph
from ..proofs.certificate import LowerBound, Proof, Relaxation

logger = logging.getLogger(__name__)

TOLERANCE = 1e-3
"""A clustering is optimal if no other costs less by more than this share of the smallest |w|."""

MOST = 1e-9
"""The same share of the sum of all |w|, where that is less."""

NOISE = 2.0**-44
"""What float64 cannot tell apart, as a share of the sum of all |w|."""

BELIEVED = 1e-9
"""A bound may exceed the cost of a clustering by this share of the sum of all |w|: where it is
somebody's word, its rounding errors are not known."""


def allowed_excess(weights: FloatArray) -> float:
    """By how much a clustering that is called optimal may cost more than an optimum.

    Examples
    --------
    >>> allowed_excess(np.array([-2e6, 3e6, 0.7]))
    0.0007
    >>> allowed_excess(np.array([-5e12, 5e12 + 1]))
    0.5
    """
    if not weights.any():
        return 0.0
    sizes = np.abs(weights[weights != 0.0])
    allowed = min(TOLERANCE * float(sizes.min()), MOST * float(sizes.sum()))
    # Clusterings whose costs differ by less than a unit cost the same.
    unit = common_unit(weights)
    return min(allowed, unit / 2) if unit else allowed


class Bounds:
    """The best clustering and the best lower bound so far; both are valid at any moment.

    Parameters
    ----------
    graph : Graph
        The instance.
    gap, absolute_gap : float
        The relative and the absolute difference that is asked for.
    tolerance : float, optional
        By how much an optimal clustering may cost more than the optimum. Of an instance that a user
        gives, what its weights allow; of a part of it, its share of that.
    constant : float
        What clusterings cost more than here, for the user, whose costs the gap is relative to.
    refine : callable, optional
        Makes a clustering that counts of any labels, and says which edges it cuts; if not given,
        all clusterings count, and :meth:`Graph.refined` only makes them better.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        gap: float = 0.0,
        absolute_gap: float = 0.0,
        tolerance: float | None = None,
        constant: float = 0.0,
        refine: Callable[[IntArray], tuple[IntArray, BoolArray]] | None = None,
    ) -> None:
        self._graph, self._constant = graph, constant
        self._refine = graph.refined if refine is None else refine
        self.gap, self.absolute_gap = gap, absolute_gap
        self.tolerance_is_given = tolerance is not None
        self.tolerance = allowed_excess(graph.weights) if tolerance is None else tolerance
        total = float(np.abs(graph.weights).sum())
        self.noise, self.believed = NOISE * total, BELIEVED * total
        self._unit = exact_unit(graph.weights)
        self._rounding = min(self.noise, self._unit / 8)  # of a bound, before it becomes a multiple
        self._lower = graph.negative_sum
        self.proof: Proof = Relaxation.trivial(graph)
        self.labels = np.arange(graph.n)
        self._cut: BoolArray = np.ones(graph.m, dtype=bool)
        if refine is not None:  # where single nodes may be too many clusters
            self.labels, self._cut = refine(self.labels)
        self.upper, self._upper_low = exact_sum(graph.weights[self._cut])
        self.excess = inf
        """No clustering costs less than the best one by more than this: proven. A difference of
        two bounds says so, but sums over a large instance are coarse; parts of it know better."""
        self.offer(graph.components(graph.positive))
        wrong = self._cut == graph.positive  # the trivial bound has none of it
        self.excess = sum_up(np.abs(graph.weights[wrong]))

    def offer(self, labels: IntArray) -> bool:
        """Take a clustering if it is better than the best, exactly; say whether it was."""
        graph = self._graph
        labels, cut = self._refine(labels)
        other = cut != self._cut
        if not other.any():
            return False
        saved, _ = exact_sum(np.where(cut[other], -graph.weights[other], graph.weights[other]))
        if not saved > 0.0:
            return False
        upper, low = exact_sum(graph.weights[cut])
        excess = self.excess
        if excess < inf:
            excess = max(0.0, sum_up([excess, -saved * (1.0 - 2.0**-52)]))
        # No calls in between: Ctrl-C would come there, and half of this would be wrong.
        self.labels, self._cut = labels, cut
        self.upper, self._upper_low, self.excess = upper, low, excess
        return True

    def price(self, labels: IntArray) -> float:
        """What a clustering costs."""
        return self.upper if labels is self.labels else self._graph.objective(labels)

    def raise_lower(self, found: LowerBound) -> bool:
        """Take a lower bound if it is better; say whether it may be true.

        One that a known clustering contradicts is refused. A proof that closes the gap replaces a
        bound that is merely believed.
        """
        bound, proof = found.value, found.proof
        if self._unit and np.isfinite(bound):
            # Every objective is a multiple of the unit: so is the smallest one.
            error = self._rounding if proof.proven else self.believed
            bound = self._unit * ceil((bound - error) / self._unit)
        if bound > self.upper + self.believed:
            logger.warning("a bound of %g is refused: a clustering costs %g", bound, self.upper)
            return False
        excess = max(0.0, min(found.excess, self.above(float(bound))))
        if self._unit and excess < self._unit:
            excess = 0.0
        closes = excess <= self.tolerance and proof.proven and not self.proof.proven
        if excess < self.excess or closes:
            lower = max(float(bound), sum_down([self.upper, self._upper_low, -excess]))
            self._lower, self.excess, self.proof = lower, excess, proof
        return True

    @property
    def lower_bound(self) -> LowerBound:
        """The best lower bound, and why it holds."""
        return LowerBound(self.lower, self.proof, self.excess)

    @property
    def lower(self) -> float:
        """The best lower bound; rounding errors do not put it above the upper one."""
        return min(self._lower, self.upper)

    @property
    def unit(self) -> float:
        """What the costs of all clusterings are multiples of; 0 if there is no such number."""
        return self._unit

    def above(self, value: float) -> float:
        """How much more the best clustering costs than a value, rounded up."""
        return sum_up([self.upper, self._upper_low, -value]) if isfinite(value) else -value

    @property
    def cutoff(self) -> float:
        """A clustering that costs this or more is no improvement worth looking for."""
        if self._unit:  # what costs less, but by less than a unit, does not exist
            nearly = self.upper - self._unit + 4.0 * self._rounding
            return max(nearly, nextafter(self.upper - self._unit, inf))
        return self.upper - self.tolerance / 4

    @property
    def cut(self) -> FloatArray:
        """The best clustering as a solution of the master."""
        return self._cut.astype(np.float64)

    @property
    def verdict(self) -> Status | None:
        """OPTIMAL, which takes a proof, or GAP once the bounds are close enough, else None."""
        if self.excess <= self.tolerance and self.proof.proven:
            return Status.OPTIMAL
        return Status.GAP if 0.0 < self.excess <= self.allowance else None

    @property
    def allowance(self) -> float:
        """The difference between the bounds that is allowed."""
        cost = abs(self.upper + self._constant)
        relative = self.gap * cost if cost else 0.0  # the gap may be infinite
        return max(self.absolute_gap, relative)

    def stop_if_met(self) -> None:
        """Raise Stop if the bounds are close enough."""
        if verdict := self.verdict:
            raise Stop(verdict)
