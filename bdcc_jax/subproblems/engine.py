"""From a solution of the master to new rows: detection, subproblems, rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..clock import Clock
from ..cover import Cover
from ..graph import FloatArray, Graph
from ..options import Options
from ..rows import Rows
from .ball import VIOLATION, Ball, BallFinder
from .paths import Flow, aggregated_row, cycle_rows, decompose, shortest_cycles
from .reference import ReferenceSolver, SubproblemFailed, magnanti_wong_penalty


@dataclass(frozen=True, eq=False)
class Separation:
    """New rows, valid for every clustering, and how many roots had a violated cycle inequality.

    There are rows whenever ``violated_roots > 0``; 0 means that x satisfies all of C.
    """

    rows: Rows
    violated_roots: int


class ReferenceEngine:
    """Solves the subproblem of every violated root exactly, one after another.

    Parameters
    ----------
    graph : Graph
        The instance.
    cover : Cover
        The roots.
    options : Options
        ``rows``, ``tau``, ``direction`` and ``ball_size`` are read.
    rng : numpy.random.Generator
        For the random Magnanti-Wong objectives.
    """

    def __init__(
        self, graph: Graph, cover: Cover, options: Options, rng: np.random.Generator
    ) -> None:
        self._graph = graph
        self._options = options
        self._rng = rng
        self._roots = range(len(cover))
        self._finder = BallFinder(graph, cover, options.ball_size)
        self._solver = ReferenceSolver(graph)

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Lines 6 to 13 of Algorithm 1."""
        parts: list[Rows] = []
        violated = 0
        for s in self._roots:
            clock.check()
            with clock.measure("detection"):
                ball = self._finder.find(s, x)
            if ball is not None:
                violated += 1
                with clock.measure("subproblems"):
                    parts += self._rows(ball, x)
        return Separation(Rows.concatenate(parts), violated)

    def _rows(self, ball: Ball, x: FloatArray) -> list[Rows]:
        tau = self._options.tau
        try:
            parts = [self._rows_of(ball, self._solver.solve(ball, x), x)]
            if tau is not None:
                direction = self._options.direction
                penalty = magnanti_wong_penalty(self._graph, ball, direction, self._rng)
                flow = self._solver.solve_magnanti_wong(ball, x, tau, penalty)
                parts.append(self._rows_of(ball, flow, x))
        except SubproblemFailed:
            return [shortest_cycles(ball)]
        return parts

    def _rows_of(self, ball: Ball, flow: Flow, x: FloatArray) -> Rows:
        paths = decompose(ball, flow)
        if self._options.rows == "split":
            rows = cycle_rows(ball, paths, x)
        else:
            rows = aggregated_row(ball, paths)
        # A row that x hardly violates would not move the master: the loop could go on for ever.
        cuts = len(rows) > 0 and rows.activity(x).max() > VIOLATION
        return rows if cuts else shortest_cycles(ball)
