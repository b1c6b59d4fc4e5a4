import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import partitions

import bdcc_jax
from bdcc_jax import Graph
from bdcc_jax.graphs import (
    cluster_editing_graph,
    modularity,
    modularity_graph,
    signed_graph,
    similarity_graph,
)


def weighted(directed=False, loops=False, seed=0):
    random = np.random.default_rng(seed)
    G = nx.gnp_random_graph(8, 0.45, seed=seed, directed=directed)
    if loops:
        G.add_edge(2, 2)
        G.add_edge(5, 5)
    for *_, data in G.edges(data=True):
        data["weight"] = float(random.integers(1, 5))
    return nx.relabel_nodes(G, dict(enumerate("abcdefgh")))


def communities(G, labels):
    nodes = list(G.nodes)
    return [{nodes[i] for i in np.flatnonzero(labels == k)} for k in np.unique(labels)]


# modularity


@pytest.mark.parametrize("resolution", [1.0, 0.6, 2.0])
@pytest.mark.parametrize("weight", ["weight", None])
@pytest.mark.parametrize(("directed", "loops"), [(False, False), (False, True), (True, True)])
def test_objective_is_modularity(directed, loops, weight, resolution):
    G = weighted(directed, loops)
    graph = modularity_graph(G, weight=weight, resolution=resolution)
    random = np.random.default_rng(1)
    for labels in random.integers(0, 4, (20, 8)):
        expected = nx.community.modularity(
            G, communities(G, labels), weight=weight, resolution=resolution
        )
        value = modularity(G, graph.objective(labels), weight=weight, resolution=resolution)
        assert value == pytest.approx(expected, abs=1e-12)


def test_largest_modularity_by_enumeration():
    G = weighted()
    G.remove_node("h")
    result = bdcc_jax.solve(modularity_graph(G))
    assert result.status == "optimal"
    assert set(result.clusters) == set("abcdefg")
    best = max(nx.community.modularity(G, communities(G, p)) for p in partitions(7))
    assert modularity(G, result.objective) == pytest.approx(best)
    assert modularity(G, result.lower_bound) >= best - 1e-12


def test_karate_club():
    G = nx.karate_club_graph()
    result = bdcc_jax.solve(modularity_graph(G, weight=None))
    assert modularity(G, result.objective, weight=None) == pytest.approx(0.4198, abs=1e-4)
    assert result.n_clusters == 4


def test_weights_are_whole_numbers_without_weights():
    graph = modularity_graph(nx.path_graph(4))  # degrees 1, 2, 2, 1 and m = 3
    assert graph.names is None
    expected = {(0, 1): 4, (0, 2): -2, (0, 3): -1, (1, 2): 2, (1, 3): -2, (2, 3): 4}
    assert dict(zip(map(tuple, graph.edges.tolist()), graph.weights, strict=True)) == expected


def test_every_kind_of_graph_gives_the_same_instance():
    G = nx.convert_node_labels_to_integers(weighted(loops=True))
    A = nx.to_scipy_sparse_array(G)
    one = modularity_graph(G)
    for other in (A, sp.coo_matrix(A), A.toarray(), A.toarray().tolist()):
        graph = modularity_graph(other)
        np.testing.assert_array_equal(graph.edges, one.edges)
        np.testing.assert_allclose(graph.weights, one.weights)
        assert modularity(other, -3.0) == modularity(G, -3.0)
    plain = weighted()
    table = nx.to_pandas_edgelist(plain)
    assert isinstance(table, pd.DataFrame)
    for other in (table, Graph.from_networkx(plain)):
        assert sorted(modularity_graph(other).weights) == sorted(modularity_graph(plain).weights)


# signed networks


def test_signed_networks():
    edges = [("a", "b", "+"), ("b", "c", -2.5), ("c", "a", 0), ("b", "a", 1), ("c", "d", " - ")]
    graph = signed_graph(edges)
    assert graph.names == ("a", "b", "c", "d")
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert graph.weights.tolist() == [2.0, -1.0, -1.0]
    G = nx.DiGraph()
    G.add_nodes_from("abcde")
    G.add_edge("a", "b", sign=1, trust=3.0)
    G.add_edge("b", "c", sign="-", trust=0.5)
    assert signed_graph(G).weights.tolist() == [1.0, -1.0]
    assert signed_graph(G, weight="trust").weights.tolist() == [3.0, -0.5]
    assert signed_graph(G).n == 5


