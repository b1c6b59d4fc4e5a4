import io
import json
import os
import subprocess
import sys
import time
from contextlib import redirect_stderr

import numpy as np
import pytest
from numba.core import event
from rich.console import Console

import bdcc_jax
from bdcc_jax.base.clock import Clock
from bdcc_jax.result import Progress, Round
from bdcc_jax.show import live
from bdcc_jax.show.live import LiveTable
from bdcc_jax.show.progress import COLUMNS, INTERVAL, LINES_PER_HEADER, ProgressPrinter, view


def progress(number, seconds, *, improved=False, phase="lp", lower=-10.0, upper=-8.0):
    record = Round(
        number=number,
        phase=phase,
        seconds=seconds,
        lower_bound=lower,
        upper_bound=upper,
        rows=123,
        new_rows=4,
        violated_roots=7,
        fallbacks=0,
        master_seconds=0.0,
        detection_seconds=0.0,
        subproblem_seconds=0.0,
        rounding_seconds=0.0,
    )
    return Progress(record, np.zeros(1, dtype=np.int64), improved)


def printed(rounds):
    """Return the lines for these rounds."""
    with redirect_stderr(io.StringIO()) as stream:
        printer = ProgressPrinter()
        for state in rounds:
            assert printer(state) is None  # True would stop the solve
        printer.close()
    return stream.getvalue().splitlines()


def shown(rounds):
    """Return the numbers of the rounds that are printed."""
    return [int(line[1:].split()[0]) for line in printed(rounds) if line != COLUMNS]


def test_a_line():
    header, line = printed([progress(3, 1.5, improved=True, phase="ilp")])
    assert header == COLUMNS
    assert line.split() == ["*", "3", "ilp", "1.50", "-10", "-8", "25", "123", "7"]
    assert len(line) == len(header)


def test_columns_are_aligned_for_any_value():
    bounds = [(-1e-7, 0.0), (-123456789.123, -1.5e9), (-1.0, 1e300), (-np.inf, np.inf)]
    rounds = [
        progress(99999, 1e5 + i, lower=lower, upper=upper)
        for i, (lower, upper) in enumerate(bounds)
    ]
    assert [len(line) for line in printed(rounds)] == [len(COLUMNS)] * 5


def test_first_and_last_round_are_shown():
    assert shown([progress(i, 0.001 * i) for i in range(1, 100)]) == [1, 99]


def test_last_round_is_not_shown_twice():
    assert shown([progress(1, 0.0), progress(2, 5.0)]) == [1, 2]


def test_throttled_by_time():
    rounds = [progress(i, INTERVAL / 8 * i) for i in range(21)]
    assert shown(rounds) == [0, 8, 16, 20]


def test_new_best_is_always_shown():
    rounds = [progress(i, 0.001 * i, improved=i in (3, 4)) for i in range(6)]
    assert shown(rounds) == [0, 3, 4, 5]


def test_header_is_repeated():
    lines = printed([progress(i, float(i)) for i in range(LINES_PER_HEADER + 1)])
    assert [i for i, line in enumerate(lines) if line == COLUMNS] == [0, LINES_PER_HEADER + 1]


def test_close_without_any_round():
    assert shown([]) == []


def test_solve_prints_to_standard_error(capsys):
    W = [[0, 2, -1.0], [2, 0, 1.5], [-1.0, 1.5, 0]]
    options = bdcc_jax.Options(presolve=False)
    result = bdcc_jax.solve(W, progress=True, options=options)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0] == COLUMNS
    assert int(lines[-1][1:].split()[0]) == result.history[-1].number
    bdcc_jax.solve(W, options=options)
    assert capsys.readouterr().err == ""


# The live table


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def clock():
    return Clock(None)


@pytest.fixture
def table(stream, clock, monkeypatch):
    """A table on a terminal of 100 columns."""
    console = Console(file=stream, force_terminal=True, width=100, height=24, color_system=None)
    monkeypatch.setattr(live, "INTERVAL", 10.0)
    monkeypatch.setattr(live, "LINES", 4)
    table = LiveTable(clock, console)
    table.start()
    yield table
    table.close()


