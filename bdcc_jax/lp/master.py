"""The LP of the master problem CC_3 in HiGHS: one model that lives through the whole solve."""

import logging
from functools import cached_property
from math import frexp, ldexp
from time import perf_counter
from typing import Any

import highspy
import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock, TimeLimitReached
from ..base.highs import OPTIMAL, run, run_in_thread
from ..base.records import Stop
from .lagrangian import Lagrangian
from .rows import Rows

logger = logging.getLogger(__name__)

_STATUS = highspy.HighsModelStatus
_BASIS = highspy.HighsBasisStatus
_AS_STATUS = {
    int(status): status
    for status in (_BASIS.kLower, _BASIS.kBasic, _BASIS.kUpper, _BASIS.kZero, _BASIS.kNonbasic)
}
AT_LOWER, AT_UPPER, BASIC = int(_BASIS.kLower), int(_BASIS.kUpper), int(_BASIS.kBasic)
PRIMAL_SIMPLEX, DEVEX = 4, 1

STARTING = 50
"""What the simplex method takes before its first iteration, in iterations."""

IPM_WORK = 20
"""An iteration of the interior point method on one nonzero, in units of work."""

SMALL, QUICK = 20_000, 0.05
"""LPs with fewer rows and columns run without a thread, which takes longer to start than most of
them take, until one has taken more than so many seconds."""

MANY_NEW_ROWS = 0.1
"""Share of the rows; with fewer, the simplex method starts too close to the end to be beaten."""

SLACK_FOR = 2
"""Rows that were slack in so many LPs in a row may be dropped."""

WORTH_DROPPING = 0.2
"""Share of the rows that must have become old before they are dropped."""

RISE = 1e-4
"""Rows are dropped only if the bound has risen by this share since it was last done: a row that
returns has paid for it, and the loop ends."""


class MasterFailed(RuntimeError):
    """HiGHS gave up on the master, whatever the settings."""


