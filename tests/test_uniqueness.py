"""Other optimal clusterings, and margins, against all clusterings of small graphs."""

from itertools import combinations

import numpy as np
import pytest
from oracles import all_cuts, partitions, random_graph

from bdcc_jax import Graph, solve


def optima(graph: Graph, fine: np.ndarray | None = None) -> tuple[float, set[bytes]]:
    """The least cost, and the different sets of cut edges that cost it."""
    cuts = all_cuts(graph) if fine is None else all_cuts(graph)[fine]
    costs = cuts @ graph.weights
    best = costs.min()
    return best, {cut.tobytes() for cut in cuts[costs <= best + 1e-9]}


def test_all_optima_of_small_graphs():
    rng = np.random.default_rng(11)
    several = 0
    for _ in range(25):
        graph = random_graph(rng, int(rng.integers(3, 7)), 0.8)
        whole = np.rint(2 * graph.weights)
        graph = Graph(graph.n, graph.edges, whole)
        result = solve(graph)
        others = result.alternatives(limit=1000)
        _, expected = optima(graph)
        found = {graph.cut(labels).tobytes() for labels in (result.labels, *others)}
        assert others.complete
        assert found == expected
        assert len(others) == len(expected) - 1
        assert others.unique == (len(expected) == 1)
        several += len(expected) > 1
    assert several >= 5


def test_weights_that_are_not_whole():
    rng = np.random.default_rng(5)
    for _ in range(10):
        graph = random_graph(rng, 6, 0.9)
        others = solve(graph).alternatives()
        assert len(others) == 0  # no two sums of random numbers are the same
    assert solve(Graph(3, [(0, 1), (1, 2), (0, 2)], [0.3, 0.3, -0.4])).alternatives()[0].any()


def test_limit():
    triangles = [(3 * i + a, 3 * i + b) for i in range(6) for a, b in ((0, 1), (1, 2), (0, 2))]
    graph = Graph(18, triangles, [1.0, 1.0, -1.0] * 6)  # each can be decided in three ways
    result = solve(graph)
    others = result.alternatives(limit=4)
    assert len(others) == 4
    assert not others.complete
    assert len({graph.cut(labels).tobytes() for labels in (result.labels, *others)}) == 5
    assert all(graph.objective(labels) == result.objective for labels in others)


def test_constraints_limit_the_alternatives():
    graph = Graph(3, [(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    assert len(solve(graph).alternatives()) == 2
    limited = solve(graph, must_link=[(0, 1)])
    assert len(limited.alternatives()) == 1
    assert solve(graph, must_link=[(0, 1)], cannot_link=[(1, 2)]).alternatives().unique


def test_margins():
    rng = np.random.default_rng(3)
    for _ in range(10):
        graph = random_graph(rng, 6, 0.7)
        result = solve(graph)
        labels = partitions(graph.n)
        costs = all_cuts(graph) @ graph.weights
        for u, v in combinations(range(graph.n), 2):
            together = result.labels[u] == result.labels[v]
            otherwise = (labels[:, u] == labels[:, v]) != together
            expected = costs[otherwise].min() - costs.min()
            assert result.margin((u, v)) == pytest.approx(expected, abs=1e-6)
            assert result.margin((u, v)) <= expected + 1e-9


def test_what_is_refused():
    graph = Graph(3, [(0, 1), (1, 2)], [1.0, 1.0], names=["a", "b", "c"])
    result = solve(graph, must_link=[("a", "b")])
    assert result.margin(("a", "b")) == np.inf
    assert result.margin(("c", "b")) == 1.0
    with pytest.raises(ValueError, match="two different nodes"):
        result.margin(("a", "a"))
    with pytest.raises(ValueError, match="there is no node 'd'"):
        result.margin(("a", "d"))
    with pytest.raises(ValueError, match="limit must be"):
        result.alternatives(limit=0)
    hard = random_graph(np.random.default_rng(1), 30, 1.0)
    with pytest.raises(ValueError, match="need an optimal result"):
        solve(hard, time_limit=0.0).alternatives()
