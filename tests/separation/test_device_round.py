"""The round on a device: valid rows from anything, and the same optima."""

from types import SimpleNamespace

import numpy as np
import pytest
from device_rounds import CPU, batch_of, engine_for, fractional
from oracles import all_cuts, brute_force, instance, random_graph

from bdcc_jax import Graph, Options, PDLPOptions, solve
from bdcc_jax.base import compilation_cache
from bdcc_jax.base.clock import Clock
from bdcc_jax.separation.device import batched, devices
from bdcc_jax.separation.device.balls import ROWS, WIDTH
from bdcc_jax.separation.device.batched import Settings, solve_batch
from bdcc_jax.separation.device.rows_of_chains import rows_of_chains
from bdcc_jax.separation.engine import choose_engine
from bdcc_jax.separation.paper.ball import VIOLATION

TAU = 0.5


@pytest.fixture(scope="module", autouse=True)
def programs():
    """Programs compiled by one test serve the others."""
    compilation_cache.enable()


def valid(rows, cuts, graph):
    dense = np.zeros((len(rows), graph.m))
    dense[rows.row_of_entry(), rows.indices] = rows.values
    return (dense @ cuts.T <= 0).all()


@pytest.mark.parametrize("iterations", [1, 16, 128])
@pytest.mark.parametrize("kind", ["split", "aggregated"])
def test_rows_are_valid_and_violated_however_far_the_solver_got(iterations, kind):
    """Exactly, for all partitions."""
    rng, checked = np.random.default_rng(2), 0
    options = Options(engine="pdlp", rows=kind, tau=TAU, pdlp=PDLPOptions(iterations=iterations))
    for n in (6, 8, 8):
        graph = random_graph(rng, n, 0.9)
        cuts = all_cuts(graph)
        for x in (graph.negative.astype(float), fractional(rng, graph)):
            separation = engine_for(graph, options).separate(x, Clock(None))
            assert valid(separation.rows, cuts, graph)
            assert (separation.rows.violation(x) > VIOLATION).all()
            assert separation.satisfied == (len(separation.rows) == 0)
            checked += len(separation.rows)
    assert checked > 10


def test_rows_are_valid_whatever_the_device_returned():
    rng, checked = np.random.default_rng(3), 0
    for n in (6, 7, 8):
        graph = random_graph(rng, n, 0.9)
        x, cuts = fractional(rng, graph), all_cuts(graph)
        balls, problems = batch_of(graph, x)
        good = solve_batch(problems, Settings(1, 0.0, False, 8), (CPU,), 2**30)
        for trial in range(40):
            slot, amount = (np.array(array[0]) for array in good)
            wrong = rng.random(slot.shape) < rng.random()
            noise = (
                rng.integers(-(2**15), 2**15 - 1, slot.shape)
                if trial % 2
                else (rng.integers(0, ROWS * WIDTH, slot.shape))
            )
            slot = np.where(wrong, noise, slot).astype(np.int16)
            strange = rng.choice([np.nan, np.inf, -np.inf, -1.0, 1e30, 1e-30, 3.0], amount.shape)
            amount = np.where(rng.random(slot.shape) < 0.3, strange, amount).astype(np.float32)
            for kind in ("split", "aggregated"):
                rows, _ = rows_of_chains(graph, balls, slot, amount, x, kind)
                assert np.isfinite(rows.values).all()
                assert valid(rows, cuts, graph)
                checked += len(rows)
    assert checked > 100


@pytest.mark.parametrize(
    "options",
    [
        Options(engine="pdlp"),
        Options.paper(engine="pdlp"),
        Options.paper(engine="pdlp", pdlp=PDLPOptions(activity="price", iterations=16)),
        Options.paper(None, engine="pdlp"),
        Options.paper(0.99, engine="pdlp", direction="inverse_weight", rows="split"),
    ],
    ids=["split", "paper", "price", "no variants", "inverse weight"],
)
def test_brute_force(options):
    rng = np.random.default_rng(3)
    for n in (5, 7, 8, 9, 9):
        graph = random_graph(rng, n, 0.8, "normal" if n % 2 else "ties")
        result = solve(graph, options=options, device="cpu")
        optimum = brute_force(graph)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(optimum, abs=1e-9)
        for record in result.history:
            assert record.lower_bound <= optimum + 1e-9


