"""The batched engine: valid rows from any flow, the same optima, few kernels."""

import jax
import numpy as np
import pytest
from oracles import all_cuts, brute_force, instance, random_graph

from bdcc_jax import Graph, Options, PDLPOptions, solve
from bdcc_jax.base import compilation_cache
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.separation.device import batched, devices, pdlp
from bdcc_jax.separation.device.batched import Batch, BatchedSolver
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.device.flows import DEFAULT_OPTIONS, solve_flows, solve_reduced
from bdcc_jax.separation.paper.dijkstra import DijkstraFinder
from bdcc_jax.separation.paper.magnanti_wong import MagnantiWong
from bdcc_jax.separation.paper.paths import Flow, aggregated_row, cycle_rows, decompose
from bdcc_jax.separation.paper.reference import ReferenceSolver

CPU = jax.devices("cpu")[0]


@pytest.fixture(scope="module", autouse=True)
def kernels(tmp_path_factory):
    """Kernels compiled by one test serve the others."""
    compilation_cache.enable()


def fractional(rng, graph):
    return np.where(graph.negative, rng.random(graph.m) ** 0.3, rng.random(graph.m) ** 4 / 2)


def batch_at(graph, x, share, monkeypatch):
    monkeypatch.setattr(batched, "shares_a_graph", lambda sizes, union: share)
    cover = vertex_cover(graph, "greedy")
    balls = DijkstraFinder(graph, cover, None).find(x, Clock(None))
    return balls, Batch(graph, balls, x)


def solve_batch(batch, problems, share, options=DEFAULT_OPTIONS):
    """Solve on one graph or on own graphs, and see that this is what happens."""

    def solver(given):
        assert (given.roots is not None) == share
        return solve_flows(given, options)

    return batch.solve(problems, solver)


def value(ball, flow, x):
    return x[ball.target_edges] @ flow.targets - x[ball.edges] @ np.abs(flow.edges)


@pytest.mark.parametrize("share", [False, True], ids=["own graphs", "one graph"])
@pytest.mark.parametrize("integral", [True, False])
def test_batch_agrees_with_the_reference(share, integral, monkeypatch):
    rng = np.random.default_rng(0)
    graph = random_graph(rng, 30, 0.25)
    x = graph.negative.astype(float) if integral else fractional(rng, graph)
    balls, batch = batch_at(graph, x, share, monkeypatch)
    solution = solve_batch(batch, batch.problems, share)
    assert solution.converged.all()
    exact = ReferenceSolver(graph)
    for ball, flow, bound in zip(balls, batch.flows(solution), solution.bound, strict=True):
        optimum = exact.solve_base(ball, x, Clock(None))
        unit = np.abs(graph.weights[ball.target_edges]).max()
        best = value(ball, optimum, x) * unit
        assert value(ball, flow, x) == pytest.approx(best, rel=5e-3)
        assert -bound >= best * (1 - 1e-6)


@pytest.mark.parametrize("share", [False, True], ids=["own graphs", "one graph"])
@pytest.mark.parametrize("tau", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("activity", ["row", "price"])
def test_magnanti_wong_flows_are_active_and_cheap(share, tau, activity, monkeypatch):
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 30, 0.25)
    x = graph.negative.astype(float)
    balls, batch = batch_at(graph, x, share, monkeypatch)
    base = solve_batch(batch, batch.problems, share)
    penalties = [MagnantiWong(tau, "random", rng).penalty(graph, ball) for ball in balls]
    solution = solve_batch(batch, batch.magnanti_wong(tau, base, penalties, activity), share)
    pairs = zip(balls, batch.flows(base), batch.flows(solution), penalties, strict=True)
    checked = 0
    for ball, before, after, penalty in pairs:
        if after is None:
            continue
        checked += 1
        assert value(ball, after, x) >= tau * value(ball, before, x) - 5e-3 * value(ball, before, x)
        cost = [penalty @ np.concatenate([np.abs(f.edges), f.targets]) for f in (before, after)]
        assert cost[1] <= cost[0] * 1.01
    assert checked >= (0.8 if activity == "row" else 0.99) * len(balls)


@pytest.mark.parametrize("iterations", [1, 16, 1000], ids=["one step", "half way", "converged"])
@pytest.mark.parametrize("single", [0, 1000], ids=["float64", "float32"])
@pytest.mark.parametrize("solve", [solve_flows, solve_reduced], ids=["as they are", "reduced"])
def test_rows_are_valid_however_far_the_solver_got(iterations, single, solve):
    """Exactly, for all partitions; aggregated and split."""
    rng = np.random.default_rng(2)
    checked = 0
    for n in (6, 8, 8):
        graph = random_graph(rng, n, 0.9)
        x = fractional(rng, graph)
        balls = DijkstraFinder(graph, vertex_cover(graph, "greedy"), None).find(x, Clock(None))
        if not balls:
            continue
        batch, cuts = Batch(graph, balls, x), all_cuts(graph)
        options = PDLPOptions(iteration_limit=iterations, single_iterations=single)
        solution = solve(batch.problems, options)
        solution.converged[:] = True  # so that every flow is looked at
        for ball, flow in zip(balls, batch.flows(solution), strict=True):
            paths = decompose(ball, flow)
            for rows in (aggregated_row(ball, paths), cycle_rows(ball, paths, x)):
                dense = np.zeros((len(rows), graph.m))
                dense[rows.row_of_entry(), rows.indices] = rows.values
                assert (dense @ cuts.T <= 0).all()
                checked += len(rows)
    assert checked > 5


