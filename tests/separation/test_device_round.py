"""The round on a device: valid rows from anything, the same optima, few programs."""

from functools import partial
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from families import planar
from oracles import all_cuts, brute_force, instance, random_graph
from scipy.optimize import linprog

from bdcc_jax import Graph, Options, PDLPOptions, solve
from bdcc_jax.base import compilation_cache
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.separation.device import batched, device_round, devices
from bdcc_jax.separation.device.balls import NODES, ROWS, WIDTH
from bdcc_jax.separation.device.batched import LANE_BYTES, Settings, solve_batch
from bdcc_jax.separation.device.device_round import DeviceRound
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.device.paths_of_flow import UNITS, Chains
from bdcc_jax.separation.device.rows_of_chains import rows_of_chains
from bdcc_jax.separation.engine import choose_engine
from bdcc_jax.separation.paper.ball import VIOLATION

CPU = jax.devices("cpu")[0]
TAU = 0.5


@pytest.fixture(scope="module", autouse=True)
def programs():
    """Programs compiled by one test serve the others."""
    compilation_cache.enable()


def fractional(rng, graph):
    return np.where(graph.negative, rng.random(graph.m) ** 0.3, rng.random(graph.m) ** 4 / 2)


def engine_for(graph, options=None, seed=0, where=None):
    cover = vertex_cover(graph, "greedy")
    options = options or Options.paper(engine="pdlp")
    return DeviceRound(graph, cover, options, np.random.default_rng(seed), where or Devices((CPU,)))


def batch_of(graph, x, options=None):
    """The balls of a round, and their LPs."""
    engine, taken = engine_for(graph, options), []
    original = engine._problems

    def spy(balls, x):
        taken.append((balls, original(balls, x)))
        return taken[0][1]

    engine._problems = spy
    engine.separate(x, Clock(None))
    return taken[0]


def edges_of(balls, problems, lane):
    """(tail, head, cost, capacity, price) of the edges of a ball, each once."""
    own = np.concatenate([np.arange(NODES), balls.owner[lane]])
    found = {}
    for w, r in zip(*np.nonzero(balls.edge[lane] >= 0), strict=True):
        ends = own[r], balls.neighbor[lane, w, r]
        numbers = (problems.cost, problems.capacity, problems.price)
        data = (*sorted(ends), *(float(array[lane, w, r]) for array in numbers))
        assert found.setdefault(balls.edge[lane, w, r], data) == data  # the same from both ends
    return list(found.values())


def optimum(balls, problems, lane):
    """The value of the subproblem on a ball, by HiGHS."""
    edges, targets = edges_of(balls, problems, lane), np.flatnonzero(balls.target[lane] >= 0)
    conserved = np.zeros((NODES, 2 * len(edges) + len(targets)))
    cost, bound = [], []
    for k, (u, v, x, capacity, _) in enumerate(edges):
        conserved[[u, v], 2 * k], conserved[[u, v], 2 * k + 1] = (1, -1), (-1, 1)
        cost, bound = [*cost, x, x], [*bound, capacity, capacity]
    for k, t in enumerate(targets):
        conserved[t, 2 * len(edges) + k] = -1
        cost.append(-problems.reward[lane, t])
        bound.append(problems.supply[lane, t])
    box = [(0, b) for b in bound]
    return -linprog(cost, A_eq=conserved[1:], b_eq=np.zeros(NODES - 1), bounds=box).fun


def values(balls, problems, chains):
    """Per lane what its paths earn in the subproblem, and what they cost in the variant."""
    earned, paid = np.zeros(len(balls)), np.zeros(len(balls))
    for b, p, t in zip(*np.nonzero(np.asarray(chains.amount) > 0), strict=True):
        at, gain, price = t, problems.reward[b, t], problems.charge[b, t]
        while at != 0:
            slot = np.unravel_index(chains.slot[b, p, at], (WIDTH, ROWS))
            gain, price = gain - problems.cost[b][slot], price + problems.price[b][slot]
            at = balls.neighbor[b][slot]
        earned[b] += gain * chains.amount[b, p, t] / UNITS
        paid[b] += price * chains.amount[b, p, t] / UNITS
    return earned, paid


