"""Batches on devices: the same answers on any number of them, and their memory."""

import jax
import numpy as np
from batches import lanes, python

from bdcc_jax.separation.device import batched
from bdcc_jax.separation.device.batched import LANE_BYTES, Settings
from bdcc_jax.separation.device.batched import solve_batch as solve_lanes
from bdcc_jax.separation.device.devices import Devices, resolve_all

CPU = jax.devices("cpu")[0]
SETTINGS = Settings(2, 0.5, True, 2)


def test_memory_of_a_round_of_many_roots_stays_within_the_budget(monkeypatch):
    few, most, call = lanes(monkeypatch), [], batched._call
    many = type(few)(*(np.concatenate([array] * 20) for array in few))
    budget = 8 * LANE_BYTES
    assert len(many.supply) > 100

    def spy(some, size, *rest):
        most.append(sum(array.nbytes for array in jax.live_arrays()) + size * LANE_BYTES)
        return call(some, size, *rest)

    monkeypatch.setattr(batched, "_call", spy)
    before = sum(array.nbytes for array in jax.live_arrays())
    chains = solve_lanes(many, SETTINGS, (CPU,), budget)
    assert max(most) - before <= budget
    assert np.array_equal(chains.slot[:, : len(few.supply)], chains.slot[:, -len(few.supply) :])


def test_devices_by_name():
    assert resolve_all("all") == tuple(jax.devices("cpu"))
    assert resolve_all([CPU]) == (CPU,)
    assert Devices((CPU,)).budget > 2**20
    assert Devices((CPU,), 2**20).budget == 2**20


def test_several_devices_give_the_results_of_one():
    code = """
import jax, numpy as np
import bdcc_jax
from bdcc_jax import Options, solve
from families import planar

graph = planar(np.random.default_rng(0), 9, 9)
for options in (Options.paper(engine="pdlp"), Options(engine="pdlp", presolve=False)):
    one, two = (solve(graph, options=options, device=device) for device in ("cpu", "all"))
    assert two.device.count(",") == len(jax.devices("cpu")) - 1
    assert one.labels.tolist() == two.labels.tolist()
    rows = [[(r.rows, r.violated_roots, r.lower_bound) for r in x.history] for x in (one, two)]
    assert rows[0] == rows[1]
print("same", len(jax.devices("cpu")))
"""
    process = python(code, flags="--xla_force_host_platform_device_count=2")
    assert process.communicate()[0].split() == ["same", "2"]
