"""The search beside the LP: the same result however fast either is, and nothing is lost."""

import threading
import time
from contextlib import suppress
from itertools import count, pairwise

import numpy as np
import pytest
from checks import rounds_of
from families import wheels_in_a_mesh
from oracles import random_graph

from bdcc_jax import Options, solve
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.lp.master import Master
from bdcc_jax.primal import Evolution
from bdcc_jax.primal.heuristics import Heuristics
from bdcc_jax.search import alongside, clusterings
from bdcc_jax.search.alongside import Alongside
from bdcc_jax.search.bounds import Bounds

OPTIONS = Options(presolve=False, odd_wheels=False, rounding=())


def graphs():
    rng = np.random.default_rng(11)
    return [random_graph(rng, 18, 0.9), wheels_in_a_mesh(rng, 6, 6, "normal")]


def facts(result):
    rounds = [(r.lower_bound, r.upper_bound, r.rows, r.violated_roots) for r in rounds_of(result)]
    return [str(result.status), result.labels.tolist(), result.lower_bound, rounds]


@pytest.fixture
def eager(monkeypatch):
    """It begins at once, and the main thread's searches leave it something to do."""
    monkeypatch.setattr(clusterings, "HARD_EDGES", 10**9)
    monkeypatch.setattr(alongside, "EASY", 0.0)
    monkeypatch.setattr(alongside, "EASY_DENSE", 0.0)
    monkeypatch.setattr(alongside, "EASY_PER_EDGE", 0.0)
    monkeypatch.setattr(alongside, "LARGE", 0)
    monkeypatch.setattr(
        "bdcc_jax.primal.heuristics.local_search", lambda graph, **_: np.arange(graph.n)
    )


def test_a_slow_search_is_waited_for_and_changes_nothing(eager, monkeypatch):
    expected = [facts(solve(graph, options=OPTIONS)) for graph in graphs()]
    assert any(r[1] < before[1] for _, _, _, rounds in expected for before, r in pairwise(rounds))
    step, calls = Evolution.step, count()

    def slow(self, stop):
        if threading.current_thread() is not threading.main_thread() and next(calls) < 20:
            time.sleep(0.01)
        step(self, stop)

    monkeypatch.setattr(Evolution, "step", slow)
    assert [facts(solve(graph, options=OPTIONS)) for graph in graphs()] == expected
    assert next(calls) > 0


def test_what_it_is_asked_for_does_not_depend_on_how_far_it_is(eager):
    graph = random_graph(np.random.default_rng(0), 60, 0.5)
    answers = []
    for pause in (0.0, 0.2):
        bounds, clock = Bounds(graph), Clock(None)
        with Alongside(Heuristics(graph), bounds, clock, seed=0, tell=lambda _: None) as search:
            found = []
            for _ in range(6):
                clock.work += 20_000.0
                time.sleep(pause)
                labels = search.better()
                found.append(None if labels is None else labels.tolist())
        answers.append(found)
    assert answers[0] == answers[1]
    assert any(found is not None for found in answers[0])


def test_when_time_is_up_the_best_is_taken(eager):
    graph = random_graph(np.random.default_rng(0), 60, 0.5)
    bounds, clock, told = Bounds(graph), Clock(None), []
    before = bounds.upper
    with (
        suppress(TimeLimitReached),
        Alongside(Heuristics(graph), bounds, clock, seed=0, tell=told.append),
    ):
        while not told:
            clock.waits()
            time.sleep(0.001)
        raise TimeLimitReached
    assert bounds.upper <= graph.objective(told[-1]) < before
    assert clock.while_waiting is None


def test_what_is_beyond_its_share_does_not_count_otherwise(eager):
    graph = random_graph(np.random.default_rng(0), 60, 0.5)
    bounds, clock, told = Bounds(graph), Clock(None), []
    before = bounds.upper
    with Alongside(Heuristics(graph), bounds, clock, seed=0, tell=told.append):
        while not told:
            clock.waits()
            time.sleep(0.001)
    assert bounds.upper == before


def test_while_the_lp_is_quick_it_does_its_share_only(eager, monkeypatch):
    monkeypatch.setattr(alongside, "LARGE", 10**9)
    monkeypatch.setattr(alongside, "FREE_WORK", 1e9)
    monkeypatch.setattr(alongside, "EASY", 1.0)
    monkeypatch.setattr(alongside, "EASY_DENSE", 1.0)
    monkeypatch.setattr(alongside, "FREE_WAIT", 3)
    graph = random_graph(np.random.default_rng(0), 60, 0.5)
    clock, steps, step = Clock(None), [], Evolution.step
    monkeypatch.setattr(Evolution, "step", lambda self, stop: (steps.append(0), step(self, stop)))
    with Alongside(Heuristics(graph), Bounds(graph), clock, seed=0, tell=lambda _: None) as search:
        clock.waits()
        assert steps == []  # nothing is due
        clock.work += 20_000.0
        search.better()
        search.better()
        time.sleep(0.1)
        share = len(steps)
        time.sleep(0.2)
        assert 0 < len(steps) == share
        clock.waits()
        clock.waits()
        while len(steps) < share + 5:  # HiGHS is waited for: it is free to go on
            time.sleep(0.001)


def test_errors_of_the_search_are_not_hidden(eager, monkeypatch):
    def broken(self, stop):
        raise RuntimeError("in the thread")

    monkeypatch.setattr(Evolution, "step", broken)
    with pytest.raises(RuntimeError, match="in the thread"):
        solve(graphs()[0], options=OPTIONS)


def test_clusterings_are_told_while_an_lp_runs(eager, monkeypatch):
    """HiGHS is slow here: meanwhile there are records, and callbacks may stop the solve."""
    graph = random_graph(np.random.default_rng(1), 60, 0.5)
    solved = Master.solve

    def slow(self, clock):
        for _ in range(200):
            clock.waits()
            time.sleep(0.002)
        return solved(self, clock)

    monkeypatch.setattr(Master, "solve", slow)
    seen = []

    def enough(progress):
        seen.append(progress)
        return progress.round.phase == "search"

    result = solve(graph, options=OPTIONS, callback=enough)
    assert result.status == "stopped"
    assert seen[-1].round.phase == "search"
    assert seen[-1].improved
    assert graph.objective(seen[-1].labels) == seen[-1].round.upper_bound
    assert result.objective <= seen[-1].round.upper_bound
