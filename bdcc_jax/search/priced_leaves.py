"""Prices for the leaves of a semidefinite tree: they close those that rows would not.

The LP over clusters says at once about how good a bound its prices may prove, its *estimate*. To
prove it takes longer, and is worth it where that closes a leaf or much of its gap.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from ..base.sums import sum_down
from ..instance.graph import Graph
from ..lp.master import MasterFailed
from ..lp.semidefinite import SemidefiniteProgram
from ..prices.clusters import Clusters
from ..prices.surplus_proof import Priced, prove
from ..prices.worth import Worth

logger = logging.getLogger(__name__)

NEAR = 0.02
"""Prices are good enough if they are above what the LP says by this share of a leaf's gap."""

ROOM, TINY = 0.2, 1e-3
"""Where that proves enough they may be worse by this share of what they prove more than needed;
no better is asked for than this share of the unit of all costs."""

MARGIN = 0.2
"""A leaf is not divided, but closed, if its estimate is above the cutoff by this share of the gap
that it has without prices."""

CLOSES, LOSES = 0.4, 0.2
"""A proof for a leaf that is to be divided closes this share of its gap, and may lose this share of
what it gains, so that it takes less time."""

ALMOST, TRIES = 0.98, 5
"""Of the slack that there is; and so many proofs at most, after each of which clusters are known
that no search has found."""


@dataclass(frozen=True, eq=False)
class Prices:
    """The LP over clusters of a leaf, and where the nodes of the instance are in it."""

    clusters: Clusters
    place: IntArray

    @staticmethod
    def of(graph: Graph, labels: IntArray) -> Prices:
        """Those of a complete graph, of which a clustering is known."""
        worth = Worth.of(SemidefiniteProgram.of(graph.n, graph.weights))
        return Prices(Clusters.of(worth, np.unique(labels)[:, None] == labels), np.arange(graph.n))

    def moved(self, place: IntArray, program: SemidefiniteProgram) -> Prices:
        """Those of a leaf below: where its nodes are, and its program."""
        to = np.zeros(self.clusters.worth.n, dtype=np.int64)
        to[self.place] = place
        return Prices(self.clusters.moved(to, Worth.of(program)), place)

    @property
    def estimate(self) -> float:
        """What clusterings of this leaf cost at least, if all clusters that matter are known."""
        return self._total - self.clusters.least

    @property
    def _total(self) -> float:
        """What cutting everything costs, rounded down."""
        worth = self.clusters.worth
        return sum_down(np.append(worth.weights[worth.pairs], -2.0 * worth.off))

    def solve(self, cutoff: float, unit: float, clock: Clock) -> None:
        """Improve the prices until they are about as good as they can be, or good enough."""
        clusters, total = self.clusters, self._total
        while True:
            clock.check()
            clusters.improve(clock)
            gap = cutoff - (total - clusters.least)
            if clusters.open <= max(NEAR * gap, -ROOM * gap, TINY * unit):
                return

    def bound(
        self, known: float, cutoff: float, unit: float, clock: Clock, effort: int = 1
    ) -> Priced | None:
        """A bound, if it is worth its time: what is known is the best one without prices."""
        best: Priced | None = None
        for _ in range(TRIES):
            try:
                with clock.measure("master"):
                    self.solve(cutoff, unit, clock)
            except MasterFailed as error:
                logger.info("HiGHS gave up on the LP over clusters: %s", error)
                break
            slack = self._slack(known, cutoff)
            if slack is None:
                break
            with clock.measure("subproblems"):
                found = prove(self.clusters.worth, self.clusters.centre, slack, clock, effort)
            if best is None or found.bound > best.bound:
                best = found
            if best.bound >= cutoff or len(found.seen) == 0:
                break
            self.clusters.learn(found.seen)
        return best

    def _slack(self, known: float, cutoff: float) -> float | None:
        """How much the prices may rise in a proof that is worth its time."""
        gap, ahead = cutoff - known, self.estimate - cutoff
        room = self._total - cutoff - float(self.clusters.centre.sum())
        if room > 0.0 and (ahead >= MARGIN * gap or self.is_integral):
            return ALMOST * room
        if ahead < 0.0 and self.estimate - known >= CLOSES * gap:
            return LOSES * (self.estimate - known)
        return None

    @property
    def is_integral(self) -> bool:
        """Whether the solution of the LP is a clustering."""
        shares = self.clusters.shares
        return bool(np.minimum(shares, np.abs(1.0 - shares)).max(initial=0.0) <= 1e-6)

    @property
    def z(self) -> FloatArray:
        """How much the pairs of a leaf are together."""
        return np.clip(self.clusters.together()[self.clusters.worth.pairs], 0.0, 1.0)
