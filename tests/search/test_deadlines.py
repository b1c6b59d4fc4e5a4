"""Whatever is stopped comes back at once, with something valid, and claims nothing."""

import sys
from itertools import pairwise

import jax
import numpy as np
import pytest
from alarms import CountingClock, set_alarm
from families import planar, wheel, wheel_solution

from bdcc_jax import Graph, Options
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.base.labels import canonical_labels
from bdcc_jax.instance import cover
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.primal import (
    annealing,
    evolution,
    fuse,
    greedy_additive,
    kernighan_lin,
    leiden,
    local_search,
    lp_guided,
)
from bdcc_jax.primal.kernighan_lin import improve
from bdcc_jax.separation import odd_wheels, packing, violations
from bdcc_jax.separation.device import balls, batched, limits
from bdcc_jax.separation.device.detection import Detector
from bdcc_jax.separation.device.device_round import DeviceRound
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.odd_wheels import violated_wheels
from bdcc_jax.separation.packing import PackingEngine
from bdcc_jax.separation.paper.ball import VIOLATION
from bdcc_jax.separation.paper.dijkstra import DijkstraFinder
from bdcc_jax.separation.paper.paper_round import PaperRound
from bdcc_jax.separation.paper.reference import ReferenceSolver
from bdcc_jax.separation.violations import violated_edges

CPU = jax.devices("cpu")[0]
NO_LIMIT = Clock(None)
GREEDY = sys.modules["bdcc_jax.primal.greedy_additive"]  # the package has functions of the
EXCHANGES = sys.modules["bdcc_jax.primal.kernighan_lin"]  # same names
SEARCH = GREEDY, EXCHANGES, annealing, evolution, leiden


def mesh(seed=0, side=6):
    return planar(np.random.default_rng(seed), side, side)


@pytest.mark.parametrize("joins", [-100, 0, 1, 5, 10**9])
def test_greedy_contraction_returns_what_has_been_joined(joins, monkeypatch):
    graph = mesh()
    whole = greedy_additive(graph)
    after = max(0, int(graph.positive.sum()) + joins)  # one look for every edge that may be joined
    alarm = set_alarm(monkeypatch, after, GREEDY)
    labels = greedy_additive(graph, clock=NO_LIMIT)
    assert labels.tolist() == canonical_labels(labels).tolist()
    # The same joins in the same order, only fewer.
    assert len(np.unique(np.stack([labels, whole]), axis=1).T) == labels.max() + 1
    assert alarm.looks <= after + graph.m + 1
    assert labels.max() + 1 == max(graph.n - max(joins, 0), whole.max() + 1)
    assert (labels.tolist() == whole.tolist()) == (joins == 10**9)


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144])
def test_kernighan_lin_keeps_what_it_has_gained(after, monkeypatch):
    graph = mesh()
    start = np.arange(graph.n)
    alarm = set_alarm(monkeypatch, after, EXCHANGES)
    labels, gain = improve(graph, start, NO_LIMIT, 100)
    assert graph.objective(labels) == pytest.approx(graph.objective(start) - gain)
    assert gain >= 0.0
    assert alarm.looks <= after + 10  # each of the loops that are on their way looks once more
    if after == 0:
        assert labels.tolist() == start.tolist()


@pytest.mark.parametrize("after", [0, 20, 200, 300, 400, 800])
def test_local_search_and_fusion_return_the_best_they_have(after, monkeypatch):
    graph = mesh()
    rng = np.random.default_rng(1)
    a, b = (graph.components(rng.random(graph.m) < 0.2) for _ in range(2))
    best = min(graph.objective(a), graph.objective(b))
    set_alarm(monkeypatch, after, *SEARCH)
    assert graph.objective(fuse(graph, a, b, clock=NO_LIMIT)) <= best + 1e-9
    set_alarm(monkeypatch, after, *SEARCH)
    found = local_search(graph, a, rounds=2, clock=NO_LIMIT)
    assert graph.objective(found) <= graph.objective(a) + 1e-9
    set_alarm(monkeypatch, after, *SEARCH)
    guided = lp_guided(graph, rng.random(graph.m), a, clock=NO_LIMIT)
    assert graph.objective(guided) <= graph.objective(a) + 1e-9


def test_heuristics_do_nothing_once_time_is_up():
    graph, over = mesh(), Clock(0.0)
    alone, joined = np.arange(graph.n), np.zeros(graph.n, dtype=int)
    assert greedy_additive(graph, clock=over).tolist() == alone.tolist()
    assert kernighan_lin(graph, alone, clock=over).tolist() == alone.tolist()
    better = min(alone, joined, key=graph.objective)
    assert fuse(graph, alone, joined, clock=over).tolist() == better.tolist()


@pytest.mark.parametrize("after", [0, 1, 5, 20, 10**9])
def test_a_cover_is_one_wherever_it_is_stopped(after, monkeypatch):
    graph = mesh()
    alarm = set_alarm(monkeypatch, after, cover)
    found = vertex_cover(graph, "greedy", NO_LIMIT)
    assert sorted(found.edges) == np.flatnonzero(graph.negative).tolist()
    for s, (a, b) in enumerate(pairwise(found.starts)):
        ends = np.stack([np.full(b - a, found.roots[s]), found.far_ends[a:b]], axis=1)
        assert (np.sort(ends) == graph.edges[found.edges[a:b]]).all()
    assert alarm.looks <= after + 1


def at_some_x(graph, seed=2):
    x = np.random.default_rng(seed).random(graph.m) ** 3
    return np.where(graph.negative, 1.0 - x, x)


