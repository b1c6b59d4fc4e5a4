"""A solve from beginning to end: Algorithm 1, and the reductions around it.

A reduction replaces the instance by a smaller one, which is solved in the same way, and lifts back
what is found: presolve before the LP; reduced-cost fixing and independent pieces after it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from . import fixing
from .arrays import IntArray
from .benders import Benders
from .bounds import Bounds
from .certificate import Decision, Division, Enumeration, Proof, Reduction, Relaxation
from .checkpoint import Checkpoint, SavedLP
from .clock import Clock, TimeLimitReached
from .devices import Devices, Host
from .enumeration import MOST_NODES, best_of_all
from .graph import Graph
from .heuristics import local_search
from .interrupts import is_interrupt
from .lagrangian import Lagrangian
from .master import MasterFailed
from .options import Options
from .parts import Parts, ends, open_region, pieces, spots
from .presolve import Removed, presolve
from .result import Progress, Round, Status
from .rows import Rows

logger = logging.getLogger(__name__)

Callback = Callable[[Progress], bool | None]
Lift = Callable[[IntArray], IntArray]
Why = Callable[[Proof], Proof]

FUSED_EDGES = 1_500_000
"""Local search before the LP tries a fusion on instances with at most so many edges."""

SMALLER = 0.8
"""A reduction that leaves more than this share of the edges is not worth a new start."""

GUESS_SIZE, GUESS_WORK = 0.5, 2e7
"""Fix-and-solve is tried where it leaves at most this share of the edges; it may do as much work as
the solve so far, and at least so much: about a second's."""

SPOT_SIZE = 0.5
"""Spots with more than this share of the edges are not worth solving by themselves."""

RINGS, DECIDED = 6, 0.4
"""The regions around the spots are widened so often at most, and no more once the bounds decide
this share of the edges."""

ROUNDING_ERROR = 1e-3
"""In units of the tolerance: more than the sums of a reduction can be off."""


