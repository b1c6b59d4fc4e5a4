"""What is tried where the LP leaves a gap, before branch and bound: smaller instances."""

from dataclasses import replace

import numpy as np

from ..base.arrays import BoolArray
from ..base.clock import TimeLimitReached
from ..base.sums import sum_down, sum_up
from ..instance.completion import extent, is_complete
from ..lp import fixing
from ..presolve import presolve
from ..proofs.certificate import LowerBound, PresolveProof, Relaxation
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
from .small import MOST_EDGES, Small, solve_small
from .substitute import Substitute

SMALLER = 0.8
"""A reduction that leaves more than this share of the edges is not worth a new start."""

FIXED_SIZE, FIXED_WORK = 0.5, 2e7
"""Fix-and-solve is tried where it leaves at most this share of the edges; it may do as much work as
the solve so far, and at least so much: about a second's."""

PART_SIZE = 0.5
"""Parts with more than this share of the edges are not worth solving by themselves."""

RINGS, STEPS, DECIDED = 4, 2, 0.4
"""The regions with a gap are solved this often at most, each time widened by so many steps, and no
more once the bounds decide this share of the edges."""


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
    if job.heuristics and not benders.semidefinite:  # the tree looks around every leaf
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
    # Presolve drops pairs of weight 0, which is no progress: they would soon be there again.
    weighty = np.count_nonzero(job.graph.weights)
    if extent(rest.graph) <= SMALLER * job.graph.m and rest.graph.m <= SMALLER * weighty:
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
    solved: dict[bytes, LowerBound] = {}
    for _ in range(RINGS):
        parts = split_region(graph, *benders.proof, region)
        if parts.largest > PART_SIZE * graph.m:
            break
        fresh = _bound_parts(job, parts, solved)
        known = max(known, parts, key=lambda p: p.bound)
        if job.heuristics and not bounds.verdict:
            _fix_and_solve(job, fixing.outside(graph, graph.cut(bounds.labels), fresh))
        if bounds.verdict or known.decided(bounds.cutoff).share >= DECIDED or not fresh.any():
            break
        enough = max(bounds.tolerance, bounds.noise) / (1 + len(parts))
        wide = parts.nodes_with_gap(bounds.labels, enough)
        region = region | open_region(graph, *benders.proof, bounds.labels, least)
        u, v = graph.edges.T
        for _ in range(STEPS):
            wide = end_nodes(graph, wide[u] | wide[v])
        region |= wide
    return known


def _bound_parts(job: Job, parts: Decomposition, solved: dict[bytes, LowerBound]) -> BoolArray:
    """Add to the bound what the LP misses in each part; returns the nodes of those not in `solved`.

    The instance of a part depends on its nodes alone: what was solved once is remembered.
    """
    job.log("solving %d regions of at most %d edges", len(parts), parts.largest)
    share = job.bounds.tolerance / (4 * max(1, len(parts)))
    fresh, small, large = np.zeros(job.graph.n, dtype=bool), [], []
    for i in parts.smallest_first():
        if (bound := solved.get(parts.nodes(i).tobytes())) is not None:
            parts.raise_bound(i, bound)
            continue
        fresh[parts.nodes(i)] = True
        if len(parts.edges(i)) <= MOST_EDGES:
            small.append(Small(i, parts.instance(i), share, presolve=True))
        else:
            large.append(i)
    try:
        for outcomes in solve_small(job, small):
            for i, known, finished in outcomes:
                parts.raise_bound(i, known.bound)
                if finished:
                    solved[parts.nodes(i).tobytes()] = known.bound
                else:
                    large.append(i)
        for i in large:
            bounds = Bounds(parts.instance(i), tolerance=share)
            _bound_part(job, parts, i, bounds)
            solved[parts.nodes(i).tobytes()] = bounds.lower_bound
    finally:
        excess = parts.excess(job.bounds.labels)
        job.bounds.raise_lower(replace(parts.lower_bound, excess=excess))
    return fresh


def _bound_part(job: Job, parts: Decomposition, i: int, bounds: Bounds) -> None:
    with job.setting.reporter.inside(bounds, lambda: parts.raise_bound(i, bounds.lower_bound)):
        job.inner(parts.instance(i), bounds, presolve=True).run()


def _solve_pieces(job: Job, independent: Decomposition) -> None:
    job.log("solving %d independent pieces", len(independent))
    gaps = independent.gaps(job.bounds.labels)
    still_open = _largest(gaps, job.bounds.tolerance / 4)
    todo = [i for i in independent.smallest_first() if i in still_open]
    tolerance = job.bounds.tolerance / (2 * max(1, len(still_open)))
    small, large = [], []
    for i in todo:
        if len(independent.edges(i)) <= MOST_EDGES:
            known_labels = independent.restrict(i, job.bounds.labels)
            instance, rows = independent.instance(i), independent.rows(i)
            small.append(Small(i, instance, tolerance, rows=rows, labels=known_labels))
        else:
            large.append(i)
    for outcomes in solve_small(job, small):
        for i, known, finished in outcomes:
            independent.raise_bound(i, known.bound)
            gaps[i] = known.bound.excess
            if not finished:
                large.append(i)
        found = {outcome.number: outcome.known.labels for outcome in outcomes}
        job.bounds.offer(independent.with_parts(found, job.bounds.labels))
        job.bounds.raise_lower(replace(independent.lower_bound, excess=sum_up(gaps)))
    job.bounds.stop_if_met()
    for i in large:
        known = job.solve_instead(
            Substitute(
                graph=independent.instance(i),
                constant=independent.rest_of_bound(i),
                lift=independent.lift(i, job.bounds.labels),
                lift_proof=lambda proof, i=i: independent.proof({i: proof}),  # type: ignore[misc]
                tolerance=tolerance,
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