@pytest.mark.parametrize(
    "name", ["opengm-imageseg-stitched/image-seg-piece00", "bsds300test-rf255ucm/42049"]
)
def test_same_optimum_as_the_reference(name):
    graph = instance(name)
    optimum = solve(graph).objective
    for options in (Options(engine="pdlp"), Options.paper(engine="pdlp")):
        result = solve(graph, options=options)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(optimum, abs=1e-6)


def test_roots_without_useful_paths_give_their_shortest_cycles(monkeypatch):
    def nothing(problems, settings, *_):
        return batched.no_chains(settings.kinds, len(problems.supply))

    monkeypatch.setattr(devices, "solve_batch", nothing)
    graph = random_graph(np.random.default_rng(4), 25, 0.4)
    x = graph.negative.astype(float)
    separation = engine_for(graph).separate(x, Clock(None))
    assert separation.fallbacks == separation.violated_roots > 3
    assert (separation.rows.violation(x) > VIOLATION).all()
    assert set(separation.rows.values.tolist()) == {1.0, -1.0}
    result = solve(graph, options=Options.paper(engine="pdlp"))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(solve(graph).objective)


def test_one_heavy_edge_does_not_drown_the_rest():
    """Amounts are counted in units of what can flow, not of what is asked for."""
    graph = Graph.from_edges([0, 1, 2, 0, 1], [1, 2, 3, 3, 3], [1.0, 2.0, 1.0, -1e9, -0.5])
    separation = engine_for(graph).separate(graph.negative.astype(float), Clock(None))
    assert separation.fallbacks == 0
    assert separation.violated_roots >= 1


def test_engines():
    graph = random_graph(np.random.default_rng(6), 12, 0.6)
    assert solve(graph, options=Options(engine="reference"), device=CPU).device == str(CPU)
    assert solve(graph, options=Options(engine="pdlp"), device=CPU).device == str(CPU)
    with pytest.raises(ValueError, match="pdlp must be a PDLPOptions object, not 3"):
        Options(pdlp=3)
    with pytest.raises(ValueError, match="activity must be one of 'price', 'row', not 'wish'"):
        PDLPOptions(activity="wish")


@pytest.mark.parametrize(
    ("platform", "options", "engine"),
    [
        ("cpu", Options(), "packing"),
        ("gpu", Options(), "packing"),
        ("cpu", Options(tau=0.5), "reference"),
        ("gpu", Options(tau=0.5), "pdlp"),
        ("gpu", Options(rows="aggregated"), "pdlp"),
        ("cpu", Options(engine="pdlp"), "pdlp"),
        ("gpu", Options(engine="reference"), "reference"),
    ],
)
def test_what_auto_takes(platform, options, engine):
    assert choose_engine(options, SimpleNamespace(platform=platform)) == engine


def test_device_packing_is_deprecated():
    with pytest.warns(DeprecationWarning, match=r"error in version 0\.3: 'packing', .* its place"):
        assert Options(engine="device_packing") == Options(engine="packing")
    with pytest.warns(DeprecationWarning, match=r"0\.3"), pytest.raises(ValueError, match="split"):
        Options(engine="device_packing", tau=0.5)


@pytest.mark.parametrize("name", ["tolerance", "iteration_limit", "single_iterations"])
def test_options_without_effect_are_deprecated(name):
    with pytest.warns(
        DeprecationWarning, match=rf"{name}=\.\.\.\) has no effect .* use iterations"
    ):
        assert PDLPOptions(**{name: 1e-3}) == PDLPOptions()


def test_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BDCC_JAX_CACHE", str(tmp_path / "kernels"))
    assert compilation_cache.cache_folder() == tmp_path / "kernels"
    monkeypatch.setenv("BDCC_JAX_CACHE", "")
    assert compilation_cache.cache_folder() is None
    monkeypatch.delenv("BDCC_JAX_CACHE")
    assert compilation_cache.cache_folder().name == "bdcc_jax"
