"""Dual ascent in the solve: the bound before the LP, its proof, and what the LP starts from."""

import numpy as np
import pytest
from checks import cases, check_bounds, check_optimal
from families import optimum
from oracles import random_graph

from bdcc_jax import Graph, Options, solve, verify
from bdcc_jax.search import first_bound, strategy
from bdcc_jax.search.first_bound import ascends
from bdcc_jax.separation.device import devices

ASCENT = Options(dual_ascent=True, presolve=False)


def with_chords(rng, n):
    """A sparse graph, whose conflicted cycles are long: chords are no edges of it."""
    u = np.arange(n)
    ring = np.stack([u, (u + 1) % n], axis=1)
    others = rng.integers(0, n, (n, 2))
    edges = np.concatenate([ring, others[others[:, 0] != others[:, 1]]])
    return Graph.from_edges(*edges.T, rng.normal(0.6, 1.0, len(edges)), n)


@pytest.mark.parametrize("options", [ASCENT, Options(dual_ascent=True, heuristics=False)])
def test_the_optimum_is_found_and_proven(options):
    phases = set()
    for seed in range(3):
        for graph, best in cases(seed).values():
            result = solve(graph, options=options, seed=seed)
            check_optimal(graph, result, best)
            assert verify(graph, result.certificate).claims == ()
            phases |= {record.phase for record in result.history}
    assert phases >= {"ascent", "lp"}


def stop_after(number):
    """Stop after so many rounds of dual ascent."""
    seen = []

    def stop(progress):
        seen.append(progress.round.phase)
        return seen.count("ascent") == number

    return stop


def test_a_bound_of_the_ascent_alone_is_valid_and_has_a_certificate():
    raised = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        graph = with_chords(rng, 9) if seed % 2 else random_graph(rng, 8, 0.7, "normal")
        best = optimum(graph)
        for rounds in (1, 3):
            result = solve(graph, options=ASCENT, callback=stop_after(rounds))
            check_bounds(graph, result, best)
            assert verify(graph, result.certificate).claims == ()
            if result.status == "stopped":
                assert {record.phase for record in result.history} <= {"start", "ascent"}
                raised += result.lower_bound > graph.negative_sum
    assert raised > 25


def test_the_lp_starts_from_the_cycles_of_the_ascent():
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 30, 0.5)
    first, without = (
        next(r for r in solve(graph, options=options).history if r.phase == "lp")
        for options in (ASCENT, Options(dual_ascent=False, presolve=False))
    )
    assert first.rows - first.new_rows > 0 == without.rows - without.new_rows
    assert first.lower_bound > without.lower_bound


def test_an_lp_out_of_reach_leaves_the_time_to_the_ascent(monkeypatch):
    """It ends by itself only when it finds nothing more."""
    graph = random_graph(np.random.default_rng(6), 25, 0.8)
    few = [r for r in solve(graph, options=ASCENT).history if r.phase == "ascent"]
    monkeypatch.setattr(first_bound, "REACH_TRIANGLES", 0)
    monkeypatch.setattr(first_bound, "REACH_SHARE", 0.0)
    many = [r for r in solve(graph, options=ASCENT).history if r.phase == "ascent"]
    assert len(many) > len(few)
    assert many[-1].lower_bound >= few[-1].lower_bound


def test_rounds_of_the_ascent_are_no_rounds_of_the_lp():
    graph = random_graph(np.random.default_rng(7), 20, 0.8)
    options = Options(dual_ascent=True, presolve=False, max_rounds=1)
    result = solve(graph, options=options)
    assert result.status == "max_rounds"
    phases = [record.phase for record in result.history]
    assert (phases.count("lp"), phases.count("ilp")) == (1, 0)
    assert phases.count("ascent") > 1


def test_auto_is_for_instances_with_many_edges_that_are_not_dense():
    small = random_graph(np.random.default_rng(8), 20, 0.8)
    large = Graph(40_000, np.stack([np.arange(39_999), np.arange(1, 40_000)], 1), np.ones(39_999))
    dense = Graph(210, np.stack(np.triu_indices(210, 1), 1), np.ones(21_945))
    assert not ascends(small, Options())
    assert ascends(large, Options())
    assert not ascends(dense, Options())
    assert ascends(dense, Options(odd_wheels=False))  # its LP is HiGHS' then
    assert ascends(small, Options(dual_ascent=True))
    assert not ascends(large, Options(dual_ascent=False))
    assert Options.paper().dual_ascent is False


def test_a_forked_process_does_without_it_or_says_so(monkeypatch):
    """JAX does not survive a fork."""
    monkeypatch.setattr(devices, "_forked_with_jax", True)
    monkeypatch.setattr(first_bound, "LEAST_EDGES", 1)
    graph = random_graph(np.random.default_rng(9), 12, 0.8)
    result = solve(graph, options=Options(presolve=False))
    assert result.status == "optimal"
    assert "ascent" not in {record.phase for record in result.history}
    with pytest.raises(RuntimeError, match="JAX was in use before this process was forked"):
        solve(graph, options=ASCENT)


def test_what_is_not_allowed_is_named():
    with pytest.raises(
        ValueError, match=r"dual_ascent must be one of 'auto', True, False, not 'on'"
    ):
        Options(dual_ascent="on")


@pytest.mark.parametrize("heuristics", [True, False])
def test_an_accelerator_has_both_bounds_before_the_host_begins(monkeypatch, heuristics):
    monkeypatch.setattr(strategy, "LARGE", 10)
    monkeypatch.setattr(first_bound, "LEAST_EDGES", 10)
    looked = 0
    for seed in range(10):
        graph = random_graph(np.random.default_rng(seed), 9, 0.7, "normal")
        options = Options(engine="pdlp", heuristics=heuristics)
        result = solve(graph, options=options)
        check_optimal(graph, result, optimum(graph))
        assert verify(graph, result.certificate).claims == ()
        phases = [record.phase for record in result.history if record.device_calls]
        looked += phases[:2] == ["start", "ascent"]  # contraction and ascent, both on the device
        if phases[:1] == ["start"]:
            first = solve(graph, options=options, callback=stop_after(1))
            check_bounds(graph, first, optimum(graph))
            assert verify(graph, first.certificate).claims == ()
    assert (looked > 3) == heuristics