def test_frustration_of_an_unbalanced_triangle():
    result = bdcc_jax.solve(signed_graph([(0, 1, "+"), (1, 2, "+"), (0, 2, "-")]))
    assert result.disagreement == 1


# cluster editing


def edits(G, labels):
    nodes = list(G.nodes)
    pairs = itertools.combinations(range(len(nodes)), 2)
    return sum(G.has_edge(nodes[i], nodes[j]) != (labels[i] == labels[j]) for i, j in pairs)


def test_fewest_edits_by_enumeration():
    G = weighted(seed=3)
    result = bdcc_jax.solve(cluster_editing_graph(G))
    assert result.status == "optimal"
    assert result.disagreement == min(edits(G, p) for p in partitions(8))
    assert edits(G, result.labels) == result.disagreement


def test_weighted_editing():
    G = nx.Graph()
    G.add_edge(0, 1, weight=2.5)
    G.add_edge(1, 2)
    G.add_edge(2, 2)
    assert cluster_editing_graph(G, weight="weight", absent=0.5).weights.tolist() == [2.5, -0.5, 1]
    assert cluster_editing_graph(G).weights.tolist() == [1.0, -1.0, 1.0]
    assert cluster_editing_graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]]).weights.tolist() == [1, -1, -1]


# similarities


def test_similarities():
    S = np.array([[9.0, 0.8, 0.0], [0.8, 9.0, 0.3], [0.0, 0.3, 9.0]])
    np.testing.assert_allclose(similarity_graph(S, 0.5).weights, [0.3, -0.5, -0.2])
    sparse = similarity_graph(sp.csr_array(S), 0.5)
    assert sparse.edges.tolist() == [[0, 1], [1, 2]]
    np.testing.assert_allclose(sparse.weights, [0.3, -0.2])
    stored_zero = sp.coo_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(3, 3))
    assert similarity_graph(stored_zero, 0.5).weights.tolist() == [-0.5]


BIG = sp.csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(100_000, 100_000))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: modularity_graph([[0, -1], [-1, 0]]),
            r"not negative: that of nodes 0 and 1 is -1",
        ),
        (lambda: modularity_graph(np.zeros((3, 3))), "the graph has no edges"),
        (lambda: modularity_graph(nx.Graph()), "the graph is empty"),
        (lambda: modularity_graph([[0, 1], [2, 0]]), "must be symmetric"),
        (lambda: modularity_graph(BIG), r"4999950000 pairs, .* 650\.0 GB .* max_pairs=20000000"),
        (
            lambda: modularity_graph(nx.path_graph(3), resolution=-1),
            "resolution must be at least 0",
        ),
        (lambda: cluster_editing_graph(BIG), "100000 nodes have 4999950000 pairs"),
        (lambda: cluster_editing_graph(nx.path_graph(9), max_pairs=30), "9 nodes have 36 pairs"),
        (lambda: cluster_editing_graph(nx.DiGraph([(0, 1)])), "for undirected graphs"),
        (lambda: cluster_editing_graph(nx.path_graph(3), absent=0), "absent must be a positive"),
        (lambda: signed_graph([("a", "b", "friend")]), r"edge \('a', 'b'\) .* not 'friend'"),
        (lambda: signed_graph([("a", "b", np.nan)]), "must be '[+]', '-' or a number, not nan"),
        (lambda: signed_graph([("a", "b")]), r"triples \(node, node, sign\), not \('a', 'b'\)"),
        (lambda: signed_graph(nx.path_graph(2)), r"edge \(0, 1\) has no attribute 'sign'"),
        (lambda: signed_graph([(0, 1, 1)], weight="trust"), "for triples it must be None"),
        (lambda: similarity_graph([[1, 2, 3]], 0), "must be square"),
        (lambda: similarity_graph(np.eye(2), np.nan), "threshold must be a finite number"),
        (lambda: similarity_graph(np.eye(9), 0.5, max_pairs=30), "9 nodes have 36 pairs"),
        (lambda: similarity_graph([["a"]], 0), "must hold real numbers"),
        (lambda: similarity_graph([[1, np.nan], [0, 1]], 0), r"entry \(0, 1\) is nan"),
        (lambda: similarity_graph([[1, 0.5], [0, 1]], 0), "must be symmetric"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
