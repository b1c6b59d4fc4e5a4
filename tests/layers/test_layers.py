import re
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import cvxpy as cp
import diffcp
import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
from cvxpylayers.jax import CvxpyLayer
from families import planar
from oracles import random_graph
from packaging.requirements import Requirement

import bdcc_jax
from bdcc_jax import Graph
from bdcc_jax.layers import LayerOptions, MulticutLayer, PerturbedMulticut, StructuredHinge
from bdcc_jax.layers.edges import Edges
from bdcc_jax.layers.relaxation import SmoothedRelaxation

TRIANGLE = [(0, 1), (1, 2), (0, 2)]


def cycle_matrix(graph):
    """All cycle inequalities ``A x <= 0``, by enumeration of the cycles."""
    position = {tuple(e): i for i, e in enumerate(graph.edges.tolist())}
    rows = []
    for cycle in nx.simple_cycles(nx.Graph(graph.edges.tolist())):
        around = [position[tuple(sorted(e))] for e in pairwise([*cycle, cycle[0]])]
        for e in around:
            row = np.zeros(graph.m)
            row[around] = -1
            row[e] = 1
            rows.append(row)
    return np.array(rows)


def relaxed(graph, smoothing):
    """The problem and its variable and parameter, with every row there is."""
    x, w = cp.Variable(graph.m), cp.Parameter(graph.m, value=graph.weights)
    smooth = smoothing / 2 * cp.sum_squares(x - 0.5)
    rows = [x >= 0, x <= 1, cycle_matrix(graph) @ x <= 0]
    return cp.Problem(cp.Minimize(w @ x + smooth), rows), x, w


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


def small_graphs():
    rng = np.random.default_rng(3)
    return [random_graph(rng, 6, 1.0), random_graph(rng, 8, 0.6), planar(rng, 3, 3)]


@pytest.mark.parametrize("graph", small_graphs(), ids=["complete", "random", "planar"])
@pytest.mark.parametrize("smoothing", [1.0, 3.0])
class TestRelaxation:
    def test_is_the_minimum_over_all_cycle_inequalities(self, graph, smoothing, double):
        problem, x, _ = relaxed(graph, smoothing)
        problem.solve(cp.CLARABEL)
        layer = MulticutLayer(graph, LayerOptions(smoothing=smoothing))
        np.testing.assert_allclose(
            layer(graph.weights), x.value, atol=1e-5
        )  # theirs is the less precise
        assert 0 < layer.n_rows < len(cycle_matrix(graph))

    def test_gradient_is_that_of_finite_differences(self, graph, smoothing, double):
        rng = np.random.default_rng(0)
        layer = MulticutLayer(graph, LayerOptions(smoothing=smoothing))
        g, h = rng.normal(size=graph.m), 1e-4
        moved = graph.weights + h * np.concatenate([np.eye(graph.m), -np.eye(graph.m)])
        ahead, behind = np.split(layer(moved) @ g, 2)
        gradient = jax.grad(lambda w: layer(w) @ g)(graph.weights)
        error = np.linalg.norm(gradient - (ahead - behind) / (2 * h))
        assert np.linalg.norm(gradient) > 0.1
        assert error < 1e-3 * np.linalg.norm(gradient)


def test_agrees_with_the_layer_of_cvxpylayers(double):
    graph = random_graph(np.random.default_rng(5), 6, 0.9)
    problem, x, w = relaxed(graph, 1.0)
    theirs, ours = CvxpyLayer(problem, [w], [x]), MulticutLayer(graph)
    weights, g = jnp.asarray(graph.weights), np.random.default_rng(0).normal(size=graph.m)
    precisely = {"solve_method": "Clarabel"}
    expected, pull_back = jax.vjp(lambda w: theirs(w, solver_args=precisely)[0], weights)
    found, our_pull_back = jax.vjp(ours, weights)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(our_pull_back(g)[0], pull_back(g)[0], rtol=1e-3, atol=1e-4)


def test_does_not_care_about_the_order_and_the_direction_of_the_edges():
    graph = planar(np.random.default_rng(1), 4, 4)
    order = np.random.default_rng(2).permutation(graph.m)
    shuffled = MulticutLayer(graph.edges[order, ::-1])(graph.weights[order])
    np.testing.assert_allclose(shuffled, MulticutLayer(graph)(graph.weights)[order], atol=1e-5)


def three_layers(edges):
    hinge, truth = StructuredHinge(edges), np.arange(edges.max() + 1) // 4
    return {
        "relaxed": MulticutLayer(edges),
        "blackbox": PerturbedMulticut(edges, step=3.0),
        "hinge": lambda w: hinge(w, truth),
    }


