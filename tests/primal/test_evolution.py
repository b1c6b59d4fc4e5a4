"""Annealing, contraction and the search that is made of them."""

import numpy as np
import pytest
from families import links_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brute_force, random_graph

from bdcc_jax import Graph
from bdcc_jax.primal import Evolution, greedy_additive
from bdcc_jax.primal.annealing import anneal
from bdcc_jax.primal.dense_annealing import anneal_dense, is_compact, new_matrix
from bdcc_jax.primal.evolution import fused
from bdcc_jax.primal.links import agreed, contracted, cost, new_links
from bdcc_jax.primal.randomness import bell, below, new_state, uniform

GO_ON = np.zeros(1, dtype=np.bool_)


@st.composite
def graphs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["normal", "ties"]))
    return random_graph(rng, draw(st.integers(2, 25)), draw(st.floats(0.1, 1.0)), kind)


@settings(max_examples=60)
@given(graphs(), st.integers(0, 10**6), st.floats(0.01, 3.0))
def test_annealing_counts_its_gains_right(graph, seed, hot):
    rng = np.random.default_rng(seed)
    links, labels = links_of(graph), rng.integers(0, graph.n, graph.n)
    before = graph.objective(labels)
    gained, work = anneal(links, labels, 500, hot, new_state(seed), GO_ON)
    assert before - graph.objective(labels) == pytest.approx(gained, abs=1e-9)
    assert work <= 500 * (graph.n - 1)
    assert labels.min() >= 0
    assert labels.max() < graph.n


@settings(max_examples=60)
@given(graphs(), st.integers(0, 10**6), st.floats(0.01, 3.0))
def test_annealing_by_a_matrix_counts_its_gains_right(graph, seed, hot):
    labels = np.random.default_rng(seed).integers(0, graph.n, graph.n)
    before, matrix = graph.objective(labels), new_matrix(links_of(graph))
    gained, work = anneal_dense(matrix, labels, 2000, hot, new_state(seed), GO_ON)
    assert before - graph.objective(labels) == pytest.approx(gained, abs=1e-9)
    assert work >= 2000
    assert labels.min() >= 0
    assert labels.max() < graph.n


def test_annealing_by_a_matrix_ends_where_no_node_wants_to_move():
    """The temperature ends at 0, so that long runs are descents at last."""
    rng = np.random.default_rng(1)
    for seed in range(10):
        graph, labels = random_graph(rng, 12, 0.9), np.arange(12)
        matrix = new_matrix(links_of(graph))
        anneal_dense(matrix, labels, 100_000, 2.0, new_state(seed), GO_ON)
        found = graph.objective(labels)
        for v in range(12):
            for label in range(13):
                moved = labels.copy()
                moved[v] = label
                assert graph.objective(moved) >= found - 1e-9


def test_annealing_by_a_matrix_finds_optima():
    rng = np.random.default_rng(2)
    for _ in range(10):
        graph = random_graph(rng, 9, 1.0)
        ends = [np.arange(9) for _ in range(5)]
        for seed, labels in enumerate(ends):
            matrix = new_matrix(links_of(graph))
            anneal_dense(matrix, labels, 5000, 3.0, new_state(seed), GO_ON)
        best = min(graph.objective(labels) for labels in ends)
        assert best == pytest.approx(brute_force(graph), abs=1e-9)


def test_only_dense_graphs_are_worth_a_matrix():
    rng = np.random.default_rng(0)
    assert is_compact(links_of(random_graph(rng, 30, 1.0)))
    assert not is_compact(links_of(random_graph(rng, 60, 0.1)))


def test_annealing_samples_by_the_cost_of_a_clustering():
    """At a temperature that stays, two nodes are together exp(w / T) times as often as apart."""
    links, labels = new_links(2, np.array([0, 1]), np.array([1.0])), np.zeros(2, dtype=np.int64)
    random, together, trials = new_state(0), 0, 20_000
    for _ in range(trials):
        anneal(links, labels, 1, 2.0, random, GO_ON)
        together += labels[0] == labels[1]
    expected = np.exp(0.5) / (1.0 + np.exp(0.5))
    assert together / trials == pytest.approx(expected, abs=0.015)


def test_annealing_finds_what_single_moves_do_not():
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(20):
        graph = random_graph(rng, 10, 0.7)
        ends = [np.arange(10) for _ in range(3)]
        for seed, labels in enumerate(ends):
            anneal(links_of(graph), labels, 5000, 0.5, new_state(seed), GO_ON)
        found += min(map(graph.objective, ends)) <= brute_force(graph) + 1e-9
    assert found >= 18


@settings(max_examples=60)
@given(graphs(), st.integers(0, 10**6))
def test_contraction_keeps_the_cost_of_both(graph, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, min(3, graph.n), (2, graph.n))
    links = links_of(graph)
    block, number = agreed(links, a, b)
    assert block.tolist() == graph.components(~graph.cut(a) & ~graph.cut(b)).tolist()
    small = contracted(links, block, number)
    pairs = small.ends.reshape(-1, 2)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    for labels in (a, b):
        member = labels[np.unique(block, return_index=True)[1]]
        assert cost(small, member) == pytest.approx(graph.objective(labels))
    found, _ = fused(links, a, b, 3, new_state(seed), GO_ON)
    assert graph.objective(found) <= min(graph.objective(a), graph.objective(b)) + 1e-9


def test_work_in_portions_is_the_same_as_at_once():
    graph = random_graph(np.random.default_rng(0), 80, 0.3)
    start = greedy_additive(graph)
    whole, parts = (Evolution(graph, start, seed=5) for _ in range(2))
    whole.run(3e6)
    for portion in range(1, 31):
        parts.run(portion * 1e5)
    assert parts.work == whole.work
    assert parts.labels.tolist() == whole.labels.tolist()
    assert graph.objective(whole.labels) == pytest.approx(whole.cost)
    assert whole.cost < graph.objective(start)
    other = Evolution(graph, start, seed=6)
    other.run(1e5)
    assert other.work != parts.work


def test_every_source_gets_its_share():
    graph = random_graph(np.random.default_rng(0), 60, 0.3)
    search = Evolution(graph, np.arange(60), seed=0)
    search.run(2e7)
    assert search.settled
    assert min(search._spent) > 0.2 * max(search._spent)


def test_it_ends_when_it_is_told_to():
    graph = random_graph(np.random.default_rng(0), 60, 0.3)
    search = Evolution(graph, np.arange(60), seed=0)
    search.run(1e12, np.ones(1, dtype=np.bool_))
    assert search.work == 0
    Evolution(Graph(3, [], []), np.arange(3), seed=0).run(10)


def test_random_numbers_are_what_they_are_called():
    state = new_state(3)
    numbers = np.array([uniform(state) for _ in range(20_000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert numbers.mean() == pytest.approx(0.5, abs=0.01)
    normal = np.array([bell(state) for _ in range(20_000)])
    assert normal.mean() == pytest.approx(0.0, abs=0.03)
    assert normal.std() == pytest.approx(1.0, abs=0.03)
    assert set(np.unique([below(state, 3) for _ in range(100)])) == {0, 1, 2}


def test_annealing_where_all_weights_have_cancelled():
    matrix, labels = new_matrix(links_of(Graph(3, [], []))), np.arange(3)
    gained, _ = anneal_dense(matrix, labels, 100, 0.0, new_state(0), GO_ON)
    assert gained == 0.0
