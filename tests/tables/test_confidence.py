"""Margins against all clusterings that differ by one change, enumerated."""

import itertools

import numpy as np
import pytest
from oracles import random_graph

from bdcc_jax import Graph, solve
from bdcc_jax.tables import confidence
from bdcc_jax.tables.confidence import confidences, margins


def brute_force(graph, labels, groups=None):
    """What each change costs, by the objective of the clustering that it makes."""
    labels, here = np.asarray(labels), graph.objective(labels)
    count = labels.max() + 1
    least = np.full(count, np.inf)
    scored = {frozenset(pair) for pair in graph.edges.tolist()}

    def possible(other):
        if groups is None:
            return True
        seen = [(a, b) for a, b in zip(other.tolist(), groups.tolist(), strict=True) if b >= 0]
        return len(seen) == len(set(seen))

    def joined(these, those):
        return any(frozenset((a, b)) in scored for a in these for b in those)

    def tried(other, *touched):
        if possible(other):
            for c in touched:
                least[c] = min(least[c], graph.objective(other) - here)

    for c in range(count):
        members = np.flatnonzero(labels == c)
        for size in range(1, len(members)):
            for part in itertools.combinations(members, size):
                other = labels.copy()
                other[list(part)] = count
                tried(other, c)
        for d in range(count):
            if d == c:
                continue
            those = np.flatnonzero(labels == d)
            if joined(members, those):
                tried(np.where(labels == d, c, labels), c, d)
            for record in members:
                if joined([record], those):
                    other = labels.copy()
                    other[record] = d
                    tried(other, c, d)
    return least


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("grouped", [False, True])
def test_margins_are_what_changes_cost(seed, grouped):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 9, float(rng.uniform(0.2, 1.0)))
    groups = rng.integers(-1, 5, 9) if grouped else None
    labels = solve(graph, groups=groups).labels
    np.testing.assert_allclose(
        margins(graph, labels, groups), brute_force(graph, labels, groups), atol=1e-9
    )


def test_no_division_in_more_parts_costs_less(monkeypatch):
    """Of a cluster that is worth keeping, as the module says."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        graph = random_graph(rng, 6, 1.0)
        cheapest = min(
            graph.objective(parts)
            for parts in itertools.product(range(3), repeat=6)
            if len(set(parts)) > 1
        )
        if cheapest >= 0:
            assert margins(graph, np.zeros(6, np.int64))[0] == pytest.approx(cheapest)


@pytest.mark.parametrize("seed", range(10))
def test_large_clusters_never_say_less_than_there_is(seed, monkeypatch):
    """Only some divisions are tried: each exists, and those of a chain are all that matter."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 0.9)
    graph = Graph(8, graph.edges, np.abs(graph.weights) - 0.3)
    labels = np.zeros(8, np.int64)
    exact = margins(graph, labels)[0]
    u, v = graph.edges.T
    some = confidence._some_divisions(8, u, v, graph.weights)
    assert some >= exact - 1e-12
    divisions = [graph.objective([*parts, 0]) for parts in itertools.product((0, 1), repeat=7)]
    assert np.abs(np.array(divisions) - some).min() < 1e-9


def test_a_weak_bridge_of_two_large_halves_is_found():
    halves = [range(20), range(20, 40)]
    edges = [pair for half in halves for pair in itertools.combinations(half, 2)]
    weights = [2.0] * len(edges)
    graph = Graph(40, [*edges, (3, 33), (5, 21)], [*weights, 1.5, -0.5])
    assert margins(graph, np.zeros(40, np.int64)) == pytest.approx([1.0])
    assert confidences(graph, np.zeros(40, np.int64)) == pytest.approx([1 / (1 + np.exp(-1))])


def test_parts_without_pairs_between_them_may_as_well_be_divided():
    edges = [(i, i + 1) for i in range(19) if i != 9]
    graph = Graph(20, edges, np.ones(18))
    assert margins(graph, np.zeros(20, np.int64)) == [0.0]
