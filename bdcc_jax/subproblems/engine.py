"""From a solution of the master to new rows: detection, subproblems, rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..arrays import FloatArray
from ..clock import Clock
from ..cover import Cover
from ..graph import Graph
from ..options import Options, RowKind
from ..rows import Rows
from .ball import VIOLATION, Ball, BallFinder
from .dijkstra import DijkstraFinder
from .magnanti_wong import MagnantiWong
from .paths import Flow, aggregated_row, cycle_rows, decompose, shortest_cycles
from .reference import ReferenceSolver


@dataclass(frozen=True, eq=False)
class Separation:
    """New rows, valid for every clustering, and how many roots had a violated cycle inequality.

    There are rows whenever ``violated_roots > 0``; 0 means that x satisfies all of C.
    """

    rows: Rows
    violated_roots: int


class SubproblemSolver(Protocol):
    """Solves the subproblems of one round; rows are valid whatever it returns."""

    def solve(self, balls: list[Ball], x: FloatArray, clock: Clock) -> list[Flow]:
        """One flow or more a ball: those of all balls in order, then again in order, ..."""


class Engine:
    """Lines 6 to 13 of Algorithm 1.

    Parameters
    ----------
    finder : BallFinder
        Detects violations.
    solver : SubproblemSolver
        Solves the subproblems of the violated roots.
    rows : {'split', 'aggregated'}
        What a flow is turned into.
    """

    def __init__(self, finder: BallFinder, solver: SubproblemSolver, rows: RowKind) -> None:
        self._finder, self._solver, self._kind = finder, solver, rows

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Rows that cut off x, at least one for every violated root."""
        with clock.measure("detection"):
            balls = self._finder.find(x, clock)
        with clock.measure("subproblems"):
            flows = self._solver.solve(balls, x, clock)
            parts = [
                self._rows(balls[i % len(balls)], flow, x, first=i < len(balls))
                for i, flow in enumerate(flows)
            ]
        return Separation(Rows.concatenate(parts), len(balls))

    def _rows(self, ball: Ball, flow: Flow, x: FloatArray, *, first: bool) -> Rows:
        paths = decompose(ball, flow)
        rows = cycle_rows(ball, paths, x) if self._kind == "split" else aggregated_row(ball, paths)
        if len(rows) > 0 and rows.activity(x).max() > VIOLATION:
            return rows
        # A row that x hardly violates would not move the master: the loop could go on for ever.
        return shortest_cycles(ball) if first else Rows.empty()


def reference_engine(
    graph: Graph, cover: Cover, options: Options, rng: np.random.Generator
) -> Engine:
    """Everything exact and on the CPU, one root after another."""
    variant = None if options.tau is None else MagnantiWong(options.tau, options.direction, rng)
    return Engine(
        DijkstraFinder(graph, cover, options.ball_size),
        ReferenceSolver(graph, variant),
        options.rows,
    )
