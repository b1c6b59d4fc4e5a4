"""SIGINT and SIGTERM to the command: what was found is written."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from families import wheel
from moments import AT_THE_END, At, moments
from oracles import random_graph

import bdcc_jax
from bdcc_jax import Graph, write
from bdcc_jax.base import interrupts
from bdcc_jax.cli import main
from bdcc_jax.cli.signals import Signals

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals to a child")
OPEN = wheel(31, 1.1)
SMALL = random_graph(np.random.default_rng(3), 9, 1.0)
ROOT = Path(__file__).parents[2]
OUTPUTS = ["-o", "labels.txt", "--json", "summary.json"]
BEFORE = """
import os, sys, bdcc_jax_cli
class Press:
    def find_spec(self, name, *_):
        if name == "{place}":
            os.kill(os.getpid(), {number:d})
sys.meta_path.insert(0, Press())
sys.exit(bdcc_jax_cli.main())
"""
"""The signal comes as a module is imported."""
DURING = """
import sys, time, bdcc_jax_cli
from bdcc_jax.lp.master import Master
def wait(*_):
    print("for ever", file=sys.stderr, flush=True)
    while True:
        time.sleep(1)
Master.solve = wait
sys.stderr.isatty = lambda: True  # what is shown there is put back
sys.exit(bdcc_jax_cli.main())
"""
"""The LP takes for ever."""


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_answer(folder, graph):
    labels = np.array((folder / "labels.txt").read_text().split(), dtype=int)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["status"] == "interrupted"
    assert summary["objective"] == pytest.approx(graph.objective(labels))
    assert summary["lower_bound"] <= summary["objective"]


@pytest.mark.parametrize(
    ("place", "number"), [("bdcc_jax", signal.SIGINT), ("bdcc_jax.solve", signal.SIGTERM)]
)
def test_a_signal_before_there_is_anything_is_said_in_one_line(tmp_path, place, number):
    write(OPEN, tmp_path / "graph.npz")
    code = BEFORE.format(place=place, number=number)
    child = start(tmp_path, "-c", code, "solve", "graph.npz", *OUTPUTS)
    assert child.communicate() == ("", "bdcc-jax: interrupted\n")
    assert child.returncode == 128 + number
    assert not (tmp_path / "labels.txt").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_solving_writes_the_answer(tmp_path, number):
    write(OPEN, tmp_path / "graph.npz")
    child = start(tmp_path, "-c", DURING, "solve", "graph.npz", "--paper", *OUTPUTS)
    try:
        while "for ever" not in (line := child.stderr.readline()):
            assert line, "ended before the first LP"
        child.send_signal(number)
        _, err = child.communicate()
    finally:
        child.kill()
    assert child.returncode == 128 + number, err
    assert "Traceback" not in err
    check_answer(tmp_path, OPEN)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_a_random_moment(tmp_path, number):
    """Written or, while there was nothing yet, said in one line; or all was over before."""
    hard, rng = random_graph(np.random.default_rng(0), 60, 1.0), random.Random(number)
    write(hard, tmp_path / "hard.npz")
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        child = start(folder, "-m", "bdcc_jax_cli", "solve", "../hard.npz", "--quiet", *OUTPUTS)
        try:
            time.sleep(rng.uniform(0.5, 6))
            child.send_signal(number)
            out, err = child.communicate()
        finally:
            child.kill()
        if child.returncode == 0:
            assert json.loads((folder / "summary.json").read_text())["status"] == "optimal"
            continue
        assert child.returncode == 128 + number, err
        if err:
            assert (out, err) == ("", "bdcc-jax: interrupted\n")
            assert not (folder / "labels.txt").exists()
        else:
            check_answer(folder, hard)


def test_handlers_are_put_back_and_those_of_the_caller_respected(tmp_path, capsys):
    write(Graph.from_edges([0], [1], [1.0]), tmp_path / "graph.txt")
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert main(["solve", str(tmp_path / "graph.txt")]) == 0
    bdcc_jax.solve(OPEN)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    mine = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.interruptible(), Signals().minded():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, mine)


def test_a_signal_after_the_work_waits():
    signals = Signals()
    with signals.minded():
        assert signals.last(lambda: "result") == "result"
        signal.raise_signal(signal.SIGTERM)
        assert signals.exit_code == 143


def test_a_signal_at_the_very_end_of_the_work_takes_nothing_away(monkeypatch):
    signals = Signals()
    monkeypatch.setattr(signals, "_shield", lambda: signal.raise_signal(signal.SIGTERM))
    with signals.minded():
        assert signals.last(lambda: "result") == "result"
        assert signals.exit_code == 143


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_of_a_solve_writes_the_files(tmp_path, monkeypatch, capsys, number):
    monkeypatch.chdir(tmp_path)
    write(SMALL, "graph.npz")
    files = {"labels.txt": "-o", "proof.json": "--certificate", "summary.json": "--json"}
    outputs = [word for name, flag in files.items() for word in (flag, name)]

    def run():
        for name in files:
            Path(name).unlink(missing_ok=True)
        return main(["solve", "graph.npz", *outputs])

    *ks, last = moments(run, 40)
    for k in ks:
        with At(k, number):
            code = run()
        assert code == 128 + number or (code == 0 and k > last - AT_THE_END), k
        labels = np.array(Path("labels.txt").read_text().split(), dtype=int)
        summary = json.loads(Path("summary.json").read_text())
        assert summary["objective"] == pytest.approx(SMALL.objective(labels))
        proof = json.loads(Path("proof.json").read_text())
        assert bdcc_jax.verify(SMALL, proof).lower_bound <= SMALL.objective(labels)
    assert "interrupted" not in capsys.readouterr().err
