"""The rounds as a table that stays in its place on a terminal, and what goes on between them."""

import sys
from contextlib import ExitStack
from typing import Any, TextIO, cast

from numba.core import event
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ..base.clock import Clock
from ..base.records import Progress
from ..base.streams import Lenient, is_terminal
from .columns import HEADINGS, cells

DOING = {
    "presolve": "reducing the instance",
    "rounding": "looking for better clusterings",
    "cover": "choosing the roots",
    "master": "solving the master problem",
    "detection": "looking for violated cycles",
    "subproblems": "making rows",
    "": "working",
}
"""The parts of a solve, as the clock calls them, in words."""

WIDTHS = (1, 5, 5, 8, 12, 12, 7, 7, 8)
"""Least width of a column, so that it does not move when a number gets longer."""

INTERVAL, LINES = 0.5, 15
"""Seconds of solving between two lines, and how many of these are seen."""


def on_terminal() -> bool:
    """Whether standard error is a terminal that can move its cursor."""
    return is_terminal(sys.stderr) and Console(stderr=True).is_interactive


class LiveTable:
    """Shows the last rounds, new best clusterings marked ``*``, the time and what is being done.

    The last line is always the last round; above it are those that
    :class:`~bdcc_jax.show.progress.ProgressPrinter` would print.
    """

    def __init__(self, clock: Clock, console: Console | None = None) -> None:
        self._clock = clock
        if console is None:  # drawn on from another thread, where errors would be tracebacks
            console = Console(file=cast("TextIO", Lenient(sys.stderr)))
        self._lines = max(2, min(LINES, console.height - 6))
        # Replaced and never changed: another thread draws it.
        self._shown: tuple[tuple[str, ...], ...] = ()
        self._next, self._last_stays = float("-inf"), True
        self._spinner: Spinner | None = None
        self._compiling, self._running = _Compiling(), ExitStack()
        self._live = Live(
            console=console,
            get_renderable=self._draw,
            # What is printed to a file or a pipe must arrive there.
            redirect_stdout=is_terminal(sys.stdout),
            redirect_stderr=is_terminal(sys.stderr),
        )

    def start(self) -> None:
        """Begin to draw, four times a second from now on."""
        self._spinner = Spinner("dots")
        self._running.enter_context(event.install_listener("numba:compile", self._compiling))
        self._running.enter_context(self._live)

    def __call__(self, progress: Progress) -> None:
        """Show a round, in place of the last one unless that one is to be kept."""
        kept = self._shown if self._last_stays else self._shown[:-1]
        row = cells(progress.round, improved=progress.improved)
        self._last_stays = progress.improved or progress.round.seconds >= self._next
        if self._last_stays:
            self._next = progress.round.seconds + INTERVAL
        self._shown = (*kept[-self._lines + 1 :], row)

    def close(self) -> None:
        """Leave the table as it is."""
        self._spinner = None
        self._running.close()

    def _draw(self) -> RenderableType:
        table = Table(box=SIMPLE_HEAD, padding=0)
        for heading, width in zip(HEADINGS, WIDTHS, strict=True):
            side: JustifyMethod = "left" if heading == "phase" else "right"
            table.add_column(heading, justify=side, min_width=width, no_wrap=True)
        for row in self._shown:
            table.add_row(*row, style="bold green" if row[0] else None)
        return Group(table, self._footer())

    def _footer(self) -> RenderableType:
        seconds = f"{self._clock.elapsed:.1f} s"
        spinner = self._spinner
        if spinner is None:
            return Text(seconds)
        doing = "compiling (kept for the next time)"
        if not self._compiling:
            doing = DOING.get(self._clock.part, self._clock.part)
        spinner.update(text=Text(f"{seconds}  {doing}"))
        return spinner


class _Compiling(event.Listener):  # type: ignore[misc]
    """Whether numba is compiling at the moment."""

    def __init__(self) -> None:
        self._running = 0

    def __bool__(self) -> bool:
        return self._running > 0

    def on_start(self, event: Any) -> None:
        self._running += 1

    def on_end(self, event: Any) -> None:
        self._running -= 1
