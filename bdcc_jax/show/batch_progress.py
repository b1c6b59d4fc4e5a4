"""What is done of a batch, in plain lines."""

import sys
from typing import Any

from ..base.records import Failure
from ..base.streams import show

INTERVAL = 0.5
"""Seconds between two lines."""


class BatchPrinter:
    """A callback for :func:`bdcc_jax.solve_batch` that prints a line an instance, but not too many.

    Instances that failed or were not closed are always shown, others at most every INTERVAL
    seconds; the last one always. ``names`` are those of the instances, in place of numbers.
    """

    def __init__(self, total: int, names: list[str] | None = None) -> None:
        self._names = names
        self._width = max([len(str(total)), *map(len, names or [])])
        self._next = float("-inf")
        self._has_header = False

    def __call__(self, state: Any) -> None:
        """Show the instance that is done, given a :class:`bdcc_jax.BatchProgress`."""
        bad = isinstance(state.result, Failure) or state.result.status != "optimal"
        if not bad and state.seconds < self._next and state.done < state.total:
            return
        self._next = state.seconds + INTERVAL
        if not self._has_header:
            show(
                f"{'done':>13} {'seconds':>9} {'ETA':>9}  {'instance':<{max(8, self._width)}} "
                f"{'lower bound':>15} {'upper bound':>15}  status",
                sys.stderr,
            )
            self._has_header = True
        show(self._line(state), sys.stderr)

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
