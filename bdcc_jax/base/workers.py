"""Threads for the independent tasks of one solve.

A solve opens threads once. Whatever within it has independent tasks gives them to :func:`map`,
which needs no object to be passed around: inside a task, or without threads, it does one after
another.

A task is a function of its argument and of a clock of its own. It shares nothing with the others
and returns a value. The values, and the work that the clocks have counted, are taken over in the
order of the tasks: nothing depends on how many threads there are, nor on which was the quickest.
Threads help where tasks are compiled or HiGHS', which both free the interpreter's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from threading import Event, local
from typing import Generic, TypeVar

from .clock import Clock
from .highs import release_scheduler

Task = TypeVar("Task")
Value = TypeVar("Value")

PATIENCE = 0.1
"""Seconds between two looks at the clock while tasks are waited for; Ctrl-C comes through there."""


class _Here(local):
    """What this thread has: threads for tasks, if it is that of a solve."""

    executor: ThreadPoolExecutor | None = None
    threads = 1
    stops: tuple[Event, ...] = ()


_here = _Here()


def usable_cores() -> int:
    """How many cores this process may use.

    Examples
    --------
    >>> 1 <= usable_cores() <= os.cpu_count()
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no such limits
        return os.cpu_count() or 1


@contextmanager
def open_threads(number: int) -> Iterator[None]:
    """Inside the block, in this thread, :func:`map` has so many threads.

    When the block ends no task runs any more.
    """
    before = _here.executor, _here.threads, _here.stops
    executor = ThreadPoolExecutor(number, "bdcc_jax") if number > 1 else None
    none: tuple[Event, ...] = ()
    _here.executor, _here.threads, _here.stops = executor, number, none
    try:
        yield
    finally:
        for stop in _here.stops:
            stop.set()
        _here.executor, _here.threads, _here.stops = before
        if executor is not None:
            executor.shutdown(cancel_futures=True)


def threads() -> int:
    """How many tasks of :func:`map` run at the same time here. Results must not depend on it."""
    return _here.threads if _here.executor is not None else 1


def map(
    function: Callable[[Task, Clock], Value],
    tasks: Sequence[Task],
    clock: Clock,
    *,
    threaded: bool = True,
) -> Generator[Value, None, None]:
    """Yield ``function(task, its clock)`` of every task, in order.

    The first error, in the order of the tasks, is raised in its place. Whoever needs no more values
    closes the iterator; this, Ctrl-C and errors stop the tasks that still run: their clocks raise
    KeyboardInterrupt when they are asked.

    Parameters
    ----------
    function : callable
        Called in other threads, at the same time with other tasks.
    tasks : sequence
        What it is called with.
    clock : Clock
        Has the limits of every task; what a task has counted is added when its value is yielded.
    threaded : bool
        False: one after another in any case, where threads would get into each other's way.

    Examples
    --------
    >>> with open_threads(2):
    ...     list(map(lambda task, clock: task**2, [3, 1, 2], Clock(None)))
    [9, 1, 4]
    """
    executor = _here.executor
    if executor is None or len(tasks) < 2 or not threaded:
        # All clocks from now: what one task does leaves no less work to the next.
        yield from _one_by_one(function, tasks, [clock.apart() for _ in tasks], clock)
        return
    stop = _new_stop()
    clocks = [clock.apart(stop) for _ in tasks]
    futures: list[Future[Value]] = []
    clock.crowded = True
    try:
        for task, own in zip(tasks, clocks, strict=True):
            futures.append(executor.submit(_run, function, task, own))
        yield from _values(futures, clocks, clock, stop)
    finally:
        clock.crowded = False
        stop.set()  # also if Ctrl-C came before all of them were begun


def _new_stop() -> Event:
    """What ends tasks; it is set when the threads are closed, at the latest."""
    stop = Event()
    _here.stops = (*(known for known in _here.stops if not known.is_set()), stop)
    return stop


def _values(
    futures: list[Future[Value]], clocks: list[Clock], clock: Clock, stop: Event
) -> Generator[Value, None, None]:
    """What tasks return, in order; in the end none of them runs any more."""
    try:
        for future, own in zip(futures, clocks, strict=True):
            _wait_for(future, own, clock)
            clock.take_over(own)
            yield future.result()
    finally:
        stop.set()
        for future in futures:
            future.cancel()
        while not all(future.done() for future in futures):
            with suppress(KeyboardInterrupt):  # they end soon, and use what the solve gives up
                wait(futures)


class Pending(Generic[Value]):
    """A value that is being computed in another thread, or will be when it is asked for."""

    def __init__(self, values: Generator[Value, None, None]) -> None:
        self._values = values

    def value(self) -> Value:
        """Wait for it; raises what the task has raised."""
        return next(self._values)


def begin(
    function: Callable[[Task, Clock], Value], task: Task, clock: Clock, *, threaded: bool = True
) -> Pending[Value]:
    """Begin with a task while this thread does something else; see :func:`map`.

    Without threads, or if it is not worth one, it is done when its value is asked for.

    Examples
    --------
    >>> with open_threads(2):
    ...     square = begin(lambda task, clock: task**2, 3, Clock(None))
    ...     2 + square.value()
    11
    """
    executor = _here.executor
    if executor is None or not threaded:
        return Pending(_one_by_one(function, [task], [clock.apart()], clock))
    stop = _new_stop()
    own = clock.apart(stop)
    future = executor.submit(_run, function, task, own)
    return Pending(_values([future], [own], clock, stop))


def _one_by_one(
    function: Callable[[Task, Clock], Value],
    tasks: Sequence[Task],
    clocks: list[Clock],
    clock: Clock,
) -> Generator[Value, None, None]:
    for task, own in zip(tasks, clocks, strict=True):
        try:
            value = function(task, own)
        finally:
            clock.take_over(own)
        yield value


def _run(function: Callable[[Task, Clock], Value], task: Task, clock: Clock) -> Value:
    try:
        clock.check_interrupt()
        return function(task, clock)
    finally:
        release_scheduler()


def _wait_for(future: Future[Value], own: Clock, clock: Clock) -> None:
    """Wait for a task; raises KeyboardInterrupt after Ctrl-C."""
    before = clock.part
    try:
        while not wait([future], PATIENCE).done:
            clock.part = own.part
            clock.waits()
    finally:
        clock.part = before
