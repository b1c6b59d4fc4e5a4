from fractions import Fraction

import numpy as np
import pytest
from oracles import brute_force, partitions, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.labels import canonical_labels
from bdcc_jax.instance.enumeration import MOST_NODES, best_of_all, clusterings

BELL = [1, 1, 2, 5, 15, 52, 203, 877, 4140]


@pytest.mark.parametrize("n", range(1, MOST_NODES + 1))
def test_there_are_as_many_clusterings_as_bell_numbers_say(n):
    found = clusterings(n)
    assert found.shape == (BELL[n], n)
    assert len(np.unique(found, axis=0)) == BELL[n]


@pytest.mark.parametrize("n", range(1, 7))
def test_clusterings_are_the_restricted_growth_strings(n):
    assert set(map(tuple, clusterings(n))) == set(map(tuple, partitions(n)))
    assert all(labels.tolist() == canonical_labels(labels).tolist() for labels in clusterings(n))


@pytest.mark.parametrize("kind", ["normal", "ties"])
@pytest.mark.parametrize("n", range(1, MOST_NODES + 1))
def test_best_of_all_is_the_optimum(n, kind):
    rng = np.random.default_rng(n)
    for density in (0.4, 1.0):
        graph = random_graph(rng, n, density, kind)
        labels, cost = best_of_all(graph)
        assert graph.objective(labels) == pytest.approx(brute_force(graph))
        assert graph.objective(labels) >= cost == pytest.approx(brute_force(graph))


def test_best_of_all_without_edges():
    assert len(best_of_all(Graph(3, [], []))[0]) == 3


def test_the_best_of_all_is_exact_where_float64_cannot_tell():
    """A cut of 1e16 in every clustering; what else is cut decides."""
    graph = Graph(4, [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)], [-1e16, 0.3, -1e16, 1e16, 0.4])
    labels, _ = best_of_all(graph)
    cost = {tuple(x): sum(map(Fraction, graph.weights[graph.cut(x)])) for x in clusterings(4)}
    assert cost[tuple(labels)] == min(cost.values())
