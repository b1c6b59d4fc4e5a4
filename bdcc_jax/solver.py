"""A solve from beginning to end: Algorithm 1, and the reductions around it.

A reduction replaces the instance by a smaller one, which is solved in the same way, and lifts back
what is found: presolve before the LP; reduced-cost fixing and independent pieces after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np

from . import fixing
from .arrays import IntArray
from .benders import Benders
from .bounds import Bounds
from .clock import Clock, TimeLimitReached
from .devices import Devices
from .enumeration import MOST_NODES, best_of_all
from .graph import Graph
from .heuristics import local_search
from .master import MasterFailed
from .options import Options
from .parts import Parts, ends, open_region, pieces, spots
from .presolve import Removed, presolve
from .result import Progress, Round, Status
from .rows import Rows

Callback = Callable[[Progress], bool | None]
Lift = Callable[[IntArray], IntArray]

FUSED_EDGES = 1_500_000
"""Local search before the LP tries a fusion on instances with at most so many edges."""

SMALLER = 0.8
"""A reduction that leaves more than this share of the edges is not worth a new start."""

GUESS_SIZE, GUESS_SECONDS = 0.5, 1.0
"""Fix-and-solve is tried where it leaves at most this share of the edges; it may take as long as
the solve so far, and at least so many seconds."""

SPOT_SIZE = 0.5
"""Spots with more than this share of the edges are not worth solving by themselves."""

RINGS, DECIDED = 6, 0.4
"""The regions around the spots are widened so often at most, and no more once the bounds decide
this share of the edges."""

ROUNDING_ERROR = 1e-3
"""In units of the tolerance: more than the sums of a reduction can be off."""


class Solver:
    """One instance and what is known about it.

    Parameters
    ----------
    graph : Graph
        The instance.
    options : Options
        How to solve.
    gap : float
        Relative gap at which to stop.
    seed : int
        For everything random.
    clock : Clock
        Holds the deadline; collects the timings.
    device : Devices
        Where batched work runs.
    callback : callable, optional
        Sees every round; stops the run by returning True.
    rows : Rows
        Rows to start from, valid for every clustering; only for instances without presolve.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        gap: float = 0.0,
        seed: int,
        clock: Clock,
        device: Devices,
        callback: Callback | None = None,
        rows: Rows | None = None,
    ) -> None:
        self._rows = rows or Rows.empty()
        self._graph, self._options, self._clock, self._device = graph, options, clock, device
        self._gap, self._seed, self._callback = gap, seed, callback
        self.bounds = Bounds(graph, gap=gap, absolute_gap=options.absolute_gap)
        self.history: list[Round] = []
        self.removed: Removed | None = None
        self._reported = inf

    def run(self) -> Status:
        """Solve, and say why it ended; the answer is in ``bounds`` and ``history``."""
        if verdict := self.bounds.verdict:
            return verdict
        try:
            return self._presolve() if self._options.presolve else self._solve()
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except SystemError as error:
            # So a compiled function ends that was running when Ctrl-C was pressed.
            if not _caused_by_ctrl_c(error):
                raise
            return Status.INTERRUPTED
        except TimeLimitReached:
            return self.bounds.verdict or Status.TIME_LIMIT
        except MasterFailed:
            return self.bounds.verdict or Status.NUMERICAL

    def _presolve(self) -> Status:
        with self._clock.measure("presolve"):
            rest = presolve(self._graph, self._clock)
        self.removed = rest.removed
        if rest.graph.m == self._graph.m:
            return self._solve()
        status, _ = self._solve_instead(rest.graph, rest.constant, rest.lift)
        return status

    def _solve(self) -> Status:
        if self._options.heuristics:
            with self._clock.measure("rounding"):
                rounds = int(self._graph.m <= FUSED_EDGES)
                labels = local_search(
                    self._graph, rounds=rounds, seed=self._seed, clock=self._clock
                )
                self.bounds.offer(labels)
        benders = Benders(
            self._graph,
            self._options,
            self.bounds,
            gap=self._gap,
            seed=self._seed,
            clock=self._clock,
            device=self._device,
            observe=self._observe,
            rows=self._rows,
        )
        if status := benders.relax():
            return status
        if self._options.integer == "pieces" and (status := self._divide(benders)):
            return status
        return benders.integrate()

    def _divide(self, benders: Benders) -> Status | None:
        """Solve what the LP leaves open as smaller instances; None if it leaves too much open."""
        independent = pieces(self._graph, *benders.proof)
        if independent.largest <= SPOT_SIZE * self._graph.m:
            return self._solve_pieces(independent)
        if self._options.heuristics:
            self._guess(fixing.by_rounding(self._graph, benders.x))
        known = self._zoom_in(benders)
        if verdict := self.bounds.verdict:
            return verdict
        cutoff = self.bounds.cutoff
        left = fixing.apply(self._graph, known.decided(cutoff))
        if left is None:
            # No clustering costs less than the best one.
            self.bounds.raise_lower(cutoff)
            return self.bounds.verdict or Status.NUMERICAL
        with self._clock.measure("presolve"):
            rest = presolve(left.graph, self._clock)
        if rest.graph.m <= SMALLER * self._graph.m:
            constant = left.constant + rest.constant
            lift: Lift = lambda labels: left.lift(rest.lift(labels))  # noqa: E731
            return self._solve_instead(rest.graph, constant, lift, ceiling=cutoff)[0]
        return self._solve_pieces(independent) if len(independent) > 1 else None

    def _zoom_in(self, benders: Benders) -> Parts:
        """Solve the spots where the gap is, for both bounds, in ever wider regions."""
        graph, bounds = self._graph, self.bounds
        least = bounds.tolerance / (1 + graph.m)
        region = open_region(graph, *benders.proof, bounds.labels, least)
        known = spots(graph, *benders.proof, np.zeros(graph.n, dtype=bool))
        for _ in range(RINGS):
            parts = spots(graph, *benders.proof, region)
            if parts.largest > SPOT_SIZE * graph.m:
                break
            self._sharpen(parts)
            known = max(known, parts, key=lambda p: p.bound)
            if self._options.heuristics and not bounds.verdict:
                self._guess(fixing.outside(graph, graph.cut(bounds.labels), region))
            if bounds.verdict or known.decided(bounds.cutoff).share >= DECIDED:
                break
            wide = parts.nodes_with_gap(bounds.labels, bounds.tolerance / (1 + len(parts)))
            region = region | open_region(graph, *benders.proof, bounds.labels, least)
            region |= ends(graph, wide[graph.edges[:, 0]] | wide[graph.edges[:, 1]])
        return known

    def _sharpen(self, parts: Parts) -> None:
        """Add to the bound what the LP misses in each part."""
        for i in parts.smallest_first():
            instance = parts.instance(i)
            if instance.n <= MOST_NODES:
                parts.raise_bound(i, instance.objective(best_of_all(instance)))
                continue
            solver = self._solver(instance, replace(self._options, presolve=True))
            status = solver.run()
            parts.raise_bound(i, solver.bounds.lower)
            if status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if status is Status.TIME_LIMIT:
                break
        self.bounds.raise_lower(parts.bound)

    def _solve_pieces(self, independent: Parts) -> Status:
        enough = self.bounds.tolerance / (4 * len(independent))
        for i in independent.smallest_first():
            if independent.gap(i, self.bounds.labels) <= enough:
                continue
            status, bound = self._solve_instead(
                independent.instance(i),
                independent.rest_of_bound(i),
                independent.lift(i, self.bounds.labels),
                rows=independent.rows(i),
                partial=True,
            )
            if status not in (Status.OPTIMAL, Status.GAP):
                return status
            independent.raise_bound(i, bound)
        return self.bounds.verdict or Status.NUMERICAL

    def _solver(
        self,
        graph: Graph,
        options: Options,
        clock: Clock | None = None,
        callback: Callback | None = None,
        rows: Rows | None = None,
    ) -> Solver:
        return Solver(
            graph,
            replace(options, max_rounds=None),
            seed=self._seed,
            clock=self._clock if clock is None else clock,
            device=self._device,
            callback=callback,
            rows=rows,
        )

    def _guess(self, decisions: fixing.Fixing) -> None:
        """Fix and solve: believe some decisions, and solve the rest exactly."""
        left = fixing.apply(self._graph, decisions)
        if left is None or left.graph.m > GUESS_SIZE * self._graph.m:
            return
        with self._clock.measure("rounding"):
            seconds = max(GUESS_SECONDS, self._clock.elapsed)
            solver = self._solver(
                left.graph,
                replace(self._options, presolve=True, heuristics=False),
                self._clock.within(seconds),
            )
            status = solver.run()
            self.bounds.offer(left.lift(solver.bounds.labels))
            if status is Status.INTERRUPTED:
                raise KeyboardInterrupt

    def _solve_instead(
        self,
        graph: Graph,
        constant: float,
        lift: Lift,
        *,
        ceiling: float = inf,
        rows: Rows | None = None,
        partial: bool = False,
    ) -> tuple[Status, float]:
        """Solve a smaller instance in place of this one; also returns its lower bound.

        Every clustering of this instance costs at least ``ceiling`` or at least ``constant`` plus
        the optimum of the smaller one; ``lift`` turns clusterings of the smaller one, plus
        ``constant``, into clusterings of this one that cost no more. A ``partial`` instance leaves
        others to be solved.
        """
        ended: Status | None = None

        def take(labels: IntArray | None, bound: float) -> None:
            error = ROUNDING_ERROR * self.bounds.tolerance
            if labels is not None:
                self.bounds.offer(lift(labels))
            self.bounds.raise_lower(min(ceiling, constant + bound - error))

        if graph.n <= MOST_NODES:
            labels = best_of_all(graph)
            objective = graph.objective(labels)
            take(labels, objective)
            return Status.OPTIMAL if partial else self._settled(Status.OPTIMAL), objective

        def relay(progress: Progress) -> bool:
            nonlocal ended
            record = progress.round
            take(progress.labels if progress.improved else None, record.lower_bound)
            if ceiling < inf or partial:
                record = replace(record, phase="ilp")
            ended = self._observe(record)
            return ended is not None

        allowance = max(self._options.absolute_gap, self._gap * abs(self.bounds.upper))
        options = replace(
            self._options,
            presolve=False,
            absolute_gap=0.0 if partial else allowance,
        )
        solver = self._solver(graph, options, callback=relay, rows=rows)
        status = solver.run()
        take(solver.bounds.labels, solver.bounds.lower)
        if not partial:
            status = self._settled(status)
        return ended or status, solver.bounds.lower

    def _settled(self, status: Status) -> Status:
        """Why this instance ended when the one solved in its place did."""
        if status is Status.OPTIMAL:
            return self.bounds.verdict or Status.NUMERICAL
        return status

    def _observe(self, record: Round) -> Status | None:
        self.history.append(
            replace(
                record,
                number=len(self.history) + 1,
                lower_bound=self.bounds.lower,
                upper_bound=self.bounds.upper,
            )
        )
        improved, self._reported = self.bounds.upper < self._reported, self.bounds.upper
        stopped = False
        if self._callback is not None:
            progress = Progress(self.history[-1], self.bounds.labels.copy(), improved)
            stopped = bool(self._callback(progress))
        if verdict := self.bounds.verdict:
            return verdict
        if stopped:
            return Status.STOPPED
        if len(self.history) == self._options.max_rounds:
            return Status.MAX_ROUNDS
        return None


def _caused_by_ctrl_c(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
