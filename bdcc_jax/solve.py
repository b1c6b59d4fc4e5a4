"""The front door."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import ArrayLike

from .base.arrays import IntArray
from .base.clock import Clock
from .base.highs import release_scheduler
from .base.interrupts import interruptible, is_interrupt
from .base.records import Progress, Status, Stop
from .base.worker_processes import open_processes
from .base.workers import open_threads, usable_cores
from .combinations import check_together
from .instance.constraints import Groups, Pairs
from .instance.graph import Graph, canonical_labels
from .io.convert import GraphLike, as_graph
from .options import Options, as_amount, as_count
from .result import Result
from .search.bounds import Bounds
from .search.checkpoint import Checkpoint
from .search.job import Job, Setting
from .search.problems import problem_of
from .search.reporter import Callback, Reporter
from .search.strategy import strategy
from .search.terms import Terms
from .separation.device import devices
from .separation.device.devices import Devices, Host
from .show.progress import ProgressChoice, view
from .weights import SuspiciousWeights, suspicion

logger = logging.getLogger(__name__)

DEFAULT = Options()

LARGE = 2_000_000
"""Solves of at least so many edges take longer than processes take to start."""


def solve(
    graph: GraphLike,
    *,
    device: str | jax.Device | Sequence[str | jax.Device] = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    callback: Callback | None = None,
    progress: ProgressChoice = False,
    checkpoint: str | PathLike[str] | None = None,
    initial: ArrayLike | None = None,
    must_link: Pairs | None = None,
    cannot_link: Pairs | None = None,
    groups: Groups | None = None,
    columns: Sequence[str] | None = None,
    min_clusters: int | None = None,
    max_clusters: int | None = None,
    unaries: ArrayLike | None = None,
) -> Result:
    """Find an optimal clustering, or the best within the limits together with a lower bound.

    Parameters
    ----------
    graph : Graph, path, networkx graph, matrix, table, (u, v, w) or list of (a, b, weight)
        The instance; positive weights attract, negative weights repel. Matrices are scipy's sparse
        ones, square arrays and nested lists; tables are those of pandas, polars, pyarrow and
        DuckDB.
    device : str, jax.Device or list of these
        'auto' (a GPU if there is one), 'cpu', 'gpu', 'gpu:1' or a device of JAX. With several, or
        'all', the engine 'pdlp' divides its LPs among them.
    time_limit : float, optional
        Seconds; the best clustering by then is returned. Those in which loops are compiled, on the
        first use on a machine, do not count.
    gap : float
        Stop once ``(objective - lower_bound) / |objective|`` is at most this. The absolute
        counterpart is ``Options.absolute_gap``.
    seed : int
        The same seed gives the same result.
    options : Options, optional
        How to solve; ``Options.paper()`` is the paper to the letter.
    callback : callable, optional
        Called with a :class:`~bdcc_jax.Progress` after every round; return True to stop.
    progress : bool, 'live' or 'plain'
        Show a table of the rounds on the standard error stream: 'plain' prints lines, 'live' (needs
        rich) keeps a table up to date; True is 'live' on a terminal if rich is there, else 'plain'.
    checkpoint : path, optional
        A file that the solve is written to every few seconds and at its end, and that it goes on
        from if the file is there. One of another instance, version, seed or options is refused.
    initial : array_like of int, shape (n,), optional
        A clustering to start from, whoever made it. ``Result.initial_objective`` is what it costs,
        and ``Result.initial_gap`` how much less any other can cost at most. One that violates
        constraints, or has clusters that ordinary edges do not connect where others are lifted, is
        changed until it does not.
    must_link, cannot_link, groups : optional
        Only clusterings count that keep these pairs of nodes together, or apart, and no two nodes
        of a group together; see :meth:`bdcc_jax.Graph.constrained`.
    columns : three str, optional
        The columns of a table that hold the two nodes and the weight of every edge; source, target
        and weight if not given. Tables of scores: :func:`bdcc_jax.tables.cluster`.
    min_clusters, max_clusters : int, optional
        How many clusters there are at least, and at most.
    unaries : array_like, shape (n, k), optional
        Every cluster has one of k classes, and this is what each costs each node; see
        :meth:`bdcc_jax.Graph.classified`. ``Result.classes`` are those of the nodes.

    Returns
    -------
    Result
        Labels, both bounds and why it stopped. Ctrl-C returns the best clustering so far.

    Warns
    -----
    SuspiciousWeights
        The weights look like probabilities: all of one sign, at most 1, not all the same, and
        without constraints that could make the answer anything but trivial.

    Examples
    --------
    Two friends who share an enemy:

    >>> import bdcc_jax
    >>> result = bdcc_jax.solve(([0, 1, 0], [1, 2, 2], [2.0, -1.0, -3.0]))
    >>> result.labels.tolist(), result.objective, str(result.status)
    ([0, 0, 1], -4.0, 'optimal')
    """
    graph = modelled(
        as_graph(graph, columns),
        must_link=must_link,
        cannot_link=cannot_link,
        groups=groups,
        min_clusters=min_clusters,
        max_clusters=max_clusters,
        unaries=unaries,
    )
    if (why := suspicion(graph)) is not None:
        warnings.warn(why, SuspiciousWeights, stacklevel=2)
    return solve_graph(
        graph,
        device=device,
        time_limit=time_limit,
        gap=gap,
        seed=seed,
        options=options,
        callback=callback,
        progress=progress,
        checkpoint=checkpoint,
        initial=initial,
    )


def modelled(graph: Graph, *, unaries: ArrayLike | None = None, **constraints: Any) -> Graph:
    """The graph with the constraints and the classes of the arguments that are not None."""
    if any(value is not None for value in constraints.values()):
        graph = graph.constrained(**constraints)
    return graph if unaries is None else graph.classified(unaries)


def solve_graph(
    graph: Graph,
    *,
    device: str | jax.Device | Sequence[str | jax.Device] = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    callback: Callback | None = None,
    progress: ProgressChoice = False,
    checkpoint: str | PathLike[str] | None = None,
    initial: ArrayLike | None = None,
) -> Result:
    """As :func:`solve`, for a graph that whoever calls has looked at."""
    start = None if initial is None else check_initial(graph, initial)
    options, where, time_limit, gap, seed = check_arguments(
        device, time_limit, gap, seed, options, callback, graph.features
    )
    attempt: Attempt | None = None
    try:
        clock = Clock(time_limit)
        attempt = Attempt(
            graph, options, gap=gap, seed=seed, clock=clock, device=where, initial=start
        )
        saved = None
        if checkpoint is not None:
            saved = Checkpoint(checkpoint, attempt.instance, options, seed)
        with interruptible(), shown(progress, clock, callback) as observe:
            attempt.run(observe, saved)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        if attempt is None:
            clock = Clock(time_limit)
            attempt = Attempt(
                graph, options, gap=gap, seed=seed, clock=clock, device=where, initial=start
            )
    try:
        return attempt.result()
    except KeyboardInterrupt:  # whoever means it presses it twice
        return attempt.result()


class Arguments(NamedTuple):
    """What a solve may be asked for, checked, and in plain Python numbers."""

    options: Options
    device: Devices | Host
    time_limit: float | None
    gap: float
    seed: int


def check_arguments(
    device: str | jax.Device | Sequence[str | jax.Device],
    time_limit: float | None,
    gap: float,
    seed: int,
    options: Options | None,
    callback: object,
    features: Sequence[str] = (),
) -> Arguments:
    """Refuse what a solve, of an instance with some features, cannot be asked for."""
    options = DEFAULT if options is None else options
    if not isinstance(options, Options):
        raise ValueError(f"options must be an Options object, not {options!r}")
    check_together([*features, *options.features])
    where = devices.place(device, options.engine, options.memory)
    if options.engine in ("packing", "reference") and where.platform != "cpu":
        raise ValueError(f"engine {options.engine!r} runs on the CPU only, not on {device}")
    if time_limit is not None:
        time_limit = as_amount("time_limit", time_limit)
    gap, seed = as_amount("gap", gap), as_count("seed", seed, at_least=0)
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, not {callback!r}")
    return Arguments(options, where, time_limit, gap, seed)


def check_initial(graph: Graph, initial: ArrayLike) -> IntArray:
    """Refuse what is no clustering of the graph.

    Examples
    --------
    >>> check_initial(Graph(3, [(0, 1)], [1.0]), [7, 7, 2]).tolist()
    [0, 0, 1]
    """
    labels = np.asarray(initial)
    if labels.shape != (graph.n,):
        raise ValueError(
            f"initial must have one label a node, shape ({graph.n},), not {labels.shape}"
        )
    if labels.dtype.kind not in "biu":
        raise ValueError(f"initial must be whole numbers, one label a node, not {labels.dtype}")
    return canonical_labels(labels.astype(np.int64))


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


@contextmanager
def shown(wish: ProgressChoice, clock: Clock, callback: Callback | None) -> Iterator[Callback]:
    """Show the rounds of a solve inside the block; gives what is to see them, the callback too."""
    shows = view(wish, clock)

    def observe(state: Progress) -> bool:
        if shows is not None:
            shows(state)
        return bool(callback(state)) if callback is not None else False

    if shows is None:
        yield observe
        return
    try:
        shows.start()
        yield observe
    finally:
        try:
            shows.close()
        except KeyboardInterrupt:
            shows.close()  # or it would go on to draw
            raise
