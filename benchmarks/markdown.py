"""Tables for RESULTS.md: as a whole, or printed row by row as the figures come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def row(cells: Iterable[object]) -> str:
    """One line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A whole table."""
    return "\n".join([row(headings), "|" + "---|" * len(headings), *map(row, rows)])


def print_header(headings: Sequence[str]) -> None:
    """Begin a table."""
    print(table(headings, []), flush=True)


def print_row(*cells: object) -> None:
    """Go on with it."""
    print(row(cells), flush=True)
