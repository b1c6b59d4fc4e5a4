import os
import subprocess
import sys

import numpy as np
import pytest

import bdcc_jax
from bdcc_jax.cli import first_use
from bdcc_jax.instance.enumeration import MOST_NODES

CHILD = """
from numba.core import event
from bdcc_jax.cli import first_use
import bdcc_jax

assert first_use.compile_first() > 0.0
assert first_use.compile_first() == 0.0

class Listener(event.Listener):
    def on_start(self, _): pass
    def on_end(self, happened): compiled.append(str(happened.data["dispatcher"]))

compiled = []
event.register("numba:compile", Listener())
bdcc_jax.solve(first_use.example())
assert not compiled, compiled
"""


def test_nothing_is_compiled_twice(capsys):
    bdcc_jax.solve(first_use.example())  # from here on the machine code is on disk
    assert first_use.compile_first() == 0.0
    assert not capsys.readouterr().err


def test_the_example_uses_every_part_of_a_solve():
    graph = first_use.example()
    assert graph.n > MOST_NODES
    result = bdcc_jax.solve(graph, options=bdcc_jax.Options(presolve=False))
    assert result.status == "optimal"
    assert {"master", "subproblems", "detection", "rounding"} <= result.timings.keys()
    np.testing.assert_array_equal(graph.edges, first_use.example().edges)


@pytest.mark.slow
def test_empty_caches(tmp_path):
    """Two processes compile all that a solve needs; the second is gone when the first goes on."""
    caches = {"BDCC_JAX_CACHE": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, **caches},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "compiling loops for the first time" in done.stderr
