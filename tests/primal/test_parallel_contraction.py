"""Contraction in parallel rounds, beside the greedy one."""

import numpy as np
import pytest
from families import planar
from oracles import brute_force, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock
from bdcc_jax.lp.dual_ascent import DualAscent
from bdcc_jax.primal.greedy_additive import greedy_additive
from bdcc_jax.primal.parallel_contraction import parallel_contraction


def local_optimum(graph, labels):
    """No two clusters attract each other: joining any two costs something, or nothing."""
    cut = graph.cut(labels)
    n = labels.max() + 1
    a, b = np.sort(labels[graph.edges[cut]], axis=1).T
    between = np.bincount(a * n + b, graph.weights[cut], n * n)
    return between.max(initial=0.0) <= 1e-5


@pytest.mark.fast
@pytest.mark.parametrize("kind", ["normal", "ties"])
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_left_to_be_joined(seed, kind):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 30, 0.3, kind)
    labels = parallel_contraction(graph)
    assert local_optimum(graph, labels)
    assert labels.tolist() == np.unique(labels, return_inverse=True)[1].tolist()
    assert graph.objective(labels) < 0


@pytest.mark.parametrize("seed", range(3))
def test_as_good_as_greedy_contraction(seed):
    graph = planar(np.random.default_rng(seed), 40, 40)
    ours = graph.objective(parallel_contraction(graph))
    assert ours <= 0.98 * graph.objective(greedy_additive(graph))


def test_reduced_costs_guide_to_better_clusterings():
    graph = planar(np.random.default_rng(3), 40, 40)
    *_, relaxed = (r for r, _ in zip(DualAscent(graph).run(), range(12), strict=False))
    guided = parallel_contraction(graph, relaxed.reduced[: graph.m] + 0.1 * graph.weights)
    assert graph.objective(guided) < graph.objective(parallel_contraction(graph))
    assert graph.objective(guided) <= 0.99 * relaxed.bound


def test_attracted_components_become_clusters():
    """Where no weight is negative there is nothing to decide; leaves join their hub at once."""
    star = Graph(50, [(0, i) for i in range(1, 40)], np.ones(39))
    labels = parallel_contraction(star)
    assert (labels[:40] == 0).all()
    assert labels.max() == 10


def test_repelled_nodes_stay_apart():
    graph = Graph(3, [(0, 1), (1, 2)], [-1.0, -1.0])
    assert parallel_contraction(graph).tolist() == [0, 1, 2]
    assert parallel_contraction(Graph(2, [], [])).tolist() == [0, 1]


def test_small_instances_are_often_solved():
    rng = np.random.default_rng(4)
    graphs = [random_graph(rng, 6, 0.7) for _ in range(40)]
    graphs = [graph for graph in graphs if graph.m]
    optimal = sum(
        graph.objective(parallel_contraction(graph)) <= brute_force(graph) + 1e-6
        for graph in graphs
    )
    assert optimal >= len(graphs) / 2


def test_weights_must_be_of_the_edges():
    graph = Graph(3, [(0, 1), (1, 2)], [-1.0, -1.0])
    with pytest.raises(ValueError, match=r"weights must have shape \(2,\)"):
        parallel_contraction(graph, [1.0])


def test_without_time_nothing_is_joined():
    graph = planar(np.random.default_rng(5), 10, 10)
    assert parallel_contraction(graph, clock=Clock(0.0)).tolist() == list(range(graph.n))
