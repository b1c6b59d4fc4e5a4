"""Leiden's method: nodes move, then groups of them."""

import numpy as np
import pytest
from families import links_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brute_force, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock
from bdcc_jax.base.labels import canonical_labels
from bdcc_jax.primal import moved
from bdcc_jax.primal.leiden import _move, _refined, leiden
from bdcc_jax.primal.randomness import new_state

GO_ON, STOP = np.zeros(1, dtype=bool), np.ones(1, dtype=bool)

TWO_PAIRS = Graph(6, [(0, 1), (2, 3), (4, 5), (0, 4), (0, 2)], [10.0, 10.0, 10.0, -1.0, 1.0])
"""0 and 1 belong to 2 and 3, not to 4 and 5, and neither goes there without the other."""


@st.composite
def clusterings(draw):
    """A graph, some labels in 0 .. n - 1, and a seed."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["normal", "ties"]))
    graph = random_graph(rng, draw(st.integers(2, 25)), draw(st.floats(0.1, 1.0)), kind)
    labels = rng.integers(0, graph.n, graph.n)
    return graph, labels, draw(st.integers(0, 10**6))


@settings(max_examples=60)
@given(clusterings())
def test_an_iteration_never_makes_a_clustering_worse(case):
    graph, labels, seed = case
    before = labels.copy()
    found, work = leiden(links_of(graph), labels, new_state(seed), GO_ON)
    np.testing.assert_array_equal(labels, before)
    np.testing.assert_array_equal(found, canonical_labels(found))
    assert graph.objective(found) <= graph.objective(labels) + 1e-9
    assert work >= 2 * graph.m


@settings(max_examples=60)
@given(clusterings())
def test_no_node_gains_by_a_move_in_the_end(case):
    graph, labels, seed = case
    _move(links_of(graph), labels, new_state(seed), GO_ON)
    cost = graph.objective(labels)
    for v in range(graph.n):
        other = labels.copy()
        for label in {*labels.tolist(), graph.n}:
            other[v] = label
            assert graph.objective(other) >= cost - 1e-6


@settings(max_examples=60)
@given(clusterings())
def test_groups_are_parts_of_clusters_that_hold_together(case):
    graph, labels, seed = case
    links = links_of(graph)
    groups, count, _ = _refined(links, labels, new_state(seed))
    np.testing.assert_array_equal(groups, canonical_labels(groups))
    assert count == groups.max() + 1
    for group in range(count):
        members = np.flatnonzero(groups == group)
        assert len(set(labels[members])) == 1
        inside = np.isin(graph.edges, members).all(axis=1)
        assert graph.weights[inside].sum() > 0.0 or len(members) == 1


def test_groups_move_where_no_node_does():
    start, links = np.array([0, 0, 1, 1, 0, 0]), links_of(TWO_PAIRS)
    alone = start.copy()
    _move(links, alone, new_state(0), GO_ON)
    np.testing.assert_array_equal(alone, start)
    for seed in range(10):
        found, _ = leiden(links, start, new_state(seed), GO_ON)
        assert found.tolist() == [0, 0, 0, 0, 1, 1]


def test_it_often_finds_the_optimum_of_small_graphs():
    rng, met = np.random.default_rng(0), 0
    for seed in range(30):
        graph = random_graph(rng, 8, 0.6)
        found, links, state = np.arange(8), links_of(graph), new_state(seed)
        for _ in range(3):
            found, _ = leiden(links, found, state, GO_ON)
        met += graph.objective(found) <= brute_force(graph) + 1e-9
    assert met >= 20


def test_near_ties_end():
    """0.1 + 0.2 is a little more than 0.3: nodes must not move in circles for that."""
    rng = np.random.default_rng(0)
    for seed in range(200):
        graph = random_graph(rng, 12, 0.8)
        weights = rng.choice([0.1, 0.2, 0.3, -0.1, -0.2, -0.3], graph.m)
        graph = Graph(graph.n, graph.edges, weights)
        leiden(links_of(graph), np.arange(12), new_state(seed), GO_ON)


def test_a_seed_says_all():
    graph = random_graph(np.random.default_rng(2), 60, 0.3)
    runs = [leiden(links_of(graph), np.arange(60), new_state(5), GO_ON) for _ in range(2)]
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]


def test_stopped_at_once_it_returns_where_it_began():
    graph = random_graph(np.random.default_rng(3), 40, 0.3)
    start = canonical_labels(np.arange(40) // 4)
    found, _ = leiden(links_of(graph), start, new_state(0), STOP)
    np.testing.assert_array_equal(found, start)


@pytest.mark.parametrize("edges", [[], [(0, 1)]])
def test_nothing_to_move(edges):
    graph = Graph(3, edges, [-1.0] * len(edges))
    assert leiden(links_of(graph), np.zeros(3, int), new_state(0), GO_ON)[0].tolist() in (
        [0, 0, 0],
        [0, 1, 0],
        [0, 1, 1],
        [0, 1, 2],
    )
    assert moved(graph, np.arange(3), seed=0, clock=Clock(None)).tolist() == [0, 1, 2]
