"""What is tried where the LP leaves a gap, before branch and bound: smaller instances."""

from dataclasses import replace

import numpy as np

from ..base.clock import TimeLimitReached
from ..base.sums import sum_down, sum_up
from ..instance.completion import extent, is_complete
from ..instance.enumeration import MOST_NODES, best_of_all
from ..lp import fixing
from ..presolve import presolve
from ..proofs.certificate import Enumeration, LowerBound, PresolveProof, Relaxation
from ..proofs.decomposition import (
    Decomposition,
    FixingProof,
    end_nodes,
    open_region,
    split_into_components,
    split_region,
)
from .benders import Benders
from .bounds import Bounds
from .job import Job
from .substitute import Substitute

SMALLER = 0.8
"""A reduction that leaves more than this share of the edges is not worth a new start."""

FIXED_SIZE, FIXED_WORK = 0.5, 2e7
"""Fix-and-solve is tried where it leaves at most this share of the edges; it may do as much work as
the solve so far, and at least so much: about a second's."""

PART_SIZE = 0.5
"""Parts with more than this share of the edges are not worth solving by themselves."""

RINGS, DECIDED = 6, 0.4
"""The regions with a gap are widened this often at most, and no more once the bounds decide this
share of the edges."""


def divide(job: Job, benders: Benders) -> bool:
    """Solve what the LP leaves open as smaller instances; False if it leaves too much open."""
    independent = split_into_components(job.graph, *benders.proof)
    proof = Relaxation(job.graph, *benders.proof)
    excess = independent.excess(job.bounds.labels)
    job.bounds.raise_lower(LowerBound(independent.bound, proof, excess))
    job.bounds.stop_if_met()
    job.log("the LP leaves a gap: %.10g to %.10g", job.bounds.lower, job.bounds.upper)
    if independent.largest <= PART_SIZE * job.graph.m:
        _solve_pieces(job, independent)
        return True
    if job.heuristics:
        _fix_and_solve(job, fixing.by_rounding(job.graph, benders.x))
    known = _open_regions(job, benders)
    job.bounds.stop_if_met()
    cutoff = job.bounds.cutoff
    decided = known.decided(cutoff)
    left = fixing.apply(job.graph, decided)
    if left is None:
        # No clustering costs less than the best one.
        contradiction = FixingProof(job.graph, known.proof(), decided, None)
        job.bounds.raise_lower(LowerBound(cutoff, contradiction))
        return True
    with job.clock.measure("presolve"):
        rest = presolve(left.graph, job.clock)
    if extent(rest.graph) <= SMALLER * job.graph.m:
        because = known.proof()
        job.solve_instead(
            Substitute(
                graph=rest.graph,
                constant=sum_down([left.constant, rest.constant]),
                lift=lambda labels: left.lift(rest.lift(labels)),
                lift_proof=lambda proof: FixingProof(
                    job.graph, because, decided, PresolveProof(rest, proof)
                ),
                tolerance=job.bounds.tolerance / 2,
                low=rest.low,
                off=sum_up([left.off, rest.off]),
                ceiling=cutoff,
            )
        )
        return True
    if len(independent) > 1:
        _solve_pieces(job, independent)
        return True
    return False


def _open_regions(job: Job, benders: Benders) -> Decomposition:
    """Solve the regions where the gap is, for both bounds, ever wider ones."""
    graph, bounds = job.graph, job.bounds
    least = max(bounds.tolerance, bounds.noise) / (1 + graph.m)
    known = split_region(graph, *benders.proof, np.zeros(graph.n, dtype=bool))
    if is_complete(graph):  # no region is far from the others: the tree is quicker
        return known
    region = open_region(graph, *benders.proof, bounds.labels, least)
    for _ in range(RINGS):
        parts = split_region(graph, *benders.proof, region)
        if parts.largest > PART_SIZE * graph.m:
            break
        _bound_parts(job, parts)
        known = max(known, parts, key=lambda p: p.bound)
        if job.heuristics and not bounds.verdict:
            _fix_and_solve(job, fixing.outside(graph, graph.cut(bounds.labels), region))
        if bounds.verdict or known.decided(bounds.cutoff).share >= DECIDED:
            break
        enough = max(bounds.tolerance, bounds.noise) / (1 + len(parts))
        wide = parts.nodes_with_gap(bounds.labels, enough)
        region = region | open_region(graph, *benders.proof, bounds.labels, least)
        region |= end_nodes(graph, wide[graph.edges[:, 0]] | wide[graph.edges[:, 1]])
    return known


