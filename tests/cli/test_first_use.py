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


def test_the_other_process_has_the_same_package(monkeypatch, tmp_path):
    """And not one in the current folder, as in a clone that was installed."""
    (tmp_path / "bdcc_jax").mkdir()
    (tmp_path / "bdcc_jax" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    seen, start = [], subprocess.Popen

    class Other:
        def __init__(self, command, env, **streams):
            python = [*command[: command.index("-m")], "-c"]
            script = "import bdcc_jax; print(bdcc_jax.__file__)"
            asked = start([*python, script], env=env, stdout=subprocess.PIPE, text=True)
            seen.append(asked.communicate()[0].strip())

        def wait(self):
            pass

        kill = wait

    monkeypatch.setattr(first_use, "is_missing", lambda function: True)
    monkeypatch.setattr(first_use.subprocess, "Popen", Other)
    first_use.compile_first(quiet=True)
    assert seen == [bdcc_jax.__file__]
