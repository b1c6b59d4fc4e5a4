from importlib import import_module
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import brute_force, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock
from bdcc_jax.base.labels import canonical_labels
from bdcc_jax.primal import Evolution, fuse, greedy_additive, kernighan_lin, local_search, lp_guided
from bdcc_jax.primal.kernighan_lin import improve

EDGE_CASES = {
    "single node": Graph(1, [], []),
    "no edges": Graph(3, [], []),
    "all negative": Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [-1.0, -2.0, -3.0, -1.0]),
    "all positive": Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [1.0, 2.0, 3.0, 1.0]),
    "isolated nodes": Graph(6, [(1, 3), (3, 4), (1, 4)], [2.0, -1.0, -0.5]),
}
OPTIMA = {"all negative": -7.0, "isolated nodes": -1.5}

SEARCHES = {
    "greedy": greedy_additive,
    "kernighan_lin": lambda graph: kernighan_lin(graph, np.arange(graph.n)),
    "fuse": lambda graph: fuse(graph, np.arange(graph.n), np.zeros(graph.n, int)),
    "local_search": local_search,
    "evolution": lambda graph: evolved(graph, 50_000),
    "lp_guided": lambda graph: lp_guided(graph, graph.negative.astype(float)),
}


def evolved(graph, work):
    search = Evolution(graph, np.arange(graph.n), seed=0)
    search.run(work)
    return canonical_labels(search.labels)


@st.composite
def graphs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["normal", "ties"]))
    return random_graph(rng, draw(st.integers(2, 20)), draw(st.floats(0.05, 1.0)), kind)


def naive_greedy(graph, weights):
    """By the definition: all pairs of clusters, again and again."""
    between = np.zeros((graph.n, graph.n))
    u, v = graph.edges.T
    between[u, v] = between[v, u] = weights
    labels = np.arange(graph.n)
    while True:
        a, b = np.unravel_index(between.argmax(), between.shape)
        if between[a, b] <= 0:
            return canonical_labels(labels)
        labels[labels == b] = a
        between[a] += between[b]
        between[:, a] = between[a]
        between[b] = between[:, b] = 0.0
        between[a, a] = 0.0


def best_single_change(graph, labels):
    """The largest gain of moving one node anywhere, or of joining two clusters."""
    old, n = graph.objective(labels), graph.n
    changes = []
    for v in range(n):
        for target in [*np.unique(labels), n]:
            changes.append(np.where(np.arange(n) == v, target, labels))
    for a, b in combinations(np.unique(labels), 2):
        changes.append(np.where(labels == a, b, labels))
    return max(old - graph.objective(change) for change in changes)


@pytest.mark.parametrize("seed", range(40))
def test_greedy_is_the_naive_algorithm(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 2 + seed, (0.1, 0.3, 1.0)[seed % 3])
    assert greedy_additive(graph).tolist() == naive_greedy(graph, graph.weights).tolist()
    guide = rng.normal(0.2, size=graph.m)
    assert greedy_additive(graph, guide).tolist() == naive_greedy(graph, guide).tolist()


def test_greedy_outgrows_its_table(monkeypatch):
    """85 edges have a table of 256 rows, the fewest for their number, and few of them merge."""
    module = import_module("bdcc_jax.primal.greedy_additive")
    tables = []
    new_table = module._new_table
    monkeypatch.setattr(module, "_new_table", lambda *a: tables.append(1) or new_table(*a))
    monkeypatch.setattr(module, "contract", module.contract.py_func)
    rng = np.random.default_rng(0)
    pairs = np.column_stack(np.triu_indices(80, 1))
    graph = Graph(80, rng.choice(pairs, 85, replace=False), rng.random(85) + 0.1)
    guide = np.where(rng.random(85) < 0.1, -0.5, graph.weights)
    assert greedy_additive(graph, guide).tolist() == naive_greedy(graph, guide).tolist()
    assert len(tables) > 1


@settings(max_examples=80)
@given(graphs(), st.integers(0, 10**6), st.sampled_from([1, 3, 100]))
def test_kernighan_lin_counts_right_and_ends_in_a_local_optimum(graph, seed, patience):
    rng = np.random.default_rng(seed)
    start = canonical_labels(rng.integers(0, rng.integers(1, graph.n + 1), graph.n))
    labels, gain = improve(graph, start, None, patience)
    assert gain >= 0
    scale = np.abs(graph.weights).sum()
    assert graph.objective(start) - graph.objective(labels) == pytest.approx(
        gain, abs=1e-12 * scale
    )
    assert best_single_change(graph, labels) <= 1e-8


