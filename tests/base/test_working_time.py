import _thread
import linecache
import sys
import time

import pytest

from bdcc_jax.base import working_time as working_time_module
from bdcc_jax.base.alarms import alarm
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.base.interrupts import interruptible
from bdcc_jax.base.working_time import standing_still, working_time


@pytest.fixture
def now(monkeypatch):
    """The time, for tests to set."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_time_stands_still_inside(now):
    before = working_time()
    now[0] = 1.0
    with standing_still():
        now[0] = 5.0
        assert working_time() - before == 1.0
        with standing_still():
            now[0] = 6.0
        now[0] = 7.0
        assert working_time() - before == 1.0
    assert working_time() - before == 1.0
    now[0] = 8.0
    assert working_time() - before == 2.0


def test_two_threads_that_compile_at_the_same_time_count_once(now):
    before = working_time()
    with standing_still():
        now[0] = 1.0
        other = standing_still()
        other.__enter__()
        now[0] = 2.0
    now[0] = 3.0
    assert working_time() == before
    other.__exit__(None, None, None)
    now[0] = 4.0
    assert working_time() - before == 1.0


def test_an_error_or_an_interrupt_lets_it_go_on(now):
    before = working_time()
    with pytest.raises(KeyboardInterrupt), standing_still():
        raise KeyboardInterrupt
    now[0] = 1.0
    assert working_time() - before == 1.0


@pytest.mark.parametrize("line", ["_watch.compiling += 1", "_watch.compiling -= 1"])
def test_ctrl_c_waits_until_it_has_been_counted(line):
    """Or time would stand still, or go backwards, for ever."""
    begun, ended = [], []

    def interrupt(frame, event, _):
        if frame.f_code is not working_time_module.COUNTING:
            return None
        text = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and line in text and not begun:
            begun.append(line)
            _thread.interrupt_main()
        return interrupt

    with pytest.raises(KeyboardInterrupt), interruptible():  # noqa: PT012
        sys.settrace(interrupt)
        try:
            with standing_still():
                pass
        finally:
            sys.settrace(None)
        ended.append(line)
        time.sleep(10.0)
    assert begun == ended == [line]
    assert working_time_module._watch.compiling == 0
    before = working_time()
    time.sleep(0.001)
    assert before < working_time()


def test_a_deadline_is_one_of_working_time(now):
    clock = Clock(2.0)
    with standing_still():
        now[0] = 100.0
    clock.check()
    assert (clock.remaining, clock.elapsed) == (2.0, 100.0)
    with clock.alarm() as late:
        assert not late[0]
    now[0] = 102.0
    with pytest.raises(TimeLimitReached):
        clock.check()
    with clock.alarm() as late:
        assert late[0]


def test_an_alarm_waits_until_the_compiler_is_done():
    compiling = standing_still()
    compiling.__enter__()
    with alarm(working_time() + 0.05) as late:
        time.sleep(0.2)
        assert not late[0]
        compiling.__exit__(None, None, None)
        while not late[0]:  # or pytest says after a while that this one hangs
            time.sleep(0.001)
