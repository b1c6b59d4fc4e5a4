"""Flags for compiled loops, which no exception can end: one thread raises all at their deadlines.

A timer of its own for every loop would take longer to start than most loops take.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import inf
from threading import TIMEOUT_MAX, Condition, Thread

import numpy as np

from .arrays import BoolArray
from .working_time import working_time


class _Watch:
    """The flags that are waited with, and the thread that raises them."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._numbers = count()
        self._flags: dict[int, tuple[float, BoolArray]] = {}
        self._wakes_at = inf
        self._thread: Thread | None = None

    def add(self, deadline: float, flag: BoolArray) -> int:
        with self._changed:
            number = next(self._numbers)
            self._flags[number] = deadline, flag
            if self._thread is None:
                self._thread = Thread(target=self._run, name="bdcc_jax deadlines", daemon=True)
                self._thread.start()
            elif deadline < self._wakes_at:
                self._changed.notify()
        return number

    def remove(self, number: int) -> None:
        with self._changed:
            self._flags.pop(number, None)

    def _run(self) -> None:
        with self._changed:
            while True:
                now = working_time()
                for deadline, flag in self._flags.values():
                    if deadline <= now:
                        flag[0] = True
                later = (deadline for deadline, _ in self._flags.values() if deadline > now)
                self._wakes_at = min(later, default=inf)
                self._changed.wait(min(self._wakes_at - now, TIMEOUT_MAX))


_watch = _Watch()
os.register_at_fork(after_in_child=_watch.__init__)  # type: ignore[misc]  # threads do not survive


@contextmanager
def alarm(deadline: float) -> Iterator[BoolArray]:
    """A flag that is raised at the deadline, in working time."""
    flag = np.zeros(1, dtype=np.bool_)
    if deadline == inf:
        yield flag
        return
    flag[0] = working_time() >= deadline
    number = _watch.add(deadline, flag)
    try:
        yield flag
    finally:
        _watch.remove(number)
