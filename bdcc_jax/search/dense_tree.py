"""Branch and bound of a dense instance: first by rows and matrices, then by prices if they pay.

Prices follow where rows leave a gap for long, or at once where many pairs cannot be together: if
the LP over clusters promises a far better bound than rows have proven. A promise is no proof: until
prices have proven something both trees grow in turns, and do about as much work as each other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import inf

import numpy as np

from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.graph import Graph
from ..lp.master import MasterFailed
from ..lp.rows import Rows
from ..prices.worth import Worth
from ..proofs.branching_proof import Branching
from ..proofs.certificate import LowerBound
from ..separation.separation import Separation
from .bounds import Bounds
from .priced_tree import PricedTree
from .semidefinite_tree import SemidefiniteTree

logger = logging.getLogger(__name__)

BEFORE_PRICES, EXCLUSIVE, MOST_PRICED = 1.2e8, 0.05, 150
"""So much work comes before prices, but none where this share of all pairs exclude each other. With
more nodes the LP over clusters alone takes minutes."""

PROMISES = 0.5
"""Prices take over if by their estimate they close this share of the gap that rows leave."""


class DenseTree:
    """The tree that divides the clusterings of a complete graph; see :class:`SemidefiniteTree`."""

    def __init__(
        self,
        proof: Branching,
        bounds: Bounds,
        clock: Clock,
        look_around: Callable[[FloatArray], None],
    ) -> None:
        self._rows = SemidefiniteTree(proof, bounds, clock, look_around)
        self._bounds, self._clock, self._look_around = bounds, clock, look_around
        self._graph = proof.graph
        self._prices: PricedTree | None = None
        self._is_exclusive = (patience := _patience(proof.graph)) == 0.0
        self._patience = clock.work + patience
        self._ahead = 0.0  # by how much more work prices have had than rows since they began

    @property
    def lower_bound(self) -> LowerBound:
        """What every clustering costs at least, and why."""
        bound = self._rows.lower_bound
        if self._prices is not None and (by_prices := self._prices.lower_bound).value > bound.value:
            return by_prices
        return bound

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to be done."""
        return self._rows.exhausted

    def grow(self) -> Separation:
        """Improve a bound, or divide leaves; returns the rows that were found for that."""
        if self._prices is None and self._rows.is_settled and self._clock.work >= self._patience:
            self._patience = inf
            self._try_prices()
        before, prices = self._clock.work, self._prices
        if prices is None or prices.exhausted or self._is_turn_of_rows:
            found = self._rows.grow()
            self._ahead -= self._clock.work - before
            return found
        try:
            prices.grow()
        except MasterFailed as error:
            logger.info("HiGHS gave up on the LP over clusters: %s", error)
            self._prices = None
        self._ahead += self._clock.work - before
        return Separation(Rows.empty(), violated_roots=0, fallbacks=0, satisfied=False)

    @property
    def _is_turn_of_rows(self) -> bool:
        """Whether prices have done more work, and are not known to prove something here."""
        enough = self._is_exclusive or (self._prices is not None and self._prices.has_proven)
        return self._ahead > 0.0 and not enough

    def _try_prices(self) -> None:
        bounds = self._bounds
        prices = PricedTree(self._graph, bounds, self._clock, self._look_around)
        try:
            prices.begin()
        except MasterFailed as error:
            logger.info("HiGHS gave up on the LP over clusters: %s", error)
            return
        left = bounds.cutoff - prices.estimate
        if left <= (1.0 - PROMISES) * (bounds.cutoff - self._rows.lower_bound.value):
            self._prices, self._ahead = prices, 0.0


def _patience(graph: Graph) -> float:
    """How much work comes before prices: none where many pairs exclude each other."""
    if graph.n > MOST_PRICED:
        return inf
    worth = Worth.of(graph)
    prices = 0.5 * np.maximum(0.0, worth.weights).sum(axis=1)  # about what they come to
    exclusive = worth.exclusive(prices)[worth.pairs].mean()
    return 0.0 if exclusive >= EXCLUSIVE else BEFORE_PRICES