@pytest.mark.parametrize("name", ["relaxed", "blackbox", "hinge"])
def test_jit_vmap_and_batches_agree_with_one_by_one(name):
    graph = planar(np.random.default_rng(0), 3, 4)
    layer = three_layers(graph.edges)[name]
    weights = graph.weights + np.random.default_rng(1).normal(0, 0.5, (2, 2, graph.m))
    weights = jnp.asarray(weights, jnp.float32)

    pattern = np.random.default_rng(2).normal(size=graph.m)

    def loss(w):
        result = layer(w)
        return jnp.sum(result * pattern if result.ndim == w.ndim else result)

    one_by_one = jnp.stack([jnp.stack([layer(w) for w in batch]) for batch in weights])
    assert one_by_one.dtype == jnp.float32
    assert len(np.unique(one_by_one.reshape(4, -1), axis=0)) > 2
    for all_at_once in (layer, jax.jit(layer), jax.vmap(jax.jit(jax.vmap(layer)))):
        np.testing.assert_allclose(all_at_once(weights), one_by_one, atol=1e-5)
    gradient = jnp.stack([jnp.stack([jax.grad(loss)(w) for w in batch]) for batch in weights])
    assert np.abs(gradient).max() > 0.1
    for all_at_once in (jax.grad(loss), jax.jit(jax.vmap(jax.grad(loss)))):
        np.testing.assert_allclose(all_at_once(weights), gradient, atol=1e-4)


@pytest.mark.parametrize("name", ["relaxed", "blackbox", "hinge"])
def test_single_precision_is_solved_in_double_and_the_setting_left_alone(name):
    graph = planar(np.random.default_rng(4), 4, 4)
    layer = three_layers(graph.edges)[name]
    weights = jnp.asarray(graph.weights, jnp.float32)
    single = jax.jit(layer)(weights)
    assert not jax.config.jax_enable_x64
    assert single.dtype == jnp.float32
    with jax.enable_x64(True):
        double = layer(np.asarray(weights, np.float64))
        assert double.dtype == jnp.float64
    np.testing.assert_allclose(single, double, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["relaxed", "blackbox", "hinge"])
def test_not_a_number_stays_in_its_row_of_the_batch(name):
    graph = planar(np.random.default_rng(4), 3, 3)
    layer = three_layers(graph.edges)[name]
    weights = np.stack([graph.weights, graph.weights])
    weights[1, 2] = np.nan
    result = layer(weights)
    assert np.isnan(result[1]).all()
    np.testing.assert_allclose(result[0], layer(graph.weights), atol=1e-6)


class TestRows:
    def test_what_is_remembered_does_not_matter(self):
        graph = planar(np.random.default_rng(0), 5, 5)
        one, other = graph.weights, np.random.default_rng(1).normal(size=graph.m)
        layer = MulticutLayer(graph, LayerOptions(keep=0))
        first = layer(one)
        layer(other)
        np.testing.assert_allclose(layer(one), first, atol=1e-5)
        gradient = jax.grad(lambda w: layer(w)[0])(jnp.asarray(one))
        _, pull_back = jax.vjp(layer, jnp.asarray(one))
        for _ in range(3):
            layer(other)  # now all rows of the others are gone
        expected = pull_back(jnp.eye(graph.m)[0])[0]
        np.testing.assert_allclose(gradient, expected, atol=1e-4)

    def test_slack_rows_are_dropped_when_others_come(self):
        graph = planar(np.random.default_rng(0), 5, 5)
        batch = graph.weights * np.random.default_rng(1).choice([-1.0, 1.0], (8, graph.m))
        forgetful, faithful = (MulticutLayer(graph, LayerOptions(keep=k)) for k in (0, 100))
        for weights in batch:
            forgetful(weights)
            faithful(weights)
        assert forgetful.n_rows < faithful.n_rows

    def test_tolerated_violations_need_fewer_rows(self):
        graph = planar(np.random.default_rng(0), 5, 5)
        exact, tolerant = (MulticutLayer(graph, LayerOptions(violation=v)) for v in (1e-6, 0.5))
        x, y = exact(graph.weights), tolerant(graph.weights)
        assert tolerant.n_rows < exact.n_rows
        assert np.abs(x - y).max() > 1e-3

    def test_huge_weights_give_the_vertex_and_no_gradient(self):
        graph = planar(np.random.default_rng(0), 4, 4)  # its LP is tight
        layer = MulticutLayer(graph)
        x, pull_back = jax.vjp(layer, jnp.asarray(1e6 * graph.weights))
        np.testing.assert_allclose(x, bdcc_jax.solve(graph).cut, atol=1e-6)
        assert np.abs(pull_back(jnp.ones(graph.m))[0]).max() < 1e-6

    def test_a_solver_that_fails_is_noticed(self, monkeypatch):
        def fail(matrices, uppers, costs, cones, **_):
            rows = [np.zeros(len(upper)) for upper in uppers]
            return [np.full(len(c), 0.3) for c in costs], rows, rows

        monkeypatch.setattr(diffcp, "solve_only_batch", fail)
        relaxation = SmoothedRelaxation(Edges.of(TRIANGLE), LayerOptions())
        with pytest.raises(RuntimeError, match="the cone solver failed"):
            relaxation.solve(np.array([[0.4, 0.4, -2.0]]))


