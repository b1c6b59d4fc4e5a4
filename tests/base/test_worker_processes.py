"""Tasks in processes: as in threads, and whatever becomes of the processes."""

import logging
import os
import signal
import threading
import time
from functools import partial
from multiprocessing import get_context

import loky
import pytest

from bdcc_jax.base import worker_processes
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.base.worker_processes import are_open, open_processes

LARGE = worker_processes.GROUP  # so that every task goes by itself


@pytest.fixture(scope="module")
def executor():
    """Two processes that start once; none of the tests has them by itself."""
    with open_processes(2):
        opened, worker_processes._here.executor = worker_processes._here.executor, None
        yield opened


@pytest.fixture
def two(executor, monkeypatch):
    monkeypatch.setattr(worker_processes._here, "executor", executor)
    monkeypatch.setattr(worker_processes._here, "processes", 2)


def values(function, tasks, clock=None, size=LARGE):
    """What tasks return."""
    clock = Clock(None) if clock is None else clock
    return worker_processes.map(function, tasks, clock, [size] * len(tasks))


def late_first(task, clock):
    time.sleep(0.02 * (task == 0))
    clock.work += 2.0**task
    return -task


@pytest.mark.parametrize("size", [1.0, 200.0, LARGE])
def test_values_come_in_the_order_of_the_tasks(two, size):
    clock, seen = Clock(None), []
    for value in values(late_first, range(12), clock, size):
        seen.append((value, clock.work))
    assert [value for value, _ in seen] == [-k for k in range(12)]
    assert seen[-1][1] == 2.0**12 - 1


def where(task, clock):
    time.sleep(0.02)
    return os.getpid()


def test_this_process_and_the_others_share_the_work(two):
    pids = set(values(where, range(40)))
    assert os.getpid() in pids
    assert 2 <= len(pids) <= 3


def test_without_processes_all_is_done_here():
    assert not are_open()
    assert set(values(where, range(3))) == {os.getpid()}


def inner(task, clock):
    return are_open()


def test_a_task_has_no_processes_for_tasks_of_its_own(two):
    assert are_open()
    assert not any(values(inner, range(8)))
    assert are_open()


def fails(task, clock):
    if task >= 3:
        raise ValueError(f"task {task}")
    return task


def test_the_first_error_in_order_is_raised_after_the_values_before_it(two):
    seen = []
    with pytest.raises(ValueError, match="task 3"):
        seen.extend(values(fails, range(8)))
    assert seen == [0, 1, 2]
    assert list(values(late_first, range(4))) == [0, -1, -2, -3]  # and on it goes


def busy(task, clock):
    while True:
        clock.work += 1.0
        try:
            clock.check()
        except TimeLimitReached:
            return clock.work


def test_tasks_have_the_limits_of_the_solve(two):
    """All of what is left when they are given, whatever the others do."""
    clock = Clock(None, work_limit=5.0)
    clock.work = 2.0
    assert list(values(busy, range(6), clock)) == [3.0] * 6
    assert clock.work == 20.0
    start = time.monotonic()
    assert len(list(values(busy, range(6), Clock(0.1)))) == 6
    assert time.monotonic() - start < 30


def dies_elsewhere(task, clock, here):
    if os.getpid() != here:
        os._exit(1)
    return task


def test_what_a_dead_process_had_is_done_here(caplog):
    here = os.getpid()
    with open_processes(1), caplog.at_level(logging.WARNING):
        assert list(values(partial(dies_elsewhere, here=here), range(6))) == list(range(6))
        assert not are_open()
        assert set(values(where, range(4))) == {here}
    assert "has died" in caplog.text


def test_a_process_may_be_killed_while_it_has_work(caplog):
    with open_processes(1), caplog.at_level(logging.WARNING):
        tasks = values(partial(waits_elsewhere, here=os.getpid()), range(4))
        assert next(tasks) == 0
        for process in worker_processes._here.executor._processes.values():
            os.kill(process.pid, signal.SIGTERM)
        assert list(tasks) == [1, 2, 3]
    assert "has died" in caplog.text


def waits_elsewhere(task, clock, here):
    if os.getpid() != here:
        time.sleep(60)
    return task


def test_results_that_nobody_can_send_are_made_here(two):
    assert [lock is not None for lock in values(a_lock, range(2))] == [True, True]


def a_lock(task, clock):
    return threading.Lock()


def nested(task, clock):
    value = ()
    for _ in range(100_000):
        value = (value,)
    return value


def test_values_may_be_nested_deeply(two):
    assert all(len(value) == 1 for value in values(nested, range(4)))


def test_when_the_block_ends_the_processes_are_gone():
    with open_processes(1):
        pids = set(values(where, range(8))) - {os.getpid()}
        assert pids
    wait_until_gone(pids)


def wait_until_gone(pids):
    for pid in pids:
        for _ in range(200):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.05)
        else:
            pytest.fail("still there")


def opens_and_waits(queue):
    with open_processes(2):
        queue.put([pid for pid in set(values(where, range(40))) if pid != os.getpid()])
        time.sleep(600)


def test_when_the_solve_is_killed_the_processes_end():
    context = get_context("spawn")
    queue = context.Queue()
    solving = context.Process(target=opens_and_waits, args=(queue,))
    solving.start()
    pids = queue.get(timeout=120)
    assert pids
    solving.kill()
    solving.join()
    wait_until_gone(pids)


def test_where_there_can_be_none_all_is_done_here(monkeypatch):
    def no_semaphores(*_, **__):
        raise OSError("no semaphores here")

    monkeypatch.setattr(loky, "ProcessPoolExecutor", no_semaphores)
    with open_processes(2):
        assert not are_open()
        assert set(values(where, range(3))) == {os.getpid()}


def as_a_child(queue):
    """Children of multiprocessing's pools may have none themselves."""
    with open_processes(1):
        queue.put(sorted(values(late_first, range(4))))


def test_in_a_child_that_may_have_none():
    context = get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=as_a_child, args=(queue,), daemon=True)
    child.start()
    assert queue.get(timeout=120) == [-3, -2, -1, 0]
    child.join(60)
    assert child.exitcode == 0
