"""One solve of a graph, from arguments to a result."""

import logging
from functools import partial
from os import PathLike

from numpy.typing import ArrayLike

from .base.arrays import IntArray
from .base.clock import Clock
from .base.highs import release_scheduler
from .base.interrupts import interruptible, is_interrupt
from .base.records import Status, Stop
from .base.worker_processes import open_processes
from .base.workers import open_threads, usable_cores
from .instance.graph import Graph
from .options import Options
from .result import Result
from .search.arguments import check_arguments, check_initial
from .search.bounds import Bounds
from .search.checkpoint import Checkpoint
from .search.job import Job, Setting
from .search.problems import problem_of
from .search.reporter import Callback, Reporter
from .search.strategy import strategy
from .search.terms import Terms
from .separation.device.devices import DeviceChoice, Devices, Host
from .show.progress import ProgressChoice, shown

logger = logging.getLogger(__name__)

LARGE = 2_000_000
"""Solves of at least so many edges take longer than processes take to start."""


def solve_graph(
    graph: Graph,
    *,
    device: DeviceChoice = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    callback: Callback | None = None,
    progress: ProgressChoice = False,
    checkpoint: str | PathLike[str] | None = None,
    initial: ArrayLike | None = None,
) -> Result:
    """As :func:`bdcc_jax.solve`, for a graph that whoever calls has looked at."""
    start = None if initial is None else check_initial(graph, initial)
    options, where, time_limit, gap, seed = check_arguments(
        device, time_limit, gap, seed, options, callback, graph.features
    )
    begin = partial(Attempt, graph, options, gap=gap, seed=seed, device=where, initial=start)
    attempt: Attempt | None = None
    try:
        clock = Clock(time_limit)
        attempt = begin(clock=clock)
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, attempt.instance, options, seed)
        with interruptible(), shown(progress, clock, callback) as observe:
            attempt.run(observe, saved)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        if attempt is None:
            attempt = begin(clock=Clock(time_limit))
    try:
        return attempt.result()
    except KeyboardInterrupt:  # whoever means it presses it twice
        return attempt.result()


class Attempt:
    """One solve: whatever becomes of it, there is a result.

    Parameters
    ----------
    graph, options, gap, seed, clock, device
        As for :class:`~bdcc_jax.search.job.Job`; all of them have been checked.
    initial : ndarray of int, shape (n,), optional
        A clustering to start from, checked too.
    threads : int, optional
        In place of those of the options, where other solves run at the same time.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        gap: float,
        seed: int,
        clock: Clock,
        device: Devices | Host,
        initial: IntArray | None = None,
        threads: int | None = None,
    ) -> None:
        self._graph, self._options, self._gap, self._seed = graph, options, gap, seed
        self._clock, self._device = clock, device
        self._threads = threads or options.threads or usable_cores()
        self._terms = terms = Terms.of(graph)
        self._problem = problem_of(terms.graph)
        self._initial: IntArray | None = None
        if initial is not None:  # as it is if it has all that is asked for
            self._initial = terms.lift(self._problem.repaired(terms.drop(initial)))
        self._bounds: Bounds | None = None
        self._reporter: Reporter | None = None
        self._job: Job | None = None
        self._status = Status.INTERRUPTED  # until it has ended in any other way

    @property
    def instance(self) -> Graph:
        """What is solved: the user's graph, in the terms of the search."""
        return self._terms.graph

    def run(self, callback: Callback, checkpoint: Checkpoint | None = None) -> None:
        """Solve; KeyboardInterrupt may come at any moment, and leaves what has been found."""
        terms, options, clock = self._terms, self._options, self._clock
        graph = terms.graph
        logger.info("begin: %d nodes, %d edges, on %s", graph.n, graph.m, self._device)
        bounds = self._bounds = self._first_bounds()
        if self._initial is not None:
            bounds.offer(terms.drop(self._initial))
        if checkpoint is not None:
            checkpoint.restore(bounds)
        reporter = self._reporter = Reporter(
            bounds,
            clock,
            terms=terms,
            callback=callback,
            checkpoint=checkpoint,
            max_rounds=options.max_rounds,
        )
        setting = Setting(options, self._seed, self._device, reporter, strategy)
        job = self._job = Job(
            graph,
            bounds,
            clock,
            setting,
            presolve=options.presolve,
            heuristics=options.heuristics,
            labels_known=self._initial is not None,
            problem=self._problem,
            checkpoint=checkpoint,
            level=logging.INFO,
        )
        try:
            with open_threads(self._threads), open_processes(self._processes()):
                self._status = _run(job)
            if self._status is Status.OPTIMAL and not terms.proves(bounds.excess, bounds.tolerance):
                self._status = Status.NUMERICAL
            if checkpoint is not None:
                checkpoint.restore_bound(bounds)
                checkpoint.write(bounds, reporter.history, job.removed, bounds.proof)
        except KeyboardInterrupt:  # the last file that was complete is still there
            proven = terms.proves(bounds.excess, bounds.tolerance)
            self._status = (bounds.verdict if proven else None) or Status.INTERRUPTED
        finally:
            reporter.close()
            release_scheduler()

    def _processes(self) -> int:
        """How many processes help with small instances, if the solve will be long enough."""
        worth_it = self.instance.m >= LARGE and isinstance(self._device, Host)
        return self._threads - 1 if worth_it else 0

    def _first_bounds(self) -> Bounds:
        terms, problem = self._terms, self._problem
        return Bounds(
            terms.graph,
            gap=self._gap,
            absolute_gap=terms.allowance(self._options.absolute_gap),
            constant=terms.constant,
            refine=problem.refined if problem.restricted else None,
        )

    def result(self) -> Result:
        """What has been found so far."""
        graph, clock, job, terms = self._graph, self._clock, self._job, self._terms
        bounds = self._bounds or self._first_bounds()
        labels = terms.lift(bounds.labels)
        objective = graph.objective(labels)
        lower = min(objective, terms.lower_bound(bounds.lower))
        logger.info(
            "end after %.2f s: %s, %.10g to %.10g", clock.elapsed, self._status, lower, objective
        )
        return Result(
            graph=graph,
            labels=labels,
            objective=objective,
            lower_bound=lower,
            status=self._status,
            tolerance=terms.excess(bounds.excess),
            history=() if self._reporter is None else tuple(self._reporter.history),
            timings=clock.timings,
            options=self._options,
            device=str(self._device),
            removed=None if job is None else job.removed,
            proof=terms.proof(bounds.proof),
            exponent=terms.exponent,
            again=partial(solve_graph, options=self._options, seed=self._seed),
            initial_objective=None if self._initial is None else graph.objective(self._initial),
        )


def _run(job: Job) -> Status:
    """Why a solve has ended."""
    try:
        return job.run()
    except Stop as stop:
        return job.bounds.verdict or stop.status
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        return Status.INTERRUPTED
