"""What is done of the blocks of a large graph, in plain lines."""

from __future__ import annotations

from math import isfinite
from typing import Any, TextIO

from ..base.records import relative_gap
from ..base.streams import show

INTERVAL = 2.0
"""Seconds between two lines of one stage."""


class BlockPrinter:
    """A callback for :func:`bdcc_jax.large.solve` that prints a line now and then."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream, self._stage, self._next = stream, "", float("-inf")
        self._has_header = False

    def __call__(self, state: Any) -> None:
        """Show a :class:`~bdcc_jax.large.BlockProgress`: the last of a stage, others at times."""
        last = state.done == state.total
        if not last and state.stage == self._stage and state.seconds < self._next:
            return
        self._stage, self._next = state.stage, state.seconds + INTERVAL
        if not self._has_header:
            show(
                f"{'seconds':>9} {'done':>13}  {'stage':<28} {'lower bound':>15} "
                f"{'upper bound':>15} {'gap':>9}",
                self._stream,
            )
            self._has_header = True
        done = f"{state.done}/{state.total}" if state.total else f"{state.done}"
        show(
            f"{state.seconds:>9.1f} {done:>13}  {state.stage:<28} {_number(state.lower_bound)} "
            f"{_number(state.upper_bound)} {_gap(state)}",
            self._stream,
        )


def _number(value: float) -> str:
    return f"{value:>15.8g}" if isfinite(value) else f"{'':>15}"


def _gap(state: Any) -> str:
    if not (isfinite(state.lower_bound) and isfinite(state.upper_bound)):
        return ""
    return f"{100 * relative_gap(state.upper_bound, state.lower_bound):>8.3g}%"
