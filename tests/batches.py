"""What the tests of batches share, also those that run in a child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from families import planar
from oracles import random_graph

from bdcc_jax import Options, solve
from bdcc_jax.base.clock import TimeLimitReached
from bdcc_jax.separation.device import devices

ROOT = Path(__file__).parent.parent


def graphs(count, n=9, density=0.6, seed=0):
    rng = np.random.default_rng(seed)
    return [random_graph(rng, n, density) for _ in range(count)]


def same(one, other):
    """Everything but the times."""
    assert one.labels.tolist() == other.labels.tolist()
    assert (one.objective, one.lower_bound) == (other.objective, other.lower_bound)
    assert one.status == other.status
    counts = [[(r.rows, r.new_rows, r.violated_roots) for r in x.history] for x in (one, other)]
    assert counts[0] == counts[1]


def python(code, *, flags="", **environment):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "XLA_FLAGS": flags}
        | environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def lanes(monkeypatch, seed=0, side=8):
    """The LPs of a round, as an engine asks for them."""
    taken = []

    def take(problems, *_):
        taken.append(problems)
        raise TimeLimitReached

    with monkeypatch.context() as patched:
        patched.setattr(devices, "solve_batch", take)
        options = Options.paper(engine="pdlp", cover="greedy")
        solve(planar(np.random.default_rng(seed), side, side), options=options)
    return taken[0]
