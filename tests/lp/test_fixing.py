"""Decisions after the LP: certain ones must be right, likely ones must be what they say."""

import numpy as np
import pytest
from families import random_multipliers, valid_rows, wheel, wheel_solution
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import Graph
from bdcc_jax.lp.fixing import Fixing, apply, by_reduced_cost, by_rounding, outside
from bdcc_jax.lp.lagrangian import Lagrangian

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=50)


def between(relaxed):
    return relaxed.reduced, relaxed.reduced + relaxed.error


def random_fixing(rng, graph, share):
    kept = rng.random(graph.m) < share
    return Fixing(kept=kept, cut=~kept & (rng.random(graph.m) < share))


def consistent(graph, fixing):
    """Which partitions decide as the fixing does."""
    cuts = all_cuts(graph)
    return (~cuts[:, fixing.kept]).all(axis=1) & cuts[:, fixing.cut].all(axis=1)


@few
@given(seeds, st.integers(3, 7), st.sampled_from(["normal", "ties"]))
def test_reduced_costs_exclude_nothing_that_is_cheaper_than_the_cutoff(seed, n, kind):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 1.0, kind)
    rows = valid_rows(graph, rng)
    costs = all_cuts(graph) @ graph.weights
    for size in (0.1, 1.0):
        relaxed = Lagrangian.of(graph.weights, rows, random_multipliers(rows, rng, size))
        for cutoff in [*rng.uniform(relaxed.bound, 0.0, 5), costs.min() + 1e-9]:
            fixing = by_reduced_cost(*between(relaxed), cutoff - relaxed.bound)
            assert consistent(graph, fixing)[costs < cutoff].all()


def test_a_tight_cutoff_fixes_much():
    """Without rows, the bound of an instance that has no conflict is its optimum."""
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [3.0, -2.0, 1.0])
    relaxed = Lagrangian(graph.weights, 0.0, np.zeros(graph.m))
    tight = by_reduced_cost(*between(relaxed), -1.5 - relaxed.bound)
    assert tight.kept.tolist() == [True, False, True]
    assert tight.cut.tolist() == [False, True, False]
    loose = by_reduced_cost(*between(relaxed), 0.5 - relaxed.bound)
    assert loose.kept.tolist() == [True, False, False]
    assert not loose.cut.any()


def test_no_slack_at_all_is_a_contradiction_wherever_a_reduced_cost_is_zero():
    graph = Graph(3, [(0, 1), (1, 2)], [1.0, -1.0])
    assert apply(graph, by_reduced_cost(np.zeros(2), np.zeros(2), 0.0)) is None


@few
@given(seeds, st.integers(3, 7), st.sampled_from([0.1, 0.3, 0.6]))
def test_what_is_left_has_the_optimum_of_all_that_agrees(seed, n, share):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 0.8, ("normal", "ties")[seed % 2])
    fixing = random_fixing(rng, graph, share)
    agreeing = (all_cuts(graph) @ graph.weights)[consistent(graph, fixing)]
    left = apply(graph, fixing)
    assert (left is None) == (len(agreeing) == 0)
    if left is None:
        return
    value = left.constant + brute_force(left.graph)
    assert brute_force(graph) - 1e-9 <= value <= agreeing.min() + 1e-9


@few
@given(seeds, st.integers(3, 6))
def test_lifted_clusterings_cost_no_more_than_the_rest_says(seed, n):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 1.0)
    left = apply(graph, random_fixing(rng, graph, 0.3))
    if left is None:
        return
    for _ in range(10):
        labels = rng.integers(0, left.graph.n, left.graph.n)
        promised = left.constant + left.graph.objective(labels)
        assert graph.objective(left.lift(labels)) <= promised + 1e-9


@few
@given(seeds, st.integers(3, 7))
def test_certain_decisions_keep_the_optimum(seed, n):
    """The whole step after the LP: the rest gives the optimum, or there is nothing better."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 1.0)
    rows = valid_rows(graph, rng)
    relaxed = Lagrangian.of(graph.weights, rows, random_multipliers(rows, rng, 0.2))
    optimum = brute_force(graph)
    for cutoff in (optimum + 1e-9, optimum - 1e-9, optimum + 1.0):
        left = apply(graph, by_reduced_cost(*between(relaxed), cutoff - relaxed.bound))
        value = np.inf if left is None else left.constant + brute_force(left.graph)
        assert min(value, cutoff) == pytest.approx(min(optimum, cutoff), abs=1e-8)


@pytest.mark.parametrize("weight", [-1.0, 1.0])
def test_a_cut_edge_between_nodes_that_others_keep_together_is_a_contradiction(weight):
    triangle = Graph(3, [(0, 1), (0, 2), (1, 2)], [1.0, weight, 1.0])
    kept, cut = np.array([True, False, True]), np.array([False, True, False])
    assert apply(triangle, Fixing(kept=kept, cut=cut)) is None
    assert apply(triangle, Fixing(kept=kept, cut=np.zeros(3, dtype=bool))).graph.n == 1


def test_attractive_cut_edges_are_removed_and_repulsive_ones_stay():
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [3.0, -2.0, 1.0])
    left = apply(graph, Fixing(kept=np.zeros(3, dtype=bool), cut=np.ones(3, dtype=bool)))
    assert left.graph.edges.tolist() == [[1, 2]]
    assert left.graph.weights.tolist() == [-2.0]
    assert left.constant == 4.0


@few
@given(seeds)
def test_outside_decides_exactly_the_edges_without_an_end_in_the_region(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 0.6)
    cut, region = rng.random(graph.m) < 0.5, rng.random(graph.n) < 0.3
    fixing = outside(graph, cut, region)
    for e, (u, v) in enumerate(graph.edges.tolist()):
        far = not region[u] and not region[v]
        assert fixing.kept[e] == (far and not cut[e])
        assert fixing.cut[e] == (far and cut[e])


def test_rounding_leaves_everything_near_a_fractional_edge_open():
    path = Graph(6, [(i, i + 1) for i in range(5)], [1.0] * 5)
    fixing = by_rounding(path, np.array([1.0, 0.0, 0.5, 0.0, 1e-8]))
    assert fixing.cut.tolist() == [True, False, False, False, False]
    assert fixing.kept.tolist() == [False, False, False, False, True]


def test_rounding_decides_nothing_on_a_wheel_whose_spokes_are_all_fractional():
    graph = wheel(5)
    fixing = by_rounding(graph, wheel_solution(graph))
    assert not (fixing.kept | fixing.cut).any()
    assert apply(graph, fixing).graph.weights.tolist() == graph.weights.tolist()


def test_rounding_an_integral_solution_leaves_its_clustering():
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 8, 1.0)
    labels = np.array([0, 0, 1, 1, 1, 2, 2, 3])
    left = apply(graph, by_rounding(graph, graph.cut(labels).astype(float)))
    assert left.node_map.tolist() == labels.tolist()
