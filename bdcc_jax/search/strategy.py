"""A solve from beginning to end: presolve, Algorithm 1, and what to do about a gap it leaves."""

from math import inf

import numpy as np

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.sums import sum_down, sum_up
from ..base.workers import Pending, begin
from ..instance.completion import LEAST_DENSITY_OPEN, completed, is_complete, is_dense
from ..instance.enumeration import MOST_NODES
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..presolve import Presolved, presolve
from ..primal import first_turn, is_clustered_poorly, local_search, moved
from ..proofs.branching_proof import Branching
from ..proofs.certificate import LowerBound, PresolveProof, relaxed_bound
from ..proofs.decomposition import Decomposition
from .after_lp import divide
from .benders import Benders
from .bounds import Bounds, allowed_excess
from .checkpoint import SavedLP
from .first_bound import ascend, ascends, contraction, first_look, is_torn
from .job import Job
from .semidefinite_tree import is_suited
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

HARD_CONFLICTS, HARD_EDGES, HARD_TURNS = 0.4, 1_000, 6
"""With so large a share, and so many edges, the LP takes long and says little: a longer search
comes before it, so many turns as long as they find something, each as long as all before it."""

PAYS = 1e-3
"""A large instance in conflict is searched on before all else while a step gains such a share."""


def strategy(job: Job) -> None:
    """Solve a job: ends by Stop once its bounds have met, returns if they cannot be made to."""
    if job.problem.relaxed is not None:
        _solve_relaxed(job, job.problem.relaxed)
    if job.presolve and not job.problem.restricted:
        _presolve(job)
    else:
        _solve(job)


def _solve_relaxed(job: Job, graph: Graph) -> None:
    """Solve an instance without its restriction, if it seems that the optimum satisfies that."""
    setting, bounds, clock = job.setting, job.bounds, job.clock
    with clock.measure("rounding"):
        guess = local_search(graph, seed=setting.seed, clock=clock)
    if not job.problem.allows(guess):
        return
    job.start_from(guess)
    inner = Bounds(graph, absolute_gap=bounds.allowance, tolerance=bounds.tolerance)
    inner.offer(guess)
    told = inner.labels[:0]

    def hand_out() -> None:
        nonlocal told
        if inner.labels is not told:
            bounds.offer(inner.labels)
        known = inner.lower_bound
        same = bool((graph.cut(bounds.labels) == graph.cut(inner.labels)).all())
        bounds.raise_lower(LowerBound(known.value, known.proof, known.excess if same else inf))
        told = inner.labels

    relaxed = job.inner(
        graph,
        inner,
        presolve=job.presolve,
        labels_known=True,
        checkpoint=job.checkpoint,
        level=job.level,
    )
    with setting.reporter.inside(inner, hand_out, lambda labels: labels):
        relaxed.run()
    bounds.stop_if_met()
    job.problem.allows(inner.labels)  # or there is no way to go on


def _presolve(job: Job) -> None:
    graph, clock = job.graph, job.clock
    beside = begin(_measured_presolve, graph, clock, threaded=graph.m >= LARGE_DENSE)
    if job.heuristics:
        _first_clustering(job)
    rest = beside.value()
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


def _measured_presolve(graph: Graph, clock: Clock) -> Presolved:
    with clock.measure("presolve"):
        return presolve(graph, clock)


