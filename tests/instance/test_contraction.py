"""Instances that remain after decisions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_graph

from bdcc_jax import Graph
from bdcc_jax.instance.contraction import contract, sum_parallel

GRAPH = Graph(4, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], [5.0, 1.0, -3.0, 2.0, -2.0])


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from(["normal", "ties"]))
def test_a_lifted_clustering_costs_the_constant_more(seed, n, kind):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 0.6, kind)
    groups = rng.integers(-3, 4, n)
    labels_of_groups = rng.integers(0, 3, 7)
    # decided: what the clustering cuts, or a part of that
    removed = graph.cut(labels_of_groups[groups]) & (rng.random(graph.m) < 0.5)
    smaller = contract(graph, groups, removed)
    assert smaller.graph.n == len(set(groups.tolist()))
    labels = np.empty(smaller.graph.n, dtype=np.int64)
    labels[smaller.node_map] = labels_of_groups[groups]
    assert smaller.lift(labels).tolist() == labels_of_groups[groups].tolist()
    assert smaller.constant + smaller.graph.objective(labels) == pytest.approx(
        graph.objective(smaller.lift(labels)), abs=1e-12
    )


def test_the_graph_is_as_the_front_door_would_have_built_it():
    rng = np.random.default_rng(3)
    u, v = rng.integers(0, 30, (2, 500))
    u, v = u[u != v], v[u != v]
    w = rng.integers(-1, 2, len(u)).astype(float)
    (fast, off), checked = sum_parallel(30, u, v, w), Graph.from_edges(u, v, w, 30)
    assert off == 0.0
    assert fast.n == checked.n
    assert np.array_equal(fast.edges, checked.edges)
    assert np.array_equal(fast.weights, checked.weights)
    assert (fast.edges.dtype, fast.weights.dtype) == (checked.edges.dtype, checked.weights.dtype)
    assert not fast.edges.flags.writeable
    assert not fast.weights.flags.writeable


def test_sums_loops_and_zeros():
    smaller = contract(GRAPH, [7, 2, 2, 7])
    assert smaller.node_map.tolist() == [0, 1, 1, 0]
    assert smaller.graph.edges.tolist() == [[0, 1]]
    assert smaller.graph.weights.tolist() == [6.0]  # 5 + 1 + 2 - 2
    assert contract(GRAPH, [0, 1, 1, 2]).graph.edges.tolist() == [[0, 1]]  # 2 - 2 is no edge
    assert contract(GRAPH, np.zeros(4)).graph.n == 1


def test_nothing_decided():
    same = contract(GRAPH, range(4))
    assert np.array_equal(same.graph.edges, GRAPH.edges)
    assert np.array_equal(same.graph.weights, GRAPH.weights)
    assert same.constant == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: contract(GRAPH, [0, 1]), r"groups must have shape \(4,\), not \(2,\)"),
        (
            lambda: contract(GRAPH, range(4), np.ones(2, dtype=bool)),
            r"removed must have shape \(5,\), not \(2,\)",
        ),
        (
            lambda: contract(GRAPH, [0, 0, 1, 2], GRAPH.weights == 5.0),
            r"edge 0 is removed \(cut\), but its ends are in the same group",
        ),
        (lambda: contract(GRAPH, range(4)).lift([0]), r"labels must have shape \(4,\), not \(1,\)"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
