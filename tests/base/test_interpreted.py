"""Loops that run as Python until others have compiled them."""

import importlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bdcc_jax.base import interpreted
from bdcc_jax.base.clock import Clock
from bdcc_jax.base.interpreted import interpreted_while
from bdcc_jax.base.interrupts import interruptible
from bdcc_jax.base.working_time import working_time

MODULE = """
from typing import NamedTuple

import numpy as np
from bdcc_jax.base.compiled import compiled, inlined


class Both(NamedTuple):
    total: int
    is_odd: bool


@compiled
def hashed(x):
    return np.uint64(x) * np.uint64(0x9E3779B97F4A7C15)


@inlined
def last(a):
    return hashed(a[-1])


@compiled
def added(a, start=0):
    items = [0 for _ in range(0)]
    total = start
    for i in range(len(a)):
        total += a[i]
        items.append(a[i])
    return Both(total, total % 2 == 1), last(a), np.array(items, dtype=np.int64)
"""


@pytest.fixture
def loops(tmp_path, monkeypatch):
    (tmp_path / "loops_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("loops_of_a_test")
    sys.modules.pop("loops_of_a_test")


def test_as_python_until_machine_code_is_there(loops):
    a = np.array([3, 4, 5])
    with interpreted_while(lambda: True):
        as_python = loops.added(a), loops.added(a, 4)
        assert not loops.added.signatures
    as_machine_code = loops.added(a), loops.added(a, 4)
    assert len(loops.added.signatures) == 2
    for one, other in zip(as_python, as_machine_code, strict=True):
        assert one[:2] == other[:2]
        assert list(map(type, one[0])) == list(map(type, other[0])) == [int, bool]
        assert type(one[1]) is type(other[1]) is int
        assert one[2].dtype == other[2].dtype
        np.testing.assert_array_equal(one[2], other[2])


def test_a_time_limit_is_no_nearer_after_compiling(loops):
    clock, start, before = Clock(1000.0), time.perf_counter(), working_time()
    loops.added(np.array([3, 4, 5]))
    took, counted = time.perf_counter() - start, working_time() - before
    assert counted < took / 2  # numba took nearly all of it
    assert 1000.0 - clock.remaining < took / 2
    assert clock.elapsed >= took


def test_machine_code_that_others_left_is_used(loops):
    a = np.array([3, 4, 5])
    elsewhere = "import numpy, loops_of_a_test; loops_of_a_test.added(numpy.array([1]))"
    folder = os.path.dirname(loops.__file__)
    with interpreted_while(lambda: True):
        loops.added(a)
        assert not loops.added.signatures
        subprocess.run([sys.executable, "-c", elsewhere], cwd=folder, check=True)
        loops.added(a)
        assert len(loops.added.signatures) == 1
        assert not loops.added.stats.cache_misses
        assert loops.added(a, 4)[0].total == 16  # other types, of which nothing was left
        assert len(loops.added.signatures) == 1


def test_nobody_else_compiles(loops):
    with interpreted_while(lambda: False):
        loops.added(np.array([1]))
    assert loops.added.signatures


def test_large_arrays_wait_for_the_compiler(loops, monkeypatch):
    monkeypatch.setattr(interpreted, "SMALL", 2)
    at_work = iter([True, True, True, False])
    with interpreted_while(lambda: next(at_work)):
        loops.added(np.array([1, 2]))
        assert not loops.added.signatures
        loops.added(np.array([1, 2, 3]))
        assert loops.added.signatures
    assert list(at_work) == []


def test_ctrl_c_comes_when_a_loop_is_done():
    """Else its arrays would be half-made."""
    done = []

    def loop():
        signal.raise_signal(signal.SIGINT)
        done.append(sum(range(10)))

    def work_and_wait():
        interpreted._interpret(loop)
        while True:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), interruptible():
        work_and_wait()
    assert done == [45]


SOLVES = """
import sys
import numpy as np
from numba.core import event
import bdcc_jax
from bdcc_jax import Options
from bdcc_jax.base.interpreted import interpreted_while


class Listener(event.Listener):
    def on_start(self, _): pass
    def on_end(self, happened): compiled.append(happened)


def graphs():
    random = np.random.default_rng(0)
    u, v = np.triu_indices(18, 1)
    yield bdcc_jax.Graph.from_edges(u, v, random.integers(-9, 10, len(u)))
    node = np.arange(49).reshape(7, 7)
    pairs = (node[:, :-1], node[:, 1:]), (node[:-1], node[1:]), (node[:-1, :-1], node[1:, 1:])
    u, v = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    yield bdcc_jax.Graph.from_edges(u, v, random.normal(0.1, 1.0, len(u)))
    yield bdcc_jax.Graph.from_edges(u, v, random.integers(-3, 4, len(u)))


def solved():
    for graph in graphs():
        for options in (
            Options(), Options(presolve=False, heuristics=False, rounding=()),
            Options(engine="reference"), Options(dual_ascent=True), Options.paper(),
        ):
            yield bdcc_jax.solve(graph, options=options)
        yield bdcc_jax.solve(graph, min_clusters=5, max_clusters=5)
        lifted = [0, 1, 2], [16, 17, 15], [1.5, -2.5, 3.0]
        edges = graph.edges[(np.diff(graph.edges)[:, 0] < 9)]
        weights = graph.weights[: len(edges)]
        yield bdcc_jax.solve(bdcc_jax.Graph.from_edges(*edges.T, weights, lifted=lifted))


compiled = []
event.register("numba:compile", Listener())
with interpreted_while(lambda: sys.argv[1] == "python"):
    for result in solved():
        rounds = [(r.phase, r.lower_bound, r.upper_bound, r.rows) for r in result.history
                  if r.phase != "search"]
        print(result.labels.tolist(), result.objective, result.lower_bound, result.status, rounds)
assert sys.argv[1] != "python" or not compiled, compiled
"""


def test_solves_are_the_same_to_the_last_bit(tmp_path):
    """Whatever they need of compiled loops: bounds of all rounds, labels and objectives."""

    def printed(how, **caches):
        child = [sys.executable, "-c", SOLVES, how]
        done = subprocess.run(
            child, env={**os.environ, **caches}, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout.splitlines()

    as_python = printed("python", NUMBA_CACHE_DIR=str(tmp_path))
    assert len(as_python) == 21
    assert as_python == printed("compiled")
