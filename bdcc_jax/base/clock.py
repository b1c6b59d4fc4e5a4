"""Limits: a deadline, or an amount of work, that is asked often and ends the work by an exception.

How long something takes differs from run to run. Where the method itself decides how long to go
on, it counts *work* instead, which is the same in every run: iterations of the simplex method times
the rows and columns of the LP, about 20 million a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from math import inf
from threading import Event

from .alarms import alarm
from .arrays import BoolArray
from .records import Status, Stop
from .working_time import compiling_time, working_time


class TimeLimitReached(Stop):
    """A limit has been reached; what was found until then is still good."""

    def __init__(self) -> None:
        super().__init__(Status.TIME_LIMIT)


class Clock:
    """The time since the start of one solve, its deadline, and where the time went.

    The deadline is one of working time: while loops are compiled it does not come nearer.

    ``work`` is what has been done so far, and may not exceed ``work_limit``. Python delivers Ctrl-C
    to the main thread alone: solves in other threads learn of it through ``interrupted``.
    """

    def __init__(
        self,
        time_limit: float | None,
        work_limit: float = inf,
        interrupted: Event | None = None,
        around: Clock | None = None,
    ) -> None:
        self._start = time.perf_counter()
        self._compiling_before = compiling_time()
        self._deadline = inf if time_limit is None else working_time() + time_limit
        self._work_limit = work_limit
        self._interrupted = interrupted
        self._around = around
        self.work = 0.0
        self.device_calls, self.device_seconds = 0, 0.0
        self.spent: dict[str, float] = {}
        self.longest: dict[str, float] = {}
        self.crowded = False
        """Whether tasks in threads have all cores: a search beside them has to wait."""
        self.part = ""
        """What is being measured right now; a view of the progress reads it from its thread."""
        self.while_waiting: Callable[[], None] | None = None
        """Called about every tenth of a second in which this thread waits for HiGHS."""

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def compiling(self) -> float:
        """Of these the seconds in which loops were compiled, or compiled ones loaded."""
        return compiling_time() - self._compiling_before

    @property
    def timings(self) -> dict[str, float]:
        """Where the time went, and all of it; what was compiled is in no other part."""
        compiling = {"compiling": seconds} if (seconds := self.compiling) > 0.0 else {}
        return {**self.spent, **compiling, "total": self.elapsed}

    @property
    def remaining(self) -> float:
        """Seconds of work until the deadline, at least 0."""
        return max(0.0, self._deadline - working_time())

    @property
    def work_remaining(self) -> float:
        """Work that may still be done, at least 0."""
        return max(0.0, self._work_limit - self.work)

    def within(self, seconds: float = inf, work: float = inf) -> Clock:
        """A clock for a part of the work: limits of its own, which end no later than this one's."""
        seconds, work = min(seconds, self.remaining), min(work, self.work_remaining)
        return Clock(seconds, work, self._interrupted, self)

    def apart(self, interrupted: Event | None = None, work: float = inf) -> Clock:
        """A clock for a task that counts for itself until :meth:`take_over`, with these limits.

        In another thread it is the event that ends the task early.
        """
        work = min(work, self.work_remaining)
        if interrupted is not None:
            return Clock(self.remaining, work, interrupted)
        clock = Clock(self.remaining, work, self._interrupted)
        clock.while_waiting = self.while_waiting
        return clock

    def take_over(self, other: Clock) -> None:
        """Add what a clock of :meth:`apart` has counted."""
        self.work += other.work
        for part, seconds in other.spent.items():
            self.spent[part] = self.spent.get(part, 0.0) + seconds
        clock: Clock | None = self
        while clock is not None:
            clock.device_calls += other.device_calls
            clock.device_seconds += other.device_seconds
            clock = clock._around

    def check_interrupt(self) -> None:
        """Raise KeyboardInterrupt if the main thread was told to stop."""
        if self._interrupted is not None and self._interrupted.is_set():
            raise KeyboardInterrupt

    def waits(self) -> None:
        """Say that this thread waits; raises KeyboardInterrupt as check_interrupt does."""
        self.check_interrupt()
        if self.while_waiting is not None:
            self.while_waiting()

    def check(self) -> None:
        """Raise TimeLimitReached at a limit, KeyboardInterrupt after Ctrl-C."""
        self.check_interrupt()
        if working_time() >= self._deadline or self.work >= self._work_limit:
            raise TimeLimitReached

    def alarm(self) -> AbstractContextManager[BoolArray]:
        """A flag for compiled loops, which no exception can end: it is raised at the deadline."""
        return alarm(self._deadline)

    def spent_since(self, before: Mapping[str, float]) -> dict[str, float]:
        """What was spent since ``spent`` was this."""
        return {part: total - before.get(part, 0.0) for part, total in self.spent.items()}

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the working time inside the block to ``spent[part]``."""
        start, around = working_time(), self.part
        self.part = part
        try:
            yield
        finally:
            self.part = around
            self.spent[part] = self.spent.get(part, 0.0) + working_time() - start

    @contextmanager
    def device_call(self) -> Iterator[None]:
        """Count the block as one call of a device, here and on the clocks that this is a part of.

        The block ends when the results are there.
        """
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            clock: Clock | None = self
            while clock is not None:
                clock.device_calls += 1
                clock.device_seconds += seconds
                clock = clock._around

    @contextmanager
    def measure_one(self, part: str) -> Iterator[None]:
        """Keep the time inside the block in ``longest[part]`` if no other block took longer.

        For work that is done one after another but could be done at the same time.
        """
        start = working_time()
        try:
            yield
        finally:
            seconds = working_time() - start
            self.longest[part] = max(self.longest.get(part, 0.0), seconds)
