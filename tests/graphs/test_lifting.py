"""Lifted edges for graphs that have none."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from bdcc_jax import Graph
from bdcc_jax.graphs import lift

CHAIN = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], [1.0, -0.5, 1.0, 2.0])


def random_graph(seed, n=14, p=0.2):
    network = nx.gnp_random_graph(n, p, seed=seed)
    rng = np.random.default_rng(seed)
    edges = list(network.edges)
    return network, Graph(n, edges, rng.normal(size=len(edges)))


@pytest.mark.parametrize("radius", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_and_most_probable_paths(seed, radius):
    network, graph = random_graph(seed)
    lifted = lift(graph, radius)
    p = {
        tuple(e): 1 / (1 + np.exp(-w))
        for e, w in zip(graph.edges.tolist(), graph.weights, strict=True)
    }
    expected = {}
    for u in range(graph.n):
        for v, hops in nx.single_source_shortest_path_length(network, u, radius).items():
            if u < v and hops > 1:
                paths = nx.all_simple_paths(network, u, v, radius)
                kept = max(np.prod([p[tuple(sorted(e))] for e in pairwise(path)]) for path in paths)
                expected[u, v] = np.log(kept / (1 - kept))
    found = lifted.edges[lifted.lifted].tolist()
    assert [tuple(pair) for pair in found] == sorted(expected)
    weights = [expected[tuple(pair)] for pair in found]
    assert lifted.weights[lifted.lifted] == pytest.approx(weights)
    assert lifted.edges[~lifted.lifted].tolist() == graph.edges.tolist()
    assert lifted.weights[~lifted.lifted].tolist() == graph.weights.tolist()


def test_features():
    lifted = lift(
        CHAIN, 2, features=[[0, 0], [9, 9], [3, 4], [9, 9], [3, 1]], threshold=4.0, scale=2.0
    )
    assert lifted.edges[lifted.lifted].tolist() == [[0, 2], [1, 3], [2, 4]]
    assert lifted.weights[lifted.lifted].tolist() == [-2.0, 8.0, 2.0]


def test_names_are_kept():
    assert lift(Graph(3, [(0, 1), (1, 2)], [1.0, 1.0], "abc"), 2).names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"radius": 1}, "radius must be"),
        ({"radius": 2, "features": np.zeros((5, 2))}, "features and threshold belong together"),
        ({"radius": 2, "threshold": 1.0}, "features and threshold belong together"),
        (
            {"radius": 2, "features": np.zeros((4, 2)), "threshold": 1.0},
            r"shape \(5, d\), not \(4, 2\)",
        ),
        (
            {"radius": 2, "features": np.full((5, 2), np.nan), "threshold": 1.0},
            "features must be finite",
        ),
        (
            {"radius": 2, "features": np.zeros((5, 2)), "threshold": np.inf},
            "threshold must be a finite",
        ),
        ({"radius": 2, "scale": np.nan}, "scale must be a finite number"),
    ],
)
def test_refused(how, message):
    with pytest.raises(ValueError, match=message):
        lift(CHAIN, **how)


def test_lifted_graphs_and_constraints_are_refused():
    for graph in (lift(CHAIN, 2), CHAIN.constrained(must_link=[(0, 4)])):
        with pytest.raises(ValueError, match="neither lifted edges nor constraints"):
            lift(graph, 2)
