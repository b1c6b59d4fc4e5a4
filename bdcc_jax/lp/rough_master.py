"""The LP of the master, solved as roughly as will do: a first-order method, and HiGHS to finish.

It is asked as a :class:`~bdcc_jax.lp.master.Master` is. Its bounds are as valid, whatever the
multipliers are; they are only short of the LP's optimum by a share of the gap that is to be closed.
"""

from collections.abc import Callable
from math import inf

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..base.clock import Clock
from .first_order import descend
from .lagrangian import Lagrangian
from .master import RISE, WORTH_DROPPING, Master, power_of_two
from .rows import Rows

ROUGH, FINER, FINEST = 0.1, 0.25, 0.02
"""Cost and bound may differ by this share of the gap; where no rows are found they become closer,
by this factor each time, but not beyond the last share."""

MOST = 600
"""Iterations for an LP, at most."""

PROBE = 80
"""Iterations that tell how much the bound rises if an edge is decided."""

AT_A_TIME, ENTRIES_AT_A_TIME = 500, 2e7
"""Iterations, and entries of rows that they read, between two looks at the clock."""

WORK = 0.03
"""An iteration on one entry of a row, in units of the clock's work."""

BLURRED, SHARP = 0.01, 1e-6
"""By how much x violates a row for sure: a rough solution, and one of HiGHS."""

IDLE_FOR = 3
"""Rows that had no multiplier in so many LPs in a row, and were slack, may be dropped."""


