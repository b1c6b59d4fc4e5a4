"""Path packing on a device: valid rows, the same optima, few kernels."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from oracles import all_cuts, brute_force, instance, random_graph

from bdcc_jax import Graph, Options, solve
from bdcc_jax.base import compilation_cache
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.master import Master
from bdcc_jax.search.benders import make_engine
from bdcc_jax.separation.device import cell_packing, device_packing
from bdcc_jax.separation.device.device_packing import DevicePackingEngine
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.packing import PackingEngine
from bdcc_jax.separation.paper.ball import VIOLATION
from bdcc_jax.separation.violations import violated_edges

CPU = jax.devices("cpu")[0]
OURS = Options(engine="device_packing")
# Without the smaller instances of a full solve, for each of which a kernel would compile.
PLAIN = Options(engine="device_packing", presolve=False, heuristics=False, integer="whole")


@pytest.fixture(autouse=True)
def everything_on_the_device(monkeypatch):
    """Small graphs would be left to the host."""
    compilation_cache.enable()
    monkeypatch.setattr(device_packing, "FEW", 0)


def fractional(rng, graph):
    return np.where(graph.negative, rng.random(graph.m) ** 0.3, rng.random(graph.m) ** 4 / 2)


def engine_of(graph, reach=64, **changes):
    return DevicePackingEngine(graph, vertex_cover(graph, "greedy"), reach, CPU, **changes)


def separate(graph, x, reach=64, **changes):
    return engine_of(graph, reach, **changes).separate(x, Clock(None))


def dense(rows, graph):
    matrix = np.zeros((len(rows), graph.m))
    matrix[rows.row_of_entry(), rows.indices] = rows.values
    return matrix


@pytest.mark.parametrize("integral", [True, False])
@pytest.mark.parametrize("density", [0.4, 1.0])
def test_rows_are_valid_for_all_partitions_and_violated(integral, density):
    rng = np.random.default_rng(0)
    checked = 0
    for n in (6, 8, 9, 9):
        graph = random_graph(rng, n, density)
        x = graph.negative.astype(float) if integral else fractional(rng, graph)
        separation = separate(graph, x)
        assert (dense(separation.rows, graph) @ all_cuts(graph).T <= 0).all()
        assert (separation.rows.activity(x) > VIOLATION).all()
        assert set(np.unique(separation.rows.values)) <= {-1.0, 1.0}
        checked += len(separation.rows)
    assert checked > 5


def test_paths_keep_to_the_capacities():
    """No edge carries more than it can, and every path takes all that it can."""
    graph = random_graph(np.random.default_rng(1), 40, 0.3)
    edges = np.flatnonzero(graph.positive)
    width = np.append(graph.weights[edges], 0.0).astype(np.float32)
    rng = np.random.default_rng(2)
    hops = rng.integers(1, 6, 50).astype(np.int32)
    paths = np.full((cell_packing.HOPS, 50), len(edges), np.int32)
    for column, length in enumerate(hops):
        paths[:length, column] = rng.choice(len(edges), length, replace=False)
    found, left = np.arange(50) % 7 > 0, rng.random(50).astype(np.float32)
    arrays = jax.device_put((paths, hops, found, width, left))
    won, width_after, left_after, more = map(np.asarray, cell_packing.compete(*arrays))
    assert not more
    assert found[won].all()
    assert ((left_after < left) == won).all()
    expected = width.astype(float)
    for column in np.flatnonzero(won):
        expected[paths[: hops[column], column]] -= left[column] - left_after[column]
    np.testing.assert_allclose(width_after[:-1], expected[:-1], atol=1e-6)
    assert (width_after[:-1] >= 0).all()
    exhausted = np.append(width_after[:-1] == 0, False)[paths].any(axis=0) | (left_after == 0)
    assert exhausted[found].all()


@pytest.mark.parametrize("density", [0.12, 0.3, 1.0])
def test_rows_iff_something_is_violated(density):
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 30, density)
    cover = vertex_cover(graph, "greedy")
    engine, verdicts = DevicePackingEngine(graph, cover, 64, CPU), set()
    for scale in (0.0, 0.05, 0.2, 0.5, 1.0):
        x = fractional(rng, graph)
        x[graph.negative] *= scale
        violated = violated_edges(graph, cover, x).sum()
        separation = engine.separate(x, Clock(None))
        assert separation.violated_roots == violated
        assert (len(separation.rows) > 0) == (violated > 0)
        verdicts.add(violated > 0)
    assert verdicts == {False, True}


def test_brute_force():
    rng = np.random.default_rng(3)
    for n in (5, 7, 8, 9, 9):
        graph = random_graph(rng, n, 0.8, "normal" if n % 2 else "ties")
        result = solve(graph, options=PLAIN)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(brute_force(graph), abs=1e-9)


def islands(rng):
    """Three parts without an edge between them, one with a hub, and nodes without any."""
    parts = [random_graph(rng, 14, density) for density in (0.3, 1.0)]
    ends = [part.edges + 20 * i for i, part in enumerate(parts)]
    hub = np.stack([np.full(30, 40), np.arange(41, 71)], axis=1)
    rim = np.stack([np.arange(41, 70), np.arange(42, 71)], axis=1)
    u, v = np.concatenate([*ends, hub, rim]).T
    w = [*(part.weights for part in parts), rng.random(30), -rng.random(29)]
    return Graph.from_edges(u, v, np.concatenate(w), 75)


@pytest.mark.parametrize("reach", [2, None])
def test_disconnected_dense_and_with_hubs(reach):
    graph = islands(np.random.default_rng(4))
    optimum = solve(graph, options=Options(engine="packing")).objective
    result = solve(graph, options=replace(PLAIN, ball_size=reach))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(optimum, abs=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "opengm-imageseg-stitched/image-seg-piece00",
        "opengm-knott3d-stitched/knott-3d-450-piece00",
        "bsds300test-rf255ucm/42049",
        "modularity/karate",
    ],
)
def test_same_bound_and_optimum_as_packing_on_real_instances(name, monkeypatch):
    monkeypatch.setattr(device_packing, "FEW", 64)
    graph = instance(name)
    bounds = []
    for engine in (engine_of(graph), PackingEngine(graph, vertex_cover(graph, "greedy"))):
        master, clock = Master(graph.weights), Clock(None)
        for _ in range(20):
            separation = engine.separate(master.solve(clock), clock)
            master.add(separation.rows)
            if separation.satisfied:
                break
        assert separation.satisfied
        bounds.append(master.proven_bound)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-7)
    assert solve(graph, options=OURS).objective == pytest.approx(solve(graph).objective, abs=1e-6)


def test_paths_that_are_too_long_go_to_the_host_and_are_counted():
    n = cell_packing.HOPS + 2
    u, v = np.append(np.arange(n - 1), 0), np.append(np.arange(1, n), n - 1)
    graph = Graph.from_edges(u, v, np.append(np.ones(n - 1), -1.0))
    separation = separate(graph, graph.negative.astype(float))
    assert separation.fallbacks == separation.violated_roots == len(separation.rows) == 1
    shorter = Graph.from_edges(u[1:], np.append(v[1:-1], n - 1), graph.weights[1:])
    shorter = Graph.from_edges(np.append(u[:-2], 0), np.append(v[:-2], n - 2), shorter.weights)
    separation = separate(shorter, shorter.negative.astype(float))
    assert (separation.fallbacks, len(separation.rows)) == (0, 1)


def test_few_violated_edges_stay_on_the_host(monkeypatch):
    monkeypatch.setattr(device_packing, "FEW", 10**6)
    monkeypatch.setattr(device_packing, "pack", None)
    graph = random_graph(np.random.default_rng(5), 12, 0.6)
    separation = separate(graph, graph.negative.astype(float))
    assert separation.fallbacks == 0
    assert len(separation.rows) > 0


def test_what_is_no_path_is_no_row():
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], [1.0, 1.0, 1.0, -1.0])
    e = {tuple(ends): i for i, ends in enumerate(graph.edges.tolist())}
    none = graph.m
    paths = np.array(
        [
            [e[2, 3], e[1, 2], e[0, 1], none],
            [e[2, 3], e[0, 1], e[1, 2], none],
            [e[2, 3], e[1, 2], none, none],
            [none, none, none, none],
        ],
        dtype=np.int32,
    )
    x = np.zeros(graph.m)
    x[e[1, 2]] = 0.25
    ends = np.zeros(4, np.int64), np.full(4, 3)
    lengths = device_packing._path_lengths(paths, *ends, graph.edges, x)
    assert lengths.tolist() == [0.25, np.inf, np.inf, np.inf]


def test_the_same_every_time_and_whatever_the_callers_x64():
    graph = random_graph(np.random.default_rng(6), 60, 0.15)
    x = graph.negative.astype(float)
    before = jax.config.jax_enable_x64
    first = separate(graph, x).rows
    assert jax.config.jax_enable_x64 == before
    for x64 in (False, True):
        with jax.enable_x64(x64):
            again = separate(graph, x).rows
        assert again.starts.tolist() == first.starts.tolist()
        assert again.indices.tolist() == first.indices.tolist()


def test_smaller_cells_where_memory_is_short():
    graph = random_graph(np.random.default_rng(7), 150, 0.03)
    engine, tight = engine_of(graph, None), engine_of(graph, None, memory=1)
    assert engine._columns(100) == 128
    assert tight._columns(100) == device_packing.COLUMNS
    x = graph.negative.astype(float)
    assert len(tight.separate(x, Clock(None)).rows) > 0
    assert len(engine.separate(x, Clock(None)).rows) > 0


def test_the_deadline_is_honoured():
    graph = random_graph(np.random.default_rng(8), 20, 0.4)
    with pytest.raises(TimeLimitReached):
        engine_of(graph).separate(graph.negative.astype(float), Clock(0.0))


KERNELS = {
    "begin": 0,
    "open_pass": 1,
    "come_nearer": 0,
    "find_paths": 0,
    "match": 1,
    "close_pass": 2,
}
"""And how many scatters each has."""


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_run_without_transfers_and_lower_for_cuda(name, monkeypatch):
    graph, calls = islands(np.random.default_rng(9)), []
    kernel = getattr(cell_packing, name)
    monkeypatch.setattr(cell_packing, name, lambda *call: calls.append(call) or kernel(*call))
    separate(graph, graph.negative.astype(float))
    call = calls[-1]
    with jax.enable_x64(False):
        with jax.transfer_guard("disallow"):
            jax.block_until_ready(kernel(*call))
        exported = jax.export.export(kernel, platforms=["cuda"])(*call)
    text = exported.mlir_module()
    assert "callback" not in text
    assert "f64" not in text
    # Scatters of floats would depend on an order.
    scatters = text.split('"stablehlo.scatter"(')[1:]
    assert len(scatters) == KERNELS[name]
    for scatter in scatters:
        block = scatter.split("^bb0(")[1].split("):")[0]
        assert "tensor<i32>" in block
        assert "f32" not in block


def test_a_solve_compiles_a_bounded_number_of_kernels():
    """Ten instances of different size: the shapes come from a small set."""
    rng = np.random.default_rng(10)
    kernels = [getattr(cell_packing, name) for name in KERNELS]
    for kernel in kernels:
        kernel.clear_cache()
    for n in range(30, 50, 2):
        solve(random_graph(rng, n, 0.2), options=replace(PLAIN, max_rounds=4))
    for kernel in kernels:
        assert 1 <= kernel._cache_size() <= 8


def test_engines():
    graph = random_graph(np.random.default_rng(11), 12, 0.6)
    cover, rng = vertex_cover(graph, "greedy"), np.random.default_rng(0)
    assert isinstance(make_engine(graph, cover, OURS, rng, Devices((CPU,))), DevicePackingEngine)
    assert isinstance(make_engine(graph, cover, Options(), rng, Devices((CPU,))), PackingEngine)
    assert solve(graph, options=OURS, device=CPU).device == str(CPU)
    for wrong in ({"tau": 0.5}, {"rows": "aggregated"}):
        with pytest.raises(ValueError, match="engine 'device_packing' has split rows"):
            Options(engine="device_packing", **wrong)