@pytest.mark.parametrize("integral", [True, False])
@pytest.mark.parametrize("by_row", [True, False], ids=["row", "price"])
@pytest.mark.parametrize("direction", ["random", "inverse_weight"])
def test_flows_are_near_the_optimum_and_variants_active_and_cheap(integral, by_row, direction):
    rng = np.random.default_rng(0)
    for graph in (random_graph(rng, 30, 0.25), planar(rng, 9, 9)):
        x = graph.negative.astype(float) if integral else fractional(rng, graph)
        options = Options.paper(engine="pdlp", direction=direction)
        balls, problems = batch_of(graph, x, options)
        chains = solve_batch(problems, Settings(2, TAU, by_row, 32), (CPU,), 2**30)
        best = np.array([optimum(balls, problems, lane) for lane in range(len(balls))])
        (base, spent), (kept, paid) = (
            values(balls, problems, Chains(*(a[kind] for a in chains))) for kind in (0, 1)
        )
        assert (base <= best * 1.01 + 1e-5).all()
        assert np.median(base / best) > 0.9
        assert np.median(kept / best) > 0.9 * TAU
        # The cheapest flow of its activity: less per unit than the subproblem's.
        assert paid.sum() / kept.sum() <= spent.sum() / base.sum()
        if by_row and integral:
            assert np.median(kept / best) < TAU + 0.1


def test_balls_hold_shortest_paths_and_every_edge_between_their_nodes():
    rng = np.random.default_rng(1)
    graph = planar(rng, 20, 20)
    x = graph.negative.astype(float)
    balls, problems = batch_of(graph, x)
    assert (balls.nodes >= 0).sum(1).max() == NODES
    positive = {tuple(e) for e in np.sort(graph.edges[graph.positive], axis=1).tolist()}
    for lane in range(len(balls)):
        nodes = balls.nodes[lane][balls.nodes[lane] >= 0]
        assert len(set(nodes.tolist())) == len(nodes)
        inside = {(u, v) for u, v in positive if u in nodes and v in nodes}
        ends = [tuple(sorted((nodes[u], nodes[v]))) for u, v, *_ in edges_of(balls, problems, lane)]
        assert len(ends) == len(inside)
        assert set(ends) == inside
        for t in np.flatnonzero(balls.target[lane] >= 0):
            edge = graph.edges[balls.target[lane, t]].tolist()
            assert sorted(edge) == sorted((int(nodes[0]), int(nodes[t])))


def test_smaller_balls_hold_the_paths_to_their_targets_at_least():
    graph = planar(np.random.default_rng(1), 20, 20)
    x = graph.negative.astype(float)
    balls, _ = batch_of(graph, x, Options.paper(engine="pdlp", ball_size=8))
    sizes, targets = (balls.nodes >= 0).sum(1), (balls.target >= 0).sum(1)
    assert np.median(sizes) == 8
    assert (targets > 0).all()
    assert solve(graph, options=Options(engine="pdlp", ball_size=8)).status == "optimal"


def test_what_does_not_fit_makes_further_balls():
    """A star of long arms: three of them fill a ball."""
    arms, length = 12, 20
    u, v, w = [], [], []
    for arm in range(arms):
        nodes = [0, *(1 + arm * length + np.arange(length))]
        u, v = [*u, *nodes[:-1], 0], [*v, *nodes[1:], nodes[-1]]
        w = [*w, *[1.0] * length, -1.0]
    graph = Graph.from_edges(u, v, w)
    x = graph.negative.astype(float)
    balls, _ = batch_of(graph, x)
    cover = vertex_cover(graph, "greedy")
    assert cover.roots.tolist() == [0]
    assert balls.root.tolist() == [0] * 4
    targets = balls.target[balls.target >= 0]
    assert len(targets) == len(set(targets.tolist())) == arms
    assert solve(graph, options=Options.paper(engine="pdlp")).objective == -0.0


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


def test_lanes_have_one_answer_in_any_company():
    rng = np.random.default_rng(5)
    graph = planar(rng, 12, 12)
    _, problems = batch_of(graph, graph.negative.astype(float))
    settings = Settings(2, TAU, True, 4)
    whole = solve_batch(problems, settings, (CPU,), 2**30)
    assert len(problems.supply) > 2 * batched.CHUNK
    for some in ([7], [11, 3, 30]):
        alone = solve_batch(type(problems)(*(a[some] for a in problems)), settings, (CPU,), 2**30)
        for one, all_ in zip(alone, whole, strict=True):
            assert np.array_equal(one, all_[:, some])