class RoughMaster:
    """Minimise ``w . x`` over ``0 <= x <= 1`` and the rows added so far, about.

    Parameters
    ----------
    weights : ndarray, shape (m,)
        The objective.
    aim : callable
        Returns the bound that is enough: says how precisely to solve, and when to stop.
    """

    proven_bound: float = -inf
    """Lower bound that the last call of ``solve`` proved, finished or not."""

    def __init__(self, weights: FloatArray, aim: Callable[[], float]) -> None:
        self._weights, self._aim = weights, aim
        self._scale = power_of_two(np.abs(weights).mean())
        self._lower, self._upper = np.zeros(len(weights)), np.ones(len(weights))
        self._x = np.where(weights < 0, 1.0, 0.0)
        self._balance = np.ones(1)
        self.replace(Rows.empty())

    @property
    def rows(self) -> Rows:
        """The rows added so far."""
        return self._rows

    @property
    def n_rows(self) -> int:
        """Number of rows added so far."""
        return len(self._rows)

    @property
    def multipliers(self) -> FloatArray:
        """Of the rows, at least 0: with these the last LP proved its bound."""
        return self._y * self._scale

    def replace(self, rows: Rows) -> None:
        """Have these rows only, and begin anew."""
        self._rows, self._keys = Rows.empty(), Rows.empty().keys()
        self._y, self._idle = np.zeros(0), np.zeros(0, dtype=np.int64)
        self._share = ROUGH
        self._exact: Master | None = None
        self._best = self._kept_at = self.proven_bound = -inf
        self.add(rows)

    def add(self, rows: Rows) -> None:
        """Add rows that are valid for every clustering; x may violate some that are here."""
        rows = rows.take(~np.isin(rows.keys(), self._keys))
        if len(rows) > 0:
            self._share = min(ROUGH, self._share / FINER)
        self._rows = Rows.concatenate([self._rows, rows])
        self._keys = np.concatenate([self._keys, rows.keys()])
        self._y = np.pad(self._y, (0, len(rows)))
        self._idle = np.pad(self._idle, (0, len(rows)))
        if self._exact is not None:
            self._exact.add(rows)

    def has(self, rows: Rows) -> bool:
        """Whether each of these rows is here already."""
        return bool(np.isin(rows.keys(), self._keys).all())

    def refine(self) -> bool:
        """Let the next solution be more precise: by a share of the gap, in the end an exact one.

        The exact one is worth it only if x costs about what is aimed at.
        """
        if self._exact is not None:
            return False
        self._share *= FINER
        if self._share >= FINEST:
            return True
        slack = self._aim() - self.proven_bound
        if self._aim() - float(self._weights @ self._x) > FINER * slack:
            return False
        self._exact = Master(self._weights)
        self._exact.sharpen()
        self._exact.restrict(self._lower, self._upper)
        self._exact.add(self._rows)
        return True

    @property
    def blur(self) -> float:
        """Rows that x violates by no more may hold for the solution of the LP."""
        return BLURRED if self._exact is None else SHARP

    def drop_slack_rows(self, x: FloatArray) -> BoolArray:
        """Forget rows that have not mattered for a while, x being the solution of the LP.

        Returns which ones are left.
        """
        self._idle = np.where((self._y == 0.0) & (self._rows.violation(x) < 0.0), self._idle + 1, 0)
        kept = self._idle < IDLE_FOR
        risen = self._best > self._kept_at + RISE * abs(self._best)
        if self._exact or not risen or (~kept).sum() < WORTH_DROPPING * (1 + len(kept)):
            return np.ones(len(kept), dtype=bool)
        self._kept_at = self._best
        self._rows, self._keys = self._rows.take(kept), self._keys[kept]
        self._y, self._idle = self._y[kept], self._idle[kept]
        return kept

    @property
    def state(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Where the next LP may start from, and which rows it needs for that."""
        return self._x.copy(), self._y.copy(), self._y > 0.0

    def start_from(self, x: FloatArray, y: FloatArray) -> None:
        """Let the next LP start from such a state; rows that were added since have no y."""
        self._x, self._y = x.copy(), np.pad(y, (0, self.n_rows - len(y)))

    def restrict(self, lower: FloatArray, upper: FloatArray) -> None:
        """From here on only solutions between these, which are 0 or 1 each."""
        self._lower, self._upper = lower, upper

    def solve(self, clock: Clock) -> FloatArray:
        """A minimiser, about; what was proven is in ``proven_bound``."""
        clock.check()
        if self._exact is None:
            self._descend(clock)
        else:
            try:
                self._x = self._exact.solve(clock)
            finally:
                if self._exact.proven_bound > -inf:
                    self._y = self._exact.multipliers / self._scale
                    self._learn()
        return self._x.copy()

    def probe(self, edge: int, way: float, clock: Clock) -> float:
        """A bound for solutions with ``x = way`` on an edge, after a few iterations from here."""
        lower, upper = self._lower.copy(), self._upper.copy()
        lower[edge] = upper[edge] = way
        x, y = self._x.copy(), self._y.copy()
        x[edge] = way
        self._iterate(x, y, lower, upper, 0.0, PROBE, clock)
        lagrangian = Lagrangian.of(self._weights, self._rows, y * self._scale)
        return lagrangian.bound_within(lower, upper)

    def _descend(self, clock: Clock) -> None:
        aim = self._aim()
        before = self._best if self._best > -inf else self._weights[self._weights < 0].sum()
        precision = self._share * max(0.0, aim - before) / self._scale
        at_a_time = int(np.clip(ENTRIES_AT_A_TIME / (1 + len(self._rows.indices)), 1, AT_A_TIME))
        left = MOST if self.n_rows else 0
        while left > 0 and clock.remaining > 0.0:
            most = min(left, at_a_time)
            args = self._x, self._y, self._lower, self._upper
            left = left - most if self._iterate(*args, precision, most, clock) == most else 0
        self._learn()
        clock.check()

    def _iterate(
        self, x: FloatArray, y: FloatArray, lower: FloatArray, upper: FloatArray,
        precision: float, most: int, clock: Clock,
    ) -> int:  # fmt: skip
        rows = self._rows
        done = descend(
            self._weights / self._scale, lower, upper,
            rows.starts, rows.indices, rows.values, rows.upper,
            x, y, self._balance, precision, self._aim() / self._scale, most,
        )  # fmt: skip
        clock.work += WORK * done * (1 + len(rows.indices))
        return int(done)

    def _learn(self) -> None:
        lagrangian = Lagrangian.of(self._weights, self._rows, self.multipliers)
        self.proven_bound = lagrangian.bound_within(self._lower, self._upper)
        self._best = max(self._best, self.proven_bound)
