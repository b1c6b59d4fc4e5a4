"""Subproblems of several solves in one call: nobody notices, and nobody waits for the others."""

from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from batches import graphs, same
from flow_lps import join, planar

from bdcc_jax import Options, solve, solve_batch
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.search import pool as pool_module
from bdcc_jax.search.pool import Pool
from bdcc_jax.separation.device import devices
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.device.flow_problems import FlowProblems
from bdcc_jax.separation.device.flows import DEFAULT_OPTIONS, solve_flows

CPU = jax.devices("cpu")[0]


def test_lps_of_several_instances_share_a_call_and_change_nothing(monkeypatch):
    instances = graphs(5, n=13, seed=3)
    options = Options(engine="pdlp", presolve=False, heuristics=False, rounding=())
    alone = [solve(graph, options=options) for graph in instances]
    calls, joined = [], FlowProblems.concatenate

    def spy(parts):
        calls.append(len(parts))
        return joined(parts)

    monkeypatch.setattr(FlowProblems, "concatenate", staticmethod(spy))
    monkeypatch.setattr(pool_module, "PATIENCE", 5.0)
    for one, other in zip(alone, solve_batch(instances, options=options), strict=True):
        same(one, other)
    assert max(calls) > 1


def test_one_solve_that_runs_out_of_time_leaves_the_others_in_a_call(monkeypatch):
    problems = join([planar(np.random.default_rng(5), 9)])
    pool = Pool(Devices((CPU,)), 2)
    monkeypatch.setattr(pool_module, "PATIENCE", 60.0)

    def one(limit):
        with pool.member(0) as share:
            return share.solve_flows(problems, DEFAULT_OPTIONS, Clock(limit).check)

    with ThreadPoolExecutor(2) as threads:
        late, patient = threads.submit(one, 0.0), threads.submit(one, None)
        assert patient.result().converged.all()
        with pytest.raises(TimeLimitReached):
            late.result()


def test_a_call_that_fails_is_done_again_by_everyone_alone(monkeypatch):
    problems = join([planar(np.random.default_rng(6), 9)])
    given = []

    def short_of_memory(joined, *arguments, **keywords):
        given.append(len(joined))
        if len(given) == 1:
            raise RuntimeError("RESOURCE_EXHAUSTED")
        return solve_flows(joined, *arguments, **keywords)

    monkeypatch.setattr(devices, "solve_flows", short_of_memory)
    with Pool(Devices((CPU,)), 1).member(0) as share:
        assert share.solve_flows(problems, DEFAULT_OPTIONS, lambda: None).converged.all()
    assert given == [1, 1]
