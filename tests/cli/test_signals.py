"""Signals at any moment: the best clustering is written or returned."""

import _thread
import gc
import json
import os
import pkgutil
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from oracles import random_graph

import bdcc_jax
from bdcc_jax import Graph, Options, write
from bdcc_jax.base import interrupts
from bdcc_jax.cli import main
from bdcc_jax.cli.signals import Signals
from bdcc_jax.solve import check_arguments

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals to a child")
HARD = random_graph(np.random.default_rng(0), 60, 1.0)
ROOT = Path(__file__).parents[2]


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
    """Written or, while there was nothing yet, said in one line; or all was over before."""
    out, err = child.communicate(timeout=60)
    if child.returncode == 0:
        assert json.loads((folder / "summary.json").read_text())["status"] == "optimal"
        return True
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


@pytest.mark.parametrize(
    "place",
    [
        "bdcc_jax.lp.master:Master.solve",
        "bdcc_jax.separation.packing:PackingEngine.separate",
        "bdcc_jax.search.strategy:local_search",
        "bdcc_jax.search.strategy:presolve",
    ],
)
@pytest.mark.parametrize("call", [1, 2])
def test_ctrl_c_returns_the_best_so_far(place, call, monkeypatch):
    """In the library, while HiGHS or compiled code is at work: at the latest as it returns."""
    module, _, name = place.partition(":")
    owner, _, name = name.rpartition(".")
    owner = pkgutil.resolve_name(f"{module}:{owner}")
    real, calls, sent = getattr(owner, name), count(1), []

    def send():
        sent.append(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    def interrupted(*arguments, **settings):
        if next(calls) != call:
            return real(*arguments, **settings)
        thread = threading.Thread(target=send)
        thread.start()
        try:
            return real(*arguments, **settings)
        finally:
            thread.join()

    monkeypatch.setattr(owner, name, interrupted)
    options = Options() if call == 1 else Options(max_rounds=3)
    result = bdcc_jax.solve(HARD, options=options)
    assert result.status == ("interrupted" if sent else "max_rounds")
    assert result.objective == HARD.objective(result.labels)
    assert result.lower_bound <= result.objective


# At every moment: whatever function of the package is being entered


class Pending(int):
    """A signal that is on its way once ``send`` is read.

    Python looks for signals after calls. This is none: what is interrupted is the code that is
    traced, and not the function that traces it.
    """

    send = property(_thread.interrupt_main)


class At:
    """Send a signal when the k-th function of the package is entered, once a solve has begun.

    It begins when its arguments have been checked. ``count`` is how many functions there were.
    """

    def __init__(self, k, number=signal.SIGINT):
        self.k, self.signal, self.count, self.begun = k, Pending(number), 0, False

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def trace(self, frame, event, _):
        if not frame.f_globals.get("__name__", "").startswith("bdcc_jax"):
            return None
        if frame.f_code is check_arguments.__code__:
            return self.wait_for_the_end
        if self.begun:
            self.count += 1
            if self.count == self.k:
                sys.settrace(None)
                self.signal.send  # noqa: B018
        return None

    def wait_for_the_end(self, frame, event, _):
        self.begun = self.begun or event == "return"
        return self.wait_for_the_end


def moments(run, most=60):
    """Numbers of functions to interrupt: the first ones, the last ones, and some in between."""
    with At(-1) as every:
        run()
    last = every.count
    spread = np.linspace(1, last, most).astype(int).tolist()
    return sorted({*range(1, min(15, last + 1)), *spread, *range(max(1, last - 15), last + 1)})


AT_THE_END = 3
"""A signal that comes as so many functions are left may come out when all is over."""


SMALL = random_graph(np.random.default_rng(3), 9, 1.0)
KINDS = {
    "default": {},
    "no presolve": {"options": Options(presolve=False)},
    "paper": {"options": Options.paper()},
}


@pytest.mark.parametrize("progress", [False, "plain", "live"])
@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_at_any_moment_returns_a_result(kind, progress, tmp_path, capsys):
    def run():
        return bdcc_jax.solve(SMALL, progress=progress, **KINDS[kind])

    optimum = run().objective
    *ks, last = moments(run, 60 if progress is False else 25)
    for k in ks:
        result = None
        with suppress(KeyboardInterrupt), At(k):
            result = run()
        if result is None:
            assert k > last - AT_THE_END
            continue
        assert result.status in ("interrupted", "optimal"), k
        assert result.objective == SMALL.objective(result.labels)
        assert result.lower_bound <= optimum + result.tolerance
        assert result.objective >= optimum - result.tolerance
    for thread in threading.enumerate():
        if "rich" in type(thread).__module__:  # told to end, or it would draw forever
            thread.join(timeout=10)
            assert not thread.is_alive()


def test_ctrl_c_at_any_moment_with_a_checkpoint(tmp_path):
    path, number = tmp_path / "run.npz", count(1)

    def run():
        path.unlink(missing_ok=True)
        return bdcc_jax.solve(SMALL, checkpoint=path, options=Options(presolve=False))

    optimum = run().objective
    *ks, last = moments(run, 30)
    for k in ks:
        with suppress(KeyboardInterrupt), At(k):
            assert run().status in ("interrupted", "optimal")
            k = last
        assert k > last - AT_THE_END
        again = bdcc_jax.solve(SMALL, checkpoint=path, options=Options(presolve=False))
        assert (again.status, again.objective) == ("optimal", pytest.approx(optimum)), next(number)


@pytest.mark.parametrize(
    "place",
    [
        "bdcc_jax.solve.Clock",
        "bdcc_jax.solve.view",
        "bdcc_jax.solve.Job",
        "bdcc_jax.show.progress.ProgressPrinter.start",
        "bdcc_jax.show.progress.ProgressPrinter.close",
        "bdcc_jax.solve.Bounds",
        "bdcc_jax.search.strategy.presolve",
        "bdcc_jax.search.strategy.local_search",
        "bdcc_jax.search.strategy.Benders",
        "bdcc_jax.solve.release_scheduler",
        "bdcc_jax.solve.Result",
    ],
)
def test_ctrl_c_in_a_place(place, monkeypatch, capsys):
    """Which may be compiled, or import for a while: it is pressed as it is entered."""
    module, _, name = place.rpartition(".")
    owner = pkgutil.resolve_name(module)
    real, calls = getattr(owner, name), count()

    def pressed(*arguments, **settings):
        if next(calls) == 0:
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    monkeypatch.setattr(owner, name, pressed)
    options = Options(presolve=place.endswith("presolve"))
    result = bdcc_jax.solve(SMALL, progress="plain", options=options)
    assert next(calls) > 0
    assert result.status == "interrupted" or place.endswith(
        ("Result", "close", "release_scheduler")
    )
    assert result.objective == SMALL.objective(result.labels)


def test_nothing_is_returned_before_the_arguments_are_checked(monkeypatch):
    def press(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["bdcc_jax.solve"], "as_graph", press)
    with pytest.raises(KeyboardInterrupt):
        bdcc_jax.solve(SMALL)


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