class Master:
    """Minimise ``w . x`` over ``0 <= x <= 1`` and the rows added so far.

    Parameters
    ----------
    weights : ndarray, shape (m,)
        The objective.
    """

    REMEDIES: tuple[dict[str, Any], ...] = (
        {},
        {"simplex_strategy": PRIMAL_SIMPLEX, "presolve": "on"},
        {"solver": "ipm", "presolve": "on"},
    )
    """What is tried where HiGHS ends with anything but an optimum, one after another."""

    def __init__(self, weights: FloatArray) -> None:
        self._weights = weights
        # HiGHS' tolerances are absolute: bring the mean |w| to about 1. A power of two is exact.
        self._scale = power_of_two(np.abs(weights).mean())
        self._rows = Rows.empty()
        self._keys = self._rows.keys()
        self._age = np.zeros(0, dtype=np.int64)  # for how many LPs a row has been slack
        self._kept_at = -np.inf  # the bound when rows were last dropped
        self._new_rows = 0
        self._prefers_interior = False
        self._quick = True
        self.columns = np.arange(len(weights), dtype=np.int32)
        self._lower, self._upper = np.zeros(len(weights)), np.ones(len(weights))

    @cached_property
    def _highs(self) -> highspy.Highs:
        """The model, made when it is first needed: many instances are solved without."""
        highs, m = highspy.Highs(), len(self.columns)
        highs.silent()
        highs.addVars(m, self._lower, self._upper)
        highs.changeColsCost(m, self.columns, self._weights / self._scale)
        for option, value in {
            "threads": 1,
            "presolve": "off",  # the next round starts from this round's basis instead
            "solver": "simplex",
        }.items():
            highs.setOptionValue(option, value)
        _pass_rows(highs, self._rows)
        return highs

    @property
    def _has_model(self) -> bool:
        return "_highs" in vars(self)

    @property
    def rows(self) -> Rows:
        """The rows added so far."""
        return self._rows

    @property
    def n_rows(self) -> int:
        """Number of rows added so far."""
        return len(self._rows)

    @property
    def _size(self) -> int:
        return self.n_rows + len(self.columns)

    def add(self, rows: Rows) -> None:
        """Add rows that are valid for every clustering."""
        k = len(rows)
        if k == 0:
            return
        self.proven_bound = -np.inf  # the multipliers are of other rows, should Ctrl-C come next
        self._rows = Rows.concatenate([self._rows, rows]) if self.n_rows else rows
        self._keys = np.concatenate([self._keys, rows.keys()])
        self._age = np.concatenate([self._age, np.zeros(k, dtype=np.int64)])
        self._new_rows += k
        if self._has_model:
            _pass_rows(self._highs, rows)

    def has(self, rows: Rows) -> bool:
        """Whether each of these rows is here already.

        Rows that x violates and that are here are violated by no more than HiGHS allows itself:
        adding them once more would change nothing, and the loop would go on for ever.
        """
        if self.n_rows == 0:
            return len(rows) == 0
        return set(rows.keys().tolist()) <= set(self._keys.tolist())

    def refine(self) -> bool:
        """No: HiGHS solves as precisely as it can."""
        return False

    def drop_slack_rows(self, x: FloatArray) -> BoolArray:
        """Forget rows that have not mattered for a while, x being the solution of the LP.

        Returns which ones are left.
        """
        if self.n_rows == 0:
            return np.ones(0, dtype=bool)
        self._age = np.where(self._rows.violation(x) < -1e-6, self._age + 1, 0)
        old = self._age >= SLACK_FOR
        risen = self.proven_bound > self._kept_at + RISE * abs(self.proven_bound)
        if not risen or old.sum() < WORTH_DROPPING * (1 + len(old)):
            return np.ones(len(old), dtype=bool)
        self._kept_at = self.proven_bound
        positions = np.flatnonzero(old).astype(np.int32)
        self._highs.deleteRows(len(positions), positions)
        self._rows, self._age = self._rows.take(~old), self._age[~old]
        self._keys = self._keys[~old]
        return ~old

    def replace(self, rows: Rows) -> None:
        """Have these rows only."""
        everything = np.arange(self.n_rows, dtype=np.int32)
        self._highs.deleteRows(len(everything), everything)
        self._rows, self._keys = Rows.empty(), self._keys[:0]
        self._age, self._kept_at = self._age[:0], -np.inf
        self.add(rows)

    @property
    def basis(self) -> tuple[IntArray, IntArray]:
        """Where the columns and the rows of the last LP are: AT_LOWER, BASIC, AT_UPPER, ..."""
        basis = self._highs.getBasis()
        if not basis.valid:  # the interior point method may leave none
            return np.full(len(self.columns), AT_LOWER), np.full(self.n_rows, BASIC)
        columns = np.fromiter(map(int, basis.col_status), np.int64, len(self.columns))
        return columns, np.fromiter(map(int, basis.row_status), np.int64, self.n_rows)

    @property
    def state(self) -> tuple[IntArray, IntArray, BoolArray]:
        """The basis, and which rows are tight in it: it needs no others."""
        columns, rows = self.basis
        return columns, rows, rows != BASIC

    def start_from(self, columns: IntArray, rows: IntArray) -> None:
        """Let the next LP start from a basis; rows that were added since are not tight in it."""
        rows = np.pad(rows, (0, self.n_rows - len(rows)), constant_values=BASIC)
        basis = highspy.HighsBasis()
        basis.col_status = [_AS_STATUS[status] for status in columns.tolist()]
        basis.row_status = [_AS_STATUS[status] for status in rows.tolist()]
        self._highs.setBasis(basis)

    def restrict(self, lower: FloatArray, upper: FloatArray) -> None:
        """From here on only solutions between these, which are 0 or 1 each."""
        self._lower, self._upper = lower, upper
        self._highs.changeColsBounds(len(self.columns), self.columns, lower, upper)

    def sharpen(self) -> None:
        """From here on solve LPs as exactly as HiGHS can: their bounds have to close a gap.

        They start from one basis after another. Steepest edges would cost a solve with the basis
        matrix for every row each time; Devex has no weights to begin with.
        """
        self._highs.setOptionValue("dual_feasibility_tolerance", 1e-10)
        self._highs.setOptionValue("simplex_dual_edge_weight_strategy", DEVEX)

    def solve(self, clock: Clock) -> FloatArray:
        """A minimiser.

        What was proven is in ``proven_bound``, also when the clock runs out first
        (TimeLimitReached). Where the rows allow no x at all, that is more than any clustering
        costs, and what is returned means nothing.
        """
        self.proven_bound = -np.inf
        if self.n_rows == 0 and not self._has_model:
            return self._solve_without_rows(clock)
        status = self._run(clock)
        x = self._solution(status)
        for settings in self.REMEDIES:
            if x is not None or self._stopped(status, clock):
                break
            if status == _STATUS.kInfeasible and self._prove_infeasible():
                return self._lower.copy()
            name = self._highs.modelStatusToString(status)
            logger.info("HiGHS ends with %r: once more from scratch", name)
            status = self._try_again(clock, settings)
            x = self._solution(status)
        if self._stopped(status, clock):
            self.proven_bound = self._lower_bound()
            raise TimeLimitReached
        if x is None:
            raise MasterFailed(self._highs.modelStatusToString(status))
        self.proven_bound = self._lower_bound()
        return x

    def _prove_infeasible(self) -> bool:
        """Whether HiGHS has multipliers with which the rows contradict the limits.

        With ``y >= 0`` such that ``min over x of (omega^T y) x - b y = d > 0`` a multiple of y
        proves any bound: one is chosen that no clustering reaches.
        """
        _, has_ray, ray = self._highs.getDualRay()
        if not has_ray:
            return False
        nothing, most = np.zeros(len(self._weights)), 4.0 * np.abs(self._weights).sum()
        for direction in (-np.asarray(ray), np.asarray(ray)):
            y = np.maximum(0.0, direction)
            gain = Lagrangian.of(nothing, self._rows, y).bound_within(self._lower, self._upper)
            if gain > 0.0:
                self.multipliers = y * (most / gain)
                lagrangian = Lagrangian.of(self._weights, self._rows, self.multipliers)
                self.proven_bound = lagrangian.bound_within(self._lower, self._upper)
                return True
        return False

    def _solve_without_rows(self, clock: Clock) -> FloatArray:
        """Every edge by itself."""
        clock.check()
        self.multipliers = np.zeros(0)
        lagrangian = Lagrangian.of(self._weights, self._rows, self.multipliers)
        self.proven_bound = lagrangian.bound_within(self._lower, self._upper)
        return np.where(self._weights < 0.0, self._upper, self._lower)

    def _stopped(self, status: Any, clock: Clock) -> bool:
        """Whether it was our limits that ended the run."""
        return bool(status == _STATUS.kTimeLimit and clock.remaining < np.inf)

    def _solution(self, status: Any) -> FloatArray | None:
        """What HiGHS has found, if it says so and has it to show."""
        if status != OPTIMAL:
            return None
        x: FloatArray = np.array(self._highs.getSolution().col_value)
        if len(x) != len(self.columns) or not np.isfinite(x).all():
            return None
        return x.clip(0.0, 1.0)

    def _try_again(self, clock: Clock, settings: dict[str, Any]) -> Any:
        """From scratch, as patiently as it takes, and with other settings."""
        highs = self._highs
        highs.clearSolver()
        settings = {"simplex_iteration_limit": highspy.kHighsIInf, **settings}
        before = {option: highs.getOptionValue(option)[1] for option in settings}
        for option, value in settings.items():
            highs.setOptionValue(option, value)
        status = self._run_once(clock)
        for option, value in before.items():
            highs.setOptionValue(option, value)
        return status

    proven_bound: float = -np.inf
    """Lower bound that the last call of ``solve`` proved, finished or not."""

    multipliers: FloatArray
    """Of the rows, at least 0: with these the last LP proved its bound."""

    def _run(self, clock: Clock) -> Any:
        """By the simplex method, unless that takes too long."""
        highs = self._highs
        many_new = self._new_rows > MANY_NEW_ROWS * self.n_rows
        self._new_rows = 0
        if not (self._prefers_interior and many_new):
            limit = min(self.n_rows + 1000, 1 + clock.work_remaining // self._size)
            highs.setOptionValue("simplex_iteration_limit", int(limit))
            status = self._run_once(clock)
            if status != _STATUS.kIterationLimit:
                return status
            logger.debug("the simplex method takes long: interior point from here on")
            self._prefers_interior = True
        highs.setOptionValue("solver", "ipm")
        highs.setOptionValue("presolve", "on")
        status = self._run_once(clock)
        highs.setOptionValue("solver", "simplex")
        highs.setOptionValue("presolve", "off")
        return status

    def _run_once(self, clock: Clock) -> Any:
        """Run HiGHS until the deadline, and count the work."""
        clock.check()  # nothing has run yet: what HiGHS reports is of the last problem
        status = self._run_within(clock)
        info = self._highs.getInfo()
        clock.work += (STARTING + max(0, info.simplex_iteration_count)) * self._size
        entries = len(self._rows.indices) + self._size
        clock.work += max(0, info.ipm_iteration_count) * IPM_WORK * entries
        return status

    def _run_within(self, clock: Clock) -> Any:
        highs = self._highs
        # HiGHS counts the time of an LP from its first run on.
        highs.setOptionValue("time_limit", clock.remaining + highs.getRunTime())
        if self._quick and self._size < SMALL:
            start = perf_counter()
            status = run(highs)
            self._quick = perf_counter() - start < QUICK
            return status
        return self._run_in_thread(clock)

    def _run_in_thread(self, clock: Clock) -> Any:
        """So that Ctrl-C gets through; a small LP is done before that."""
        try:
            return run_in_thread(self._highs, clock)
        except (KeyboardInterrupt, Stop):
            self.proven_bound = self._lower_bound()
            raise

    def _lower_bound(self) -> float:
        """What the multipliers prove of all solutions within the limits."""
        solution = self._highs.getSolution()
        if not solution.dual_valid:
            self.multipliers = np.zeros(self.n_rows)  # which prove something, if little
            return -np.inf
        # Rows read omega x <= b, so HiGHS' duals are at most 0 but for its tolerance.
        multipliers = np.maximum(0.0, -np.array(solution.row_dual)) * self._scale
        self.multipliers = multipliers
        lagrangian = Lagrangian.of(self._weights, self._rows, multipliers)
        return lagrangian.bound_within(self._lower, self._upper)


def _pass_rows(highs: highspy.Highs, rows: Rows) -> None:
    status = highs.addRows(
        len(rows),
        np.full(len(rows), -highspy.kHighsInf),
        rows.upper,
        len(rows.indices),
        rows.starts[:-1].astype(np.int32),
        rows.indices,
        rows.values,
    )
    if status == highspy.HighsStatus.kError:
        raise MasterFailed("HiGHS did not take the rows")


def power_of_two(value: float) -> float:
    """Not above, and not zero: dividing by it is exact.

    Examples
    --------
    >>> power_of_two(6.0), power_of_two(0.0)
    (4.0, 5e-324)
    """
    _, size = frexp(max(value, 5e-324))
    return ldexp(1.0, size - 1)