class TestInstallation:
    def test_without_cvxpylayers_the_others_work_and_the_error_says_what_to_install(
        self, monkeypatch
    ):
        monkeypatch.setitem(sys.modules, "cvxpylayers.utils.parse_args", None)
        with pytest.raises(ImportError, match=r'pip install "\.\[layers\]"'):
            MulticutLayer(TRIANGLE)
        weights = [1.0, 1.0, -3.0]
        assert PerturbedMulticut(TRIANGLE)(weights).sum() == 2
        assert StructuredHinge(TRIANGLE)(weights, [0, 0, 1]) == 2.0

    def test_the_extra_does_not_require_torch(self):
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
        todo = list(project["project"]["optional-dependencies"]["layers"])
        names = set()
        while todo:
            requirement = Requirement(todo.pop())
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            name = re.sub(r"[-_.]+", "-", requirement.name).lower()
            if name not in names:
                names.add(name)
                todo += metadata.requires(name) or []
        assert {"cvxpylayers", "cvxpy", "diffcp"} <= names
        assert not {name for name in names if "torch" in name}

    def test_runs_without_torch_and_without_waiting(self):
        """Steps that are sent off without waiting for each other must not block each other."""
        code = """
import sys

class NoTorch:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "torch":
            raise ImportError(name)

sys.meta_path.insert(0, NoTorch())
import jax, jax.numpy as jnp, numpy as np
from bdcc_jax.layers import MulticutLayer
layer = MulticutLayer([(i, j) for i in range(8) for j in range(i)])

@jax.jit
def step(x):
    y = jnp.tanh(x @ x / 600)
    g = jax.grad(lambda w: jnp.sum(layer(w) ** 2))(y[0, :28])
    return y.at[0, :28].add(g)

x = jnp.asarray(np.random.default_rng(0).normal(size=(600, 600)), jnp.float32)
ends = [step(x * i) for i in range(8)]
assert all(np.isfinite(end).all() for end in ends)
"""
        subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MulticutLayer([0, 1]), r"edges must have shape \(m, 2\) with m >= 1, not \(2,\)"),
        (lambda: MulticutLayer(np.empty((0, 2), int)), r"m >= 1, not \(0, 2\)"),
        (lambda: MulticutLayer([(0, 1), (1, 1)]), "edge 1 is a self-loop at 1"),
        (
            lambda: MulticutLayer([(0, 1), (1, 2), (1, 0)]),
            "edge 2 joins nodes 1 and 0, as edge 0 does: give every edge once",
        ),
        (lambda: MulticutLayer([(0, 5)], n=3), "node id 5 is out of range: n = 3"),
        (lambda: MulticutLayer(Graph(2, [(0, 1)], [1.0]), n=3), "n is 3, but the graph has 2"),
        (lambda: MulticutLayer(Graph(2, [], [])), "the graph has no edges"),
        (
            lambda: MulticutLayer(
                Graph(3, TRIANGLE, [1.0, 1.0, -1.0], lifted=[False, False, True])
            ),
            "layers know of edges only, not of lifted",
        ),
        (lambda: MulticutLayer(TRIANGLE, 0.1), r"a LayerOptions object, not 0\.1"),
        (lambda: MulticutLayer(TRIANGLE)(jnp.ones(2)), r"\(3,\) or \(\.\.\., 3\), not \(2,\)"),
        (lambda: MulticutLayer(TRIANGLE)(1.0), r"\(3,\) or \(\.\.\., 3\), not \(\)"),
        (lambda: MulticutLayer(TRIANGLE)(1j * jnp.ones(3)), "real numbers, not complex64"),
        (lambda: LayerOptions(smoothing=0), "smoothing must be positive and finite, not 0"),
        (lambda: LayerOptions(smoothing="1"), "smoothing must be a number, not '1'"),
        (lambda: LayerOptions(violation=1e-9), r"violation must lie in \[1e-06, 1\), not 1e-09"),
        (lambda: LayerOptions(keep=-1), "keep must be an integer >= 0, not -1"),
        (lambda: PerturbedMulticut(TRIANGLE, step=0.0), r"step must be positive .* not 0\.0"),
        (lambda: PerturbedMulticut(TRIANGLE, noise=-1.0), r"noise must be at least 0, not -1\.0"),
        (lambda: PerturbedMulticut(TRIANGLE, samples=0), "samples must be an integer >= 1, not 0"),
        (lambda: PerturbedMulticut(TRIANGLE, seed=0.5), r"seed must be an integer >= 0, not 0\.5"),
        (lambda: PerturbedMulticut(TRIANGLE, samples=4), "without noise all 4 samples"),
        (lambda: StructuredHinge(TRIANGLE, margin=-1.0), "margin must be finite and at least 0"),
        (lambda: StructuredHinge(TRIANGLE, margin=[1.0]), r"a number or \(3,\), not \(1,\)"),
        (
            lambda: StructuredHinge(TRIANGLE)(jnp.ones(3), [0, 1]),
            r"labels must have shape \(3,\), not \(2,\)",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