def _first_clustering(job: Job) -> None:
    """What is found before presolve, if that takes a while."""
    graph, device = job.graph, job.setting.accelerator
    if not device and is_clustered_poorly(graph):
        if graph.m >= LARGE_DENSE:
            _search(job)
    elif graph.m >= LARGE:
        with job.clock.measure("rounding"):
            job.start_from(found := contraction(job))
            if job.bounds.upper - job.bounds.lower >= CONFLICTS * abs(job.bounds.upper):
                job.start_from(moved(graph, found, seed=job.setting.seed, clock=job.clock))
        if not device and is_torn(job):
            _search_while_it_pays(job)
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
    found: Pending[IntArray] | None = None
    if job.heuristics and not device_first and job.search is None:
        if ascent and graph.m >= QUICK and not restricted:
            if is_torn(job):  # then ascent, and the search beside it, start from what it finds
                _search_while_it_pays(job)
            else:
                found = begin(_searched, job, clock)
        else:
            _search(job)
    rows, multipliers = job.rows, np.zeros(len(job.rows))
    saved = job.checkpoint and job.checkpoint.lp(graph)
    if saved:
        rows, multipliers = saved.rows, saved.multipliers
        bounds.offer(saved.labels)
        if found is not None:
            bounds.offer(found.value())
        bounds.raise_lower(relaxed_bound(graph, rows, multipliers))
    elif ascent:
        start = ascend(job, found)
        rows, multipliers = start.rows, start.multipliers
    elif restricted:
        rows, multipliers = job.problem.start(clock)
        bounds.raise_lower(relaxed_bound(graph, rows, multipliers))
    if job.heuristics and device_first:
        _search(job)
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
    worth_pairs = setting.options.odd_wheels and _is_worth_pairs(graph)
    if not tree.begun:
        if setting.options.integer == "whole":
            job.log("HiGHS' branch and bound on %d edges", graph.m)
            benders.integrate()
        elif restricted:
            pass
        elif worth_pairs and is_suited(graph, bounds):
            _complete(job, benders.lp[0])
            return
        elif divide(job, benders):
            return
        elif worth_pairs:
            _complete(job, benders.lp[0])
            return
    job.log("branch and bound on %d edges", graph.m)
    with benders.clusterings.searching(job.heuristics, at_once=is_dense(graph)):
        benders.clusterings.search_before_branching()
        benders.branch(tree)


def _searched(job: Job, clock: Clock) -> IntArray:
    """Local search from the weights alone, beside dual ascent.

    Polish, Kernighan-Lin and fusion with what is known, is not worth its time there: the reduced
    costs guide to better clusterings.
    """
    return job.problem.heuristics.first(
        rounds=FUSIONS if job.graph.m <= FUSED_EDGES else 0,
        polish=False,
        seed=job.setting.seed,
        clock=clock,
        tell=lambda _: None,
        keep=job.keep_search,
    )


def _search(job: Job) -> None:
    """Local search from the weights alone."""
    graph, bounds, clock, setting = job.graph, job.bounds, job.clock, job.setting
    known = bounds.labels if bounds.upper < 0.0 else None
    with clock.measure("rounding"):
        rounds = FUSIONS if graph.m <= FUSED_EDGES else 0
        heuristics = job.problem.heuristics
        labels = heuristics.first(
            rounds=rounds,
            polish=True,
            seed=setting.seed,
            clock=clock,
            tell=job.start_from,
            keep=job.keep_search,
        )
        if known is not None:
            labels = heuristics.fused(known, labels, clock)
        bounds.offer(labels)
    job.log("local search finds a clustering of cost %.10g", bounds.upper)
    setting.reporter.start()
    sparse = not is_clustered_poorly(graph)  # else the search has begun, and has its turns
    if sparse and graph.m >= HARD_EDGES:
        _search_if_torn(job)


def _search_while_it_pays(job: Job) -> None:
    """Search on from the clustering that is known, as long as a step gains much."""
    search, bounds = job.problem.heuristics.search(job.bounds.labels, job.setting.seed), job.bounds
    with job.clock.measure("rounding"), job.clock.alarm() as stop:
        before = inf
        while before - bounds.upper > PAYS * abs(bounds.upper) and not stop[0]:
            before = bounds.upper
            search.step(stop)
            job.start_from(search.labels)


def _search_if_torn(job: Job) -> None:
    """Go on with the search where the user's instance, not what is left of it, is in conflict."""
    reporter, clock = job.setting.reporter, job.clock
    if reporter.relative_gap < HARD_CONFLICTS:
        return
    search, end = job.problem.heuristics.search(job.bounds.labels, job.setting.seed), 0
    job.keep_search(search)
    with clock.measure("rounding"), clock.alarm() as stop:
        for _ in range(HARD_TURNS):
            before, end = job.bounds.upper, max(2 * end, first_turn(job.graph))
            search.run(end, stop)
            job.bounds.offer(search.labels)
            reporter.start()
            if stop[0] or job.bounds.upper == before:
                return
