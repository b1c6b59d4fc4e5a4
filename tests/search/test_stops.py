"""Every way to stop, also inside of an instance that is solved in place of the one given."""

from functools import cache

import numpy as np
import pytest
from checks import (
    BARE,
    COMBINATIONS,
    WHOLE,
    cases,
    check_bounds,
    check_optimal,
    count_calls,
    rounds_of,
)
from families import joined, planar, wheel
from oracles import random_graph

from bdcc_jax import Options, solve
from bdcc_jax.primal import heuristics

REDUCED = joined(
    [planar(np.random.default_rng(3), 8, 8), random_graph(np.random.default_rng(1), 9, 1.0)]
)
PIECES = joined([wheel(9, 1.1), wheel(11, 0.9), wheel(13, 1.2)])


@cache
def best_of(which):
    graph = {"reduced": REDUCED, "pieces": PIECES}[which]
    result = solve(graph, options=WHOLE)
    assert result.status == "optimal"
    return graph, result.objective


def some(rounds):
    """The first ones, one in the middle, and the last."""
    return sorted({1, 2, rounds // 2, rounds - 1, rounds} - {0})


STOPS = [("reduced", Options()), ("reduced", BARE), ("pieces", BARE)]


@pytest.mark.parametrize(("which", "options"), STOPS)
def test_a_callback_can_stop_in_any_round(which, options, monkeypatch):
    graph, best = best_of(which)
    rounds = len(solve(graph, options=options).history)
    assert rounds > 1
    calls = count_calls(monkeypatch, "solve_instead")
    for at in some(rounds - 1):
        result = solve(graph, options=options, callback=lambda p, at=at: p.round.number == at)
        assert result.status == "stopped"
        assert len(result.history) == at
        check_bounds(graph, result, best)
    assert calls["solve_instead"] > 0 or options is BARE


@pytest.mark.parametrize(("which", "options"), STOPS)
def test_ctrl_c_in_any_round(which, options):
    graph, best = best_of(which)
    rounds = len(solve(graph, options=options).history)

    for at in some(rounds):

        def interrupt(progress, at=at):
            if progress.round.number == at:
                raise KeyboardInterrupt

        result = solve(graph, options=options, callback=interrupt)
        assert result.status == "interrupted"
        check_bounds(graph, result, best)


@pytest.mark.parametrize(("which", "options"), STOPS)
def test_max_rounds(which, options):
    graph, best = best_of(which)
    rounds = len(rounds_of(solve(graph, options=options)))
    for at in some(rounds - 1):
        limited = Options(**{**vars(options), "max_rounds": at})
        result = solve(graph, options=limited)
        assert result.status == "max_rounds"
        assert len(rounds_of(result)) == at
        check_bounds(graph, result, best)
    enough = solve(graph, options=Options(**{**vars(options), "max_rounds": rounds + 1}))
    check_optimal(graph, enough, best)


def test_callbacks_see_bounds_and_labels_of_the_whole_instance():
    seen = []
    result = solve(REDUCED, callback=seen.append)
    assert [progress.round for progress in seen] == list(result.history)
    for progress in seen:
        assert REDUCED.objective(progress.labels) == progress.round.upper_bound


@pytest.mark.parametrize("options", [Options(), BARE])
@pytest.mark.parametrize("graph", [REDUCED, PIECES], ids=["reduced", "pieces"])
def test_no_time_at_all(graph, options):
    result = solve(graph, time_limit=0, options=options)
    assert result.status == "time_limit"
    assert graph.negative_sum <= result.lower_bound <= result.objective <= 0
    assert result.objective == graph.objective(result.labels)


@pytest.mark.parametrize("combination", [c for c in COMBINATIONS if c["engine"] == "packing"])
def test_a_gap_stops_early_with_a_gap_that_is_as_asked_for(combination):
    n_gap = 0
    for graph, best in [*cases(0).values(), best_of("reduced"), best_of("pieces")]:
        result = solve(graph, gap=0.1, options=Options(**combination))
        assert result.status in ("gap", "optimal")
        assert result.relative_gap <= 0.1 + 1e-9
        check_bounds(graph, result, best)
        n_gap += result.status == "gap"
    assert n_gap > 0 or combination["odd_wheels"]


@pytest.mark.parametrize("options", [Options(), Options(presolve=False, odd_wheels=False)])
def test_an_absolute_gap_stops_early(options):
    graph, best = best_of("pieces")
    result = solve(graph, options=Options(**{**vars(options), "absolute_gap": 2.0}))
    assert result.status == "gap"
    assert result.gap <= 2.0 + 1e-9
    check_bounds(graph, result, best)


def test_ctrl_c_in_a_compiled_function_returns_the_best(monkeypatch):
    """Numba turns a KeyboardInterrupt that arrives meanwhile into the cause of a SystemError."""
    graph = random_graph(np.random.default_rng(4), 12, 0.8)

    def interrupted(*args, **kwargs):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as cause:
            raise SystemError("returned a result with an exception set") from cause

    monkeypatch.setattr(heuristics, "local_search", interrupted)
    result = solve(graph, options=Options(presolve=False))
    assert result.status == "interrupted"
    assert result.lower_bound <= result.objective == graph.objective(result.labels)


def test_other_system_errors_are_not_hidden(monkeypatch):
    def broken(*args, **kwargs):
        raise SystemError("something else")

    monkeypatch.setattr(heuristics, "local_search", broken)
    with pytest.raises(SystemError, match="something else"):
        solve(random_graph(np.random.default_rng(4), 12, 0.8), options=Options(presolve=False))
