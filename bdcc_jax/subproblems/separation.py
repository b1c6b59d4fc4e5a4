"""What an engine returns."""

from __future__ import annotations

from dataclasses import dataclass

from ..rows import Rows


@dataclass(frozen=True, eq=False)
class Separation:
    """New rows, valid for every clustering, and how many roots had a violated cycle inequality.

    There are rows whenever ``violated_roots > 0``; 0 means that x satisfies all of C. ``fallbacks``
    counts the subproblems that a batched solver handed over to the exact one.
    """

    rows: Rows
    violated_roots: int
    fallbacks: int
