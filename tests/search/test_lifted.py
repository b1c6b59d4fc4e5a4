"""Lifted multicut against enumeration, and with everything that a solve can be asked for."""

import numpy as np
import pytest
from lifted_cases import is_connected, lifted_grid, lifted_optimum, random_lifted

import bdcc_jax
from bdcc_jax import Graph, Options, solve, verify
from bdcc_jax.search import lifted as problem
from bdcc_jax.search.lifted import Lifted

BARE = Options(heuristics=False, odd_wheels=False)


def check(graph, **how):
    """Solve; the result is an optimum, and its certificate proves it."""
    best, result = lifted_optimum(graph), solve(graph, **how)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best, abs=1e-9)
    assert result.lower_bound <= best + 1e-9
    assert is_connected(graph, result.labels)
    verdict = verify(graph, result.certificate)
    assert verdict.claims == ()
    assert float(verdict.lower_bound) <= best + 1e-9
    return result


def both_kinds(seeds, *grid):
    """Trees that had to grow, of all kinds of instances."""
    trees = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        graph = lifted_grid(rng, *grid) if seed % 4 == 0 else random_lifted(rng)
        if graph.lifted is not None:
            proof = check(graph, options=BARE if seed % 3 == 0 else None).certificate["proof"]
            trees += proof["rule"] == "branching"
    return trees


@pytest.mark.parametrize("start", range(0, 320, 80))
def test_small_graphs(start):
    assert both_kinds(range(start, start + 80), 2, 3) > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 7000, 1000))
def test_thousands_of_small_graphs(start):
    assert both_kinds(range(start, start + 1000)) > 10


def test_a_lifted_edge_does_not_connect():
    # 0 and 2 attract each other, but what is between them repels more.
    graph = Graph.from_edges([0, 1], [1, 2], [-2.0, -2.0], lifted=([0], [2], [3.0]))
    result = check(graph)
    assert result.objective == -1.0
    assert result.labels.tolist() == [0, 1, 2]


def test_a_lifted_edge_keeps_what_repels():
    graph = Graph.from_edges([0, 1], [1, 2], [-1.0, -1.0], lifted=([0], [2], [3.0]))
    assert check(graph).labels.tolist() == [0, 0, 0]


def test_edges_of_weight_0_connect():
    graph = Graph.from_edges([0, 1], [1, 2], [0.0, 0.0], lifted=([0], [2], [3.0]))
    assert check(graph).labels.tolist() == [0, 0, 0]


def test_nothing_leads_from_part_to_part():
    graph = Graph.from_edges([0, 2], [1, 3], [1.0, 1.0], lifted=([0, 1], [2, 3], [5.0, -1.0]))
    result = check(graph)
    assert result.labels.tolist() == [0, 0, 1, 1]
    assert result.objective == 4.0


def test_infeasible_lps_are_proven():
    """Decisions that no path contradicts: HiGHS' ray does, and the checker accepts it."""
    rays = []

    class Seen(bdcc_jax.search.branching.Master):
        def _prove_infeasible(self):
            rays.append(super()._prove_infeasible())
            return rays[-1]

    graph = lifted_grid(np.random.default_rng(3))
    master = Seen(graph.weights)
    lifted = Lifted(graph)
    kept, cut = np.zeros((2, graph.m), dtype=bool)
    pair = int(np.flatnonzero(graph.lifted)[0])
    kept[pair] = True
    cut[np.flatnonzero(~graph.lifted)] = True
    assert lifted.contradiction(kept, cut).kind == "cut"
    clock = bdcc_jax.base.clock.Clock(None)
    master.add(problem.ConnectingCuts(graph)(np.where(cut, 1.0, 0.0), clock).rows)
    master.solve(clock)
    master.restrict(np.where(cut, 1.0, 0.0), np.where(kept, 0.0, 1.0))
    master.solve(clock)
    assert rays == [True]
    assert master.proven_bound > np.abs(graph.weights).sum()


def grid_instance(seed=0, side=12):
    rng = np.random.default_rng(seed)
    nodes = np.arange(side * side).reshape(side, side)
    near = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
    far = [(nodes[:, :-3], nodes[:, 3:]), (nodes[:-3], nodes[3:])]
    edges, lifted = (
        [np.concatenate([pair[end].ravel() for pair in pairs]) for end in range(2)]
        for pairs in (near, far)
    )
    truth = (nodes // side // 4 * 7 + nodes % side // 5).ravel()
    weights = [
        np.where(truth[u] == truth[v], 1.0, -1.0) + 1.2 * rng.normal(size=len(u))
        for u, v in (edges, lifted)
    ]
    return Graph.from_edges(*edges, weights[0], lifted=(*lifted, weights[1]))


def test_history_callback_and_bounds_at_any_moment():
    graph, seen = grid_instance(), []
    result = solve(graph, callback=lambda state: seen.append(state) and False)
    assert result.status == "optimal"
    assert [state.round for state in seen] == list(result.history)
    for state in seen:
        assert is_connected(graph, state.labels)
        assert state.round.lower_bound <= result.objective + 1e-9
        assert state.round.upper_bound >= result.objective - 1e-9
    assert verify(graph, result.certificate).claims == ()


def test_a_stop_leaves_a_result_with_a_proof():
    graph = grid_instance(1)
    for result in (solve(graph, time_limit=0.0), solve(graph, callback=lambda _: True)):
        assert is_connected(graph, result.labels)
        verify(graph, result.certificate)


@pytest.mark.parametrize("options", [Options(dual_ascent=True), BARE])
def test_options(options):
    graph = grid_instance(2, side=6)
    result = solve(graph, options=options)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(solve(graph).objective, abs=1e-9)
    verify(graph, result.certificate)


def test_initial_clusterings_are_connected_first():
    graph = Graph.from_edges([0, 1], [1, 2], [-2.0, -2.0], lifted=([0], [2], [3.0]))
    result = solve(graph, initial=[0, 1, 0])
    assert result.initial_objective == -1.0


def test_checkpoints(tmp_path):
    graph, path = grid_instance(3), tmp_path / "run.npz"
    first = solve(graph, checkpoint=path, options=Options(max_rounds=3))
    again = solve(graph, checkpoint=path, options=Options(max_rounds=3))
    assert again.lower_bound >= first.lower_bound - 1e-9
    verify(graph, again.certificate)
    other = Graph(graph.n, graph.edges, graph.weights)
    with pytest.raises(ValueError, match="of another instance"):
        solve(other, checkpoint=path, options=Options(max_rounds=3))


def test_batches():
    graphs = [grid_instance(seed, side=6) for seed in range(3)]
    for graph, result in zip(graphs, bdcc_jax.solve_batch(graphs), strict=True):
        assert result.objective == solve(graph).objective


def test_units_of_very_small_weights():
    graph = Graph.from_edges([0, 1], [1, 2], [-2e-320, -2e-320], lifted=([0], [2], [3e-320]))
    result = solve(graph)
    assert result.labels.tolist() == [0, 1, 2]
    verify(graph, result.certificate)


def test_alternatives_and_margins_are_refused():
    result = solve(grid_instance(0, side=4))
    with pytest.raises(ValueError, match="lifted and alternatives cannot be had together"):
        result.alternatives()
    with pytest.raises(ValueError, match="lifted and margin cannot be had together"):
        result.margin((0, 1))
