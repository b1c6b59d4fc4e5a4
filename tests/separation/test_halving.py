"""Out of memory, on a device or on the host: half as much at a time, down to the host alone."""

import flow_lps
import jax
import numpy as np
import pytest
from families import planar

from bdcc_jax import Options, solve
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.separation.device import device_finder, device_packing, flows
from bdcc_jax.separation.device.flows import solve_flows
from bdcc_jax.separation.device.halving import some

ERRORS = [
    jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes."),
    MemoryError("injected"),
]


def random_problems(rng, count):
    return flow_lps.join([flow_lps.planar(rng, 12 + k) for k in range(count)])


def limit(monkeypatch, module, name, size, most, error):
    """Let a function run out of memory where the size of its arguments exceeds ``most``."""
    real = getattr(module, name)
    sizes = []

    def limited(*arguments, **settings):
        sizes.append(size(*arguments))
        if sizes[-1] > most:
            raise error
        return real(*arguments, **settings)

    monkeypatch.setattr(module, name, limited)
    return sizes


@pytest.mark.parametrize("error", ERRORS, ids=["device", "host"])
def test_flow_problems_in_halves(monkeypatch, error):
    problems = random_problems(np.random.default_rng(0), 6)
    whole = solve_flows(problems)
    sizes = limit(monkeypatch, flows, "layouts", lambda p, *_: len(p), 3, error)
    halves = solve_flows(problems)
    assert sizes == [6, 3, 3]
    assert halves.converged.all()
    assert halves.objective == pytest.approx(whole.objective, rel=2e-3, abs=1e-6)
    assert len(halves.flow) == len(whole.flow)


def test_some_problems_are_those_problems():
    problems = random_problems(np.random.default_rng(1), 5)
    parts = [some(problems, 0, 2), some(problems, 2, 5)]
    for name in ("tail", "head", "cost", "capacity", "reward", "supply"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert (joined == getattr(problems, name)).all()
    assert [len(part) for part in parts] == [2, 3]


def test_an_error_of_another_kind_is_not_hidden(monkeypatch):
    error = jax.errors.JaxRuntimeError("INTERNAL: injected")
    limit(monkeypatch, flows, "layouts", lambda p, *_: len(p), 0, error)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        solve_flows(random_problems(np.random.default_rng(0), 2))


def test_roots_in_halves(monkeypatch):
    graph = planar(np.random.default_rng(0), 8, 8)
    cover = vertex_cover(graph, "greedy")
    finder = device_finder.DeviceFinder(graph, cover, None, jax.devices("cpu")[0])
    x = graph.negative.astype(float)
    whole = finder.find(x, Clock(None))
    sizes = limit(
        monkeypatch, device_finder, "distances", lambda a, y, roots, *_: len(roots), 8, ERRORS[0]
    )
    for ball, expected in zip(finder.find(x, Clock(None)), whole, strict=True):
        assert (ball.nodes == expected.nodes).all()
    assert max(sizes) > 8 == sizes[-1]


def test_a_solve_with_pdlp_goes_on_without_any_memory(monkeypatch):
    graph = planar(np.random.default_rng(0), 8, 8)
    options = Options(engine="pdlp", presolve=False, heuristics=False)
    expected = solve(graph).objective
    limit(monkeypatch, device_finder, "distances", lambda *_: 1, 0, ERRORS[0])
    limit(monkeypatch, flows, "layouts", lambda *_: 1, 0, ERRORS[1])
    result = solve(graph, options=options)
    assert (result.status, result.objective) == ("optimal", pytest.approx(expected))
    assert sum(record.fallbacks for record in result.history) > 0


def test_a_solve_with_device_packing_goes_on_without_any_memory(monkeypatch):
    monkeypatch.setattr(device_packing, "FEW", 1)
    graph = planar(np.random.default_rng(0), 10, 10)
    expected = solve(graph).objective
    columns = []

    def fail(engine, *_):
        columns.append(engine._most_columns)
        raise ERRORS[0]

    monkeypatch.setattr(device_packing.DevicePackingEngine, "pack", fail)
    result = solve(graph, options=Options(engine="device_packing", presolve=False))
    assert (result.status, result.objective) == ("optimal", pytest.approx(expected))
    assert columns[0] > columns[1] > columns[-1] == device_packing.COLUMNS
