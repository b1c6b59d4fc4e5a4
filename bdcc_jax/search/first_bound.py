"""A lower bound before the LP: dual ascent, on instances whose LPs the simplex method is slow at.

The cycles that it finds are the first rows of the LP. Its reduced costs, which are what it leaves
of the weights to be decided, guide a contraction to better clusterings.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from ..base import compilation_cache
from ..base.arrays import FloatArray
from ..instance.graph import Graph
from ..lp.dual_ascent import DualAscent, Relaxed
from ..lp.rows import Rows
from ..primal import fuse, greedy_additive
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

WEIGHTS = 0.1
"""Share of the weights beside the reduced costs that guide contraction: they break ties."""

WORK = 30
"""Work of a round for every triangle and edge, in units of the clock."""

ROUNDING = 2.0**-40
"""Rows without chords may prove less than those with chords by this share of the sum of all |w|."""


@dataclass(frozen=True, eq=False)
class Start:
    """Where the LP starts from: rows, and multipliers that prove a bound with them."""

    rows: Rows
    multipliers: FloatArray


def ascends(graph: Graph, wanted: str | bool) -> bool:
    """Whether dual ascent comes before the LP of an instance."""
    if wanted == "auto":
        return graph.m >= LEAST_EDGES and devices.jax_is_usable()
    return bool(wanted) and graph.m > 0


def ascend(job: Job) -> Start:
    """Raise the lower bound by dual ascent, until the LP is likely to do it better."""
    graph, bounds, clock, reporter = job.graph, job.bounds, job.clock, job.setting.reporter
    compilation_cache.enable()
    devices.refuse_fork()
    where = job.setting.device
    device = where.devices[0] if isinstance(where, devices.Devices) else devices.resolve("cpu")
    ascent = DualAscent(graph, device=device, clock=clock)
    margin = ROUNDING * float(np.abs(graph.weights).sum())
    found, searching = (
        0,
        nullcontext()
        if not job.heuristics
        else Alongside(graph, bounds, clock, seed=job.setting.seed, tell=reporter.meanwhile),
    )
    with searching as alongside:
        before, spent = bounds.lower, dict(clock.spent)
        for number, state in enumerate(ascent.run(), start=1):
            bounds.raise_lower(LowerBound(state.bound - margin, AscentProof(state)))
            n_triangles = state.triangles.shape[1]
            clock.work += WORK * (n_triangles + graph.m)
            if alongside is not None:
                with clock.measure("rounding"):
                    _improve(job, state, alongside, guided=number & (number - 1) == 0)
            reporter.ascent(n_triangles, n_triangles - found, clock.spent_since(spent))
            rise, gap = bounds.lower - before, bounds.upper - bounds.lower
            within_reach = n_triangles <= max(REACH_TRIANGLES, REACH_SHARE * graph.m)
            if within_reach and number >= LEAST_ROUNDS and rise < ENOUGH * gap:
                break
            before, found, spent = bounds.lower, n_triangles, dict(clock.spent)
    return Start(*state.rows)


def _improve(job: Job, state: Relaxed, alongside: Alongside, *, guided: bool) -> None:
    """Better clusterings: from the search in its thread, and guided by the reduced costs."""
    graph, bounds, clock = job.graph, job.bounds, job.clock
    if guided:
        weights = state.reduced[: graph.m] + WEIGHTS * graph.weights
        found = greedy_additive(graph, weights, clock=clock)
        bounds.offer(fuse(graph, bounds.labels, found, clock=clock))
    if (better := alongside.better()) is not None:
        bounds.offer(fuse(graph, bounds.labels, better, clock=clock))
