"""Time limits: a deadline that is asked often and ends the work by an exception."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


class TimeLimitReached(Exception):
    """The deadline has passed; what was found until then is still good."""


class Clock:
    """The time since the start of one solve, its deadline, and where the time went.

    Python delivers Ctrl-C to the main thread alone: solves in other threads learn of it through
    ``interrupted``.
    """

    def __init__(self, time_limit: float | None, interrupted: Event | None = None) -> None:
        self._start = time.perf_counter()
        self._limit = float("inf") if time_limit is None else time_limit
        self._interrupted = Event() if interrupted is None else interrupted
        self.spent: dict[str, float] = {}

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self._limit - self.elapsed)

    def within(self, seconds: float) -> Clock:
        """Another clock, for a part of the work: so many seconds, but not past this deadline."""
        return Clock(min(seconds, self.remaining), self._interrupted)

    def check_interrupt(self) -> None:
        """Raise KeyboardInterrupt if the main thread was told to stop."""
        if self._interrupted.is_set():
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise TimeLimitReached if the deadline has passed, KeyboardInterrupt after Ctrl-C."""
        self.check_interrupt()
        if self.elapsed >= self._limit:
            raise TimeLimitReached

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the time inside the block to ``spent[part]``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent[part] = self.spent.get(part, 0.0) + time.perf_counter() - start
