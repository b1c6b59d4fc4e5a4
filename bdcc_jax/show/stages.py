"""What is done before and after a solve, in a line each."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..base.streams import show

INTERVAL = 0.5
"""Seconds between two lines about the same stage."""


class Stages:
    """Measures stages of work, and shows on standard error those that take a while.

    Attributes
    ----------
    seconds : dict from str to float
        How long each stage took.
    """

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """Do a stage inside the block; gives what may be told how far it is."""
        start = last = time.perf_counter()

        def told(done: int, of: int | None = None) -> None:
            nonlocal last
            now = time.perf_counter()
            if now - last >= INTERVAL:
                last = now
                part = f"{done:,}" if of is None else f"{done:,} of {of:,} ({done / of:.0%})"
                self._show(f"{name}: {part} rows, {now - start:.1f} s")

        yield told
        spent = time.perf_counter() - start
        self.seconds[name] = spent
        if spent >= INTERVAL:
            self._show(f"{name}: done in {spent:.1f} s")

    def _show(self, line: str) -> None:
        if self._shown:
            show(line, sys.stderr)
