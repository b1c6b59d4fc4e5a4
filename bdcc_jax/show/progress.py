"""A table of the rounds while a solve runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from ..base.clock import Clock
from ..base.environment import install_hint
from ..base.records import Progress, Round
from ..base.streams import show
from ..search.reporter import Callback
from .columns import HEADINGS, cells

if TYPE_CHECKING:
    from .live import LiveTable

ProgressChoice = bool | Literal["live", "plain"]
"""What a caller may ask for; see :func:`bdcc_jax.solve`."""

WIDTHS = (1, 6, 5, 9, 15, 15, 9, 8, 8)
LINES_PER_HEADER = 30

INTERVAL = 0.5
"""Seconds of solving between two lines, unless there is a new best clustering."""


def view(wish: ProgressChoice, clock: Clock) -> ProgressPrinter | LiveTable | None:
    """Whatever shows the progress in the way that is asked for; None shows nothing."""
    if wish not in (True, False, "live", "plain"):
        raise ValueError(f"progress must be True, False, 'live' or 'plain', not {wish!r}")
    if not wish:
        return None
    if wish == "plain":
        return ProgressPrinter()
    try:
        from .live import LiveTable, on_terminal
    except ImportError as error:
        if wish == "live":
            message = f"a live table needs rich: {install_hint('progress')}"
            raise ImportError(message) from error
        return ProgressPrinter()
    return LiveTable(clock) if wish == "live" or on_terminal() else ProgressPrinter()


@contextmanager
def shown(wish: ProgressChoice, clock: Clock, callback: Callback | None) -> Iterator[Callback]:
    """Show the rounds of a solve inside the block; gives what is to see them, the callback too."""
    shows = view(wish, clock)

    def observe(state: Progress) -> bool:
        if shows is not None:
            shows(state)
        return bool(callback(state)) if callback is not None else False

    if shows is None:
        yield observe
        return
    try:
        shows.start()
        yield observe
    finally:
        try:
            shows.close()
        except KeyboardInterrupt:
            shows.close()  # or it would go on to draw
            raise


def _line(texts: tuple[str, ...]) -> str:
    return " ".join(
        text.ljust(width) if heading == "phase" else text.rjust(width)
        for text, width, heading in zip(texts, WIDTHS, HEADINGS, strict=True)
    )


COLUMNS = _line(HEADINGS)


class ProgressPrinter:
    """Prints one line a round to standard error, but not too many.

    The first round and every new best clustering (marked ``*``) are always shown, other rounds at
    most every INTERVAL seconds, and :meth:`close` shows the last one if it was left out.
    """

    def __init__(self) -> None:
        self._next, self._lines, self._has_header = float("-inf"), 0, False
        self._left_out: Round | None = None

    def start(self) -> None:
        """Show the header: a first round may take a while, above all where loops get compiled."""
        show(COLUMNS, sys.stderr)
        self._has_header = True

    def __call__(self, progress: Progress) -> None:
        """Show a round, or remember it for :meth:`close`."""
        due = progress.round.seconds >= self._next
        if progress.improved or due:
            self._show(progress.round, improved=progress.improved)
        else:
            self._left_out = progress.round

    def close(self) -> None:
        """Show the last round if it was left out."""
        if self._left_out is not None:
            self._show(self._left_out, improved=False)

    def _show(self, record: Round, *, improved: bool) -> None:
        if self._lines % LINES_PER_HEADER == 0 and not self._has_header:
            self.start()
        self._has_header = False
        # Looked up late: standard error may have been redirected since.
        show(_line(cells(record, improved=improved)), sys.stderr)
        self._lines += 1
        self._next = record.seconds + INTERVAL
        self._left_out = None