@pytest.mark.parametrize(
    "options",
    [Options(engine="pdlp"), Options.paper(engine="pdlp"), Options(engine="pdlp", ball_size=3)],
    ids=["split", "paper", "tiny balls"],
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


def test_what_does_not_converge_goes_to_the_exact_solver_and_is_counted(monkeypatch):
    given = []

    def never(problems, *arguments, **keywords):
        given.append(len(problems))
        solution = solve_flows(problems, *arguments, **keywords)
        solution.converged[:] = False
        return solution

    monkeypatch.setattr(devices, "solve_flows", never)
    graph = random_graph(np.random.default_rng(4), 25, 0.4)
    optimum = solve(graph).objective
    for tau in (None, 0.5):
        given.clear()
        result = solve(graph, options=Options(engine="pdlp", tau=tau))
        assert result.status == "optimal"
        assert result.objective == pytest.approx(optimum)
        assert sum(record.fallbacks for record in result.history) == sum(given) > 0


def test_fallback_flows_are_those_of_the_reference():
    graph = random_graph(np.random.default_rng(5), 20, 0.4)
    x = graph.negative.astype(float)
    balls = DijkstraFinder(graph, vertex_cover(graph, "greedy"), None).find(x, Clock(None))
    solver = BatchedSolver(
        graph, None, PDLPOptions(tolerance=1e-9, iteration_limit=1), Devices((CPU,))
    )
    exact, fallbacks = ReferenceSolver(graph), 0
    for ball, flow in zip(balls, solver.solve(balls, x, Clock(None)), strict=True):
        if flow.fallback:
            fallbacks += 1
            assert flow.targets.tolist() == exact.solve_base(ball, x, Clock(None)).targets.tolist()
    assert fallbacks > 0


def test_the_deadline_is_honoured_within_a_batch():
    graph = random_graph(np.random.default_rng(5), 20, 0.4)
    x = graph.negative.astype(float)
    balls = DijkstraFinder(graph, vertex_cover(graph, "greedy"), None).find(x, Clock(None))
    with pytest.raises(TimeLimitReached):
        BatchedSolver(graph, None, PDLPOptions(), Devices((CPU,))).solve(balls, x, Clock(0.0))


def test_no_balls_no_work():
    graph = Graph.from_edges([0], [1], [1.0])
    assert (
        BatchedSolver(graph, None, PDLPOptions(), Devices((CPU,))).solve(
            [], np.zeros(1), Clock(None)
        )
        == []
    )


def test_engines():
    graph = random_graph(np.random.default_rng(6), 12, 0.6)
    assert solve(graph, options=Options(engine="reference"), device=CPU).device == str(CPU)
    assert solve(graph, options=Options(engine="pdlp"), device=CPU).device == str(CPU)
    with pytest.raises(ValueError, match="pdlp must be a PDLPOptions object, not 3"):
        Options(pdlp=3)
    with pytest.raises(ValueError, match="activity must be one of 'price', 'row', not 'wish'"):
        PDLPOptions(activity="wish")


def test_a_solve_compiles_a_bounded_number_of_kernels():
    """Ten instances of different size: the shapes come from a small set."""
    rng = np.random.default_rng(7)
    functions = (pdlp.advance, pdlp.prepare, pdlp.compact)
    for function in functions:
        function.clear_cache()
    for n in range(30, 50, 2):
        solve(random_graph(rng, n, 0.2), options=Options(engine="pdlp", max_rounds=4))
    assert pdlp.advance._cache_size() <= 16
    assert sum(function._cache_size() for function in functions) <= 34


def test_shared_kernels_lower_for_cuda(monkeypatch):
    rng = np.random.default_rng(8)
    graph = random_graph(rng, 24, 0.3)
    _, batch = batch_at(graph, graph.negative.astype(float), True, monkeypatch)
    from bdcc_jax.separation.device.flow_batch import layouts
    from bdcc_jax.separation.device.flows import _fill, _start

    with jax.enable_x64(True):
        shared = []
        batch.solve(batch.problems, lambda given: shared.append(given) or solve_flows(given))
        (group, *_) = layouts(shared[0], 2**20)
        arrays = jax.device_put(
            (_fill(group.padded, group.batch), *_start(group, None, group.batch))
        )
        problem, state = pdlp.prepare(*arrays, "float32", False)
        arguments = (problem, state, *jax.device_put((np.float64(1e-3), np.int32(100))))
        with jax.transfer_guard("disallow"):
            jax.block_until_ready(pdlp.advance(*arguments))
        exported = jax.export.export(pdlp.advance, platforms=["cuda"])(*arguments)
    assert "callback" not in exported.mlir_module()
    assert "scatter" not in exported.mlir_module()


def test_leftovers_follow_the_shortest_path():
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [2.0, 3.0, -1.0])
    x = graph.negative.astype(float)
    (ball,) = DijkstraFinder(graph, vertex_cover(graph, "greedy"), None).find(x, Clock(None))
    paths = decompose(ball, Flow(np.zeros(2), np.ones(1)))
    assert len(paths) == 1
    assert sorted(ball.edges[paths.edges]) == sorted(np.flatnonzero(graph.positive))


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


def test_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BDCC_JAX_CACHE", str(tmp_path / "kernels"))
    assert compilation_cache.cache_folder() == tmp_path / "kernels"
    monkeypatch.setenv("BDCC_JAX_CACHE", "")
    assert compilation_cache.cache_folder() is None
    monkeypatch.delenv("BDCC_JAX_CACHE")
    assert compilation_cache.cache_folder().name == "bdcc_jax"
