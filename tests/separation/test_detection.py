"""Detection by batched Bellman-Ford: Dijkstra's verdicts, to the last bit."""

import jax
import numpy as np
import pytest
from oracles import instance, instances, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.separation.device import detection
from bdcc_jax.separation.device.detection import Detector
from bdcc_jax.separation.violations import violated_edges

CPU = jax.devices("cpu")[0]


def hub(n=600):
    """A node that all others meet in, and a ring of negative edges around it."""
    ring = np.arange(1, n + 1)
    u, v = np.concatenate([np.zeros(n, int), ring]), np.concatenate([ring, np.roll(ring, 1)])
    return Graph.from_edges(u, v, np.repeat([1.0, -1.0], n))


def points(graph, rng):
    """Solutions of all kinds: integral, fractional, with and without zeros, nothing violated."""
    positive = np.where(rng.random(graph.m) < 0.5, rng.random(graph.m) ** 3 / 2, 0.0)
    yield graph.negative.astype(float)
    yield np.where(graph.negative, rng.random(graph.m) ** 0.3, positive)
    yield np.where(graph.negative, rng.random(graph.m) ** 0.3, rng.random(graph.m) ** 3)
    yield np.where(graph.negative, 1.0, rng.integers(0, 5, graph.m) / 4)
    yield np.zeros(graph.m)
    yield graph.cut(rng.integers(0, 3, graph.n)).astype(float)


def same_verdicts(graph, memory=2**28):
    cover = vertex_cover(graph, "greedy")
    detector, total = Detector(graph, cover, CPU, memory), 0
    for x in points(graph, np.random.default_rng(0)):
        expected = violated_edges(graph, cover, x)
        assert detector.violated(x, Clock(None)).tolist() == expected.tolist()
        total += expected.sum()
    return total


@pytest.mark.parametrize("memory", [1, 2**28], ids=["8 columns", "32 columns"])
def test_same_verdicts_as_dijkstra(memory):
    rng = np.random.default_rng(5)
    for n, density in ((5, 0.9), (70, 0.1), (150, 0.05), (40, 0.9)):
        assert same_verdicts(random_graph(rng, n, density), memory) > 5
    assert same_verdicts(hub(), memory) > 100


@pytest.mark.parametrize(
    "name",
    [
        *instances("opengm-imageseg-stitched")[:3],
        "opengm-knott3d-stitched/knott-3d-450-piece00",
        "bsds300test-rf255ucm/42049",
        "signed-network/congress",
        "modularity/karate",
    ],
)
def test_same_verdicts_on_real_instances(name):
    same_verdicts(instance(name))


def test_graphs_without_anything():
    for graph in (Graph.from_edges([0], [1], [1.0]), Graph.from_edges([0], [1], [-1.0])):
        detector = Detector(graph, vertex_cover(graph, "greedy"), CPU, 2**20)
        assert not detector.violated(np.ones(1), Clock(None)).any()


def test_the_deadline_is_honoured():
    graph = hub(20)
    detector = Detector(graph, vertex_cover(graph, "greedy"), CPU, 2**20)
    with pytest.raises(TimeLimitReached):
        detector.violated(np.where(graph.negative, 1.0, 0.25), Clock(0.0))


def test_without_memory_the_host_decides(monkeypatch):
    def fail(*_):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: injected")

    monkeypatch.setattr(detection, "sweep", fail)
    assert same_verdicts(hub(20)) > 5


def test_an_error_of_another_kind_is_not_hidden(monkeypatch):
    def fail(*_):
        raise jax.errors.JaxRuntimeError("INTERNAL: injected")

    monkeypatch.setattr(detection, "sweep", fail)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        same_verdicts(hub(20))


def test_the_callers_x64_is_left_alone():
    before = jax.config.jax_enable_x64
    same_verdicts(hub(20))
    assert jax.config.jax_enable_x64 == before


def arguments(rows=256, columns=32, targets=64):
    table = np.zeros((rows, 8), np.int32), np.full((rows, 8), np.inf)
    at = np.zeros(targets, np.int32)
    reach = np.zeros(targets)
    near = np.zeros((rows, columns))
    return *table, np.ones(columns), near, at, at, reach, np.int32(9)


def test_the_program_needs_no_transfers_and_lowers_for_cuda():
    with jax.enable_x64(True):
        placed = jax.device_put(arguments())
        with jax.transfer_guard("disallow"):
            jax.block_until_ready(detection.sweep(*placed))
        exported = jax.export.export(detection.sweep, platforms=["cuda"])(*arguments())
    assert "callback" not in exported.mlir_module()
    assert "scatter" not in exported.mlir_module()


def test_the_estimate_of_memory_holds():
    with jax.enable_x64(True):
        analysis = detection.sweep.lower(*arguments(4096)).compile().memory_analysis()
    allocated = analysis.temp_size_in_bytes + analysis.argument_size_in_bytes
    tables = 4096 * 8 * 12
    assert allocated - tables <= 4096 * 32 * detection.BYTES_PER_ENTRY
