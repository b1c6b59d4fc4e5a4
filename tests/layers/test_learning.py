"""Perturb-and-solve gradients, the structured hinge, and weights that are learnt."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import all_cuts, random_graph
from pictures import picture

import bdcc_jax
from bdcc_jax import Status
from bdcc_jax.layers import MulticutLayer, PerturbedMulticut, StructuredHinge, callbacks
from bdcc_jax.layers.edges import Edges
from bdcc_jax.metrics import variation_of_information


def best_cut(graph, weights):
    cuts = all_cuts(graph).astype(float)
    return cuts[(cuts @ np.asarray(weights, np.float64)).argmin()]


class TestPerturbed:
    graph = random_graph(np.random.default_rng(7), 7, 0.8)
    target = np.random.default_rng(0).normal(size=graph.m)

    def test_without_noise_is_blackbox_differentiation(self):
        layer, w = PerturbedMulticut(self.graph, step=4.0), self.graph.weights
        here, there = best_cut(self.graph, w), best_cut(self.graph, w + 4 * self.target)
        assert (here != there).any()
        np.testing.assert_array_equal(layer(w), here)
        gradient = jax.grad(lambda w: layer(w) @ self.target)(jnp.asarray(w))
        np.testing.assert_allclose(gradient, (there - here) / 4, rtol=1e-6)

    def test_with_noise_every_sample_sees_the_whole_gradient(self):
        layer = PerturbedMulticut(self.graph, step=2.0, noise=0.5, samples=3, seed=11)
        w = jnp.asarray(self.graph.weights)
        noise = 0.5 * jax.random.normal(jax.random.key(11), (3, self.graph.m))
        here = [best_cut(self.graph, w + each) for each in noise]
        there = [best_cut(self.graph, w + 2 * self.target + each) for each in noise]
        assert len(np.unique(here, axis=0)) > 1
        np.testing.assert_allclose(layer(w), np.mean(here, axis=0), rtol=1e-6)
        gradient = jax.grad(lambda w: layer(w) @ self.target)(w)
        expected = np.mean(there, axis=0) - np.mean(here, axis=0)
        np.testing.assert_allclose(gradient, expected / 2, atol=1e-6)

    def test_a_key_gives_fresh_noise_and_the_seed_always_the_same(self):
        layer = PerturbedMulticut(self.graph, noise=1.0, samples=2)
        w = self.graph.weights
        np.testing.assert_array_equal(layer(w), layer(w))
        keys = jax.random.split(jax.random.key(0), 4)
        fresh = jax.jit(jax.vmap(layer, in_axes=(None, 0)))(w, keys)
        assert len(np.unique(fresh, axis=0)) > 1

    def test_ctrl_c_is_not_learnt_from(self, monkeypatch):
        def interrupted(*_):
            return {0: replace(bdcc_jax.solve(self.graph), status=Status.INTERRUPTED)}

        monkeypatch.setattr(callbacks.Batch, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            callbacks.optimal_cuts(Edges.of(self.graph), self.graph.weights[None])


class TestHinge:
    graph = random_graph(np.random.default_rng(8), 7, 0.7)
    truth = np.array([0, 0, 1, 1, 1, 2, 2])

    @pytest.mark.parametrize("margin", [0.5, np.linspace(0, 2, graph.m)], ids=["one", "many"])
    def test_is_the_maximum_over_all_partitions(self, margin):
        hinge, w = StructuredHinge(self.graph, margin=margin), self.graph.weights
        y, z = self.graph.cut(self.truth).astype(float), all_cuts(self.graph).astype(float)
        gains = np.abs(z - y) @ np.broadcast_to(margin, y.shape) + (y - z) @ w
        loss, gradient = jax.value_and_grad(hinge)(jnp.asarray(w), self.truth)
        assert loss == pytest.approx(gains.max(), rel=1e-5)
        np.testing.assert_allclose(gradient, y - z[gains.argmax()], atol=1e-6)

    def test_is_nothing_where_the_truth_wins_by_the_margin(self):
        y = self.graph.cut(self.truth)
        weights = jnp.where(y, -1.5, 1.5)
        assert StructuredHinge(self.graph)(weights, self.truth) == 0
        assert StructuredHinge(self.graph, margin=2.0)(weights, self.truth) > 0

    def test_a_batch_may_have_its_own_truths(self):
        hinge, w = StructuredHinge(self.graph), self.graph.weights
        truths = np.stack([self.truth, self.truth[::-1], np.zeros(7, int)])
        batch = jax.jit(hinge)(np.stack([w, -w, w]), truths)
        expected = [hinge(s * w, t) for s, t in zip((1, -1, 1), truths, strict=True)]
        np.testing.assert_allclose(batch, expected, rtol=1e-6)


def learnt(loss, theta, steps, rate=0.15):
    """Adam with a jitted step."""
    step = jax.jit(jax.value_and_grad(loss))
    mean = square = jnp.zeros_like(theta)
    losses = []
    for i in range(1, steps + 1):
        value, g = step(theta)
        losses.append(float(value))
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g**2
        size = jnp.sqrt(square / (1 - 0.99**i)) + 1e-8
        theta = theta - rate * mean / (1 - 0.9**i) / size
    return theta, losses


def mean_vi(pictures, theta):
    """Of the exact clusterings, against the true regions, over all pixels."""
    total = 0.0
    for p in pictures:
        weights = p.features @ np.asarray(theta, np.float64)
        labels = bdcc_jax.solve((*p.edges.T, weights)).labels
        total += variation_of_information(p.regions, labels[p.superpixels])
    return total / len(pictures)


@pytest.mark.parametrize("name", ["relaxed", "blackbox", "hinge"])
def test_learnt_weights_segment_pictures_not_seen_before(name):
    rng = np.random.default_rng(0)
    seen, unseen = ([picture(rng) for _ in range(2)] for _ in range(2))
    cuts = [jnp.asarray(p.labels[p.edges[:, 0]] != p.labels[p.edges[:, 1]], float) for p in seen]
    make = {
        "relaxed": MulticutLayer,
        "blackbox": lambda edges: PerturbedMulticut(edges, step=20.0),
        "hinge": lambda edges: StructuredHinge(edges, n=int(edges.max()) + 1),
    }[name]
    layers = [make(p.edges) for p in seen]

    def loss(theta):
        total = 0.0
        for p, y, layer in zip(seen, cuts, layers, strict=True):
            weights = p.features @ theta
            if name == "hinge":
                total += layer(weights, p.labels) / len(y)
            else:
                total += jnp.mean((layer(weights) - y) ** 2)
        return total

    untrained = jnp.array([1.0, -1.0, -1.0, 0.0, 0.0])
    theta, losses = learnt(loss, untrained, 15)
    assert losses[-1] < 0.8 * losses[0]
    assert mean_vi(unseen, theta) < 0.8 * mean_vi(unseen, untrained)
