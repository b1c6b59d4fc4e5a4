"""Branch and bound by prices, for dense instances that rows leave a gap in.

The LP over clusters takes a second, and a proof that no set of nodes has a surplus up to a minute:
so the tree grows by estimates, and proofs are for leaves that they close. Where there are many
leaves, the prices of the root prove once what all clusterings cost, and those of leaves that are to
be divided follow where they gain much. Turns of both kinds take about as much work as each other,
as long as there is something to be done for both.

Several leaves are divided or proven at a time, in threads. How many is fixed, and all of them know
the same best clustering: so the tree does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from math import inf

import numpy as np

from ..base import workers
from ..base.arrays import FloatArray
from ..base.blas import one_thread
from ..base.clock import Clock
from ..instance.graph import Graph
from ..prices.clusters import Clusters
from ..prices.strong_branching import dividing_pair
from ..prices.surplus_proof import Priced
from ..prices.worth import Worth
from ..proofs.branching_proof import Branching, Leaf
from ..proofs.certificate import LowerBound
from .bounds import Bounds
from .priced_leaf import Goal, PricedLeaf

AT_A_TIME = 4
"""So many leaves are divided or proven at a time."""

MANY = 8
"""Fewer leaves are soon closed, if at all: from so many on bounds are proven before that."""

Division = tuple[tuple[int, int], tuple[PricedLeaf, PricedLeaf]]
"""The pair that divides a leaf, and its halves."""


class PricedTree:
    """The clusterings of a complete graph, divided until prices close every leaf.

    Parameters
    ----------
    graph : Graph
        The instance.
    bounds : Bounds
        What is known about it; says when a leaf is closed.
    clock : Clock
        Holds the deadline; collects the timings.
    look_around : callable
        Called with an x that is to be divided: there may be better clusterings around it.
    """

    def __init__(
        self,
        graph: Graph,
        bounds: Bounds,
        clock: Clock,
        look_around: Callable[[FloatArray], None],
    ) -> None:
        self.proof = Branching(graph)
        self._graph, self._bounds, self._clock = graph, bounds, clock
        self._look_around = look_around
        known = np.unique(bounds.labels)[:, None] == bounds.labels
        self._root = PricedLeaf(0, np.arange(graph.n), Clusters.of(Worth.of(graph), known))
        self._leaves, self._closed = [self._root], inf
        self._sources: set[int | None] = set()
        self._dividing = self._proving = 0.0

    @property
    def estimate(self) -> float:
        """About what every clustering costs at least."""
        return min((leaf.estimate for leaf in self._leaves), default=self._closed)

    @property
    def lower_bound(self) -> LowerBound:
        """What every clustering costs at least, and why."""
        bound = min((leaf.bound for leaf in self._leaves), default=inf)
        sources = self._sources | {leaf.source for leaf in self._leaves}
        priced = {k: why for k, why in self.proof.priced.items() if k in sources}
        proof = replace(self.proof.proof, priced=priced)
        return LowerBound(min(bound, self._closed), proof)

    @property
    def has_proven(self) -> bool:
        """Whether there are any proofs yet."""
        return bool(self.proof.priced)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to be done."""
        return not self._to_be_proven and not self._to_be_divided

    def begin(self) -> None:
        """Solve the LP of all clusterings, for an estimate, and look around its solution."""
        before = self._clock.work
        with one_thread(), self._clock.measure("master"):
            self._root.solve(self._goal, self._clock)
        self._dividing += self._clock.work - before
        self._offer([self._root])

    def grow(self) -> None:
        """Divide or prove some leaves, whichever has taken less work."""
        clock, before = self._clock, self._clock.work
        try:
            with one_thread():  # of BLAS: there are ours
                proven, divided = self._to_be_proven, self._to_be_divided
                if proven and (not divided or self._proving <= self._dividing):
                    with clock.measure("subproblems"):
                        self._prove(proven[:AT_A_TIME])
                    self._proving += clock.work - before
                else:
                    with clock.measure("master"):
                        self._divide(divided[:AT_A_TIME])
                    self._dividing += clock.work - before
            self._close()
        finally:  # a limit may have come after some proofs: nobody asks this tree again
            self._bounds.raise_lower(self.lower_bound)

    @property
    def _goal(self) -> Goal:
        return Goal(self._bounds.cutoff, self._bounds.unit)

    @property
    def _to_be_proven(self) -> list[PricedLeaf]:
        """What prices close, or gain much in; first what takes least."""
        goal, known, root = self._goal, self._bounds.lower, self._root
        early = len(self._leaves) >= MANY
        if early and root.is_worth_a_bound(known, goal):
            return [root]
        some = [
            leaf
            for leaf in self._leaves
            if leaf.is_closable(goal) or (early and leaf.is_worth_a_bound(known, goal))
        ]
        return sorted(some, key=lambda leaf: (leaf.effort, leaf.bound, leaf.number))

    @property
    def _to_be_divided(self) -> list[PricedLeaf]:
        """What prices do not close; first what is furthest from that."""
        goal = self._goal
        some = [leaf for leaf in self._leaves if not leaf.is_closable(goal) and leaf.is_divisible]
        return sorted(some, key=lambda leaf: (leaf.estimate, leaf.number))

    def _prove(self, leaves: list[PricedLeaf]) -> None:
        goal, known = self._goal, self._bounds.lower

        def proof(leaf: PricedLeaf, clock: Clock) -> Priced | None:
            return leaf.proof(known, goal, clock)

        with closing(workers.map(proof, leaves, self._clock)) as found:
            for leaf, why in zip(leaves, found, strict=True):
                if why is not None and why.why is not None and why.bound > leaf.bound:
                    self.proof.priced[leaf.number] = why.why
                leaf.learn(why, goal)
        for leaf in self._leaves:
            if self._root.bound > leaf.bound:
                leaf.bound, leaf.source = self._root.bound, 0

    def _divide(self, leaves: list[PricedLeaf]) -> None:
        goal, new = self._goal, list[PricedLeaf]()

        def halves(leaf: PricedLeaf, clock: Clock) -> Division:
            pair = dividing_pair(leaf.clusters, goal.cutoff - leaf.estimate, clock)
            both = leaf.halves(pair)
            list(workers.map(lambda half, own: half.solve(goal, own), both, clock))
            return pair, both

        with closing(workers.map(halves, leaves, self._clock)) as found:
            for leaf, (pair, both) in zip(leaves, found, strict=True):
                self._replace(leaf, pair, both)
                new += both
        self._offer(new)

    def _replace(
        self, leaf: PricedLeaf, pair: tuple[int, int], halves: tuple[PricedLeaf, PricedLeaf]
    ) -> None:
        """Put the halves of a leaf in its place."""
        first, nothing = len(self.proof.nodes), Leaf.trivial()
        ends = leaf.place[self._graph.edges]
        between = (ends == pair).all(axis=1) | (ends[:, ::-1] == pair).all(axis=1)
        for half, number in zip(halves, (first, first + 1), strict=True):
            half.number = number
        self.proof.divide(leaf.number, int(np.argmax(between)), nothing, nothing)
        self._leaves = [*(other for other in self._leaves if other is not leaf), *halves]

    def _offer(self, leaves: list[PricedLeaf]) -> None:
        """Look around the solutions of leaves that prices do not close."""
        for leaf in leaves:
            if not leaf.is_closable(self._goal):
                self._look_around(self._x(leaf))

    def _x(self, leaf: PricedLeaf) -> FloatArray:
        """The solution of a leaf's LP for the edges of the instance: 1 for those that are cut."""
        together = np.clip(leaf.clusters.together(), 0.0, 1.0)
        np.fill_diagonal(together, 1.0)
        x: FloatArray = 1.0 - together[tuple(leaf.place[self._graph.edges.T])]
        return x

    def _close(self) -> None:
        """Put leaves aside that need no more work."""
        cutoff = self._bounds.cutoff
        for leaf in self._leaves:
            if leaf.bound >= cutoff:
                self._closed = min(self._closed, leaf.bound)
                self._sources.add(leaf.source)
        self._leaves = [leaf for leaf in self._leaves if leaf.bound < cutoff]
