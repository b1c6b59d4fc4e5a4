"""The columns of a table of rounds."""

from ..base.records import Round, relative_gap

BOUNDS = ("lower bound", "upper bound", "gap %")
HEADINGS = ("", "round", "phase", "seconds", *BOUNDS, "rows", "violated")


def cells(record: Round, *, improved: bool) -> tuple[str, ...]:
    """A row of the table, under ``HEADINGS``."""
    percent = 100 * relative_gap(record.upper_bound, record.lower_bound)
    return (
        "*" if improved else "",
        f"{record.number}",
        record.phase,
        f"{record.seconds:.2f}",
        f"{record.lower_bound:.8g}",
        f"{record.upper_bound:.8g}",
        f"{percent:.3g}",
        f"{record.rows}",
        f"{record.violated_roots}",
    )
