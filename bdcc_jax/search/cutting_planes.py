"""THE loop: solve the LP, look for rows that its solution violates, add them, repeat.

Lines 4 to 14 of Algorithm 1. Whoever needs an LP over inequalities that are too many to be listed
runs this loop: the LP of an instance, of its blocks, of the nodes of branch and bound, HiGHS' ILP,
and the layers.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..lp.rows import Rows
from ..separation.separation import Separation

Separator = Callable[[FloatArray, Clock], Separation]
"""Finds rows that x violates."""


def keep_all(x: FloatArray) -> None:
    """Forget no rows."""


class LinearProgram(Protocol):
    """What the loop asks of an LP."""

    def solve(self, clock: Clock) -> FloatArray:
        """A minimiser over the rows so far."""

    def has(self, rows: Rows) -> bool:
        """Whether each of these rows is here already; so it is if there are none."""

    def refine(self) -> bool:
        """Let the next solution be a more precise one; False if it cannot be."""

    def add(self, rows: Rows) -> None:
        """Add rows that are valid for every clustering."""


class Cut(NamedTuple):
    """One turn of the loop: a solution, what it violates, and whether this was the last turn."""

    x: FloatArray
    found: Separation
    last: bool

    @property
    def converged(self) -> bool:
        """Whether x satisfies everything; else HiGHS violates rows that it has."""
        return self.last and self.found.satisfied and len(self.found.rows) == 0


def cutting_planes(
    lp: LinearProgram,
    separators: Iterable[Separator],
    clock: Clock,
    *,
    enough: Callable[[], bool] = lambda: False,
    forget: Callable[[FloatArray], object] = keep_all,
) -> Iterator[Cut]:
    """Yield every turn, its rows added; ends when no separator finds a row that is new.

    Parameters
    ----------
    lp : LinearProgram
        The rows found so far; it is changed.
    separators : iterable of callables
        Asked one after another until one finds anything; the first one must be exact.
    clock : Clock
        Holds the deadline; collects the timings.
    enough : callable
        Asked after every LP, also one that the clock has cut short; True ends the loop at once.
    forget : callable
        Called with x before rows are added; may drop others.
    """
    separators = tuple(separators)
    while True:
        try:
            with clock.measure("master"):
                x = lp.solve(clock)
        finally:
            done = enough()
        if done:
            return
        found = _first_with_rows(separators, x, clock)
        # Rows that x violates and that are here: the LP's tolerances. More of them change nothing.
        last = lp.has(found.rows) and not lp.refine()
        if not last:
            forget(x)
            lp.add(found.rows)
        yield Cut(x, found, last)
        if last:
            return


def _first_with_rows(separators: tuple[Separator, ...], x: FloatArray, clock: Clock) -> Separation:
    for separate in separators:
        found = separate(x, clock)
        if len(found.rows) > 0 or not found.satisfied:
            break
    return found
