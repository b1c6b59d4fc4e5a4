"""Heuristics for lifted edges: clusters are connected, and no worse than before."""

import numpy as np
import pytest
from lifted_cases import is_connected, lifted_optimum, random_lifted

from bdcc_jax import Graph
from bdcc_jax.primal import Evolution, fuse, greedy_additive, kernighan_lin

NEVER = np.zeros(1, dtype=bool)


def test_contraction_follows_ordinary_edges_but_counts_all_weights():
    # 1 and 2 attract each other; together with 0 they do not.
    graph = Graph.from_edges([0, 1], [1, 2], [1.0, 2.0], lifted=([0], [2], [-3.0]))
    assert greedy_additive(graph).tolist() == [0, 1, 1]
    # A lifted edge alone joins nothing, but makes an ordinary one beside it attract.
    graph = Graph.from_edges([0, 1], [1, 2], [1.0, -2.0], lifted=([0], [2], [5.0]))
    assert greedy_additive(graph).tolist() == [0, 0, 0]
    apart = Graph.from_edges([0], [1], [1.0], lifted=([0], [2], [5.0]))
    assert greedy_additive(apart).tolist() == [0, 0, 1]


@pytest.mark.parametrize("seed", range(80))
def test_any_instance(seed):
    rng = np.random.default_rng(seed)
    graph = random_lifted(rng)
    best = lifted_optimum(graph)
    starts = [np.arange(graph.n), greedy_additive(graph), rng.integers(3, size=graph.n)]
    for start in starts:
        before = graph.refined(start)[0]
        after = kernighan_lin(graph, start)
        assert is_connected(graph, after)
        assert best - 1e-9 <= graph.objective(after) <= graph.objective(before) + 1e-9
    fused = fuse(graph, starts[0], starts[1])
    assert is_connected(graph, fused)
    assert graph.objective(fused) <= min(map(graph.objective, starts[:2])) + 1e-9


def test_the_search_finds_nearly_all_optima():
    found = 0
    for seed in range(60):
        graph = random_lifted(np.random.default_rng(seed))
        search = Evolution(graph, np.arange(graph.n), seed=0)
        search.run(20_000, NEVER)
        assert is_connected(graph, search.labels)
        assert search.cost == pytest.approx(graph.objective(search.labels), abs=1e-9)
        found += search.cost <= lifted_optimum(graph) + 1e-9
    assert found >= 57


def test_the_search_is_the_same_for_the_same_seed():
    graph = random_lifted(np.random.default_rng(3))
    labels = []
    for _ in range(2):
        search = Evolution(graph, np.arange(graph.n), seed=5)
        search.run(5_000, NEVER)
        labels.append(search.labels.tolist())
    assert labels[0] == labels[1]


def test_kernighan_lin_splits_what_a_move_leaves_apart():
    # Taking the middle of a chain away leaves its ends, which repel each other.
    graph = Graph.from_edges(
        [0, 1, 1], [1, 2, 3], [0.5, 0.5, 4.0], lifted=([0, 0, 2], [2, 3, 3], [-1.0, -2.0, -2.0])
    )
    labels = kernighan_lin(graph, [0, 0, 0, 1])
    assert labels.tolist() == [0, 1, 2, 1]
    assert graph.objective(labels) == lifted_optimum(graph)
