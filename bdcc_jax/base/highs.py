"""HiGHS, and what its instances in one thread share: a scheduler with a number of threads."""

from contextlib import suppress
from math import inf
from threading import TIMEOUT_MAX, Event, Lock, Thread
from typing import Any

import highspy

from .clock import Clock

OPTIMAL = highspy.HighsModelStatus.kOptimal

GRACE = 0.3
"""Seconds after its time limit that HiGHS is waited for: usually it ends in these."""

NODE_ITERATIONS = 200
"""Iterations of the simplex method that a node of branch-and-bound takes, cuts included."""


def most_nodes(work: float, size: int) -> int:
    """How many nodes of branch-and-bound are about as much work, for so many rows and columns."""
    return int(min(max(1.0, work / (NODE_ITERATIONS * size)), highspy.kHighsIInf))


def run(highs: highspy.Highs) -> Any:
    """Run in this thread, and say how it ended.

    HiGHS refuses to run where its scheduler was started with another number of threads, by another
    user of HiGHS: then it gets a new one.
    """
    if highs.run() == highspy.HighsStatus.kError:
        release_scheduler()
        highs.run()
    return highs.getModelStatus()


def release_scheduler() -> None:
    """Leave no scheduler behind that another user of HiGHS in this thread would stumble over."""
    highspy.Highs.resetGlobalScheduler(True)


def run_in_thread(highs: highspy.Highs, clock: Clock) -> Any:
    """Run in a thread of its own, so that Ctrl-C gets through: then it is stopped first.

    highspy's own startSolve has one lock for all models of a process, and Python's own join takes a
    thread for finished that Ctrl-C has interrupted the waiting for.
    """
    begun, done = Lock(), Event()
    highs.HandleUserInterrupt = True  # which makes it refer to itself
    try:
        Thread(target=_run_until, args=(highs, begun, done), daemon=True).start()
        while not done.wait(0.1):
            clock.waits()
    except BaseException:  # Ctrl-C, or a callback that has seen enough
        # Nobody else may touch a model that runs. Where the lock is free still it never will.
        while not begun.acquire(blocking=False) and not done.is_set():
            with suppress(KeyboardInterrupt):
                highs.cancelSolve()
                done.wait()
        raise
    finally:
        highs.HandleUserInterrupt = False  # else it would live until Python looks for circles
    return highs.getModelStatus()


def run_in_time(highs: highspy.Highs, seconds: float) -> bool:
    """Run, but wait no longer than HiGHS' time limit and a moment; whether it was done by then.

    On large ILPs HiGHS was seen to miss its time limit by ten seconds. Then it is told to stop and
    left to itself: it must not be touched again. Python waits for its thread when it exits.
    """
    if seconds == inf:
        run(highs)
        return True
    done = Event()
    highs.HandleUserInterrupt = True
    Thread(target=_run_until, args=(highs, Lock(), done)).start()
    try:
        in_time = done.wait(min(seconds + GRACE, TIMEOUT_MAX))
    except BaseException:
        highs.cancelSolve()
        raise
    if in_time:
        highs.HandleUserInterrupt = False
    else:
        highs.cancelSolve()
    return in_time


def _run_until(highs: highspy.Highs, begun: Lock, done: Event) -> None:
    """Run, unless somebody else has the lock, and say when it is done."""
    if not begun.acquire(blocking=False):
        return
    try:
        run(highs)
        release_scheduler()
    finally:
        done.set()
