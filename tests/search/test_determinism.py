"""The same seed, device and versions: the same labels and history, times aside."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from determinism import everything

from bdcc_jax.base import clock
from bdcc_jax.lp import master

TESTS = Path(__file__).parents[1]


@cache
def expected(name):
    return everything([name])


@pytest.mark.parametrize("name", ["default", "pieces", "paper", "reference"])
def test_nothing_depends_on_how_long_things_take(monkeypatch, name):
    """A second run, in which time passes in leaps."""
    without = expected(name)
    rng = np.random.default_rng(0)
    now = 0.0

    def leap():
        nonlocal now
        now += rng.choice([0.0, 1e-6, 1.0, 1e4])
        return now

    monkeypatch.setattr(clock.time, "perf_counter", leap)
    monkeypatch.setattr(master, "perf_counter", leap)
    assert everything([name]) == without


@pytest.mark.parametrize(
    "names",
    [["default", "pieces", "paper"], pytest.param(["pdlp", "reference"], marks=pytest.mark.slow)],
    ids=["quick", "slow"],
)
def test_the_number_of_threads_changes_nothing(names):
    """Here it is that of the cores; in a child it is another for everything that has threads."""
    threads = 4 if os.cpu_count() == 1 else 1
    variables = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS.parent, TESTS)))}
    environment |= {variable: str(threads) for variable in (*variables, "NUMBA_NUM_THREADS")}
    environment["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    code = f"import json, determinism as d; print(json.dumps(d.everything({names})))"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment, check=True
    )
    assert json.loads(done.stdout) == [facts for name in names for facts in expected(name)]
