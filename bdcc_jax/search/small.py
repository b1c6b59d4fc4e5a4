"""Small instances by the hundred, solved in threads: each is a value, told of when it is done.

An instance that takes long is given up after some work, with what is known of it by then: whoever
asked solves it in view of the user, who would else hear nothing for minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from ..base import workers
from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.records import Status, Stop
from ..instance.enumeration import MOST_NODES, best_of_all
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..proofs.certificate import Enumeration, LowerBound
from .bounds import Bounds
from .job import Job
from .reporter import Unheard
from .substitute import Known

MOST_EDGES, MOST_WORK = 5_000, 1e7
"""Instances with more edges than this are not small; those that take more work, about half a
second's, are given up."""

LEAST_EDGES = 500
"""Smaller ones take most of their time in Python, of which one thread runs at a time."""

TELLS, LEAST_TOLD = 20, 16
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


def solve_small(job: Job, instances: Sequence[Small]) -> Iterator[list[Outcome]]:
    """Solve instances that are part of a job; yields some outcomes at a time, in order.

    Once these have been taken over the user is told, which may raise Stop.
    """
    clock, reporter = job.clock, job.setting.reporter
    spent, size = dict(clock.spent), max(LEAST_TOLD, -(-len(instances) // TELLS))
    solve = partial(_solve, job)
    quick = [small for small in instances if small.graph.m < LEAST_EDGES]
    others = [small for small in instances if small.graph.m >= LEAST_EDGES]
    outcomes = chain(
        workers.map(solve, quick, clock, threaded=False), workers.map(solve, others, clock)
    )
    while some := list(islice(outcomes, size)):
        yield some
        clock.check()
        reporter.small(clock.spent_since(spent))
        spent = dict(clock.spent)
    clock.check()


def _solve(job: Job, small: Small, clock: Clock) -> Outcome:
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
        replace(job.setting, reporter=reporter),
        presolve=small.presolve,
        heuristics=job.heuristics,
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
