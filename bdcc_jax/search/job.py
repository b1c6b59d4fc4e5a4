"""One instance, what is known about it, and the smaller instances that are solved on the way.

A job is what the strategy works on: the instance that the user gave, what presolve leaves of it, a
piece of that. All of them are jobs alike, each with bounds of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import jax

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.records import Status, Stop
from ..instance.graph import Graph
from ..lp.master import MasterFailed
from ..lp.rows import Rows
from ..options import Options
from ..presolve import Removed
from ..primal.heuristics import Search
from ..separation.device.devices import Devices, Host
from .bounds import Bounds
from .checkpoint import Checkpoint
from .problem import Problem
from .reporter import Reporter
from .substitute import Known, Substitute

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Setting:
    """What is the same for all instances within a solve.

    Attributes
    ----------
    options : Options
        How to solve, as the user has it.
    seed : int
        For everything random.
    device : Devices or Host
        Where batched work runs.
    reporter : Reporter
        Told of every round.
    strategy : callable
        Solves a job; ends by Stop once the bounds have met.
    """

    options: Options
    seed: int
    device: Devices | Host
    reporter: Reporter
    strategy: Callable[[Job], None]

    @property
    def accelerator(self) -> jax.Device | None:
        """The device that has the array programs, if the user wants one or there is a GPU."""
        return self.device.devices[0] if isinstance(self.device, Devices) else None


class Job:
    """An instance that is to be solved.

    Parameters
    ----------
    graph : Graph
        The instance.
    bounds : Bounds
        What is known about it; kept up to date.
    clock : Clock
        Holds the deadline; collects the timings.
    setting : Setting
        What is the same for inner instances.
    presolve, heuristics : bool
        Whether to reduce the instance first, and whether to look for clusterings beside the LP.
    rows : Rows
        Rows to start from, valid for every clustering; only for instances without presolve.
    labels_known : bool
        Whether the bounds have a clustering that somebody has found, to start from.
    problem : Problem, optional
        Which clusterings count; all of them if not given.
    search : Search, optional
        A search for clusterings of the same nodes that has begun, and can go on.
    checkpoint : Checkpoint, optional
        Where to start from; told what to write.
    level : int
        At which the phases are logged.
    """

    def __init__(
        self,
        graph: Graph,
        bounds: Bounds,
        clock: Clock,
        setting: Setting,
        *,
        presolve: bool,
        heuristics: bool,
        rows: Rows | None = None,
        labels_known: bool = False,
        problem: Problem | None = None,
        search: Search | None = None,
        checkpoint: Checkpoint | None = None,
        level: int = logging.DEBUG,
    ) -> None:
        self.problem = Problem(graph) if problem is None else problem
        self.graph, self.bounds, self.clock, self.setting = graph, bounds, clock, setting
        self.presolve, self.heuristics = presolve, heuristics
        self.rows = Rows.empty() if rows is None else rows
        self.labels_known, self.search = labels_known, search
        self.checkpoint, self.level = checkpoint, level
        self.removed: Removed | None = None if checkpoint is None else checkpoint.removed

    def run(self) -> Status:
        """Solve until the bounds have met, or as far as float64 and HiGHS let them.

        Raises Stop where something else ends it: a limit, the callback, bounds further out.
        """
        try:
            self.bounds.stop_if_met()
            self.setting.reporter.stop_if_out_of_rounds()
            self.setting.strategy(self)
        except Stop as stop:
            if stop.status not in (Status.OPTIMAL, Status.GAP) or not self.bounds.verdict:
                raise
        except MasterFailed as error:
            logger.warning("HiGHS gave up on the master: %s", error)
        return self.bounds.verdict or Status.NUMERICAL

    def solve_instead(self, substitute: Substitute) -> Known:
        """Solve another instance in place of this one; also returns what is known of it."""
        if listed := substitute.enumerate():
            substitute.hand_out(self.bounds, listed.labels, listed.bound, substitute.off)
            return listed
        graph, piece, off = substitute.graph, substitute.piece, substitute.all_off
        allowance = 0.0 if piece else max(0.0, self.bounds.allowance - off)
        inner = Bounds(graph, absolute_gap=allowance, tolerance=substitute.tolerance)
        if substitute.labels is not None:
            inner.offer(substitute.labels)
        told = inner.labels[:0]

        def hand_out() -> None:
            nonlocal told
            labels = inner.labels
            better = None if labels is told else labels
            substitute.hand_out(self.bounds, better, inner.lower_bound, off)
            told = labels  # now: should Ctrl-C come before, the bound must not go out without them

        job = self.inner(
            graph,
            inner,
            rows=substitute.rows,
            labels_known=substitute.labels is not None,
            search=substitute.search,
            checkpoint=self.checkpoint,
            level=logging.DEBUG if piece else self.level,
        )
        with self.setting.reporter.inside(inner, hand_out, substitute.lift):
            status = job.run()
        return Known(inner.labels, inner.lower_bound, status is Status.OPTIMAL)

    def inner(
        self,
        graph: Graph,
        bounds: Bounds,
        clock: Clock | None = None,
        *,
        presolve: bool = False,
        heuristics: bool = True,
        rows: Rows | None = None,
        labels_known: bool = False,
        search: Search | None = None,
        checkpoint: Checkpoint | None = None,
        level: int = logging.DEBUG,
    ) -> Job:
        """A smaller instance; without heuristics if this one has none."""
        return Job(
            graph,
            bounds,
            self.clock if clock is None else clock,
            self.setting,
            presolve=presolve,
            heuristics=heuristics and self.heuristics,
            rows=rows,
            labels_known=labels_known,
            search=search,
            checkpoint=checkpoint,
            level=level,
        )

    def start_from(self, labels: IntArray) -> None:
        """Take a clustering that was found before the LP, and tell it."""
        self.bounds.offer(labels)
        self.setting.reporter.start()

    def keep_search(self, search: Search) -> None:
        """Keep a search for clusterings that may go on later."""
        self.search = search

    def log(self, message: str, *values: object) -> None:
        """Log what comes next: for users if this is their instance, else for debugging."""
        logger.log(self.level, message, *values)
