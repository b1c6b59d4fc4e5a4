"""Tables for RESULTS.md, printed row by row as the figures come in."""

from __future__ import annotations

from collections.abc import Sequence


def print_header(headings: Sequence[str]) -> None:
    """Begin a table."""
    print_row(*headings)
    print("|" + "---|" * len(headings), flush=True)


def print_row(*cells: object) -> None:
    """Go on with it."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