@pytest.mark.parametrize("memory", [1, 2**20, 2**30])
def test_budgets_of_memory_change_nothing(memory):
    graph = planar(np.random.default_rng(6), 8, 8)
    x = graph.negative.astype(float)
    rows = [
        engine_for(graph, where=Devices((CPU,), budget)).separate(x, Clock(None)).rows
        for budget in (memory, None)
    ]
    assert rows[0].indices.tolist() == rows[1].indices.tolist()
    assert rows[0].values.tolist() == rows[1].values.tolist()


ERRORS = [MemoryError(), jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: injected")]


@pytest.mark.parametrize("error", ERRORS, ids=["host", "device"])
def test_without_memory_batches_are_smaller_or_there_are_none(error, monkeypatch):
    graph, sizes, least = planar(np.random.default_rng(0), 8, 8), [], [batched.CHUNK]
    original, x = batched._call, graph.negative.astype(float)

    def short(some, size, *rest):
        sizes.append(size)
        if size > least[0]:
            raise error
        return original(some, size, *rest)

    monkeypatch.setattr(batched, "_call", short)
    expected = engine_for(graph).separate(x, Clock(None))
    assert sizes[0] > sizes[1] == batched.CHUNK
    assert expected.fallbacks == 0
    least[0] = 0
    separation = engine_for(graph).separate(x, Clock(None))
    assert separation.fallbacks == separation.violated_roots == expected.violated_roots
    result = solve(graph, options=Options(engine="pdlp", presolve=False, heuristics=False))
    assert (result.status, result.objective) == ("optimal", pytest.approx(solve(graph).objective))


def test_an_error_of_another_kind_is_not_hidden(monkeypatch):
    def fail(*_):
        raise jax.errors.JaxRuntimeError("INTERNAL: injected")

    monkeypatch.setattr(batched, "_call", fail)
    graph = planar(np.random.default_rng(0), 5, 5)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        engine_for(graph).separate(graph.negative.astype(float), Clock(None))


def test_few_programs_for_any_instance_and_any_options():
    """Every compilation counts, helpers of JAX included."""
    rng, compiled = np.random.default_rng(7), []

    def count(event, *_, **__):
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(event)

    jax.clear_caches()
    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        for i, n in enumerate((12, 30, 50, 80, 120, 200, 300, 500, 800, 1200)):
            before = len(compiled)
            graph = random_graph(rng, n, 4 / n)
            options = Options.paper(
                TAU if i % 2 else None,
                engine="pdlp",
                rows="split" if i % 3 else "aggregated",
                cover="greedy",
                direction="inverse_weight" if i % 5 else "random",
                pdlp=PDLPOptions(activity="row" if i % 4 else "price", iterations=16 + 16 * i),
                max_rounds=4,
                rounding=(),
            )
            solve(graph, options=options, device="cpu")
            assert len(compiled) - before <= 8
    finally:
        jax.monitoring.unregister_event_duration_listener(count)
    assert 2 <= len(compiled) <= 12


def lanes_of_zeros(lanes):
    slots, extra = (lanes, WIDTH, ROWS), (lanes, ROWS - NODES)
    f = [np.zeros(slots, np.float32)] * 3 + [np.zeros((lanes, NODES), np.float32)] * 3
    problems = device_round.Problems(
        np.zeros(slots, np.int32), np.zeros(extra, np.int32), *f, np.zeros(lanes, np.float32)
    )
    return problems, np.int32(lanes), Settings(2, TAU, True, 2)


@pytest.mark.parametrize("chunk", [batched.CHUNK, 0], ids=["CPU", "GPU"])
def test_the_program_needs_no_transfers_and_little_memory_and_lowers_for_cuda(chunk):
    lanes = 2 * batched.CHUNK
    run, given = partial(batched.program, chunk=chunk), lanes_of_zeros(lanes)
    program = batched.program.lower(*given, chunk=chunk).compile()
    with jax.transfer_guard("disallow"):
        jax.block_until_ready(program(*jax.device_put(given)))
    analysis = program.memory_analysis()
    allocated = analysis.temp_size_in_bytes + analysis.argument_size_in_bytes
    assert allocated + analysis.output_size_in_bytes <= lanes * LANE_BYTES
    if chunk == 0:
        text = jax.export.export(jax.jit(run), platforms=["cuda"])(*given).mlir_module()
        assert "callback" not in text
        assert "f64" not in text


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
