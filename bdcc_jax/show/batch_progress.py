"""What is done of a batch, in plain lines."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from ..base.records import Failure
from ..base.streams import show


class BatchPrinter:
    """A callback for :func:`bdcc_jax.solve_batch` that prints a line an instance, but not too many.

    Instances that failed or were not closed are always shown, others at most every ``interval``
    seconds; the last one always. ``names`` are those of the instances, in place of numbers.
    """

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        interval: float = 0.5,
        names: list[str] | None = None,
    ) -> None:
        self._stream, self._interval, self._names = stream, interval, names
        self._width = max([len(str(total)), *map(len, names or [])])
        self._next = float("-inf")
        self._has_header = False

    def __call__(self, state: Any) -> None:
        """Show the instance that is done, given a :class:`bdcc_jax.BatchProgress`."""
        bad = isinstance(state.result, Failure) or state.result.status != "optimal"
        if not bad and state.seconds < self._next and state.done < state.total:
            return
        self._next = state.seconds + self._interval
        stream = self._stream or sys.stderr
        if not self._has_header:
            show(
                f"{'done':>13} {'seconds':>9} {'ETA':>9}  {'instance':<{max(8, self._width)}} "
                f"{'lower bound':>15} {'upper bound':>15}  status",
                stream,
            )
            self._has_header = True
        show(self._line(state), stream)

    def _line(self, state: Any) -> str:
        name = str(state.index) if self._names is None else self._names[state.index]
        start = (
            f"{f'{state.done}/{state.total}':>13} {state.seconds:>9.1f} {state.eta:>9.1f}  "
            f"{name:<{max(8, self._width)}} "
        )
        result = state.result
        if isinstance(result, Failure):
            return f"{start}{'':>15} {'':>15}  error: {result.message}"
        return f"{start}{result.lower_bound:>15.8g} {result.objective:>15.8g}  {result.status}"
