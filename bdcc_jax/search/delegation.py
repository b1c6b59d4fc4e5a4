"""One solve has others solve smaller instances, and makes their rounds and bounds its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import NamedTuple, Self

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from ..base.records import Progress, Round, Status
from ..base.sums import sum_down, sum_up
from ..instance.enumeration import MOST_NODES, best_of_all
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..options import Options
from ..presolve import Removed
from ..proofs.certificate import Enumeration, LowerBound, Proof
from ..separation.device.devices import Devices, Host
from .bounds import Bounds
from .checkpoint import Checkpoint

logger = logging.getLogger(__name__)

Callback = Callable[[Progress], bool | None]
Lift = Callable[[IntArray], IntArray]
LiftProof = Callable[[Proof], Proof]


class Known(NamedTuple):
    """What was found out about an instance: its best clustering, and how good that is at least."""

    labels: IntArray
    bound: LowerBound


class Ended(Exception):
    """A round of an inner solve was the last one; says why."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class Delegation:
    """One instance, what is known about it, and what others find out in its place.

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
    tolerance : float, optional
        By how much an optimal clustering may cost more than an optimum; see ``Bounds``.
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
        tolerance: float | None = None,
    ) -> None:
        self._rows, self._level = rows or Rows.empty(), level
        self._graph, self._options, self._clock, self._device = graph, options, clock, device
        self._gap, self._seed, self._callback = gap, seed, callback
        self._given_tolerance = tolerance
        self.bounds = Bounds(graph, gap=gap, absolute_gap=options.absolute_gap, tolerance=tolerance)
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
        raise NotImplementedError

    def _drop_references(self) -> None:
        """Forget who refers back to this solve, so that it is freed without a garbage collector."""
        self._callback = self._checkpoint = None

    def _solver(
        self,
        graph: Graph,
        options: Options,
        clock: Clock | None = None,
        *,
        callback: Callback,
        tolerance: float,
        rows: Rows | None = None,
        checkpoint: Checkpoint | None = None,
        level: int = logging.DEBUG,
    ) -> Self:
        return type(self)(
            graph,
            replace(options, max_rounds=None),
            seed=self._seed,
            clock=self._clock if clock is None else clock,
            device=self._device,
            callback=callback,
            rows=rows,
            checkpoint=checkpoint,
            level=level,
            tolerance=tolerance,
        )

    def _log(self, message: str, *values: object) -> None:
        logger.log(self._level, message, *values)

    def _solve_instead(
        self,
        graph: Graph,
        constant: float,
        lift: Lift,
        why: LiftProof,
        *,
        tolerance: float,
        low: FloatArray | None = None,
        off: float = 0.0,
        beside: float = 0.0,
        ceiling: float = inf,
        rows: Rows | None = None,
        labels: IntArray | None = None,
        piece: bool = False,
        checkpoint: Checkpoint | None = None,
    ) -> tuple[Status, Known]:
        """Solve a smaller instance in place of this one; also returns what is known of it.

        Every clustering of this instance costs at least ``ceiling`` or at least ``constant`` plus
        the optimum of the smaller one; ``lift`` turns clusterings of the smaller one, plus
        ``constant``, into clusterings of this one that cost no more; both up to ``off``, and but
        for ``low``, what float64 cannot hold of the weights of the smaller one. What is clustered
        apart from it may cost too much by ``beside``. ``why`` makes a proof for this one
        of a proof for the smaller one; ``rows`` and ``labels`` are known of the smaller one;
        ``tolerance`` is what it may cost too much. A ``piece`` leaves others to be solved.
        """
        ended: Status | None = None

        def take(found: IntArray | None, bound: LowerBound) -> None:
            if found is not None:
                self.bounds.offer(lift(found))
            value = min(ceiling, sum_down([constant, bound.value, -off]))
            excess = max(sum_up([bound.excess, off, beside]), self.bounds.above(ceiling))
            self.bounds.raise_lower(LowerBound(value, why(bound.proof), excess))

        if graph.n <= MOST_NODES:
            best, cost = best_of_all(graph, low)
            known = Known(best, LowerBound(cost, Enumeration(), 0.0))
            take(*known)
            return Status.OPTIMAL if piece else self._settled(Status.OPTIMAL), known

        off = off if low is None else sum_up(np.append(np.abs(low), off))

        def relay(progress: Progress) -> bool:
            nonlocal ended
            record = progress.round
            found = progress.labels if progress.improved else None
            take(found, solver.bounds.lower_bound)
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
            graph,
            options,
            callback=relay,
            tolerance=tolerance,
            rows=rows,
            checkpoint=checkpoint,
            level=level,
        )
        if labels is not None:
            solver.bounds.offer(labels)
        status = solver.run()
        known = Known(solver.bounds.labels, solver.bounds.lower_bound)
        take(*known)
        if not piece:
            status = self._settled(status)
        return ended or status, known

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
