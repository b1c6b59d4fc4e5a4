"""Flow LPs on devices: the same answers in any company and on any number, and their memory."""

import jax
import numpy as np
import pytest
from batches import python
from flow_lps import join, planar
from oracles import random_graph

from bdcc_jax.separation.device import bellman_ford, device_finder, pdlp
from bdcc_jax.separation.device.devices import Devices, resolve_all
from bdcc_jax.separation.device.flow_batch import layouts, problem_bytes
from bdcc_jax.separation.device.flow_problems import FlowProblems
from bdcc_jax.separation.device.flows import _fill, _start, solve_flows
from bdcc_jax.separation.device.kernels import Kernels

CPU = jax.devices("cpu")[0]


def test_an_lp_has_one_answer_in_any_company():
    rng = np.random.default_rng(3)
    parts = [planar(rng, 20) for _ in range(40)]
    together = solve_flows(join(parts))
    alone = solve_flows(join(parts[7:8]))
    edges = join(parts).edges
    assert np.array_equal(alone.flow, together.flow[edges[7] : edges[8]])
    assert alone.iterations[0] == together.iterations[7]


def test_joining_and_splitting_are_inverse():
    rng = np.random.default_rng(4)
    parts = [join([planar(rng, 9), planar(rng, 12)]), join([planar(rng, 7)])]
    whole = FlowProblems.concatenate(parts)
    solution = solve_flows(whole)
    first, second = solution.split(parts)
    assert len(first.converged) == 2
    assert len(second.flow) == len(parts[1].cost)
    assert np.array_equal(np.concatenate([first.supply, second.supply]), solution.supply)


def most_alive(problems, memory, monkeypatch):
    """Solve, and return the most bytes that were alive on the device before any call."""
    before, advance, alive = sum(a.nbytes for a in jax.live_arrays()), Kernels.advance, []

    def spy(*arguments):
        alive.append(sum(a.nbytes for a in jax.live_arrays()) - before)
        return advance(*arguments)

    monkeypatch.setattr(Kernels, "advance", spy)
    assert solve_flows(problems, memory=memory).converged.all()
    return max(alive)


def test_memory_of_a_round_of_many_roots_stays_within_the_budget(monkeypatch):
    rng = np.random.default_rng(7)
    problems = join([planar(rng, 6) for _ in range(16)] * 60)
    budget = 8 * 32 * problem_bytes(4, 8, 2)
    assert len(problems) * problem_bytes(4, 8, 2) > 3 * budget
    assert budget / 20 < most_alive(problems, budget, monkeypatch) <= budget


def test_estimates_of_memory_hold():
    """What XLA allocates for the kernels is no more than what is reckoned with."""
    problems = join([planar(np.random.default_rng(8), 6) for _ in range(8)])
    group = next(layouts(problems, 2**19))

    def allocated(compiled):
        analysis = compiled.memory_analysis()
        return (
            analysis.temp_size_in_bytes
            + analysis.argument_size_in_bytes
            + analysis.output_size_in_bytes
        )

    with jax.enable_x64(True):
        placed = (_fill(group.padded, group.batch), *_start(group, None, group.batch))
        kernel = pdlp.prepare.lower(*placed, "float64", False).compile()
        assert allocated(kernel) <= group.bytes
        graph = random_graph(np.random.default_rng(9), 200, 0.05)
        arcs = bellman_ford.arc_groups(graph)
        lengths, roots = np.zeros(graph.m + 1), np.zeros(128, np.int32)
        near = bellman_ford.start_at(arcs, roots, np.inf)
        sweeps = bellman_ford.come_nearer.lower(arcs, lengths, np.zeros(128), near, np.int32(9))
        kernel = sweeps.compile()
        assert allocated(kernel) <= 128 * device_finder.BYTES_PER_ENTRY * arcs.n_nodes


def test_devices_by_name():
    assert resolve_all("all") == tuple(jax.devices("cpu"))
    assert resolve_all([CPU]) == (CPU,)
    assert Devices((CPU,)).budget > 2**20
    assert Devices((CPU,), 2**20).budget == 2**20


def test_several_devices_give_the_results_of_one():
    code = """
import jax, numpy as np
import bdcc_jax
from flow_lps import join, planar
from bdcc_jax.separation.device.flows import solve_flows

bdcc_jax.base.compilation_cache.enable()
rng = np.random.default_rng(0)
problems = join([planar(rng, 7) for _ in range(40)])
one = solve_flows(problems)
for count in (2, 4):
    several = solve_flows(problems, devices=tuple(jax.devices("cpu")[:count]))
    for field in ("flow", "supply", "objective", "iterations", "converged"):
        assert np.array_equal(getattr(one, field), getattr(several, field)), (count, field)
print("same", len(jax.devices("cpu")))
"""
    process = python(code, flags="--xla_force_host_platform_device_count=4")
    assert process.communicate()[0].split() == ["same", "4"]


@pytest.mark.slow
def test_memory_of_a_hundred_thousand_roots(monkeypatch):
    rng = np.random.default_rng(7)
    problems = join([planar(rng, 6) for _ in range(1000)] * 100)
    assert most_alive(problems, 2**24, monkeypatch) <= 2**24
