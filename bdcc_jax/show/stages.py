"""What is done before and after a solve: a bar on a terminal, in the place of the one before."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..base.streams import Lenient, is_terminal

INTERVAL = 0.1
"""Seconds between two drawings of a bar."""

WIDTH = 24
"""Of a bar, in characters."""


class Stages:
    """Measures stages of work, and shows on standard error, if that is a terminal, how far it is.

    Attributes
    ----------
    seconds : dict from str to float
        How long each stage took.
    """

    def __init__(self, shown: bool) -> None:
        self._shown = shown and is_terminal(sys.stderr)
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
                self._draw(f"{name} {bar(done, of)} rows, {now - start:.1f} s")

        self._draw(f"{name} ...")
        try:
            yield told
        finally:
            self._draw("")
        self.seconds[name] = time.perf_counter() - start

    def _draw(self, line: str) -> None:
        if self._shown:
            stream = Lenient(sys.stderr)
            stream.write(f"\r\x1b[K{line}")  # from the left, and nothing after it
            stream.flush()


def bar(done: int, of: int | None) -> str:
    """How much of something is done, where it is known of how much.

    Examples
    --------
    >>> bar(1_500_000, 2_000_000)
    '[##################......]  75 % 1,500,000'
    >>> bar(1_500_000, None)
    '1,500,000'
    """
    if not of:
        return f"{done:,}"
    part = min(1.0, done / of)
    full = int(part * WIDTH)
    return f"[{'#' * full}{'.' * (WIDTH - full)}] {part:4.0%} {done:,}".replace("%", " %")
