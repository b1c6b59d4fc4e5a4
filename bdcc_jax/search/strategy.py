"""A solve from beginning to end: presolve, Algorithm 1, and what to do about a gap it leaves."""

import numpy as np

from ..base.arrays import IntArray
from ..base.sums import sum_down, sum_up
from ..instance.completion import LEAST_DENSITY_OPEN, completed, is_complete, is_dense
from ..instance.enumeration import MOST_NODES
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..presolve import Presolved, presolve
from ..primal import is_clustered_poorly, touched_up
from ..proofs.branching_proof import Branching
from ..proofs.certificate import PresolveProof, relaxed_bound
from ..proofs.decomposition import Decomposition
from .after_lp import divide
from .benders import Benders
from .bounds import allowed_excess
from .checkpoint import SavedLP
from .first_bound import ascend, ascends, contraction, first_look
from .job import Job
from .substitute import Substitute

FUSIONS, FUSED_EDGES = 100, 1_500_000
"""Local search before the LP tries at most so many fusions, on instances with at most so many
edges; easy ones need one."""


QUICK = 50_000
"""Polish takes no longer than dual ascent takes to begin where there are fewer edges than this."""

LARGE, LARGE_DENSE = 20_000, 10_000
"""Presolve of so many edges takes a while: a first clustering comes before it. The second is for
graphs that are clustered poorly by contraction, where it is the whole local search."""


CONFLICTS = 0.25
"""Where a first clustering costs so much more than the sum of all negative weights, as a share of
it, nodes are torn between clusters: many of them gain by a move."""


def strategy(job: Job) -> None:
    """Solve a job: ends by Stop once its bounds have met, returns if they cannot be made to."""
    if job.presolve and not job.problem.restricted:
        _presolve(job)
    else:
        _solve(job)


def _presolve(job: Job) -> None:
    if job.heuristics:
        _first_clustering(job)
    with job.clock.measure("presolve"):
        rest = presolve(job.graph, job.clock)
    job.removed = rest.removed
    job.log("presolve leaves %d of %d edges", rest.graph.m, job.graph.m)
    scale = rest.scales()
    if scale.max() > 0:
        _solve_scales(job, rest, scale)
    elif rest.unchanged and rest.graph.n > MOST_NODES:
        _solve(job)
    else:
        if not job.bounds.tolerance_is_given and rest.graph.m > 0:
            job.bounds.tolerance = allowed_excess(rest.graph.weights)
        job.solve_instead(
            Substitute(
                graph=rest.graph,
                constant=rest.constant,
                lift=rest.lift,
                lift_proof=lambda proof: PresolveProof(rest, proof),
                tolerance=job.bounds.tolerance / 2,
                low=rest.low,
                off=rest.off,
                labels=job.bounds.labels[rest.nodes] if job.labels_known else None,
            )
        )


def _first_clustering(job: Job) -> None:
    """What is found before presolve, if that takes a while."""
    graph, device = job.graph, job.setting.accelerator
    if not device and is_clustered_poorly(graph):
        if graph.m >= LARGE_DENSE:
            _search(job, polish=True)
    elif graph.m >= LARGE:
        with job.clock.measure("rounding"):
            job.start_from(found := contraction(job))
            if job.bounds.upper - job.bounds.lower >= CONFLICTS * abs(job.bounds.upper):
                job.start_from(touched_up(graph, found, seed=job.setting.seed, clock=job.clock))
        if device and ascends(graph, job.setting.options):
            first_look(job)


def _solve_scales(job: Job, rest: Presolved, scale: IntArray) -> None:
    """Solve apart what is heavy and what is light, each with a tolerance of its own.

    In one LP the light pieces would drown in the tolerances that the heavy ones need.
    """
    parts = Decomposition(rest.graph, Rows.empty(), np.empty(0), scale)
    labels = np.arange(rest.graph.n)
    known_labels = job.bounds.labels[rest.nodes]
    off = [sum_up(np.abs(rest.low[parts.edges(i)])) for i in range(len(parts))]
    excess = parts.gaps(labels)
    share = [allowed_excess(parts.instance(i).weights) for i in range(len(parts))]
    if job.bounds.tolerance_is_given:
        share = [job.bounds.tolerance / len(parts)] * len(parts)
    job.log("solving instances of %d magnitudes apart", len(parts))
    met = rest.off <= min(share) / 4
    for i in range(len(parts)):
        lift = parts.lift(i, labels)
        known = job.solve_instead(
            Substitute(
                graph=parts.instance(i),
                constant=sum_down([rest.constant, parts.rest_of_bound(i)]),
                lift=lambda found, lift=lift: rest.lift(lift(found)),  # type: ignore[misc]
                lift_proof=lambda proof, i=i: PresolveProof(  # type: ignore[misc]
                    rest, parts.proof({i: proof})
                ),
                tolerance=share[i] / 2,
                off=sum_up([rest.off, *off]),
                beside=sum_up([*excess[:i], *excess[i + 1 :]]),
                labels=parts.restrict(i, known_labels) if job.labels_known else None,
                piece=True,
            )
        )
        job.bounds.stop_if_met()
        labels = lift(known.labels)
        parts.raise_bound(i, known.bound)
        excess[i] = known.bound.excess
        met = met and known.met and off[i] <= share[i] / 4
    if met:
        job.bounds.tolerance = sum_up(share)


