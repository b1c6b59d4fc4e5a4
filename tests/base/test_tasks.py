"""Tasks in threads: values and errors in order, clocks of their own, an end to all of them."""

import threading
import time

import pytest

from bdcc_jax.base import workers
from bdcc_jax.base.clock import Clock, TimeLimitReached

THREADS = [1, 2, 3]


@pytest.fixture(params=THREADS)
def threads(request):
    with workers.open_threads(request.param):
        yield request.param


def test_values_come_in_the_order_of_the_tasks(threads):
    def late_first(task, clock):
        time.sleep(0.02 * (task == 0))
        clock.work += 2.0**task
        return -task

    clock, seen = Clock(None), []
    for value in workers.map(late_first, range(6), clock):
        seen.append((value, clock.work))  # what later tasks have done is not counted yet
    assert seen == [(-k, 2.0 ** (k + 1) - 1) for k in range(6)]


def test_tasks_run_at_the_same_time_and_in_other_threads():
    barrier = threading.Barrier(2, timeout=30)
    with workers.open_threads(2):
        assert workers.threads() == 2
        both = list(workers.map(lambda task, clock: barrier.wait() >= 0, [0, 1], Clock(None)))
    assert both == [True, True]
    assert workers.threads() == 1


def test_a_task_has_no_threads_for_tasks_of_its_own(threads):
    def inner(task, clock):
        here = threading.get_ident()
        assert workers.threads() == (1 if threads > 1 else threads)
        where = workers.map(lambda task, clock: threading.get_ident(), range(3), clock)
        return all(ident == here for ident in where)

    assert all(workers.map(inner, range(4), Clock(None)))


def test_the_first_error_in_order_is_raised_after_the_values_before_it(threads):
    def fails(task, clock):
        if task == 1:
            time.sleep(0.02)
        if task >= 1:
            raise ValueError(f"task {task}")
        return task

    seen = []
    with pytest.raises(ValueError, match="task 1"):
        seen.extend(workers.map(fails, range(4), Clock(None)))
    values = workers.map(fails, range(4), Clock(None))
    assert next(values) == 0
    with pytest.raises(ValueError, match="task 1"):
        next(values)


def test_whoever_closes_the_values_ends_the_tasks():
    ended = []

    def until_told(task, clock):
        if task == 0:
            return 0
        try:
            while True:
                clock.check()
                time.sleep(0.001)
        finally:
            ended.append(task)

    with workers.open_threads(2):
        values = workers.map(until_told, range(8), Clock(None))
        assert next(values) == 0
        values.close()
        assert set(ended) <= {1, 2}  # the others never begin


def test_ctrl_c_in_the_waiting_thread_ends_all_tasks():
    begun = threading.Barrier(2, timeout=30)

    def until_told(task, clock):
        begun.wait()
        while True:
            clock.check()
            time.sleep(0.001)

    clock = Clock(None)
    clock.while_waiting = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with workers.open_threads(2):
        with pytest.raises(KeyboardInterrupt):
            list(workers.map(until_told, range(2), clock))
        assert list(workers.map(lambda task, clock: task, range(3), Clock(None))) == [0, 1, 2]


def test_tasks_have_the_limits_of_the_clock(threads):
    def works(task, clock):
        clock.check()
        clock.work += 6.0
        clock.check()

    clock = Clock(None, work_limit=10.0)
    assert list(workers.map(works, range(2), clock)) == [None, None]  # each may do what is left
    with pytest.raises(TimeLimitReached):
        clock.check()
    with pytest.raises(TimeLimitReached):
        list(workers.map(works, range(2), Clock(0.0)))


def test_calls_of_devices_and_seconds_are_added_once(threads):
    def calls(task, clock):
        with clock.measure("master"), clock.device_call():
            pass

    outer = Clock(None)
    clock = outer.within()
    list(workers.map(calls, range(5), clock))
    assert clock.device_calls == outer.device_calls == 5
    assert set(clock.spent) == {"master"}


@pytest.mark.parametrize("threaded", [True, False])
def test_a_task_beside_this_thread(threads, threaded):
    def squared(task, clock):
        clock.work += task
        return task**2

    clock = Clock(None)
    pending = workers.begin(squared, 5, clock, threaded=threaded)
    clock.work += 1.0
    assert (pending.value(), clock.work) == (25, 6.0)
    failing = workers.begin(lambda task, clock: 1 / task, 0, clock, threaded=threaded)
    with pytest.raises(ZeroDivisionError):
        failing.value()


def test_a_task_beside_this_thread_runs_at_the_same_time():
    barrier = threading.Barrier(2, timeout=30)
    with workers.open_threads(2):
        pending = workers.begin(lambda task, clock: barrier.wait() >= 0, None, Clock(None))
        barrier.wait()
        assert pending.value()