@pytest.mark.parametrize("after", [0, 1, 5])
def test_stopped_detection_claims_nothing(after, monkeypatch):
    graph = mesh()
    roots = vertex_cover(graph, "greedy")
    # All inequalities hold: only a search of all roots may say so.
    x = graph.cut(graph.components(graph.positive & (at_some_x(graph) < 0.1))).astype(float)
    assert not violated_edges(graph, roots, x, NO_LIMIT).any()
    set_alarm(monkeypatch, after, violations)
    with pytest.raises(TimeLimitReached):
        violated_edges(graph, roots, x, NO_LIMIT)
    with pytest.raises(TimeLimitReached):
        PackingEngine(graph, roots).separate(x, NO_LIMIT)


@pytest.mark.parametrize("after", [0, 1, 4, 40])
def test_a_stopped_packing_is_no_convergence(after, monkeypatch):
    graph = mesh()
    engine = PackingEngine(graph, vertex_cover(graph, "greedy"))
    violated = np.ones(len(engine._cover.edges), dtype=bool)
    set_alarm(monkeypatch, after, packing)
    rows = engine._pack(graph.negative.astype(float), violated, 64, NO_LIMIT)
    assert (rows.violation(graph.negative.astype(float)) > VIOLATION).all()
    assert engine._cut_short


@pytest.mark.parametrize("after", [0, 1, 2, 10, 40])
def test_stopped_wheels_are_wheels(after, monkeypatch):
    graph = wheel(5)
    x = wheel_solution(graph)
    alarm = set_alarm(monkeypatch, after, odd_wheels)
    try:
        rows = violated_wheels(graph, x, NO_LIMIT)
    except TimeLimitReached:
        assert alarm.looks > after
    else:
        assert len(rows) > 0
        assert (rows.violation(x) > odd_wheels.LEAST_VIOLATION).all()
    if after == 0:
        with pytest.raises(TimeLimitReached):
            violated_wheels(graph, x, NO_LIMIT)


def stops_everywhere(work, least):
    """Work that looks at the clock often enough stops at each of these looks."""
    clock = CountingClock()
    work(clock)
    assert clock.checks >= least
    for after in {0, 1, least // 2, clock.checks - 1}:
        stopped = CountingClock(after)
        with pytest.raises(TimeLimitReached):
            work(stopped)
        assert stopped.checks == after + 1


def test_batched_detection_looks_at_the_clock_between_sweeps(monkeypatch):
    monkeypatch.setitem(limits.ENTRIES, "cpu", 1)
    # A path of many edges takes as many sweeps.
    n = 30
    u, v = np.append(np.arange(n - 1), 0), np.append(np.arange(1, n), n - 1)
    graph = Graph.from_edges(u, v, np.append(np.ones(n - 1), -1.0))
    detector = Detector(graph, vertex_cover(graph, "greedy"), CPU, 2**20)
    x = np.where(graph.negative, 1.0, 1.0 / 64)
    stops_everywhere(lambda clock: detector.violated(x, clock), n)


def test_pieces_of_bellman_ford_make_the_whole(monkeypatch):
    graph = mesh()
    x, found = at_some_x(graph), []
    for entries in (2**27, 1):
        monkeypatch.setitem(limits.ENTRIES, "cpu", entries)
        detector = Detector(graph, vertex_cover(graph, "greedy"), CPU, 2**20)
        found.append(detector.violated(x, NO_LIMIT).tolist())
    assert found[0] == found[1]
    assert any(found[0])


def test_a_round_on_the_device_looks_at_the_clock_before_every_batch(monkeypatch):
    monkeypatch.setitem(batched.LANES, "cpu", (batched.CHUNK,))
    graph = mesh(side=12)
    roots, x = vertex_cover(graph, "greedy"), graph.negative.astype(float)
    rng = np.random.default_rng(0)
    engine = DeviceRound(graph, roots, Options(engine="pdlp"), rng, Devices((CPU,)))
    violated = engine.separate(x, NO_LIMIT).violated_roots
    assert violated > 2 * batched.CHUNK
    stops_everywhere(lambda clock: engine.separate(x, clock), violated // batched.CHUNK)


def test_balls_that_are_not_all_gathered_are_no_balls(monkeypatch):
    graph = mesh()
    roots, x = vertex_cover(graph, "greedy"), graph.negative.astype(float)
    rng = np.random.default_rng(0)
    engine = DeviceRound(graph, roots, Options(engine="pdlp"), rng, Devices((CPU,)))
    with pytest.raises(TimeLimitReached):
        engine.separate(x, Clock(0.0))
    alarm = set_alarm(monkeypatch, 1, balls)
    clock = CountingClock(1)
    with pytest.raises(TimeLimitReached):
        engine.separate(x, clock)
    assert alarm.looks == 2


def test_exact_subproblems_look_at_the_clock_once_a_root():
    graph = mesh()
    roots = vertex_cover(graph, "greedy")
    engine = PaperRound(DijkstraFinder(graph, roots, 64), ReferenceSolver(graph), "split")
    x = graph.negative.astype(float)
    violated = engine.separate(x, NO_LIMIT).violated_roots
    assert violated > 3
    stops_everywhere(lambda clock: engine.separate(x, clock), len(roots) + violated)


def test_an_exact_subproblem_ends_at_the_deadline():
    graph = mesh()
    x = graph.negative.astype(float)
    (ball, *_) = DijkstraFinder(graph, vertex_cover(graph, "greedy"), None).find(x, NO_LIMIT)
    solver = ReferenceSolver(graph)
    with pytest.raises(TimeLimitReached):
        solver.solve_base(ball, x, Clock(0.0))
    assert solver.solve_base(ball, x, NO_LIMIT).targets.sum() > 0  # and it can be used again
