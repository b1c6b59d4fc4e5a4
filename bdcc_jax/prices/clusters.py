"""The smallest prices with which no cluster has a surplus, by an LP that knows some clusters.

    min  sum of p    subject to    p(S) >= w(S)  for the clusters S that are known,  p >= 0

is bounded from below by its solution and from above by prices for which no search finds a surplus:
the *centre*. Between the two is where clusters are looked for (in-out separation, Ben-Ameur and
Neto, 2007): either some are found there, or that is the next centre, which is better.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..lp.master import Master
from ..lp.rows import Rows
from ..primal.randomness import State, new_state
from .surplus_search import searched
from .worth import Worth

STEP = 0.5
"""How far from the centre clusters are looked for, on the way to the prices of the LP."""

TINY = 1e-7
"""A surplus of less than this share of the mean price is none."""

NEW = 1.0
"""So many clusters are added at a time for every node, at most."""

WORK = 1e-3
"""A step of a search in units of the clock's work, for every node."""


@dataclass(eq=False)
class Clusters:
    """The LP over clusters that are known, and the centre.

    ``sets`` are the clusters, as rows of a matrix, ``worth_of`` what they are worth.
    """

    worth: Worth
    sets: BoolArray
    centre: FloatArray
    worth_of: FloatArray = field(init=False)
    state: State = field(default_factory=lambda: new_state(0))
    shares: FloatArray = field(init=False)
    """How much of each cluster the solution of the LP has."""

    def __post_init__(self) -> None:
        self.worth_of = self.worth.of_sets(self.sets)
        self.shares = np.zeros(len(self.sets))
        self.least = 0.0
        attracted = np.maximum(0.0, self.worth.without_prices).sum(axis=1)
        self._scale = float(attracted.max()) or 1.0  # no price needs to be higher
        self._master = Master(np.ones(self.worth.n))
        self._master.add(self._rows(self.sets, self.worth_of))
        self._known = {row.tobytes() for row in np.packbits(self.sets, axis=1)}

    @staticmethod
    def of(worth: Worth, clusters: BoolArray) -> Clusters:
        """Begin with some clusters, and half of all that attracts a node as its price."""
        return Clusters(worth, clusters, 0.5 * np.maximum(0.0, worth.without_prices).sum(axis=1))

    def improve(self, clock: Clock) -> bool:
        """Look for clusters with a surplus once; says whether the centre is a better one now."""
        solution = self._scale * np.clip(self._master.solve(clock), 0.0, 1.0)
        self.shares = np.maximum(0.0, self._master.multipliers)
        self.least = float(solution.sum())
        point = self.centre + STEP * (solution - self.centre)
        found = self._search(point, clock)
        if len(found):
            self._add(found)
            return False
        self.centre = point
        return True

    def together(self) -> FloatArray:
        """How much each pair of nodes is together in the solution of the LP."""
        chosen = self.shares > 0.0
        sets = self.sets[: len(chosen)][chosen].astype(np.float64)
        together: FloatArray = sets.T @ (self.shares[chosen, None] * sets)
        return together

    def moved(self, place: IntArray, worth: Worth) -> Clusters:
        """The same where some nodes are one, and others apart; a node has the prices of all in it.

        Parameters
        ----------
        place : ndarray, shape (n,)
            Where the nodes are there.
        worth : Worth
            What their pairs are worth.
        """
        first = np.unique(place, return_index=True)[1]
        sets = self.sets[:, first]
        fits = (sets[:, place] == self.sets).all(axis=1)
        inside = sets.astype(np.float64)
        fits &= ((inside @ worth.apart) * inside).sum(axis=1) == 0.0
        centre = np.bincount(place, self.centre, worth.n).astype(np.float64)
        return Clusters(worth, sets[fits], centre, self.state.copy())

    @property
    def open(self) -> float:
        """How much smaller all prices together could be, at most, by what is known."""
        return float(self.centre.sum()) - self.least

    def learn(self, sets: BoolArray) -> None:
        """Add sets that no search has found, and make the centre dear enough for them."""
        worth_of = self.worth.of_sets(sets)
        for inside, worth in zip(sets, worth_of, strict=True):
            above = worth - float(self.centre[inside].sum())
            if above > 0.0:
                self.centre = self.centre + np.where(inside, above / inside.sum(), 0.0)
        self._add(sets[[key.tobytes() not in self._known for key in np.packbits(sets, axis=1)]])

    def _search(self, prices: FloatArray, clock: Clock) -> BoolArray:
        n = self.worth.n
        surplus = self.worth_of - self.sets @ prices
        near = np.argsort(-surplus, kind="stable")[: 2 * n]
        of_nodes = np.where(self.sets, surplus[:, None], -np.inf)
        best = np.argsort(-of_nodes, axis=0, kind="stable")[:1].ravel()
        known = self.sets[np.unique(np.append(near, best))]
        starts = np.concatenate([known, np.eye(n, dtype=bool)])
        sets, value = searched(self.worth.without_prices, prices, starts, self.state)
        clock.work += WORK * len(starts) * n * n
        order = np.argsort(-value, kind="stable")
        order = order[value[order] > TINY * prices.mean()]
        new: list[int] = []
        for k in order.tolist():
            key = np.packbits(sets[k]).tobytes()
            if key not in self._known and len(new) < NEW * n:
                self._known.add(key)
                new.append(k)
        return np.asarray(sets[new])

    def _add(self, sets: BoolArray) -> None:
        if len(sets) == 0:
            return
        self._known |= {row.tobytes() for row in np.packbits(sets, axis=1)}
        worth_of = self.worth.of_sets(sets)
        self._master.add(self._rows(sets, worth_of))
        self.sets = np.concatenate([self.sets, sets])
        self.worth_of = np.concatenate([self.worth_of, worth_of])

    def _rows(self, sets: BoolArray, worth_of: FloatArray) -> Rows:
        """``p(S) >= w(S)``, the price in units of the largest one that is needed."""
        sizes = sets.sum(axis=1)
        return Rows(
            np.concatenate([[0], np.cumsum(sizes)]),
            np.nonzero(sets)[1].astype(np.int32),
            np.full(int(sizes.sum()), -1.0),
            -worth_of / self._scale,
        )
