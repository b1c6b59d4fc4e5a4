"""Solves in threads: the same to the last bit with any number of them, and exact."""

import os
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from alarms import time_is_up_in_round
from certificates import written
from checks import BARE, WHOLE, check_bounds, check_optimal, count_calls, slack_of
from determinism import facts
from families import joined, planar, wheel, wheels_in_a_mesh
from oracles import brute_force, random_graph

from bdcc_jax import Graph, Options, solve, solve_batch
from bdcc_jax.base import worker_processes, workers
from bdcc_jax.base.clock import Clock
from bdcc_jax.lp.dual_ascent import cycles
from bdcc_jax.lp.master import Master, MasterFailed
from bdcc_jax.lp.rows import Rows
from bdcc_jax.presolve import driver
from bdcc_jax.search import blocks, small
from bdcc_jax.search.blocks import solve_blocks
from bdcc_jax.verify import verify

THREADS = [1, 2, 3]


@contextmanager
def everything_divided(monkeypatch):
    """Small instances take the way of large ones: renumbered, in blocks, every part in a thread."""
    with monkeypatch.context() as patch:
        patch.setattr(driver, "MANY", 2)
        patch.setattr(driver, "CLOSE", 2)
        patch.setattr(blocks, "BLOCK_EDGES", 10)
        patch.setattr(blocks, "LEAST_EDGES", 50)
        patch.setattr(blocks, "MOST_CROSSING", 1.0)
        patch.setattr(small, "LEAST_EDGES", 0)
        patch.setattr(cycles, "REGION", 20)
        yield


def families():
    rng = np.random.default_rng(11)
    yield "planar", planar(rng, 10, 10), Options()
    yield "planar after dual ascent", planar(rng, 10, 11), Options(dual_ascent=True)
    yield "ties", planar(rng, 10, 10, "ties"), Options(presolve=False, odd_wheels=False)
    yield "wheels", wheels_in_a_mesh(rng, 6, 7, "normal"), Options(odd_wheels=False)
    yield "sparse", random_graph(rng, 60, 0.08), BARE
    yield "dense", random_graph(rng, 18, 0.9), Options()
    parts = [wheels_in_a_mesh(rng, 3, 4, "normal") for _ in range(6)]
    yield "pieces", joined(parts), Options(presolve=False, odd_wheels=False)


CASES = {name: (graph, options) for name, graph, options in families()}


def without_search(result):
    """All but what a search beside the LP was seen to find: that depends on the machine."""
    status, labels, lower, rounds = facts(result)
    kept = [record for record in rounds if record["phase"] != "search"]
    return status, labels, lower, [{**record, "number": 0} for record in kept]


@pytest.mark.parametrize("name", CASES)
def test_the_same_with_any_number_of_threads(name, monkeypatch):
    graph, options = CASES[name]
    found = []
    for threads in THREADS:
        with everything_divided(monkeypatch):
            result = solve(graph, options=replace(options, threads=threads))
        found.append(without_search(result))
    assert found[1] == found[0]
    assert found[2] == found[0]
    reference = solve(graph, options=WHOLE)
    check_bounds(graph, result, reference.objective)
    assert result.status == "optimal"
    assert abs(result.objective - reference.objective) <= slack_of(graph)
    assert not verify(graph, written(result)).claims


