"""Small instances by the hundred, solved side by side: each is a value, told of when it is done.

An instance that takes long is given up after some work, with what is known of it by then: whoever
asked solves it in view of the user, who would else hear nothing for minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from ..base import worker_processes, workers
from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.records import Status, Stop
from ..instance.enumeration import MOST_NODES, best_of_all
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..options import Options
from ..proofs.certificate import Enumeration, LowerBound
from ..separation.device.devices import Devices, Host
from .bounds import Bounds
from .job import Job, Setting
from .reporter import Unheard
from .substitute import Known

MOST_EDGES, MOST_WORK = 5_000, 1e7
"""Instances with more edges than this are not small; those that take more work, about half a
second's, are given up."""

LEAST_EDGES = 500
"""Smaller ones take most of their time in Python, of which one thread runs at a time."""

FEW = 8
"""So many instances are solved before processes would have heard of them."""

TELLS, LEAST_TOLD = 10, 16
"""The user is told of small instances so many times in all, but of no fewer at a time."""


class Small(NamedTuple):
    """A small instance, and how to solve it.

    ``number`` is what it is called where it comes from; ``tolerance``, ``rows`` and ``labels`` are
    as in :class:`~bdcc_jax.search.substitute.Substitute`.
    """

    number: int
    graph: Graph
    tolerance: float
    presolve: bool = False
    rows: Rows | None = None
    labels: IntArray | None = None


class Outcome(NamedTuple):
    """What became of a small instance: what is known, and whether that is all."""

    number: int
    known: Known
    finished: bool


class How(NamedTuple):
    """How small instances are solved: what a process has to know of the job."""

    options: Options
    seed: int
    device: Devices | Host
    strategy: Callable[[Job], None]
    heuristics: bool


def solve_small(job: Job, instances: Sequence[Small]) -> Iterator[list[Outcome]]:
    """Solve instances that are part of a job; yields some outcomes at a time, in order.

    Once these have been taken over the user is told, which may raise Stop.
    """
    clock, reporter = job.clock, job.setting.reporter
    spent, size = dict(clock.spent), max(LEAST_TOLD, -(-len(instances) // TELLS))
    outcomes = _side_by_side(job, instances)
    while some := list(islice(outcomes, size)):
        yield some
        clock.check()
        reporter.small(clock.spent_since(spent))
        spent = dict(clock.spent)
    clock.check()


def _side_by_side(job: Job, instances: Sequence[Small]) -> Iterator[Outcome]:
    """Solve instances: in processes, or in threads those for which it is worth one."""
    setting, clock = job.setting, job.clock
    how = How(setting.options, setting.seed, setting.device, setting.strategy, job.heuristics)
    solve = partial(_solve, how)
    quick = [small for small in instances if small.graph.m < LEAST_EDGES]
    others = [small for small in instances if small.graph.m >= LEAST_EDGES]
    if worker_processes.are_open() and len(instances) >= FEW:
        tasks = [*quick, *others]
        return worker_processes.map(solve, tasks, clock, [small.graph.m for small in tasks])
    return chain(
        workers.map(solve, quick, clock, threaded=False), workers.map(solve, others, clock)
    )


def _solve(how: How, small: Small, clock: Clock) -> Outcome:
    """Solve one of them; touches nothing of the job."""
    graph = small.graph
    if graph.n <= MOST_NODES:
        labels, cost = best_of_all(graph)
        known = Known(labels, LowerBound(cost, Enumeration(), 0.0), met=True)
        return Outcome(small.number, known, finished=True)
    bounds, own = Bounds(graph, tolerance=small.tolerance), clock.apart(work=MOST_WORK)
    if small.labels is not None:
        bounds.offer(small.labels)
    reporter = Unheard(graph, bounds, own)
    inner = Job(
        graph,
        bounds,
        own,
        Setting(how.options, how.seed, how.device, reporter, how.strategy),
        presolve=small.presolve,
        heuristics=how.heuristics,
        rows=small.rows,
        labels_known=small.labels is not None,
    )
    status, finished = None, True
    try:
        status = inner.run()
    except Stop:  # a limit
        finished = False
    clock.take_over(own)
    known = Known(bounds.labels, bounds.lower_bound, status is Status.OPTIMAL)
    return Outcome(small.number, known, finished)
