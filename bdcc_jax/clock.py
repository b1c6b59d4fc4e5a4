"""Time limits: a deadline that is asked often and ends the work by an exception."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class TimeLimitReached(Exception):
    """The deadline has passed; what was found until then is still good."""


class Clock:
    """The time since the start of one solve, its deadline, and where the time went."""

    def __init__(self, time_limit: float | None) -> None:
        self._start = time.perf_counter()
        self._limit = float("inf") if time_limit is None else time_limit
        self.spent: dict[str, float] = {}
        self.part = ""
        """What is being measured right now; a view of the progress reads it from its thread."""

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, at least 0."""
        return max(0.0, self._limit - self.elapsed)

    def check(self) -> None:
        """Raise TimeLimitReached if the deadline has passed."""
        if self.elapsed >= self._limit:
            raise TimeLimitReached

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the time inside the block to ``spent[part]``."""
        start, around = time.perf_counter(), self.part
        self.part = part
        try:
            yield
        finally:
            self.part = around
            self.spent[part] = self.spent.get(part, 0.0) + time.perf_counter() - start
