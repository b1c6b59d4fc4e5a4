"""A lower bound before the LP: dual ascent, on instances whose LPs the simplex method is slow at.

The cycles that it finds are the first rows of the LP. Its reduced costs, which are what it leaves
of the weights to be decided, guide a contraction to better clusterings.
"""

from dataclasses import dataclass

import numpy as np

from ..base import compilation_cache, workers
from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock, TimeLimitReached
from ..base.workers import Pending
from ..instance.completion import is_dense
from ..instance.graph import Graph
from ..lp.dual_ascent import DualAscent, Relaxed
from ..lp.rows import Rows
from ..options import Options
from ..primal.parallel_contraction import parallel_contraction
from ..proofs.certificate import AscentProof, LowerBound
from ..separation.device import devices
from .alongside import Alongside
from .job import Job

LEAST_EDGES = 20_000
"""Instances with fewer edges are solved by the LP at once: the first ascent compiles for a second,
and gains less than that."""

REACH_TRIANGLES, REACH_SHARE = 10_000, 0.7
"""An LP is within reach of the simplex method with this many triangles, or with this many for
every edge: where conflicts are denser, even the first LP takes minutes."""

ENOUGH, LEAST_ROUNDS = 0.8, 4
"""Before an LP within reach the ascent ends when a round raises the bound by less than this share
of what is left of the gap, but not before it has looked for longer cycles too."""

SHORT, SLOW = (3, 5), 0.05
"""Problems in which only some clusterings count begin with triangles, go no further than cycles of
five edges, and leave the ascent for the LP when a round raises the bound by less than this share of
the gap: lifted edges are many, most without a conflict, and their LPs slow."""

LOOK = 0.01
"""The relative gap at which a first look ends."""

WEIGHTS = 0.1
"""Share of the weights beside the reduced costs that guide contraction: they break ties."""

WORK = 30
"""Work of a round for every triangle and edge, in units of the clock."""

ROUNDING = 2.0**-40
"""Rows without chords may prove less than those with chords by this share of the sum of all |w|."""

TORN_EDGES, TORN = 200_000, 0.4
"""On instances with so many edges whose first clustering costs so much more than the trivial bound,
as a share of its cost, the search for others begins at once: neither ascent nor LP will find it."""


@dataclass(frozen=True, eq=False)
class Start:
    """Where the LP starts from: rows, and multipliers that prove a bound with them."""

    rows: Rows
    multipliers: FloatArray


def ascends(graph: Graph, options: Options) -> bool:
    """Whether dual ascent comes before the LP of an instance.

    The LP of a dense instance is solved roughly, which needs no other first bound. It is better
    off without the ascent's rows: these are many, and their multipliers are spread over all of
    them, so that few are ever dropped.
    """
    if options.dual_ascent == "auto":
        rough = options.odd_wheels and is_dense(graph)
        return graph.m >= LEAST_EDGES and not rough and devices.jax_is_usable()
    return options.dual_ascent and graph.m > 0


def is_torn(job: Job) -> bool:
    """Whether an instance is so large and so full of conflicts that search matters most."""
    return job.graph.m >= TORN_EDGES and job.setting.reporter.relative_gap >= TORN


def first_look(job: Job) -> None:
    """Both bounds from the weights alone by the accelerator, before the presolve of the host."""
    _climb(job, None, enough=LOOK)


def ascend(job: Job, found: Pending[IntArray] | None = None) -> Start:
    """Raise the lower bound by dual ascent, until the LP is likely to do it better.

    What a search beside it has found is taken after the first round.
    """
    if not job.heuristics:
        return Start(*_climb(job, None).rows)
    reporter = job.setting.reporter
    with Alongside(
        job.problem.heuristics,
        job.bounds,
        job.clock,
        seed=job.setting.seed,
        tell=reporter.meanwhile,
        at_once=is_torn(job),
    ) as alongside:
        state = _climb(job, alongside, found)
    return Start(*state.rows)


def _climb(
    job: Job,
    alongside: Alongside | None,
    guided: Pending[IntArray] | None = None,
    *,
    enough: float = 0.0,
) -> Relaxed:
    """Rounds of dual ascent, until the LP is likely to do better, or the relative gap is small."""
    graph, bounds, clock, reporter = job.graph, job.bounds, job.clock, job.setting.reporter
    compilation_cache.enable()
    devices.refuse_fork()
    device = job.setting.accelerator
    restricted = job.problem.restricted
    ascent = DualAscent(
        graph,
        device=device or devices.resolve("cpu"),
        batched=device is not None,
        clock=clock,
        **({"lengths": SHORT} if restricted else {}),
    )
    margin = ROUNDING * float(np.abs(graph.weights).sum())
    found, before, spent = 0, bounds.lower, dict(clock.spent)
    # A clustering that was begun with before a round is taken after it.
    try:
        for number, state in enumerate(ascent.run(), start=1):
            bounds.raise_lower(LowerBound(state.bound - margin, AscentProof(state)))
            n_triangles = state.triangles.shape[1]
            clock.work += WORK * (n_triangles + graph.m)
            if job.heuristics:
                with clock.measure("rounding"):
                    _improve(job, guided, alongside)
                guided = None
                if number & (number - 1) == 0:
                    guided = _guide(job, state)
            reporter.ascent(n_triangles, n_triangles - found, clock.spent_since(spent))
            rise, gap = bounds.lower - before, bounds.upper - bounds.lower
            within_reach = n_triangles <= max(REACH_TRIANGLES, REACH_SHARE * graph.m)
            enough_rise = SLOW if restricted else ENOUGH
            if within_reach and number >= LEAST_ROUNDS and rise < enough_rise * gap:
                break
            if gap <= enough * abs(bounds.upper):
                break
            before, found, spent = bounds.lower, n_triangles, dict(clock.spent)
    except TimeLimitReached:
        if guided is not None:
            bounds.offer(guided.value())
        raise
    if guided is not None:
        with clock.measure("rounding"):
            _improve(job, guided, alongside)
    return state


def contraction(
    job: Job, weights: FloatArray | None = None, clock: Clock | None = None
) -> IntArray:
    """A clustering by contraction, on the accelerator if there is one."""
    device, clock = job.setting.accelerator, job.clock if clock is None else clock
    if device is None or job.problem.restricted:
        guide = job.graph.weights if weights is None else weights
        return job.problem.heuristics.contracted(guide, clock)
    return parallel_contraction(job.graph, weights, device=device, clock=clock)


def _guide(job: Job, state: Relaxed) -> Pending[IntArray]:
    """Begin to look for a clustering that the reduced costs guide to."""
    graph, known = job.graph, job.bounds.labels

    def guided(_: None, clock: Clock) -> IntArray:
        weights = state.reduced[: graph.m] + WEIGHTS * graph.weights
        found = contraction(job, weights, clock)
        return job.problem.heuristics.fused(known, found, clock)

    return workers.begin(guided, None, job.clock)


def _improve(job: Job, guided: Pending[IntArray] | None, alongside: Alongside | None) -> None:
    """Better clusterings: guided by the reduced costs, and from the search in its thread."""
    bounds, heuristics = job.bounds, job.problem.heuristics
    if guided is not None:
        bounds.offer(guided.value())
    if alongside is not None and (better := alongside.better()) is not None:
        bounds.offer(heuristics.fused(bounds.labels, better, job.clock))
