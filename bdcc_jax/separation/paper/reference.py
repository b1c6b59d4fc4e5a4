"""The dual subproblem (Eq. BendersSub) and its Magnanti-Wong variant (Sec. 5), solved by HiGHS.

As a min-cost flow on the ball: lambda^-, lambda^+ and psi^+ are the flows along the two directions
of the edges of E+, psi^-_v is the flow that enters at a target v::

    max  sum_v x_sv psi^-_v - sum_e x_e (lambda^-_e + lambda^+_e)
    s.t. flow out of v - flow into v - psi^-_v = 0   at every node but the root,
         0 <= psi^-_v <= |w_sv|,   0 <= lambda^-_e, lambda^+_e <= w_e.

The paper bounds ``lambda^- + lambda^+`` by ``w_e`` together; cancelling opposite flows (which
:mod:`.paths` does) brings any solution of the above there at no loss. Likewise "=" for ">=".
"""

import highspy
import numpy as np

from ...base.arrays import FloatArray
from ...base.clock import Clock
from ...base.highs import OPTIMAL, run
from ...instance.graph import Graph
from .ball import Ball
from .magnanti_wong import MagnantiWong
from .paths import Flow


class ReferenceSolver:
    """Solves subproblems, exactly and one by one; what HiGHS does not solve is a flow of zeros."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._highs = highspy.Highs()
        self._highs.silent()
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("solver", "simplex")

    def solve_base(self, ball: Ball, x: FloatArray, clock: Clock) -> Flow:
        """A maximiser of the dual subproblem at x."""
        n, m, k = len(ball.nodes), len(ball.edges), len(ball.targets)
        # In units of the largest supply, and no edge wider than all supplies together: HiGHS'
        # tolerances are absolute.
        supply = np.abs(self._graph.weights[ball.target_edges])
        unit = supply.max()
        supply = supply / unit
        with np.errstate(over="ignore"):  # wider than all that can be sent
            capacity = np.minimum(self._graph.weights[ball.edges] / unit, supply.sum())

        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = 2 * m + k, n - 1
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = self._activity(ball, x)
        lp.col_lower_ = np.zeros(2 * m + k)
        lp.col_upper_ = np.concatenate([capacity, capacity, supply])
        lp.row_lower_ = lp.row_upper_ = np.zeros(n - 1)
        # Column by column the node it leaves (+1), the node it enters (-1); the root has no row.
        leaves = np.concatenate([ball.tail, ball.head, np.zeros(k, np.int64)])
        enters = np.concatenate([ball.head, ball.tail, ball.targets])
        rows = np.column_stack([leaves, enters]) - 1
        values = np.tile([1.0, -1.0], (len(rows), 1))
        present = rows >= 0
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
        lp.a_matrix_.index_ = rows[present].astype(np.int32)
        lp.a_matrix_.value_ = values[present]
        self._highs.passModel(lp)
        return self._run(m, clock)

    def solve_magnanti_wong(
        self, ball: Ball, x: FloatArray, variant: MagnantiWong, clock: Clock
    ) -> Flow:
        """The Magnanti-Wong variant of the subproblem that ``solve_base`` was just called with.

        Maximises ``-penalty . flow`` over the same flows subject to an activity of at least
        ``tau`` times the optimum, which the last call has found.
        """
        m, k = len(ball.edges), len(ball.targets)
        columns = np.arange(2 * m + k, dtype=np.int32)
        least = variant.tau * self._highs.getInfo().objective_function_value
        activity = self._activity(ball, x)
        self._highs.addRow(least, highspy.kHighsInf, len(columns), columns, activity)
        on_edges, on_targets = np.split(variant.penalty(self._graph, ball), [m])
        cost = -np.concatenate([on_edges, on_edges, on_targets])
        self._highs.changeColsCost(len(columns), columns, cost)
        return self._run(m, clock)

    @staticmethod
    def _activity(ball: Ball, x: FloatArray) -> FloatArray:
        return np.concatenate([-x[ball.edges], -x[ball.edges], x[ball.target_edges]])

    def _run(self, m: int, clock: Clock) -> Flow:
        # HiGHS counts the time of an LP from its first run on.
        self._highs.setOptionValue("time_limit", clock.remaining + self._highs.getRunTime())
        failed = run(self._highs) != OPTIMAL
        clock.check()
        value = np.array(self._highs.getSolution().col_value)
        if failed or len(value) != self._highs.getNumCol():
            failed, value = True, np.zeros(self._highs.getNumCol())
        return Flow(value[:m] - value[m : 2 * m], value[2 * m :], fallback=failed)
