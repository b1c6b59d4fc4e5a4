"""HiGHS, and what its instances in one thread share: a scheduler with a number of threads."""

from __future__ import annotations

from threading import Event
from typing import Any

import highspy

OPTIMAL = highspy.HighsModelStatus.kOptimal

NODE_ITERATIONS = 200
"""Iterations of the simplex method that a node of branch-and-bound takes, cuts included."""


def most_nodes(work: float, size: int) -> int:
    """Nodes of branch-and-bound that are about as much work, for rows and columns of this number.

    Examples
    --------
    >>> most_nodes(1e6, 500)
    10
    """
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


def run_until(highs: highspy.Highs, done: Event) -> None:
    """Run in a thread of its own, and say when it is done."""
    try:
        run(highs)
        release_scheduler()
    finally:
        done.set()
