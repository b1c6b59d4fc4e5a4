"""The whole method against brute force and an independent MILP."""

import numpy as np
import pytest
from oracles import all_cuts, brute_force, random_graph, triangle_milp

from bdcc_jax import Graph, Options, Result, solve
from bdcc_jax.lp.master import Master

BARE = {"presolve": False, "heuristics": False}
VARIANTS = {
    "default": Options(),
    "packing": Options(**BARE),
    "one ILP": Options(**BARE, integer="whole", odd_wheels=False),
    "paper": Options.paper(),
    "paper, tau none": Options.paper(tau=None),
    "paper, tau .01": Options.paper(tau=0.01),
    "paper, tau .99": Options.paper(tau=0.99),
    "inverse weight": Options.paper(direction="inverse_weight"),
    "split and Magnanti-Wong": Options(tau=0.5, **BARE),
    "tiny balls, all roundings": Options(ball_size=2, rounding=("parallel", "serial"), **BARE),
    "threshold only": Options(rounding=(), **BARE),
}


def check(graph: Graph, result: Result, optimum: float) -> None:
    slack = 1e-9 * (1 + np.abs(graph.weights).sum())
    assert result.status == "optimal"
    assert result.objective == graph.objective(result.labels)
    assert abs(result.objective - optimum) <= slack
    assert result.lower_bound <= result.objective
    for record in result.history:
        assert record.lower_bound <= optimum + slack
        assert record.upper_bound >= optimum - slack


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("density", "kind"), [(1.0, "normal"), (1.0, "ties"), (0.5, "normal"), (0.3, "ties")]
)
def test_brute_force(variant, density, kind, monkeypatch):
    """Equal objective, valid bounds, and every row valid for every partition, exactly."""
    added = []
    add = Master.add
    monkeypatch.setattr(Master, "add", lambda self, rows: (added.append(rows), add(self, rows)))
    rng = np.random.default_rng(round(10 * density) + len(kind))
    n_rows = 0
    for n in (3, 5, 7, 8, 9):
        graph = random_graph(rng, n, density, kind)
        added.clear()
        check(graph, solve(graph, options=VARIANTS[variant], seed=n), brute_force(graph))
        cuts = all_cuts(graph)
        for rows in added:
            dense = np.zeros((len(rows), graph.m))
            dense[rows.row_of_entry(), rows.indices] = rows.values
            assert (dense @ cuts.T <= rows.upper[:, None]).all()
            n_rows += len(rows)
    assert n_rows > 0 or VARIANTS[variant].presolve  # which may decide everything


@pytest.mark.parametrize("seed", range(6))
def test_independent_milp(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 10 + seed, (1.0, 0.6)[seed % 2], ("normal", "ties")[seed // 3])
    optimum = triangle_milp(graph)
    check(graph, solve(graph), optimum)
    check(graph, solve(graph, options=Options.paper()), optimum)


@pytest.mark.parametrize(
    ("graph", "labels"),
    [
        (Graph(1, [], []), [0]),
        (Graph(4, [], []), [0, 1, 2, 3]),
        (Graph.from_edges([0, 1], [1, 2], [1.0, 2.0]), [0, 0, 0]),
        (Graph.from_edges([0, 1], [1, 2], [-1.0, -2.0]), [0, 1, 2]),
        (Graph.from_edges([0, 2, 3], [1, 3, 4], [1.0, -1.0, 2.0], n=6), [0, 0, 1, 2, 2, 3]),
        (Graph.from_edges([0, 1, 0], [1, 2, 2], [3.0, 3.0, -1.0]), [0, 0, 0]),
    ],
    ids=["one node", "no edges", "all positive", "all negative", "disconnected", "frustrated"],
)
def test_small_cases(graph, labels):
    result = solve(graph)
    assert result.labels.tolist() == labels
    assert result.status == "optimal"
    assert result.objective == result.lower_bound
    assert result.tolerance == 0.0


def odd_wheel(weight: float) -> Graph:
    """The cycle inequalities admit 1/2 on every spoke."""
    rim = np.arange(5)
    return Graph.from_edges(
        np.concatenate([rim, np.full(5, 5)]),
        np.concatenate([(rim + 1) % 5, rim]),
        np.concatenate([np.full(5, -weight), np.full(5, weight)]),
    )


def test_lp_that_is_not_tight_needs_the_ilp_phase():
    graph = odd_wheel(np.pi)
    options = Options(integer="whole", odd_wheels=False, presolve=False)
    result = solve(graph, options=options)
    check(graph, result, brute_force(graph))
    lp_end = max(r.lower_bound for r in result.history if r.phase == "lp")
    assert lp_end == pytest.approx(-2.5 * np.pi)
    assert result.history[-1].phase == "ilp"
    assert result.objective == pytest.approx(-2 * np.pi)


def test_odd_wheels_make_the_lp_tight():
    graph = odd_wheel(np.pi)
    result = solve(graph, options=Options(presolve=False))
    check(graph, result, brute_force(graph))
    assert {r.phase for r in result.history} == {"start", "lp"}


def test_whole_weights_round_the_bound_up():
    result = solve(odd_wheel(1.0), options=Options(presolve=False, odd_wheels=False))
    assert {r.phase for r in result.history} == {"start", "lp"}
    assert result.lower_bound == result.objective == -2.0


def test_an_optimum_that_highs_cut_off():
    """Near ties: HiGHS' branch and bound missed the best clustering, with tolerances of 1e-10."""
    sign = "------.++.++-++-.---+--+-.+++--.++.++-+..-+.+"
    noise = [
        -359, 208, 11, 524, -1262, -2247, 358, 697, -585, 100, -507, -847,
        428, -749, 829, 379, -996, -48, -209, 824, 1091, 901, 52, -427,
        -91, 95, -427, 1082, 2130, 2882, 1577, -875, -390, -171, 363, 1403,
    ]  # fmt: skip
    u, v = (ends[[s != "." for s in sign]] for ends in np.triu_indices(10, 1))
    weights = np.array([1.0 if s == "+" else -1.0 for s in sign if s != "."]) + 1e-10 * np.array(
        noise
    )
    graph = Graph.from_edges(u, v, weights, 10)
    check(graph, solve(graph, options=Options.paper(), seed=4279), brute_force(graph))


@pytest.mark.parametrize("variant", ["default", "one ILP", "paper", "split and Magnanti-Wong"])
def test_near_ties(variant):
    rng = np.random.default_rng(3)
    for exponent in (-9, -8, -7, -6, -5, -4):
        u, v = np.triu_indices(9, 1)
        weights = rng.choice([-1.0, 1.0], len(u)) + 10.0**exponent * rng.normal(size=len(u))
        graph = Graph.from_edges(u, v, weights, 9)
        check(graph, solve(graph, options=VARIANTS[variant]), brute_force(graph))