def wait_for(stream, text, after=0):
    """It comes, or this test does not end: how soon is no matter."""
    while text not in stream.getvalue()[after:]:
        time.sleep(0.02)


def final(table, stream):
    """Return the rows that are left on the screen."""
    table.close()
    frame = stream.getvalue().rpartition("round")[2]
    return [line.split() for line in frame.splitlines() if " lp " in line]


def test_live_table_shows_the_time_and_what_is_done_between_rounds(table, stream, clock):
    wait_for(stream, "working")
    with clock.measure("presolve"):
        wait_for(stream, " s  reducing the instance")
        before = stream.tell()
        wait_for(stream, " s  reducing the instance", after=before)  # the clock goes on
        with clock.measure("master"):
            wait_for(stream, "solving the master problem")
    with event.trigger_event("numba:compile"):
        wait_for(stream, "compiling")


def test_live_table_keeps_new_bests_and_shows_the_last_round(table, stream):
    for number in range(1, 8):
        table(progress(number, 0.001 * number, improved=number in (1, 4)))
    rows = final(table, stream)
    assert [row[:2] for row in rows] == [["*", "1"], ["*", "4"], ["7", "lp"]]
    assert rows[-1] == ["7", "lp", "0.01", "-10", "-8", "25", "123", "7"]


def test_live_table_has_room_for_the_last_rounds_only(table, stream):
    for number in range(1, 9):
        table(progress(number, 20.0 * number))
    assert [row[0] for row in final(table, stream)] == ["5", "6", "7", "8"]


def test_live_table_ends_with_an_error_of_the_callback(monkeypatch):
    closed = []
    monkeypatch.setattr(LiveTable, "close", lambda self: closed.append(self._running.close()))
    with pytest.raises(ZeroDivisionError):
        bdcc_jax.solve(
            [[0, 2, -1.0], [2, 0, 1.5], [-1.0, 1.5, 0]],
            progress="live",
            callback=lambda _: 1 / 0,
            options=bdcc_jax.Options(presolve=False),
        )
    assert len(closed) == 1


def test_what_is_shown(monkeypatch, clock):
    assert view(False, clock) is None
    for terminal, kind in ((True, LiveTable), (False, ProgressPrinter)):
        monkeypatch.setattr(live, "on_terminal", lambda terminal=terminal: terminal)
        assert type(view(True, clock)) is kind
        assert type(view("live", clock)) is LiveTable
        assert type(view("plain", clock)) is ProgressPrinter
    with pytest.raises(ValueError, match="progress must be True, False, 'live' or 'plain', not 2"):
        bdcc_jax.solve([[0, 1], [1, 0]], progress=2)


def test_without_rich(monkeypatch, clock):
    monkeypatch.delitem(sys.modules, "bdcc_jax.show.live")
    monkeypatch.setitem(sys.modules, "rich.live", None)
    assert type(view(True, clock)) is ProgressPrinter
    with pytest.raises(ImportError, match=r'pip install "\.\[progress\]"'):
        bdcc_jax.solve([[0, 1], [1, 0]], progress="live")


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_on_a_real_terminal(tmp_path):
    """The table is drawn on standard error, and nothing but the answer goes to standard output."""
    W = np.triu(np.random.default_rng(0).normal(size=(12, 12)), 1)
    bdcc_jax.write(bdcc_jax.Graph.from_dense(W + W.T), tmp_path / "graph.npz")
    terminal, child_end = os.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "bdcc_jax", "solve", tmp_path / "graph.npz", "--json"],
        stdout=subprocess.PIPE,
        stderr=child_end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
    )
    os.close(child_end)
    drawn = b""
    try:
        while block := os.read(terminal, 65536):
            drawn += block
    except OSError:  # so Linux says that the other end is closed
        pass
    out, _ = child.communicate()
    os.close(terminal)
    assert child.returncode == 0, drawn
    assert json.loads(out)["status"] == "optimal"
    assert b"lower bound" in drawn
    assert drawn.count(b"\x1b[?25l") == drawn.count(b"\x1b[?25h") == 1  # the cursor is back
