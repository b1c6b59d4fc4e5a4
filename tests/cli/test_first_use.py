import os
import subprocess
import sys

import numpy as np
import pytest

import bdcc_jax
from bdcc_jax.cli import first_use, main
from bdcc_jax.cli.first_use import FEW_EDGES, PARTS, Compilers
from bdcc_jax.instance.enumeration import MOST_NODES

SMALL = first_use.example()
LARGE = bdcc_jax.Graph.from_edges(
    range(FEW_EDGES + 1), range(1, FEW_EDGES + 2), -np.ones(FEW_EDGES + 1)
)
DENSE = bdcc_jax.Graph.from_dense(np.ones((12, 12)) - np.eye(12))

CHILD = """
from numba.core import event
from bdcc_jax.cli.first_use import Compilers, example
from bdcc_jax.base.clock import Clock
from bdcc_jax.primal import Evolution, moved
import bdcc_jax
import numpy as np

compilers = Compilers(quiet=False)
compilers.start()
assert compilers.wait_for(None) > 0.0
assert not compilers.at_work()

class Listener(event.Listener):
    def on_start(self, _): pass
    def on_end(self, happened): compiled.append(str(happened.data["dispatcher"]))

compiled = []
event.register("numba:compile", Listener())
bdcc_jax.solve(example())
moved(example(), np.arange(example().n), seed=0, clock=Clock(None))
search = Evolution(example(), np.arange(example().n), seed=0)
search.run(10**6)
assert not compiled, compiled
"""


class Process:
    """One that compiles until it has been asked a few times."""

    def __init__(self, times=4):
        self._left = times

    def poll(self):
        self._left -= 1
        return None if self._left > 0 else 0


@pytest.fixture
def first(monkeypatch):
    """As if nothing had been compiled."""
    started = []
    monkeypatch.setattr(first_use, "is_missing", lambda function: True)
    monkeypatch.setattr(first_use, "_compile", lambda part: started.append(part) or Process())
    return started


def test_nothing_is_compiled_twice(capsys):
    bdcc_jax.solve(first_use.example())  # from here on the machine code is on disk
    compilers = Compilers(quiet=False)
    compilers.start()
    assert not compilers.at_work()
    assert compilers.wait_for(LARGE) == 0.0
    assert not capsys.readouterr().err


def test_small_instances_do_not_wait(first, capsys):
    compilers = Compilers(quiet=False)
    compilers.start()
    assert first == list(PARTS)
    assert compilers.wait_for(SMALL) == 0.0
    assert compilers.at_work()
    assert "in the background" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("graph", "limit"), [(LARGE, None), (DENSE, None), (SMALL, 5.0), (None, None)]
)
def test_all_others_wait(first, capsys, graph, limit):
    compilers = Compilers(quiet=False)
    compilers.start()
    assert compilers.wait_for(graph, limit) > 0.0
    assert not compilers.at_work()
    assert "compiling loops for the first time" in capsys.readouterr().err


def test_quiet(first, capsys):
    for graph in (SMALL, LARGE):
        compilers = Compilers(quiet=True)
        compilers.start()
        compilers.wait_for(graph)
    assert not capsys.readouterr().err


def test_the_summary_tells_compiling_from_solving(first, tmp_path, capsys):
    path = tmp_path / "graph.npz"
    bdcc_jax.write(bdcc_jax.Graph(3, [(0, 1), (1, 2)], [1.0, -2.0]), path)
    assert main(["solve", str(path), "--time-limit", "60"], loading=1.0) == 0
    assert "1.0 s loading, 0." in (shown := capsys.readouterr().out)
    assert "s compiling" in shown


def test_every_command_that_solves_says_that_it_compiles(first, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "graphs"
    folder.mkdir()
    (folder / "graph.txt").write_text("MULTICUT\n0 1 1.0\n1 2 -2.0\n")
    (tmp_path / "labels.txt").write_text("0\n0\n1\n")
    (tmp_path / "pairs.csv").write_text("source,target,weight\na,b,1.5\nb,c,-2.5\n")
    for command in (
        "batch graphs --out results",
        "certify graphs/graph.txt labels.txt",
        "cluster pairs.csv",
        "cluster pairs.csv --time-limit 60",
        "solve graphs/graph.txt",
    ):
        first.clear()
        assert main(command.split()) == 0
        assert first == list(PARTS)
        assert "loops" in capsys.readouterr().err


def test_nobody_waits_for_a_table_that_is_not_there(first, capsys):
    with pytest.raises(SystemExit):
        main(["cluster", "nowhere.csv"])
    assert "loops" not in capsys.readouterr().err


def test_commands_that_solve_nothing_compile_nothing(first, capsys):
    assert main(["version"]) == 0
    assert not first


def test_the_example_uses_every_part_of_a_solve():
    graph = first_use.example()
    assert graph.n > MOST_NODES
    result = bdcc_jax.solve(graph, options=bdcc_jax.Options(presolve=False))
    assert result.status == "optimal"
    assert {"master", "subproblems", "detection", "rounding"} <= result.timings.keys()
    np.testing.assert_array_equal(graph.edges, first_use.example().edges)


@pytest.mark.slow
def test_empty_caches(tmp_path):
    """Two processes compile all that a solve needs; they are gone when the first goes on."""
    caches = {"BDCC_JAX_CACHE": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, **caches},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "compiling loops for the first time" in done.stderr


def test_the_other_processes_have_the_same_package(monkeypatch, tmp_path):
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

        def poll(self):
            return 0

    monkeypatch.setattr(first_use, "is_missing", lambda function: True)
    monkeypatch.setattr(first_use.subprocess, "Popen", Other)
    compilers = Compilers(quiet=True)
    compilers.start()
    assert seen == [bdcc_jax.__file__] * len(PARTS)