def _complete(job: Job, rows: Rows) -> None:
    """Solve a dense instance with pairs of weight 0 in place of those that are no edges."""
    graph, place = completed(job.graph)
    job.log("completing %d edges to %d pairs", job.graph.m, graph.m)
    job.solve_instead(
        Substitute(
            graph=graph,
            lift=lambda labels: labels,
            lift_proof=lambda proof: proof,
            tolerance=job.bounds.tolerance,
            rows=Rows(rows.starts, place[rows.indices].astype(np.int32), rows.values, rows.upper),
            labels=job.bounds.labels,
            search=job.search,
        )
    )


def _is_worth_pairs(graph: Graph) -> bool:
    """Whether an instance whose LP leaves a gap gets all its pairs before it is divided."""
    return is_dense(graph, LEAST_DENSITY_OPEN) and not is_complete(graph)


def _solve(job: Job) -> None:
    graph, bounds, clock, setting = job.graph, job.bounds, job.clock, job.setting
    restricted = job.problem.restricted
    dense = is_dense(graph) and not restricted
    if setting.options.odd_wheels and dense and not is_complete(graph):
        _complete(job, job.rows)
        return
    ascent = job.problem.multicut and ascends(graph, setting.options)
    device_first = ascent and setting.accelerator is not None
    if job.heuristics and not device_first and job.search is None:
        _search(job, polish=not ascent or graph.m < QUICK or restricted)
    rows, multipliers = job.rows, np.zeros(len(job.rows))
    saved = job.checkpoint and job.checkpoint.lp(graph)
    if saved:
        rows, multipliers = saved.rows, saved.multipliers
        bounds.offer(saved.labels)
        bounds.raise_lower(relaxed_bound(graph, rows, multipliers))
    elif ascent:
        start = ascend(job)
        rows, multipliers = start.rows, start.multipliers
    if job.heuristics and device_first:
        _search(job, polish=True)
    benders = Benders(
        graph,
        setting.options,
        bounds,
        seed=setting.seed,
        clock=clock,
        device=setting.device,
        reporter=setting.reporter,
        rows=rows,
        multipliers=multipliers,
        problem=job.problem,
        search=job.search,
    )
    tree = Branching(graph)
    if job.checkpoint:
        job.checkpoint.watch(lambda: SavedLP(graph, bounds.labels, *benders.lp))
        tree = job.checkpoint.tree(graph)
    if not tree.begun:
        with benders.clusterings.searching(job.heuristics):
            benders.relax()
    setting.reporter.lp_is_over()
    if not tree.begun:
        if setting.options.integer == "whole":
            job.log("HiGHS' branch and bound on %d edges", graph.m)
            benders.integrate()
        elif not restricted and divide(job, benders):
            return
        elif setting.options.odd_wheels and not restricted and _is_worth_pairs(graph):
            _complete(job, benders.lp[0])
            return
    job.log("branch and bound on %d edges", graph.m)
    with benders.clusterings.searching(job.heuristics, at_once=is_dense(graph)):
        benders.clusterings.search_before_branching()
        benders.branch(tree)


def _search(job: Job, *, polish: bool) -> None:
    """Local search from the weights alone.

    Polish, Kernighan-Lin and fusion with what is known, is not worth its time where dual ascent
    comes next: its reduced costs guide to better clusterings.
    """
    graph, bounds, clock, setting = job.graph, job.bounds, job.clock, job.setting
    known = bounds.labels if bounds.upper < 0.0 else None
    with clock.measure("rounding"):
        rounds = FUSIONS if graph.m <= FUSED_EDGES else 0
        heuristics = job.problem.heuristics
        labels = heuristics.first(
            rounds=rounds,
            polish=polish,
            seed=setting.seed,
            clock=clock,
            tell=job.start_from,
            keep=job.keep_search,
        )
        if polish and known is not None:
            labels = heuristics.fused(known, labels, clock)
        bounds.offer(labels)
    job.log("local search finds a clustering of cost %.10g", bounds.upper)
    setting.reporter.start()
