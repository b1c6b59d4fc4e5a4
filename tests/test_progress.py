import io

import numpy as np
import pytest

import bdcc_jax
from bdcc_jax.progress import COLUMNS, LINES_PER_HEADER, ProgressPrinter
from bdcc_jax.result import Progress, Round


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


def shown(rounds, **settings):
    """Return the numbers of the rounds that are printed."""
    stream = io.StringIO()
    printer = ProgressPrinter(stream, **settings)
    for state in rounds:
        assert printer(state) is None  # True would stop the solve
    printer.close()
    lines = stream.getvalue().splitlines()
    return [int(line[1:].split()[0]) for line in lines if line != COLUMNS]


def test_a_line():
    stream = io.StringIO()
    ProgressPrinter(stream)(progress(3, 1.5, improved=True, phase="ilp"))
    header, line = stream.getvalue().splitlines()
    assert header == COLUMNS
    assert line.split() == ["*", "3", "ilp", "1.50", "-10", "-8", "25", "123", "7"]
    assert len(line) == len(header)


def test_columns_are_aligned_for_any_value():
    stream = io.StringIO()
    printer = ProgressPrinter(stream, interval=0)
    bounds = [(-1e-7, 0.0), (-123456789.123, -1.5e9), (-1.0, 1e300), (-np.inf, np.inf)]
    for lower, upper in bounds:
        printer(progress(99999, 1e5, lower=lower, upper=upper))
    assert {len(line) for line in stream.getvalue().splitlines()} == {len(COLUMNS)}


def test_first_and_last_round_are_shown():
    assert shown([progress(i, 0.001 * i) for i in range(1, 100)]) == [1, 99]


def test_last_round_is_not_shown_twice():
    assert shown([progress(1, 0.0), progress(2, 5.0)]) == [1, 2]


def test_throttled_by_time():
    rounds = [progress(i, 0.1 * i) for i in range(21)]
    assert shown(rounds, interval=1.0) == [0, 10, 20]
    assert shown(rounds, interval=0.0) == list(range(21))


def test_new_best_is_always_shown():
    rounds = [progress(i, 0.001 * i, improved=i in (3, 4)) for i in range(6)]
    assert shown(rounds) == [0, 3, 4, 5]


def test_header_is_repeated():
    stream = io.StringIO()
    printer = ProgressPrinter(stream, interval=0)
    for i in range(LINES_PER_HEADER + 1):
        printer(progress(i, float(i)))
    lines = stream.getvalue().splitlines()
    assert [i for i, line in enumerate(lines) if line == COLUMNS] == [0, LINES_PER_HEADER + 1]


def test_reusable_after_close():
    stream = io.StringIO()
    printer = ProgressPrinter(stream)
    for _ in range(2):
        printer(progress(1, 0.0))
        printer.close()
    first, second = stream.getvalue().splitlines()[:2], stream.getvalue().splitlines()[2:]
    assert first == second


def test_close_without_any_round():
    assert shown([]) == []


def test_bad_interval():
    with pytest.raises(ValueError, match="interval must be at least 0 seconds, not -1"):
        ProgressPrinter(interval=-1)


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
