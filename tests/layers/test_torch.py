"""The layers for PyTorch against those for JAX; skipped where there is no PyTorch."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from families import planar
from oracles import random_graph

from bdcc_jax import layers
from bdcc_jax.layers import GraphBatch, LayerOptions

torch = pytest.importorskip("torch")
ours = pytest.importorskip("bdcc_jax.layers.torch")

TRIANGLE = [(0, 1), (1, 2), (0, 2)]


def graphs():
    rng = np.random.default_rng(3)
    return [random_graph(rng, 6, 1.0), random_graph(rng, 8, 0.6), planar(rng, 3, 3)]


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def both(jax_layer, torch_layer, weights, *more):
    """Values and pulled back gradients of a batch of weights, by JAX and by PyTorch."""
    expected, back = jax.vjp(lambda w: jax_layer(w, *more), jnp.asarray(weights))
    g = np.random.default_rng(1).normal(size=expected.shape)
    tensor = torch.tensor(weights, requires_grad=True)
    found = torch_layer(tensor, *map(torch.as_tensor, more))
    found.backward(torch.tensor(g))
    assert found.dtype == tensor.grad.dtype == torch.float64
    return expected, back(jnp.asarray(g))[0], found.detach().numpy(), tensor.grad.numpy()


@pytest.mark.parametrize("graph", graphs(), ids=["complete", "random", "planar"])
class TestAgainstJax:
    def weights(self, graph):
        return graph.weights + np.random.default_rng(0).normal(0, 0.3, (2, 2, graph.m))

    def test_relaxed(self, graph):
        options = LayerOptions(smoothing=2.0)
        pair = layers.MulticutLayer(graph, options), ours.MulticutLayer(graph, options)
        value, gradient, found, slope = both(*pair, self.weights(graph))
        np.testing.assert_allclose(found, value, atol=1e-6)
        np.testing.assert_allclose(slope, gradient, atol=1e-4)
        assert np.abs(slope).max() > 0.01
        assert pair[1].n_rows > 0

    def test_blackbox(self, graph):
        pair = [kind.PerturbedMulticut(graph, step=3.0) for kind in (layers, ours)]
        value, gradient, found, slope = both(*pair, self.weights(graph))
        np.testing.assert_array_equal(found, value)
        np.testing.assert_allclose(slope, gradient, rtol=1e-12)
        assert np.abs(slope).max() > 0

    def test_perturbed_by_the_same_noise(self, graph):
        w = self.weights(graph)
        shifts = np.random.default_rng(2).normal(size=(3, *w.shape))
        pair = [
            kind.PerturbedMulticut(graph, step=3.0, noise=1.0, samples=3) for kind in (layers, ours)
        ]
        calls = [layer._mean_cut for layer in pair]
        value, gradient, found, slope = both(*calls, w, shifts)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_allclose(slope, gradient, rtol=1e-12, atol=1e-15)

    def test_hinge(self, graph):
        margin = np.random.default_rng(4).uniform(0, 2, graph.m)
        truth = np.random.default_rng(5).integers(0, 3, (2, 2, graph.n))
        pair = [kind.StructuredHinge(graph, margin=margin) for kind in (layers, ours)]
        value, gradient, found, slope = both(*pair, self.weights(graph), truth)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_array_equal(slope, gradient)


def test_noise_comes_from_the_seed_or_a_generator():
    layer = ours.PerturbedMulticut(TRIANGLE, noise=1.0, samples=5, seed=3)
    weights = torch.tensor([0.5, -0.2, -0.4])
    assert torch.equal(layer(weights), layer(weights))
    generator = torch.Generator().manual_seed(0)
    draws = {tuple(layer(weights, generator).tolist()) for _ in range(10)}
    assert len(draws) > 1


def test_weights_that_are_not_finite_give_nan():
    weights = torch.tensor([[1.0, float("nan"), 1.0], [1.0, 1.0, -3.0]], requires_grad=True)
    found = ours.PerturbedMulticut(TRIANGLE)(weights)
    assert torch.isnan(found[0]).all()
    assert not torch.isnan(found[1]).any()


def test_single_precision_and_whole_numbers():
    assert ours.MulticutLayer(TRIANGLE)(torch.tensor([1.0, 1.0, -1.0])).dtype == torch.float32
    assert ours.PerturbedMulticut(TRIANGLE)(torch.tensor([1, 1, -1])).tolist() == [0.0, 0.0, 0.0]


def test_second_derivatives_are_refused():
    weights = torch.tensor([0.4, 0.4, -0.3], requires_grad=True)
    loss = (ours.MulticutLayer(TRIANGLE)(weights) ** 2).sum()
    (gradient,) = torch.autograd.grad(loss, weights, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_training_on_different_graphs():
    """Two numbers that turn features into weights, learnt on a batch of three graphs."""
    rng = np.random.default_rng(0)
    batch = GraphBatch.of([graph.edges for graph in graphs()])
    truth = rng.integers(0, 2, batch.n)
    u, v = batch.edges.T
    cut = truth[u] != truth[v]
    features = np.column_stack([np.ones(len(cut)), cut + rng.normal(0, 0.1, len(cut))])
    features, truth = torch.tensor(features), torch.tensor(truth)
    hinge = ours.StructuredHinge(batch.edges, n=batch.n)
    model = torch.nn.Linear(2, 1, bias=False, dtype=torch.float64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        loss = hinge(model(features)[:, 0], truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] == 0 < losses[0]


def test_errors():
    with pytest.raises(ValueError, match=r"weights must have shape \(3,\) or \(\.\.\., 3\), not"):
        ours.PerturbedMulticut(TRIANGLE)(torch.zeros(4))
    with pytest.raises(ValueError, match=r"weights must be real numbers, not torch\.bool"):
        ours.PerturbedMulticut(TRIANGLE)(torch.zeros(3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"labels must have shape \(3,\), not \(2,\)"):
        ours.StructuredHinge(TRIANGLE)(torch.zeros(3), torch.zeros(2))
    with pytest.raises(ValueError, match="options must be a LayerOptions object, not 1"):
        ours.MulticutLayer(TRIANGLE, 1)


def test_what_is_missing_without_pytorch():
    code = "import sys; sys.modules['torch'] = None; import bdcc_jax.layers.torch"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "bdcc_jax.layers.torch needs PyTorch, which is yours to choose" in run.stderr
