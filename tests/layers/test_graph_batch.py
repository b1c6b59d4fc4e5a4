"""Different graphs in one batch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import planar
from oracles import random_graph

from bdcc_jax.layers import GraphBatch, MulticutLayer, PerturbedMulticut, StructuredHinge


def graphs():
    rng = np.random.default_rng(7)
    return [random_graph(rng, 6, 0.9), planar(rng, 3, 3), random_graph(rng, 4, 1.0)]


def test_every_layer_gives_each_graph_what_it_gives_it_alone():
    alone = graphs()
    batch = GraphBatch.of(alone)
    assert batch.n == sum(graph.n for graph in alone)
    weights = jnp.concatenate([jnp.asarray(graph.weights) for graph in alone])
    g = jnp.asarray(np.random.default_rng(1).normal(size=weights.shape))
    for layer in (MulticutLayer, lambda *a, **k: PerturbedMulticut(*a, step=3.0, **k)):
        together, back = jax.vjp(layer(batch.edges, n=batch.n), weights)
        parts = zip(
            alone,
            batch.by_edge(together),
            batch.by_edge(g),
            batch.by_edge(back(g)[0]),
            strict=True,
        )
        for graph, found, pulled, gradient in parts:
            expected, back_alone = jax.vjp(layer(graph), jnp.asarray(graph.weights))
            np.testing.assert_allclose(found, expected, atol=1e-4)
            np.testing.assert_allclose(gradient, back_alone(pulled)[0], atol=1e-3)


def test_the_hinge_is_the_sum():
    alone = graphs()
    batch = GraphBatch.of(alone)
    weights = np.concatenate([graph.weights for graph in alone])
    truth = np.random.default_rng(0).integers(0, 3, batch.n)
    expected = [
        StructuredHinge(graph)(graph.weights, part)
        for graph, part in zip(alone, batch.by_node(truth), strict=True)
    ]
    found = StructuredHinge(batch.edges, n=batch.n)(weights, truth)
    assert float(found) == pytest.approx(sum(map(float, expected)), rel=1e-5)


def test_errors():
    with pytest.raises(ValueError, match="a batch needs at least one graph"):
        GraphBatch.of([])
    batch = GraphBatch.of([[(0, 1)], [(0, 1), (1, 2)]])
    with pytest.raises(ValueError, match=r"values must have shape \(\.\.\., 3\), not \(4,\)"):
        batch.by_edge(np.zeros(4))
    with pytest.raises(ValueError, match=r"values must have shape \(\.\.\., 5\), not \(2, 3\)"):
        batch.by_node(np.zeros((2, 3)))
