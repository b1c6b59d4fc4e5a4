"""The engine 'reference': the rows of the paper, root after root."""

from ...base.arrays import FloatArray
from ...base.clock import Clock
from ...lp.rows import Rows
from ...options import RowKind
from ..separation import Separation
from .ball import VIOLATION, Ball
from .dijkstra import DijkstraFinder
from .magnanti_wong import MagnantiWong
from .paths import Flow, aggregated_row, cycle_rows, decompose, shortest_cycles
from .reference import ReferenceSolver


class PaperRound:
    """Lines 6 to 13 of Algorithm 1 to the letter, one root after another.

    Parameters
    ----------
    finder : DijkstraFinder
        Detects violations, exactly; has a ball around every violated root.
    subproblems : ReferenceSolver
        Solves Eq. (BendersSub) on a ball.
    rows : {'split', 'aggregated'}
        What a flow is turned into.
    variant : MagnantiWong, optional
        Add a second row for every violated root, by this variant of its subproblem.
    """

    def __init__(
        self,
        finder: DijkstraFinder,
        subproblems: ReferenceSolver,
        rows: RowKind,
        variant: MagnantiWong | None = None,
    ) -> None:
        self._finder, self._subproblems = finder, subproblems
        self._kind, self._variant = rows, variant

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Rows that cut off x, at least one for every violated root."""
        with clock.measure("detection"):
            violated = self._finder.find(x, clock)  # line 7
        if not violated:
            return Separation.nothing_violated()
        z1, z2, failed = [], [], 0
        with clock.measure("subproblems"):
            for ball in violated:  # line 6
                clock.check()
                with clock.measure_one("subproblems"):
                    flow = self._subproblems.solve_base(ball, x, clock)
                    if self._variant is not None:
                        other = self._subproblems.solve_magnanti_wong(ball, x, self._variant, clock)
                with clock.measure_one("rows"):
                    # A row that x hardly violates would not move the master: the loop could go on
                    # for ever. Then the shortest cycles are the row.
                    z1.append(self._row(ball, flow, x) or shortest_cycles(ball))  # line 8
                    failed += flow.fallback
                    if self._variant is not None:
                        z2.append(self._row(ball, other, x) or Rows.empty())  # line 9
                        failed += other.fallback
        rows = Rows.concatenate(z1 + z2)  # line 10
        return Separation(rows, len(violated), failed, satisfied=False)

    def _row(self, ball: Ball, flow: Flow, x: FloatArray) -> Rows | None:
        """The row of a flow, or the cycle inequalities that it is the sum of, if x violates it."""
        paths = decompose(ball, flow)
        rows = cycle_rows(ball, paths, x) if self._kind == "split" else aggregated_row(ball, paths)
        return rows if len(rows) > 0 and rows.violation(x).max() > VIOLATION else None
