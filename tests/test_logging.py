import logging
import subprocess
import sys
import textwrap

import numpy as np
from families import joined, planar
from oracles import random_graph

from bdcc_jax import Options, solve
from bdcc_jax.lp.master import Master

GRAPH = random_graph(np.random.default_rng(1), 12, 1.0)


def messages(caplog, level):
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def test_phases(caplog):
    with caplog.at_level(logging.INFO, logger="bdcc_jax"):
        result = solve(GRAPH)
    said = messages(caplog, logging.INFO)
    assert said[0] == f"begin: {GRAPH.n} nodes, {GRAPH.m} edges, on {result.device}"
    assert any(line.startswith("presolve leaves ") for line in said)
    assert ": optimal, " in said[-1]
    assert all(record.name.startswith("bdcc_jax.") for record in caplog.records)
    assert messages(caplog, logging.DEBUG) == []


def test_rounds(caplog):
    with caplog.at_level(logging.DEBUG, logger="bdcc_jax"):
        result = solve(GRAPH, options=Options(presolve=False))
    rounds = [line for line in messages(caplog, logging.DEBUG) if line.startswith("Round(")]
    assert rounds == [str(record) for record in result.history]


def test_a_second_try_of_an_lp(caplog, monkeypatch):
    run, failures = Master._run, iter([True])

    def fail_once(self, clock):
        status = run(self, clock)
        return "kUnknown" if next(failures, False) else status

    monkeypatch.setattr(Master, "_run", fail_once)
    monkeypatch.setattr("highspy.Highs.modelStatusToString", lambda self, status: str(status))
    with caplog.at_level(logging.INFO, logger="bdcc_jax"):
        assert solve(GRAPH).status == "optimal"
    assert "HiGHS ends with 'kUnknown': once more from scratch" in messages(caplog, logging.INFO)


def test_inner_solves_are_for_debugging(caplog):
    """Spots and pieces of a planar instance are presolved too, but there may be thousands."""
    graph = joined(
        [planar(np.random.default_rng(3), 8, 8), random_graph(np.random.default_rng(1), 9, 1.0)]
    )
    with caplog.at_level(logging.DEBUG, logger="bdcc_jax"):
        solve(graph, options=Options(odd_wheels=False, heuristics=False, rounding=()))
    count = {
        level: sum(line.startswith("presolve leaves ") for line in messages(caplog, level))
        for level in (logging.INFO, logging.DEBUG)
    }
    assert count[logging.INFO] == 1
    assert count[logging.DEBUG] > 0


def test_silent_unless_asked_for():
    program = textwrap.dedent("""
        import logging
        import bdcc_jax
        bdcc_jax.solve([[0, 2, -1], [2, 0, 1], [-1, 1, 0]])
        logging.getLogger("bdcc_jax.search.bounds").warning("nobody has asked")
        assert logging.getLogger().handlers == []
        assert logging.getLogger().level == logging.WARNING
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
