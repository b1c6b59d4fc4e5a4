"""Signals at any moment: the best clustering is written or returned."""

import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from oracles import random_graph

import bdcc_jax
from bdcc_jax import Graph, interrupts, write
from bdcc_jax.cli import main
from bdcc_jax.cli.signals import Signals

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals to a child")
HARD = random_graph(np.random.default_rng(0), 60, 1.0)
ROOT = Path(__file__).parents[1]


def start(folder, *arguments, stderr=subprocess.PIPE):
    return subprocess.Popen(
        [sys.executable, "-m", "bdcc_jax_cli", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def check(folder, child, number):
    """Written or, while there was nothing yet, said in one line."""
    out, err = child.communicate(timeout=60)
    assert child.returncode == 128 + number, err
    if err:
        assert (out, err) == ("", "bdcc-jax: interrupted\n")
        assert not (folder / "labels.txt").exists()
        return False
    labels = np.array((folder / "labels.txt").read_text().split(), dtype=int)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["status"] == "interrupted"
    assert summary["objective"] == pytest.approx(HARD.objective(labels))
    assert summary["lower_bound"] <= summary["objective"]
    return True


@pytest.mark.parametrize(
    ("number", "times"),
    [
        (signal.SIGINT, 1),
        (signal.SIGTERM, 1),
        pytest.param(signal.SIGINT, 20, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 20, marks=pytest.mark.slow),
    ],
)
def test_a_signal_at_a_random_moment(tmp_path, number, times):
    write(HARD, tmp_path / "hard.npz")
    rng = random.Random(number)
    for attempt in range(times):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        outputs = ["-o", "labels.txt", "--json", "summary.json"]
        child = start(folder, "solve", "../hard.npz", "--quiet", *outputs)
        try:
            time.sleep(rng.uniform(0.5, 6))
            child.send_signal(number)
            check(folder, child, number)
        finally:
            child.kill()


def test_sigterm_while_solving_writes_the_answer(tmp_path):
    write(HARD, tmp_path / "hard.npz")
    code = (
        "import sys, bdcc_jax_cli; sys.stderr.isatty = lambda: True; sys.argv[0] = 'bdcc-jax';"
        "sys.exit(bdcc_jax_cli.main())"
    )
    outputs = ["-o", "labels.txt", "--json", "summary.json"]
    child = subprocess.Popen(
        [sys.executable, "-c", code, "solve", "hard.npz", *outputs],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while "lp" not in (line := child.stderr.readline()):
            assert line, "ended before the first round"
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 143
    assert len((tmp_path / "labels.txt").read_text().split()) == HARD.n
    assert json.loads((tmp_path / "summary.json").read_text())["status"] == "interrupted"


def test_handlers_are_put_back_and_those_of_the_caller_respected(tmp_path, capsys):
    write(Graph.from_edges([0], [1], [1.0]), tmp_path / "graph.txt")
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert main(["solve", str(tmp_path / "graph.txt")]) == 0
    bdcc_jax.solve(HARD, time_limit=0.1)
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


@pytest.mark.parametrize("minded", [interrupts.interruptible, Signals().minded])
def test_ctrl_c_in_a_finalizer_is_not_lost(minded):
    """Where Python would print and forget the exception."""

    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)
            sum(range(10))

    def finalize_and_wait():
        Finalized()
        gc.collect()
        while True:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), minded():
        finalize_and_wait()


def test_ctrl_c_returns_the_best_so_far():
    """In the library, at moments of all kinds: in a callback, in HiGHS, in compiled code."""
    for delay in (0.05, 0.4, 1.3):
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        result = bdcc_jax.solve(HARD)
        timer.join()
        assert result.status == "interrupted"
        assert result.objective == HARD.objective(result.labels)
        assert result.lower_bound <= result.objective