# With many pieces, and regions, that leave a gap.
APART = joined(
    [wheels_in_a_mesh(np.random.default_rng(seed), 3, 4, "normal") for seed in range(30)]
)
PROCESSES = {
    "pieces": (APART, Options(presolve=False, odd_wheels=False)),
    "without heuristics": (APART, Options(presolve=False, odd_wheels=False, heuristics=False)),
    "planar": (planar(np.random.default_rng(3), 55, 55), Options(odd_wheels=False)),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_the_same_with_any_number_of_processes(name, monkeypatch):
    graph, options = PROCESSES[name]
    seen = []
    real = worker_processes.map

    def seen_map(function, tasks, *rest):
        seen.append((worker_processes.are_open(), len(tasks)))
        return real(function, tasks, *rest)

    monkeypatch.setattr(worker_processes, "map", seen_map)
    alone = solve(graph, options=replace(options, threads=1))
    assert not seen
    monkeypatch.setattr(sys.modules["bdcc_jax.attempt"], "LARGE", 0)
    for threads in (2, 3):
        together = solve(graph, options=replace(options, threads=threads))
        assert without_search(together) == without_search(alone)
    assert alone.status == "optimal"
    assert max(seen)[0]
    assert not verify(graph, written(together)).claims


def test_brute_force_in_threads(monkeypatch):
    rng = np.random.default_rng(5)
    with everything_divided(monkeypatch):
        for seed in range(24):
            kind = ("normal", "ties")[seed % 2]
            graph = random_graph(rng, int(rng.integers(5, 10)), rng.uniform(0.3, 1.0), kind)
            presolve = bool(seed % 3)
            options = Options(threads=3, presolve=presolve, dual_ascent=seed % 4 == 0)
            result = solve(graph, options=options)
            check_optimal(graph, result, brute_force(graph))


# Blocks


def converged(graph, block, rows):
    return solve_blocks(graph, block, rows, 64, Clock(None))


def test_the_lp_of_blocks_is_a_bound_and_a_start(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_EDGES", 60)
    monkeypatch.setattr(blocks, "LEAST_EDGES", 300)
    monkeypatch.setattr(blocks, "FEW", 0.0)
    graph = planar(np.random.default_rng(3), 12, 12)
    block = blocks.blocks(graph)
    assert 4 <= block.max() + 1 <= 16
    assert graph.cut(block).mean() < 0.3
    with workers.open_threads(2):
        bound, state = converged(graph, block, Rows.empty())
    best = solve(graph).objective
    assert graph.negative_sum < bound.value <= best + 1e-9
    inside = Graph(graph.n, graph.edges[~graph.cut(block)], graph.weights[~graph.cut(block)])
    outside = np.minimum(graph.weights[graph.cut(block)], 0.0).sum()
    # What the master starts from is optimal without the rows that cross.
    master = Master(graph.weights)
    state.start(master)
    x = master.solve(Clock(None))
    assert master.proven_bound == pytest.approx(bound.value)
    assert graph.weights @ x == pytest.approx(bound.value)
    assert bound.value <= solve(inside).objective + outside + 1e-9


def test_rows_that_cross_are_kept(monkeypatch):
    graph = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [3.0, 2.0, 3.0, -1.0])
    crossing = Rows.from_cycles([np.array([1, 0, 2, 3])])  # the edges are sorted: 03 is second
    _, state = converged(graph, np.array([0, 0, 1, 1]), crossing)
    assert state.rows.indices.tolist() == [1, 0, 2, 3]
    master = Master(graph.weights)
    state.start(master)
    master.solve(Clock(None))
    assert master.proven_bound == pytest.approx(0.0)


def test_small_and_badly_cut_instances_have_no_blocks(monkeypatch):
    dense = random_graph(np.random.default_rng(0), 30, 1.0)
    assert blocks.blocks(dense) is None
    monkeypatch.setattr(blocks, "BLOCK_EDGES", 50)
    monkeypatch.setattr(blocks, "LEAST_EDGES", 50)
    assert blocks.blocks(dense) is None  # nearly all edges cross


def test_highs_may_fail_in_a_block(monkeypatch):
    run = Master.solve

    def fails(self, clock):
        if len(self.columns) < 100:
            raise MasterFailed("made up")
        return run(self, clock)

    graph = planar(np.random.default_rng(8), 11, 11)
    best = solve(graph).objective
    with everything_divided(monkeypatch):
        monkeypatch.setattr(Master, "solve", fails)
        _, state = converged(graph, blocks.blocks(graph), Rows.empty())
    assert len(state.rows) == 0
    monkeypatch.setattr(Master, "solve", run)
    check_optimal(graph, solve(graph), best)


# Small instances


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("limit", ["MOST_WORK", "MOST_EDGES"])
def test_what_is_not_small_is_solved_in_view(limit, threads, monkeypatch):
    graph = joined([wheels_in_a_mesh(np.random.default_rng(k), 3, 4, "normal") for k in range(4)])
    best = solve(graph, options=WHOLE).objective
    monkeypatch.setattr(small, "LEAST_EDGES", 0)
    monkeypatch.setattr(small, limit, 0)
    if limit == "MOST_EDGES":
        monkeypatch.setattr("bdcc_jax.search.after_lp.MOST_EDGES", 0)
    calls = count_calls(monkeypatch, "solve_instead")
    options = Options(threads=threads, presolve=False, odd_wheels=False)
    check_optimal(graph, solve(graph, options=options), best)
    assert calls["solve_instead"] > 0


@pytest.mark.parametrize("threads", THREADS)
def test_max_rounds_counts_rounds_of_small_instances(threads, monkeypatch):
    monkeypatch.setattr(small, "LEAST_EDGES", 0)
    graph = joined([wheels_in_a_mesh(np.random.default_rng(k), 4, 4, "normal") for k in range(4)])
    best = solve(graph).objective
    statuses = []
    for most in (1, 3, 6, 12, 80):
        result = solve(graph, options=replace(BARE, threads=threads, max_rounds=most))
        check_bounds(graph, result, best)
        statuses.append(str(result.status))
    assert statuses[0] == "max_rounds"
    assert set(statuses) <= {"max_rounds", "optimal"}
    assert statuses == sorted(statuses)  # and from some number on it is optimal


# Ctrl-C, deadlines, callbacks


def interrupted_in(monkeypatch, module, name):
    """Let Ctrl-C come while a task runs, which goes on until it is told."""
    original = getattr(module, name)

    def interrupt(*arguments):
        *_, clock = arguments
        if not told:
            told.append(signal.raise_signal(signal.SIGINT))
        if workers.threads() == 1 and len(told) == 1:
            give_up = time.monotonic() + 60
            while time.monotonic() < give_up:
                clock.check()
                time.sleep(0.001)
        return original(*arguments)

    told = []
    monkeypatch.setattr(module, name, interrupt)
    return told


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(("module", "name"), [(blocks, "_solve"), (small, "_solve")])
def test_ctrl_c_ends_tasks_and_returns_the_best(module, name, monkeypatch):
    graph = joined([wheels_in_a_mesh(np.random.default_rng(k), 5, 5, "normal") for k in range(4)])
    best = solve(graph).objective
    with everything_divided(monkeypatch):
        told = interrupted_in(monkeypatch, module, name)
        options = Options(threads=2, presolve=False, odd_wheels=False, heuristics=False)
        result = solve(graph, options=options)
    assert told
    assert result.status == "interrupted"
    check_bounds(graph, result, best)


@pytest.mark.parametrize("threads", THREADS)
def test_a_deadline_in_any_round(threads, monkeypatch):
    graph = joined([wheels_in_a_mesh(np.random.default_rng(k), 4, 5, "normal") for k in range(3)])
    best = solve(graph).objective
    options = Options(threads=threads, presolve=False, odd_wheels=False)
    for number in (1, 4, 8):
        with everything_divided(monkeypatch), monkeypatch.context() as patch:
            result = solve(
                graph,
                time_limit=1e6,
                options=options,
                callback=time_is_up_in_round(patch, number),
            )
        assert result.status in ("time_limit", "optimal")
        check_bounds(graph, result, best)


@pytest.mark.parametrize("threads", THREADS)
def test_an_error_of_a_task_is_raised(threads, monkeypatch):
    def broken(job, instance, clock):
        raise ZeroDivisionError(str(instance.number))

    graph = joined([wheel(9, 1.1), wheel(11, 0.9), wheel(13, 1.1)])
    monkeypatch.setattr(small, "LEAST_EDGES", 0)
    monkeypatch.setattr(small, "_solve", broken)
    with pytest.raises(ZeroDivisionError):
        solve(graph, options=replace(BARE, threads=threads))


def test_a_checkpoint_goes_on_with_another_number_of_threads(tmp_path):
    graph, path = planar(np.random.default_rng(2), 9, 9), tmp_path / "run.npz"
    options = replace(BARE, max_rounds=1)
    solve(graph, options=replace(options, threads=3), checkpoint=path)
    again = solve(graph, options=replace(options, threads=1), checkpoint=path)
    assert again.status == "max_rounds"


def test_batches_share_the_threads(monkeypatch):
    seen = []
    open_threads = workers.open_threads

    def noted(number):
        seen.append(number)
        return open_threads(number)

    monkeypatch.setattr(sys.modules["bdcc_jax.attempt"], "open_threads", noted)
    graphs = [random_graph(np.random.default_rng(k), 8, 0.8) for k in range(4)]
    results = solve_batch(graphs, workers=2, options=Options(threads=6))
    assert seen == [3] * 4
    assert [result.objective for result in results] == [solve(graph).objective for graph in graphs]
    assert results[0].options.threads == 6
