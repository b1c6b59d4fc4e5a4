"""What the benchmarks compare with must be right too; how long it takes is never tested."""

import numpy as np
import pytest
from oracles import DATA, brute_force, instance, random_graph

import bdcc_jax
from bdcc_jax import Graph
from benchmarks import exact, instances, proofs, scale
from benchmarks.baselines import classic


@pytest.mark.parametrize("kind", ["normal", "ties"])
@pytest.mark.parametrize("density", [0.4, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_classic_cutting_plane_agrees_with_brute_force(seed, density, kind):
    graph = random_graph(np.random.default_rng(seed), 8, density, kind)
    result = classic.solve(graph)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(brute_force(graph), abs=1e-6)
    assert result.lower_bound == pytest.approx(result.objective, abs=1e-6)
    assert graph.objective(result.labels) == result.objective


@pytest.mark.parametrize("graph", [instances.planar(200), instances.planar(150, seed=1)])
def test_the_classic_cutting_plane_agrees_with_solve(graph):
    expected = bdcc_jax.solve(graph).objective
    assert classic.solve(graph).objective == pytest.approx(expected, abs=1e-6)


def test_the_classic_cutting_plane_needs_the_ilp():
    """The LP of the odd wheel with three repelling spokes ends at a half, and so below."""
    graph = Graph.from_edges([0, 0, 0, 1, 2, 1], [1, 2, 3, 2, 3, 3], [1, 1, 1, -1, -1, -1])
    result = classic.solve(graph)
    assert result.seconds["ilp"] > 0
    assert result.objective == brute_force(graph)


def test_small_chunks_of_roots_change_nothing(monkeypatch):
    graph = instances.planar(100)
    whole = classic.solve(graph)
    monkeypatch.setattr(classic, "CHUNK", 1)
    parts = classic.solve(graph)
    assert (parts.objective, parts.rounds) == (whole.objective, whole.rounds)


@pytest.mark.parametrize(
    ("u", "v", "w"), [([0], [1], [1.0]), ([0], [1], [-1.0]), ([0, 1], [1, 2], [-1.0, 2.0])]
)
def test_the_classic_cutting_plane_on_trivial_graphs(u, v, w):
    graph = Graph.from_edges(u, v, w)
    assert classic.solve(graph).objective == min(0.0, *w)


def test_the_classic_cutting_plane_without_edges():
    assert classic.solve(Graph(3, [], [])).objective == 0.0


def test_the_classic_cutting_plane_stops_at_the_time_limit():
    graph = instances.planar(300)
    result = classic.solve(graph, time_limit=0.0)
    assert result.status == "time_limit"
    assert result.lower_bound <= result.objective == graph.objective(result.labels)


def test_instances_by_name():
    assert instances.instance("planar/100").load().n == 100
    assert instances.instance("pictures/coffee-50").load().n > 20


def test_a_missing_data_folder_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"INDEX\.tsv does not exist"):
        instances.families(tmp_path)
    with pytest.raises(SystemExit, match=r"karate\.txt\.gz does not exist"):
        instances.instance("modularity/karate", tmp_path)


def test_without_a_data_folder_there_is_what_needs_no_files():
    assert list(instances.families(None)) == list(instances.MADE)
    with pytest.raises(SystemExit, match=r"karate is in a data folder: say where with --data"):
        instances.instance("modularity/karate")


def test_families_hold_what_the_index_lists():
    expected = instance("modularity/karate")
    (found,) = [i for i in instances.families(DATA)["modularity"] if i.name == "karate"]
    assert found.load().edges.tolist() == expected.edges.tolist()


def figures(seconds, status="optimal", objective=-2.0, lower_bound=-2.0):
    return exact.Measurement(seconds, status, objective, lower_bound)


def test_ratios_say_what_is_known():
    fast, slow = figures(1.0), figures(4.0)
    out_of_time = figures(9.0, "time_limit", -1.0, -3.0)
    ratios = [exact.ratio(fast, slow), exact.ratio(fast, out_of_time)]
    assert [str(r) for r in ratios] == ["4.00", ">= 9.00"]
    assert str(exact.ratio(out_of_time, fast)) == "<= 0.11"
    assert str(exact.ratio(out_of_time, out_of_time)) == "?"
    assert str(exact.mean_ratio(ratios)) == ">= 6.00"
    assert str(exact.mean_ratio([*ratios, exact.ratio(out_of_time, fast)])) == "?"


def test_contradicting_optima_are_an_error():
    graph = instances.planar(20)
    exact.check_agreement("it", graph, figures(1.0), figures(1.0, "time_limit", -1.0, -3.0))
    with pytest.raises(AssertionError, match="it: "):
        exact.check_agreement("it", graph, figures(1.0), figures(1.0, "optimal", -3.0, -3.0))


def test_the_exponent_of_a_power_law():
    assert scale.exponent([(n, 3e-4 * n**1.25) for n in (10, 200, 3000)]) == "1.25"
    assert scale.exponent([(10, 1.0)]) == "unknown"


def test_a_solve_at_scale_is_told_in_full():
    figures = scale.solve_here("planar/60", None, time_limit=1e6)
    assert (figures.nodes, figures.status) == (60, "optimal")
    assert figures.gap == pytest.approx(0.0, abs=1e-8)
    assert figures.lp_seconds <= figures.seconds
    assert figures.memory >= figures.memory_before > 0


def test_the_lp_of_a_solve_out_of_time_has_not_converged():
    assert scale.lp_seconds(bdcc_jax.solve(instances.planar(300), time_limit=0.0)) is None


def test_proofs_count_the_nodes_of_all_trees():
    graph = random_graph(np.random.default_rng(2), 25, 0.5)
    options = bdcc_jax.Options(presolve=False, odd_wheels=False)
    result = bdcc_jax.solve(graph, options=options)
    tree = result.certificate["proof"]
    assert tree["rule"] == "branching"
    assert proofs.tree_nodes(tree) == len(tree["nodes"]) > 1
    assert proofs.tree_nodes({"rule": "lp", "rows": [], "proofs": {"0": [tree, tree]}}) == 2 * len(
        tree["nodes"]
    )


def test_proofs_refuse_bounds_that_a_published_optimum_contradicts():
    graph = Graph(2, [(0, 1)], [-1.0])
    result = bdcc_jax.solve(graph)
    proofs.check("pair", graph, result, "-1.0")
    proofs.check("pair", graph, result, "")
    with pytest.raises(AssertionError, match="pair"):
        proofs.check("pair", graph, result, "-2.0")