def _bound_parts(job: Job, parts: Decomposition) -> None:
    """Add to the bound what the LP misses in each part."""
    job.log("solving %d regions of at most %d edges", len(parts), parts.largest)
    try:
        for i in parts.smallest_first():
            _bound_part(job, parts, i)
    finally:
        excess = parts.excess(job.bounds.labels)
        job.bounds.raise_lower(replace(parts.lower_bound, excess=excess))


def _bound_part(job: Job, parts: Decomposition, i: int) -> None:
    instance = parts.instance(i)
    if instance.n <= MOST_NODES:
        parts.raise_bound(i, LowerBound(best_of_all(instance)[1], Enumeration()))
        return
    share = job.bounds.tolerance / (4 * len(parts))
    bounds = Bounds(instance, tolerance=share)
    with job.setting.reporter.inside(bounds, lambda: parts.raise_bound(i, bounds.lower_bound)):
        job.inner(instance, bounds, presolve=True).run()


def _solve_pieces(job: Job, independent: Decomposition) -> None:
    job.log("solving %d independent pieces", len(independent))
    gaps = independent.gaps(job.bounds.labels)
    still_open = _largest(gaps, job.bounds.tolerance / 4)
    for i in independent.smallest_first():
        if i not in still_open:
            continue
        known = job.solve_instead(
            Substitute(
                graph=independent.instance(i),
                constant=independent.rest_of_bound(i),
                lift=independent.lift(i, job.bounds.labels),
                lift_proof=lambda proof, i=i: independent.proof({i: proof}),  # type: ignore[misc]
                tolerance=job.bounds.tolerance / (2 * len(still_open)),
                beside=sum_up([*gaps[:i], *gaps[i + 1 :]]),
                rows=independent.rows(i),
                labels=independent.restrict(i, job.bounds.labels),
                piece=True,
            )
        )
        job.bounds.stop_if_met()
        independent.raise_bound(i, known.bound)
        gaps[i] = known.bound.excess


def _fix_and_solve(job: Job, decisions: fixing.Fixing) -> None:
    """Fix and solve: believe some decisions, and solve the rest exactly."""
    left = fixing.apply(job.graph, decisions)
    if left is None or extent(left.graph) > FIXED_SIZE * job.graph.m:
        return
    job.log("fixing all but %d of %d edges", left.graph.m, job.graph.m)
    clock = job.clock.within(work=max(FIXED_WORK, job.clock.work))
    inner = Bounds(left.graph, tolerance=job.bounds.tolerance)
    solver = job.inner(left.graph, inner, clock, presolve=True, heuristics=False)
    offered = inner.labels[:0]

    def offer_if_new() -> None:
        nonlocal offered
        if inner.labels is not offered:
            offered = inner.labels
            job.bounds.offer(left.lift(offered))

    with job.clock.measure("rounding"):
        try:
            with job.setting.reporter.inside(inner, offer_if_new):
                solver.run()
        except TimeLimitReached:
            job.clock.check()  # else it is the work that was allowed
        finally:
            job.clock.work += clock.work


def _largest(gaps: list[float], allowed: float) -> set[int]:
    """All but the smallest gaps, which together are at most what is allowed."""
    order = np.argsort(gaps, kind="stable")
    negligible = int((np.cumsum(np.take(gaps, order)) <= allowed).sum())
    return set(order[negligible:].tolist())