class Ended(Exception):
    """A round of an inner solve was the last one; says why."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


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
    device : Devices or Host
        Where batched work runs.
    callback : callable, optional
        Sees every round; stops the run by returning True.
    rows : Rows
        Rows to start from, valid for every clustering; only for instances without presolve.
    checkpoint : Checkpoint, optional
        Where to start from; told what to write.
    level : int
        At which the phases are logged.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        gap: float = 0.0,
        seed: int,
        clock: Clock,
        device: Devices | Host,
        callback: Callback | None = None,
        rows: Rows | None = None,
        checkpoint: Checkpoint | None = None,
        level: int = logging.INFO,
    ) -> None:
        self._rows, self._level = rows or Rows.empty(), level
        self._graph, self._options, self._clock, self._device = graph, options, clock, device
        self._gap, self._seed, self._callback = gap, seed, callback
        self.bounds = Bounds(graph, gap=gap, absolute_gap=options.absolute_gap)
        self.history: list[Round] = []
        self.removed: Removed | None = None
        self._reported = inf
        self._ended: Status | None = None
        self._seconds_before = 0.0
        self._checkpoint = checkpoint

    def resume(self, checkpoint: Checkpoint) -> None:
        """Start from what an earlier run has found."""
        checkpoint.restore(self.bounds)
        self.history, self.removed = checkpoint.history, checkpoint.removed
        self._seconds_before = self.history[-1].seconds if self.history else 0.0

    def run(self) -> Status:
        """Solve, and say why it ended; the answer is in ``bounds`` and ``history``."""
        if verdict := self.bounds.verdict:
            return verdict
        if self._out_of_rounds:
            return Status.MAX_ROUNDS
        try:
            return self._presolve() if self._options.presolve else self._solve()
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            return Status.INTERRUPTED
        except Ended as end:
            return end.status
        except TimeLimitReached:
            return self.bounds.verdict or Status.TIME_LIMIT
        except MasterFailed as error:
            logger.warning("HiGHS gave up on the master: %s", error)
            return self.bounds.verdict or Status.NUMERICAL

    def _presolve(self) -> Status:
        with self._clock.measure("presolve"):
            rest = presolve(self._graph, self._clock)
        self.removed = rest.removed
        self._log("presolve leaves %d of %d edges", rest.graph.m, self._graph.m)
        if rest.graph.m == self._graph.m:
            return self._solve()
        status, _ = self._solve_instead(
            rest.graph,
            rest.constant,
            rest.lift,
            lambda proof: Reduction(rest, proof),
            checkpoint=self._checkpoint,
        )
        return status

    def _solve(self) -> Status:
        if self._options.heuristics:
            with self._clock.measure("rounding"):
                rounds = int(self._graph.m <= FUSED_EDGES)
                labels = local_search(
                    self._graph, rounds=rounds, seed=self._seed, clock=self._clock
                )
                self.bounds.offer(labels)
            self._log("local search finds a clustering of cost %.10g", self.bounds.upper)
        saved = self._checkpoint and self._checkpoint.lp(self._graph)
        if saved:
            self._rows = saved.rows
            self.bounds.offer(saved.labels)
            proof = Relaxation(self._graph, saved.rows, saved.multipliers)
            self.bounds.raise_lower(
                Lagrangian.of(self._graph.weights, saved.rows, saved.multipliers).bound, proof
            )
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
        if self._checkpoint:
            self._checkpoint.watch(lambda: SavedLP(self._graph, self.bounds.labels, *benders.lp))
        if status := benders.relax():
            return status
        if self._options.integer == "pieces" and (status := self._divide(benders)):
            return status
        self._log("branch and bound on %d edges", self._graph.m)
        return benders.integrate()

    def _divide(self, benders: Benders) -> Status | None:
        """Solve what the LP leaves open as smaller instances; None if it leaves too much open."""
        self._log("the LP leaves a gap: %.10g to %.10g", self.bounds.lower, self.bounds.upper)
        independent = pieces(self._graph, *benders.proof)
        if independent.largest <= SPOT_SIZE * self._graph.m:
            return self._solve_pieces(independent)
        if self._options.heuristics:
            self._guess(fixing.by_rounding(self._graph, benders.x))
        known = self._zoom_in(benders)
        if verdict := self.bounds.verdict:
            return verdict
        cutoff = self.bounds.cutoff
        decided = known.decided(cutoff)
        left = fixing.apply(self._graph, decided)
        if left is None:
            # No clustering costs less than the best one.
            self.bounds.raise_lower(cutoff, Decision(self._graph, known, decided, None))
            return self.bounds.verdict or Status.NUMERICAL
        with self._clock.measure("presolve"):
            rest = presolve(left.graph, self._clock)
        if rest.graph.m <= SMALLER * self._graph.m:
            constant = left.constant + rest.constant
            lift: Lift = lambda labels: left.lift(rest.lift(labels))  # noqa: E731
            why: Why = lambda proof: Decision(  # noqa: E731
                self._graph, known, decided, Reduction(rest, proof)
            )
            return self._solve_instead(rest.graph, constant, lift, why, ceiling=cutoff)[0]
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
        self._log("solving %d spots of at most %d edges", len(parts), parts.largest)
        for i in parts.smallest_first():
            instance = parts.instance(i)
            if instance.n <= MOST_NODES:
                objective = instance.objective(best_of_all(instance))
                parts.raise_bound(i, objective, Enumeration())
                continue
            options = replace(self._options, presolve=True)
            solver = self._solver(instance, options, callback=self._inner_round)
            status = solver.run()
            parts.raise_bound(i, solver.bounds.lower, solver.bounds.proof)
            self._end_with(status)
            if status is Status.TIME_LIMIT:
                break
        self.bounds.raise_lower(parts.bound, Division(parts))

    def _solve_pieces(self, independent: Parts) -> Status:
        self._log("solving %d independent pieces", len(independent))
        enough = self.bounds.tolerance / (4 * len(independent))
        for i in independent.smallest_first():
            if independent.gap(i, self.bounds.labels) <= enough:
                continue
            status, bound = self._solve_instead(
                independent.instance(i),
                independent.rest_of_bound(i),
                independent.lift(i, self.bounds.labels),
                partial(independent.proven_by, i),
                rows=independent.rows(i),
                piece=True,
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
        *,
        callback: Callback,
        rows: Rows | None = None,
        checkpoint: Checkpoint | None = None,
        level: int = logging.DEBUG,
    ) -> Solver:
        return Solver(
            graph,
            replace(options, max_rounds=None),
            seed=self._seed,
            clock=self._clock if clock is None else clock,
            device=self._device,
            callback=callback,
            rows=rows,
            checkpoint=checkpoint,
            level=level,
        )

    def _log(self, message: str, *values: object) -> None:
        logger.log(self._level, message, *values)

    def _guess(self, decisions: fixing.Fixing) -> None:
        """Fix and solve: believe some decisions, and solve the rest exactly."""
        left = fixing.apply(self._graph, decisions)
        if left is None or left.graph.m > GUESS_SIZE * self._graph.m:
            return

        def relay(progress: Progress) -> bool:
            if progress.improved:
                self.bounds.offer(left.lift(progress.labels))
            return self._inner_round(progress)

        self._log("fixing all but %d of %d edges", left.graph.m, self._graph.m)
        with self._clock.measure("rounding"):
            clock = self._clock.within(work=max(GUESS_WORK, self._clock.work))
            solver = self._solver(
                left.graph,
                replace(self._options, presolve=True, heuristics=False),
                clock,
                callback=relay,
            )
            status = solver.run()
            self._clock.work += clock.work
            self.bounds.offer(left.lift(solver.bounds.labels))
            self._end_with(status)

    def _solve_instead(
        self,
        graph: Graph,
        constant: float,
        lift: Lift,
        why: Why,
        *,
        ceiling: float = inf,
        rows: Rows | None = None,
        piece: bool = False,
        checkpoint: Checkpoint | None = None,
    ) -> tuple[Status, float]:
        """Solve a smaller instance in place of this one; also returns its lower bound.

        Every clustering of this instance costs at least ``ceiling`` or at least ``constant`` plus
        the optimum of the smaller one; ``lift`` turns clusterings of the smaller one, plus
        ``constant``, into clusterings of this one that cost no more; ``why`` makes a proof for this
        one of a proof for the smaller one. A ``piece`` leaves others to be solved.
        """
        ended: Status | None = None

        def take(labels: IntArray | None, bound: float, proof: Proof) -> None:
            error = ROUNDING_ERROR * self.bounds.tolerance
            if labels is not None:
                self.bounds.offer(lift(labels))
            self.bounds.raise_lower(min(ceiling, constant + bound - error), why(proof))

        if graph.n <= MOST_NODES:
            labels = best_of_all(graph)
            objective = graph.objective(labels)
            take(labels, objective, Enumeration())
            return Status.OPTIMAL if piece else self._settled(Status.OPTIMAL), objective

        def relay(progress: Progress) -> bool:
            nonlocal ended
            record = progress.round
            labels = progress.labels if progress.improved else None
            take(labels, record.lower_bound, solver.bounds.proof)
            if ceiling < inf or piece:
                record = replace(record, phase="ilp")
            ended = self._observe(record)
            return ended is not None

        allowance = max(self._options.absolute_gap, self._gap * abs(self.bounds.upper))
        options = replace(
            self._options,
            presolve=False,
            absolute_gap=0.0 if piece else allowance,
        )
        level = logging.DEBUG if piece else self._level
        solver = self._solver(
            graph, options, callback=relay, rows=rows, checkpoint=checkpoint, level=level
        )
        status = solver.run()
        take(solver.bounds.labels, solver.bounds.lower, solver.bounds.proof)
        if not piece:
            status = self._settled(status)
        return ended or status, solver.bounds.lower

    def _settled(self, status: Status) -> Status:
        """Why this instance ended when the one solved in its place did."""
        if status is Status.OPTIMAL:
            return self.bounds.verdict or Status.NUMERICAL
        return status

    def _inner_round(self, progress: Progress) -> bool:
        """Make a round of this instance out of one of a part of it, whose bounds are its own."""
        record = replace(progress.round, phase="ilp", seconds=self._clock.elapsed)
        self._ended = self._observe(record)
        return self._ended is not None

    def _end_with(self, status: Status) -> None:
        """End this solve if an inner one was ended from outside."""
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if self._ended is not None:
            raise Ended(self._ended)

    def _observe(self, record: Round) -> Status | None:
        self.history.append(
            replace(
                record,
                number=len(self.history) + 1,
                seconds=self._seconds_before + record.seconds,
                lower_bound=self.bounds.lower,
                upper_bound=self.bounds.upper,
            )
        )
        improved, self._reported = self.bounds.upper < self._reported, self.bounds.upper
        stopped = False
        if self._callback is not None:
            labels = self.bounds.labels.view()  # nobody changes them, only for better ones
            labels.flags.writeable = False
            progress = Progress(self.history[-1], labels, improved)
            stopped = bool(self._callback(progress))
        if verdict := self.bounds.verdict:
            return verdict
        if stopped:
            return Status.STOPPED
        return Status.MAX_ROUNDS if self._out_of_rounds else None

    @property
    def _out_of_rounds(self) -> bool:
        most = self._options.max_rounds
        return most is not None and len(self.history) >= most
