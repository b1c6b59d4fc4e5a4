"""What an engine returns."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.arrays import FloatArray
from ..lp.rows import Rows


@dataclass(frozen=True, eq=False)
class Separation:
    """New rows, valid for every clustering, and what is known about x.

    Attributes
    ----------
    rows : Rows
        Some, where x was found to violate anything.
    violated_roots : int
        Roots that were found to have a violated cycle inequality.
    fallbacks : int
        Subproblems that gave nothing useful: the shortest violated cycles are in their place.
    satisfied : bool
        Whether exact detection has found that x satisfies all cycle inequalities. Nothing else
        may say so: rows that do not come out, and searches that were cut short, say nothing.
    multipliers : ndarray, optional
        Of the rows: with these they prove a bound before any LP that has rows is solved.
    """

    rows: Rows
    violated_roots: int
    fallbacks: int
    satisfied: bool
    multipliers: FloatArray | None = None

    @staticmethod
    def nothing_violated() -> Separation:
        """Exact detection has found that x satisfies all cycle inequalities."""
        return Separation(Rows.empty(), violated_roots=0, fallbacks=0, satisfied=True)
