"""The master problem CC_3 as an ILP: HiGHS' branch and bound, which leaves no proof."""

from collections.abc import Callable
from typing import Any

import highspy
import numpy as np

from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..base.highs import most_nodes
from .master import Master, power_of_two
from .rows import Rows

MAGNIFIED, MOST_COST = 2.0**10, 2.0**24
"""The mean cost of an edge, and the largest one: in units of HiGHS."""

OFF = 1e-7
"""How far HiGHS lets a variable be from 0 and 1: so far its bound is off for each."""

PRESOLVED = 3000
"""ILPs with fewer rows and columns are solved sooner without HiGHS' presolve."""


class IntegerMaster(Master):
    """Minimise ``w . x`` over x in {0, 1} and the rows added so far, up to the given gaps.

    ``start`` returns the cut of the best clustering, from which every run starts.
    """

    REMEDIES = ({}, {"presolve": "off"}, {"presolve": "on"})

    def __init__(
        self,
        weights: FloatArray,
        rows: Rows,
        *,
        gap: float = 0.0,
        absolute_gap: float = 0.0,
        start: Callable[[], FloatArray] | None = None,
    ) -> None:
        super().__init__(weights)
        self._start = start
        self.add(rows)
        kinds = np.full(len(weights), highspy.HighsVarType.kInteger)
        self._highs.changeColsIntegrality(len(kinds), self.columns, kinds)
        # Larger costs, so that what HiGHS may be off by, in its own units, is worth less. A finer
        # tolerance is no substitute: with 1e-10 HiGHS missed more optima next to near ties, and by
        # more. It still misses some (benchmarks/RESULTS.md): no proof may rest on it.
        most = np.abs(weights).max() / MOST_COST
        self._scale = max(self._scale / MAGNIFIED, power_of_two(most))
        self._highs.changeColsCost(len(kinds), self.columns, weights / self._scale)
        for option, value in {
            "solver": "choose",
            "presolve": "choose" if self._size >= PRESOLVED else "off",
            "mip_rel_gap": min(gap, 1e300),
            "mip_abs_gap": min(absolute_gap / self._scale, 1e300),
            "mip_feasibility_tolerance": OFF,
            # The incumbent is good already, and cycle inequalities have no symmetry worth finding.
            "mip_heuristic_effort": 0.0,
            "mip_heuristic_run_feasibility_jump": False,
            "mip_detect_symmetry": False,
        }.items():
            self._highs.setOptionValue(option, value)

    def solve(self, clock: Clock) -> FloatArray:
        """A minimiser, as far as HiGHS' branch and bound can tell."""
        if self._start is not None:
            cut = self._start()
            self._highs.setSolution(len(cut), self.columns, cut)
        return super().solve(clock)

    def _solution(self, status: Any) -> FloatArray | None:
        # Integral up to HiGHS' tolerance: exactly integral, so that detection is exact too.
        x = super()._solution(status)
        return None if x is None else np.round(x)

    def _stopped(self, status: Any, clock: Clock) -> bool:
        out_of_nodes = status == highspy.HighsModelStatus.kSolutionLimit
        return super()._stopped(status, clock) or (out_of_nodes and clock.work_remaining < np.inf)

    def _run(self, clock: Clock) -> Any:
        return self._run_once(clock)

    def _run_within(self, clock: Clock) -> Any:
        if clock.work_remaining < np.inf:
            nodes = most_nodes(clock.work_remaining, self._size)
            self._highs.setOptionValue("mip_max_nodes", nodes)
        self._highs.setOptionValue("time_limit", clock.remaining)
        return self._run_in_thread(clock)

    def _lower_bound(self) -> float:
        bound = float(self._highs.getInfo().mip_dual_bound) * self._scale
        return bound - OFF * np.abs(self._weights).sum() if np.isfinite(bound) else -np.inf
