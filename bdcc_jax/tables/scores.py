"""From scores of pairs to weights.

The weight of a pair is its log-odds, natural logarithms, minus those of the threshold t::

    w = ln(p / (1 - p)) - ln(t / (1 - t))         from a probability p
    w = ln(2) * b       - ln(t / (1 - t))         from a match weight b, splink's log2 of the odds
    w = weight          - ln(t / (1 - t))         from a weight, which is log-odds already

so a pair attracts exactly if its probability is above t. Probabilities and match weights are
clipped first: no pair says more than the probability ``1 - clip``, and none less than ``clip``.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..io.arrow import require_pyarrow
from .columns import Kind

if TYPE_CHECKING:
    import pyarrow as pa

CLIP = 1e-6
"""One in a million: what a score says beyond this is more than any model knows."""

MISSING = ("NA", "NaN", "nan", "NULL", "null", "None", "N/A", "\\N")
"""How text says that there is no score; nothing at all says so too."""


def log_odds(p: float) -> float:
    """``ln(p / (1 - p))``."""
    return log(p / (1 - p))


def check_threshold(threshold: float, clip: float, kind: Kind) -> None:
    """Refuse a threshold that says nothing."""
    if not 0 < clip < 0.5:
        raise ValueError(f"clip must lie strictly between 0 and 0.5, not {clip}")
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be a probability strictly between 0 and 1: {threshold}")
    if kind != "weight" and not clip < threshold < 1 - clip:
        raise ValueError(
            f"threshold must lie between clip and 1 - clip, or all pairs are alike: {threshold} "
            f"does not with clip={clip}; make clip smaller"
        )


def pair_weights(
    column: pa.ChunkedArray, name: str, kind: Kind, *, threshold: float, clip: float
) -> tuple[FloatArray, BoolArray]:
    """The weight of every pair, and which pairs have a score at all (the others count 0).

    Examples
    --------
    >>> import pyarrow as pa
    >>> p = pa.chunked_array([[0.5, 0.9, None]])
    >>> w, scored = pair_weights(p, "p", "probability", threshold=0.5, clip=0.001)
    >>> w.round(3).tolist(), scored.tolist()
    ([0.0, 2.197, 0.0], [True, True, False])
    """
    check_threshold(threshold, clip, kind)
    values = _numbers(column, name)
    scored = ~np.isnan(values)
    if kind == "probability":
        _refuse(
            (values < 0) | (values > 1),
            values,
            f"{name!r} must hold probabilities, between 0 and 1; are these weights (weight=)?",
        )
        with np.errstate(divide="ignore"):
            values = np.log(values) - np.log1p(-values)
    elif kind == "match_weight":
        values = values * log(2)
    else:
        _refuse(
            np.isinf(values),
            values,
            f"{name!r} must hold finite weights; pairs that must or cannot be together are "
            "for bdcc_jax.solve(must_link=, cannot_link=)",
        )
    if kind != "weight":
        most = log_odds(1 - clip)
        np.clip(values, -most, most, out=values)
    values -= log_odds(threshold)
    values[~scored] = 0.0
    return values, scored


def _refuse(bad: BoolArray, values: FloatArray, why: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"column {why} Row {row} (counted from 0) is {values[row]}")


def _numbers(column: pa.ChunkedArray, name: str) -> FloatArray:
    """A column of numbers as float64, NaN where there is none."""
    pa = require_pyarrow()
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.utf8_trim_whitespace(column)
        missing = pc.is_in(column, pa.array(MISSING, column.type))
        column = pc.if_else(missing, pa.scalar(None, column.type), column)
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind)) and not (
        pa.types.is_decimal(kind) or pa.types.is_null(kind)
    ):
        raise ValueError(f"column {name!r} must hold numbers, not {kind}")
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name!r} must hold numbers: {error}") from error
    return np.array(numbers.to_numpy(), dtype=np.float64)
