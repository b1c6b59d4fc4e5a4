"""The history says what ran on a device."""

import numpy as np
import pytest
from families import planar

from bdcc_jax import Options, solve
from bdcc_jax.base.clock import Clock


@pytest.fixture(scope="module")
def graph():
    return planar(np.random.default_rng(1), 8, 8)


def test_nothing_runs_on_a_device_with_the_engine_of_the_host(graph):
    result = solve(graph, options=Options(engine="packing", dual_ascent=False), device="cpu")
    assert result.history
    assert result.summary().splitlines()[-1].split() == ["by", "JAX", "nothing"]
    assert {(round.device_calls, round.device_seconds) for round in result.history} == {(0, 0.0)}


@pytest.mark.parametrize(
    "options",
    [
        Options.paper(engine="pdlp"),
        Options(engine="packing", dual_ascent=True, presolve=False),
    ],
    ids=["pdlp", "dual ascent"],
)
def test_what_runs_on_a_device_is_counted(graph, options):
    result = solve(graph, options=options, device="cpu")
    for record in result.to_dict()["history"]:
        parts = ("master", "detection", "subproblem", "rounding")
        assert (record["device_calls"] > 0) == (record["device_seconds"] > 0.0)
        assert record["device_seconds"] <= sum(record[f"{part}_seconds"] for part in parts)
    calls = sum(record.device_calls for record in result.history)
    assert calls > 0
    assert result.summary().endswith(f"s in {calls} calls")


def test_a_clock_counts_for_those_around_it():
    solve, other = (Clock(None) for _ in range(2))
    for clock in (solve.within(work=1.0), solve):
        with clock.device_call():
            pass
    assert (solve.device_calls, other.device_calls) == (2, 0)
    assert solve.device_seconds > 0.0
