"""What must hold between related instances."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bdcc_jax import Graph, solve


@st.composite
def graphs(draw, max_nodes=9):
    n = draw(st.integers(2, max_nodes))
    u, v = np.triu_indices(n, 1)
    # Not too far apart: see docs/method.md.
    decimal = st.floats(-5, 5, allow_nan=False, width=32).map(lambda w: round(w, 4))
    weight = st.one_of(st.integers(-3, 3), decimal)
    w = draw(st.lists(weight, min_size=len(u), max_size=len(u)))
    return Graph.from_edges(u, v, np.array(w, dtype=float), n)


def objective(graph):
    result = solve(graph)
    assert result.status == "optimal"
    return result.objective


def close(a, b, graph):
    return abs(a - b) <= 1e-8 * (1 + np.abs(graph.weights).sum())


few = settings(max_examples=25)


@few
@given(graphs(), st.randoms(use_true_random=False))
def test_permuting_the_nodes(graph, random):
    order = list(range(graph.n))
    random.shuffle(order)
    u, v = np.array(order)[graph.edges.T]
    assert close(objective(Graph.from_edges(u, v, graph.weights, graph.n)), objective(graph), graph)


@few
@given(graphs(), st.floats(1e-6, 1e6))
def test_scaling_the_weights(graph, factor):
    scaled = Graph(graph.n, graph.edges, graph.weights * factor)
    assert close(objective(scaled) / factor, objective(graph), graph)


@few
@given(graphs(), st.integers(1, 5))
def test_adding_isolated_nodes(graph, k):
    larger = solve(Graph(graph.n + k, graph.edges, graph.weights))
    assert close(larger.objective, objective(graph), graph)
    assert len(set(larger.labels[graph.n :]) - set(larger.labels[: graph.n])) == k


@few
@given(graphs(6), graphs(6))
def test_merging_two_disjoint_instances(a, b):
    both = Graph(
        a.n + b.n,
        np.concatenate([a.edges, b.edges + a.n]),
        np.concatenate([a.weights, b.weights]),
    )
    assert close(objective(both), objective(a) + objective(b), both)
