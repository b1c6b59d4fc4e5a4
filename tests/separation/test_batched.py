"""LPs of balls in batches: near the optimum, the same in any company, in few programs."""

from functools import partial

import jax
import numpy as np
import pytest
from device_rounds import CPU, batch_of, edges_of, engine_for, fractional
from families import planar
from oracles import random_graph
from scipy.optimize import linprog

from bdcc_jax import Options, PDLPOptions, solve
from bdcc_jax.base import compilation_cache
from bdcc_jax.base.clock import Clock
from bdcc_jax.separation.device import batched
from bdcc_jax.separation.device.balls import NODES, ROWS, WIDTH
from bdcc_jax.separation.device.batched import LANE_BYTES, Settings, solve_batch
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.device.flow_lps import Problems
from bdcc_jax.separation.device.paths_of_flow import UNITS, Chains

TAU = 0.5


@pytest.fixture(scope="module", autouse=True)
def programs():
    """Programs compiled by one test serve the others."""
    compilation_cache.enable()


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
    problems = Problems(
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
