"""The same seed, device and versions: the same labels and history, times aside."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from families import planar, wheels_in_a_mesh
from oracles import random_graph

from bdcc_jax import Options, solve
from bdcc_jax.base import clock
from bdcc_jax.lp import master

HERE = Path(__file__).parent
OPTIONS = {
    "default": Options(),
    "pieces": Options(presolve=False, odd_wheels=False),
    "paper": Options.paper(),
    "reference": Options(engine="reference", tau=0.5, presolve=False),
    "pdlp": Options.paper(engine="pdlp"),
    "device_packing": Options(engine="device_packing", presolve=False),
}


def graphs():
    rng = np.random.default_rng(7)
    return [
        random_graph(rng, 14, 1.0),
        random_graph(rng, 16, 0.8, "ties"),
        planar(rng, 9, 9),
        wheels_in_a_mesh(rng, 6, 6, "normal"),
    ]


def facts(result):
    """Everything but times."""
    rounds = [
        {name: value for name, value in asdict(record).items() if not name.endswith("seconds")}
        for record in result.history
    ]
    return [str(result.status), result.labels.tolist(), result.lower_bound, rounds]


def everything(names):
    return [facts(solve(g, options=OPTIONS[name], seed=3)) for name in names for g in graphs()]


@pytest.mark.parametrize("name", ["default", "pieces", "paper", "reference", "device_packing"])
def test_nothing_depends_on_how_long_things_take(monkeypatch, name):
    """A second run, in which time passes in leaps."""
    expected = everything([name])
    rng = np.random.default_rng(0)
    now = 0.0

    def leap():
        nonlocal now
        now += rng.choice([0.0, 1e-6, 1.0, 1e4])
        return now

    monkeypatch.setattr(clock.time, "perf_counter", leap)
    monkeypatch.setattr(master, "perf_counter", leap)
    assert everything([name]) == expected


def in_a_process(names, threads):
    """With so many threads for everything that has threads."""
    variables = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    folders = (HERE.parents[1], HERE.parent, HERE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    environment |= {variable: str(threads) for variable in (*variables, "NUMBA_NUM_THREADS")}
    environment["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    code = f"import json, test_determinism as t; print(json.dumps(t.everything({names})))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "names",
    [["default", "pieces", "paper"], pytest.param(["pdlp", "reference"], marks=pytest.mark.slow)],
    ids=["quick", "slow"],
)
def test_the_number_of_threads_changes_nothing(names):
    assert in_a_process(names, 1) == in_a_process(names, 4)
