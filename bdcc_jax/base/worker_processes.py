"""Processes for the independent tasks of one solve that run in Python more than in compiled code.

Of these, one thread of a process runs at a time. Everything else is as in :mod:`.workers`: a solve
opens processes once, tasks share nothing, what they return is taken over in their order, and
nothing depends on how many processes there are, nor on whether one of them dies.

A process takes a second or two to start, while the solve does other things, and so much memory as
Python with JAX does: they are for solves that take longer. loky starts them without running the
user's script again, so that it needs no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from threading import Thread, local
from typing import Any, TypeVar

from .clock import Clock
from .workers import PATIENCE

logger = logging.getLogger(__name__)

Task = TypeVar("Task")
Value = TypeVar("Value")

MOST_PROCESSES = 15
"""Beside this one; more take more memory than they save time."""

AHEAD = 2
"""Groups of tasks that each process has at a time, so that it need not wait for the next."""

GROUP = 500.0
"""The size of a group of tasks that go to a process together, at least, but for the last."""


class _Here(local):
    """What this thread has: processes for tasks, if it is that of a solve."""

    executor: Any = None
    processes = 0


_here = _Here()


@contextmanager
def open_processes(number: int) -> Iterator[None]:
    """Inside the block, in this thread, :func:`map` has so many processes beside this one.

    They start now. When the block ends they are gone.
    """
    executor = None if number < 1 else _start(min(number, MOST_PROCESSES))
    before = _here.executor, _here.processes
    _here.executor, _here.processes = executor, min(number, MOST_PROCESSES)
    try:
        yield
    finally:
        _here.executor, _here.processes = before
        if executor is not None:
            executor.shutdown(wait=False, kill_workers=True)


def are_open() -> bool:
    """Whether :func:`map` has processes here. Results must not depend on it."""
    return _here.executor is not None


def _start(number: int) -> Any:
    """Processes; None where the system has none for us: then all tasks are done here."""
    try:
        from loky import ProcessPoolExecutor

        # An accelerator, and its memory, is for the solve alone.
        executor = ProcessPoolExecutor(
            number,
            initializer=_begin,
            initargs=(os.getpid(),),
            env={"JAX_PLATFORMS": "cpu"},
            timeout=None,
        )
        with _ctrl_c_blocked():
            executor.submit(os.getpid)
    except (OSError, AssertionError, ImportError, RuntimeError) as error:
        # No semaphores, no memory, or we are a child that may have none itself.
        logger.info("no processes for small instances: %s", error)
        return None
    return executor


def _begin(parent: int) -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the one that has the solve.

    And end with that one, even if it had no time to say so.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: int) -> None:
    """Wait for the end of the process that has the solve: whoever has lost it gets another one."""
    while os.getppid() == parent:
        time.sleep(PATIENCE)
    os._exit(1)


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """A process that is started inside the block does not hear of Ctrl-C while it starts."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def map(
    function: Callable[[Task, Clock], Value],
    tasks: Sequence[Task],
    clock: Clock,
    sizes: Sequence[float],
) -> Generator[Value, None, None]:
    """Yield ``function(task, its clock)`` of every task, in order; see :func:`.workers.map`.

    This process begins with the first task, the others with the last. Where one of them dies its
    tasks are done here.

    Parameters
    ----------
    function : callable
        Pickled, as are tasks and values.
    tasks, clock
        As for threads.
    sizes : sequence of float
        How large tasks are: small ones go to a process together.
    """
    # All clocks from now: what one task does leaves no less work to the next.
    clocks = [clock.apart() for _ in tasks]
    left = deque(_groups(sizes))
    given: deque[tuple[range, Future[bytes]]] = deque()
    executor, most = _here.executor, AHEAD * _here.processes
    work = clock.work_remaining

    def give() -> None:
        """Let every process have something to do."""
        nonlocal executor
        while executor is not None and left and sum(not f.done() for _, f in given) < most:
            some = [tasks[i] for i in left[-1]]
            try:
                future = executor.submit(_run, function, some, clock.remaining, work)
            except (BrokenProcessPool, RuntimeError) as error:
                executor = None
                _lose(error)
                return
            given.appendleft((left.pop(), future))

    def here(i: int) -> Value:
        """Do a task in this process; those within it are too small for others."""
        before, _here.executor = _here.executor, None
        try:
            return function(tasks[i], clocks[i])
        finally:
            _here.executor = before
            clock.take_over(clocks[i])

    try:
        give()
        while left:
            for i in left.popleft():
                value = here(i)
                give()
                yield value
        for group, future in given:
            try:
                sent = _result(future, clock)
            except BrokenProcessPool as error:
                executor, sent = None, b""
                _lose(error)
            if not sent:
                for i in group:
                    yield here(i)
                continue
            # Written a moment ago by a process of ours: nobody could have tampered with it.
            for value, own in pickle.loads(sent):
                clock.take_over(own)
                yield value
    finally:
        for _, future in given:
            future.cancel()


def _groups(sizes: Sequence[float]) -> Iterator[range]:
    """Divide tasks, in order, into groups of some size."""
    start, total = 0, 0.0
    for i, size in enumerate(sizes):
        total += size
        if total >= GROUP or i + 1 == len(sizes):
            yield range(start, i + 1)
            start, total = i + 1, 0.0


def _lose(error: BaseException) -> None:
    """Go on without processes for the rest of the solve."""
    if _here.executor is not None:
        logger.warning("a process for small instances has died, its work is done here: %s", error)
        _here.executor = None


def _result(future: Future[Value], clock: Clock) -> Value:
    """Wait for a group of tasks; raises KeyboardInterrupt after Ctrl-C."""
    while not wait([future], PATIENCE).done:
        clock.waits()
    return future.result()


def _run(
    function: Callable[[Task, Clock], Value], tasks: Sequence[Task], seconds: float, work: float
) -> bytes:
    """What a process does: some tasks, each with a clock of its own.

    Empty if what they return is no message, as proofs that are nested too deeply.
    """
    clocks = [Clock(seconds, work) for _ in tasks]
    done = [(function(task, own), own) for task, own in zip(tasks, clocks, strict=True)]
    try:
        return pickle.dumps(done)
    except (pickle.PicklingError, RecursionError, TypeError, AttributeError) as error:
        logger.debug("done again, by whoever asked: %s", error)
        return b""