def test_a_series_passes_through_worse_clusterings():
    """Where no single move helps (patience 1 ends there), longer series often do."""
    rng = np.random.default_rng(0)
    improved = 0
    for _ in range(30):
        graph = random_graph(rng, 20, 0.4)
        stuck = kernighan_lin(graph, rng.integers(0, 4, 20), patience=1)
        longer = kernighan_lin(graph, stuck)
        improved += graph.objective(longer) < graph.objective(stuck) - 1e-9
    assert improved >= 5


def test_a_cluster_is_split_by_more_than_one_node():
    """Two triangles in one cluster: taking out one node alone is worse."""
    triangles = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    apart = [(u, v) for u in range(3) for v in range(3, 6)]
    graph = Graph(6, triangles + apart, [2.0] * 6 + [-1.0] * 9)
    assert best_single_change(graph, np.zeros(6)) <= 0
    assert kernighan_lin(graph, np.zeros(6)).tolist() == [0, 0, 0, 1, 1, 1]


def test_searches_often_find_the_optimum():
    rng = np.random.default_rng(0)
    found = dict.fromkeys(("kernighan_lin", "local_search", "evolution"), 0)
    for _ in range(60):
        graph = random_graph(rng, 9, 0.6)
        optimum = brute_force(graph)
        for name in found:
            objective = graph.objective(SEARCHES[name](graph))
            assert objective >= optimum - 1e-9
            found[name] += objective <= optimum + 1e-9
    assert found["kernighan_lin"] >= 45
    assert found["local_search"] >= 52
    assert found["evolution"] == 60


@pytest.mark.parametrize("seed", range(10))
def test_rounding_an_optimal_clustering_returns_it(seed):
    """Guided by what a clustering cuts, greedy ends in this clustering or in a better one."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 40, 0.2)
    labels = local_search(graph, rounds=10)
    again = lp_guided(graph, graph.cut(labels).astype(float))
    assert graph.objective(again) <= graph.objective(labels) + 1e-9


@settings(max_examples=60)
@given(graphs(), st.integers(0, 10**6))
def test_nothing_is_worse_than_what_it_is_given(graph, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, (2, graph.n))
    limit = min(graph.objective(a), graph.objective(b)) + 1e-9
    assert graph.objective(fuse(graph, a, b)) <= limit
    assert graph.objective(local_search(graph, a, rounds=1)) <= graph.objective(a) + 1e-9
    x = rng.random(graph.m)
    assert graph.objective(lp_guided(graph, x, a)) <= graph.objective(a) + 1e-9


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases(search, case):
    graph = EDGE_CASES[case]
    labels = SEARCHES[search](graph)
    assert labels.dtype == np.int64
    assert labels.tolist() == canonical_labels(labels).tolist()
    assert graph.objective(labels) == OPTIMA.get(case, 0.0)


@pytest.mark.parametrize("search", SEARCHES)
def test_ties_are_broken_the_same_way_every_time(search):
    graph = random_graph(np.random.default_rng(3), 60, 0.3, "ties")
    first = SEARCHES[search](graph)
    assert all(SEARCHES[search](graph).tolist() == first.tolist() for _ in range(3))


@pytest.mark.parametrize("factor", [1e-9, 1e9])
@pytest.mark.parametrize("search", SEARCHES)
def test_scale_does_not_matter(search, factor):
    graph = random_graph(np.random.default_rng(5), 40, 0.3)
    scaled = Graph(graph.n, graph.edges, graph.weights * factor)
    assert SEARCHES[search](scaled).tolist() == SEARCHES[search](graph).tolist()


def test_when_time_is_up_the_clustering_so_far_is_returned():
    graph = random_graph(np.random.default_rng(2), 30, 0.3)
    start = canonical_labels(np.arange(30) % 3)
    assert kernighan_lin(graph, start, clock=Clock(0.0)).tolist() == start.tolist()
    assert local_search(graph, start, clock=Clock(0.0)).tolist() == start.tolist()
    assert local_search(graph, start, clock=Clock(60.0)).tolist() != start.tolist()


def test_arguments_of_the_wrong_shape_are_refused():
    graph = random_graph(np.random.default_rng(2), 5, 1.0)
    with pytest.raises(ValueError, match="weights must have shape"):
        greedy_additive(graph, [1.0])
    with pytest.raises(ValueError, match="labels must have shape"):
        kernighan_lin(graph, [0, 1])
    with pytest.raises(ValueError, match="labels must have shape"):
        fuse(graph, np.zeros(5), [0, 1])
    with pytest.raises(ValueError, match="x must have shape"):
        lp_guided(graph, np.zeros(2))


def test_the_callers_arrays_are_left_alone():
    graph = random_graph(np.random.default_rng(2), 20, 0.4)
    labels, guide = np.arange(20), np.ones(graph.m)
    greedy_additive(graph, guide)
    kernighan_lin(graph, labels)
    local_search(graph, labels)
    assert labels.tolist() == list(range(20))
    assert (guide == 1.0).all()
