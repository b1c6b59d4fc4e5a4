"""Subproblems of several solves in one batch: nobody notices, and nobody waits for the others."""

from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from batches import graphs, lanes, same

from bdcc_jax import Options, solve, solve_batch
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.separation.device import devices, pool
from bdcc_jax.separation.device.batched import Settings
from bdcc_jax.separation.device.batched import solve_batch as solve_lanes
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.device.pool import Pool

CPU = jax.devices("cpu")[0]
SETTINGS = Settings(2, 0.5, True, 2)


def test_lps_of_several_instances_share_a_batch_and_change_nothing(monkeypatch):
    instances = graphs(5, n=13, seed=3)
    options = Options(engine="pdlp", presolve=False, heuristics=False, rounding=())
    alone = [solve(graph, options=options) for graph in instances]
    joined, run = [], Pool._run

    def spy(self, requests):
        joined.append(len(requests))
        run(self, requests)

    monkeypatch.setattr(Pool, "_run", spy)
    monkeypatch.setattr(pool, "PATIENCE", 5.0)
    for one, other in zip(alone, solve_batch(instances, options=options), strict=True):
        same(one, other)
    assert max(joined) > 1


def test_one_solve_that_runs_out_of_time_leaves_the_others_in_a_batch(monkeypatch):
    problems, shared = lanes(monkeypatch), Pool(Devices((CPU,)), 2)
    expected = solve_lanes(problems, SETTINGS, (CPU,), 2**30)
    monkeypatch.setattr(pool, "PATIENCE", 60.0)

    def one(limit):
        with shared.member(0) as share:
            return share.solve_balls(problems, SETTINGS, Clock(limit).check)

    with ThreadPoolExecutor(2) as threads:
        late, patient = threads.submit(one, 0.0), threads.submit(one, None)
        assert np.array_equal(patient.result().amount, expected.amount)
        with pytest.raises(TimeLimitReached):
            late.result()


def test_a_batch_that_fails_is_done_again_by_everyone_alone(monkeypatch):
    problems, given = lanes(monkeypatch), []

    def fails_once(joined, *rest):
        given.append(len(joined.supply))
        if len(given) == 1:
            raise RuntimeError("injected")
        return solve_lanes(joined, *rest)

    monkeypatch.setattr(devices, "solve_batch", fails_once)
    with Pool(Devices((CPU,)), 1).member(0) as share:
        assert share.solve_balls(problems, SETTINGS, lambda: None).amount.any()
    assert given == [len(problems.supply)] * 2
