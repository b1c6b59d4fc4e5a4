from fractions import Fraction
from itertools import combinations

import highspy
import numpy as np
import pytest
from families import wheel
from oracles import brute_force, random_graph

from bdcc_jax import Options, solve, verify
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.lp.integer_master import IntegerMaster
from bdcc_jax.lp.lagrangian import Lagrangian
from bdcc_jax.lp.master import AT_LOWER, BASIC, Master, MasterFailed
from bdcc_jax.lp.rows import Rows

CYCLE = Rows.from_cycles([np.array([0, 1, 2])])  # x_0 <= x_1 + x_2
WEIGHTS = np.array([-1.0, 2.0, 3.0])


def unlimited():
    return Clock(None)


def test_without_rows_there_is_no_model(monkeypatch):
    def refused(_):
        raise AssertionError("HiGHS is not needed")

    monkeypatch.setattr(highspy.Highs, "__init__", refused)
    master = Master(WEIGHTS)
    assert master.solve(unlimited()).tolist() == [1, 0, 0]
    assert master.proven_bound == -1.0
    assert len(master.multipliers) == 0
    # Of this triangle what is packed along its two positive edges is the optimum already.
    result = solve(([0, 1, 0], [1, 2, 2], [2.0, 3.0, -1.0]), options=Options(presolve=False))
    assert (str(result.status), result.objective) == ("optimal", 0.0)
    assert verify(result.graph, result.certificate).lower_bound == 0


def test_rows_are_added_in_place():
    master = Master(WEIGHTS)
    first = master.solve(unlimited())
    assert first.tolist() == [1, 0, 0]
    assert master.proven_bound == pytest.approx(-1)
    master.add(CYCLE)
    master.solve(unlimited())
    assert master.proven_bound == pytest.approx(0)
    ilp = IntegerMaster(WEIGHTS, master.rows)
    assert ilp.solve(unlimited()).tolist() == [0, 0, 0]
    assert ilp.n_rows == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_lp_bound_holds_for_any_multipliers(seed):
    """Checked in exact rational arithmetic, with multipliers of wildly different size."""
    rng = np.random.default_rng(seed)
    m, k = 12, 20
    cycles = [rng.choice(m, rng.integers(3, 6), replace=False) for _ in range(k)]
    rows = Rows.from_cycles(cycles)
    weights = rng.normal(size=m) * 10.0 ** rng.integers(-9, 9, m)
    multipliers = rng.random(k) * 10.0 ** rng.integers(-9, 9, k)
    exact = [Fraction(w) for w in weights]
    for cycle, y in zip(cycles, multipliers, strict=True):
        for position, e in enumerate(cycle):
            exact[e] += Fraction(y) if position == 0 else -Fraction(y)
    truth = sum(r for r in exact if r < 0)
    bound = Lagrangian.of(weights, rows, multipliers).bound
    assert Fraction(bound) <= truth
    assert bound == pytest.approx(float(truth), rel=1e-12)


def test_bound_is_valid_for_clusterings():
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 7, 1.0)
    edge = {tuple(pair): e for e, pair in enumerate(graph.edges.tolist())}
    triangles = Rows.from_cycles(
        [np.array([edge[u, v], edge[v, w], edge[u, w]]) for u, v, w in combinations(range(7), 3)]
    )
    for _ in range(20):
        bound = Lagrangian.of(graph.weights, triangles, rng.random(len(triangles))).bound
        assert bound <= brute_force(graph)


def test_no_time_left():
    master = Master(WEIGHTS)
    with pytest.raises(TimeLimitReached):
        master.solve(Clock(0.0))


def test_a_problem_that_did_not_run_proves_nothing():
    """HiGHS then reports 0 as the bound."""
    master = IntegerMaster(WEIGHTS, CYCLE)
    with pytest.raises(TimeLimitReached):
        master.solve(Clock(0.0))
    assert master.proven_bound == -np.inf


def test_a_failed_ilp_proves_nothing(monkeypatch):
    master = IntegerMaster(WEIGHTS, CYCLE)
    run = master._run_once
    status = highspy.HighsModelStatus.kSolveError
    monkeypatch.setattr(master, "_run_once", lambda clock: run(clock) and status)
    with pytest.raises(MasterFailed):
        master.solve(unlimited())
    assert master.proven_bound == -np.inf


def test_a_failing_master_leaves_valid_bounds(monkeypatch):
    graph = random_graph(np.random.default_rng(3), 9, 1.0)
    solve_master = Master.solve
    calls = []

    def fail_late(self, clock):
        calls.append(1)
        if len(calls) > 2:
            raise MasterFailed("injected")
        return solve_master(self, clock)

    monkeypatch.setattr(Master, "solve", fail_late)
    result = solve(graph, options=Options.paper(rounding=()))
    optimum = brute_force(graph)
    assert result.status == "numerical"
    assert result.lower_bound <= optimum <= result.objective


@pytest.mark.parametrize("lie", [0.01, 1e6], ids=["a bit", "beyond what a clustering costs"])
def test_a_bound_of_highs_that_is_too_high_proves_nothing(monkeypatch, lie):
    """As its presolve was seen to produce from badly scaled rows."""
    honest, told = IntegerMaster._lower_bound, []

    def too_high(self):
        told.append(honest(self) + lie)
        return told[-1]

    monkeypatch.setattr(IntegerMaster, "_lower_bound", too_high)
    for k in (5, 9):
        graph = wheel(k, np.pi, -np.pi)
        for options in (
            Options.paper(),
            Options(integer="whole", odd_wheels=False, presolve=False),
        ):
            result = solve(graph, options=options)
            assert result.status == "optimal"
            assert result.objective == pytest.approx(brute_force(graph), abs=1e-9)
            assert result.lower_bound <= brute_force(graph)
            assert verify(graph, result.certificate).claims == ()
    assert told


def test_an_lp_without_a_basis_starts_from_scratch():
    master = Master(WEIGHTS)
    master.add(CYCLE)
    master.solve(unlimited())
    master._highs.clearSolver()
    columns, rows = master.basis
    assert columns.tolist() == [AT_LOWER] * 3
    assert rows.tolist() == [BASIC]
    master.add(CYCLE)
    master.start_from(columns, rows)  # of before the last row
    assert master._rows.violation(master.solve(unlimited())).max() <= 1e-9
    assert master.proven_bound == pytest.approx(0.0, abs=1e-9)
