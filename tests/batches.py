"""What the tests of batches share, also those that run in a child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from oracles import random_graph

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
