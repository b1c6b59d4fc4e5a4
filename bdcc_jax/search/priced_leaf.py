"""A leaf of branch and bound by prices: what its LP over clusters says, and what is proven of it.

The LP says at once about how good a bound its prices may prove, the *estimate*. To prove it takes
far longer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.sums import sum_down
from ..lp.semidefinite import joined_places
from ..prices.clusters import Clusters
from ..prices.surplus_proof import Begun, Priced, prove
from ..prices.worth import Worth

NEAR = 0.02
"""Prices are good enough if they are above what the LP says by this share of a leaf's gap."""

ROOM, TINY = 0.2, 1e-3
"""Where that proves enough they may be worse by this share of what they prove more than needed;
no better is asked for than this share of the unit of all costs."""

ALMOST, TRIES = 0.98, 5
"""Of the slack that there is; and so many proofs at most, after each of which clusters are known
that no search has found."""

CLOSES, LOSES = 0.4, 0.2
"""A proof for a leaf that is to be divided closes this share of its gap, and may lose this share of
what it gains, so that it takes less time."""

HARDER, MOST_EFFORT = 4, 16
"""A proof that was given up goes on with so many times the effort; after the most of it the leaf is
divided."""


class Goal(NamedTuple):
    """A leaf is closed by a bound of ``cutoff``; costs are multiples of ``unit``."""

    cutoff: float
    unit: float


class PricedLeaf:
    """Clusterings that decide some pairs alike: nodes that they keep together are one.

    ``place`` says where the nodes of the instance are, ``bound`` what the clusterings cost at
    least, and ``source`` by whose prices: those of this leaf, or of one above.
    """

    def __init__(
        self,
        number: int,
        place: IntArray,
        clusters: Clusters,
        bound: float = -np.inf,
        source: int | None = None,
    ) -> None:
        self.number, self.place, self.clusters = number, place, clusters
        self.bound, self.source = bound, source
        self.effort, self.is_tried = 1, False
        self._begun: Begun | None = None

    @property
    def worth(self) -> Worth:
        """What its pairs are worth."""
        return self.clusters.worth

    @property
    def total(self) -> float:
        """What cutting everything costs, rounded down."""
        worth = self.worth
        return sum_down(np.append(worth.weights[worth.pairs], -2.0 * worth.off))

    @property
    def estimate(self) -> float:
        """What its clusterings cost at least, if all clusters that matter are known."""
        return self.total - self.clusters.least

    def room(self, goal: Goal) -> float:
        """How much dearer all nodes together may become and still close the leaf."""
        return self.total - goal.cutoff - float(self.clusters.centre.sum())

    def is_closable(self, goal: Goal) -> bool:
        """Whether its prices would close it."""
        return self.room(goal) > TINY * goal.unit and self.effort <= MOST_EFFORT

    def is_worth_a_bound(self, known: float, goal: Goal) -> bool:
        """Whether a proof that does not close it gains much, over a bound that is known."""
        gains = self.estimate - max(known, self.bound)
        return not self.is_tried and gains >= CLOSES * (goal.cutoff - max(known, self.bound))

    @property
    def is_divisible(self) -> bool:
        """Whether there is a pair of its nodes that is not decided."""
        worth = self.worth
        return not bool(worth.apart[worth.pairs].all())

    def solve(self, goal: Goal, clock: Clock) -> None:
        """Improve the prices until they are about as good as they can be, or good enough."""
        clusters = self.clusters
        while True:
            clock.check()
            clusters.improve(clock)
            gap = goal.cutoff - self.estimate
            if clusters.open <= max(NEAR * gap, -ROOM * gap, TINY * goal.unit):
                return

    def halves(self, pair: tuple[int, int]) -> tuple[PricedLeaf, PricedLeaf]:
        """The clusterings that keep a pair of its nodes, and those that cut it; without numbers."""
        u, v = min(pair), max(pair)
        place = joined_places(self.worth.n, u, v)
        kept = self.clusters.moved(place, self.worth.with_joined(u, v))
        cut = self.clusters.moved(np.arange(self.worth.n), self.worth.with_apart(u, v))
        halves = (
            PricedLeaf(-1, place[self.place], kept, self.bound, self.source),
            PricedLeaf(-1, self.place, cut, self.bound, self.source),
        )
        for half in halves:
            half.effort = max(1, self.effort // HARDER**2)
        return halves

    def proof(self, known: float, goal: Goal, clock: Clock) -> Priced | None:
        """Prove that it is closed, or what else its prices prove; none if they prove nothing."""
        best: Priced | None = None
        for _ in range(TRIES):
            room = self.room(goal)
            loose = LOSES * (self.estimate - max(known, self.bound))
            slack = ALMOST * room if room > TINY * goal.unit else loose
            if slack <= 0.0:
                break
            clusters = self.clusters
            found = prove(self.worth, clusters.centre, slack, clock, self.effort, self._begun)
            self._begun = found.begun
            if best is None or found.bound > best.bound:
                best = found
            if best.bound >= goal.cutoff or len(found.seen) == 0:
                break
            clusters.learn(found.seen)
            self.solve(goal, clock)
        return best

    def learn(self, found: Priced | None, goal: Goal) -> None:
        """Take over what was proven; if it was given up, try harder next time."""
        if found is not None and found.bound > self.bound:
            self.bound, self.source = found.bound, self.number
        self.is_tried = True
        if self.bound >= goal.cutoff:
            self._begun = None
        elif self.is_closable(goal):
            self.effort *= HARDER
