"""From the evidence for boundaries to the weights of edges."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray
from ..weights import CLIP, weights_from_probabilities

MAX_LOG_ODDS = float(np.log((1 - CLIP) / CLIP))
"""Log-odds of evidence of any unit are clipped here, where those of probabilities are."""

SAME = 1e-9
"""Evidence that differs by less than this part of the largest is the same but for rounding, and
log-odds below this are 0."""


def finite_map(values: ArrayLike, what: str) -> FloatArray:
    """Check a map of evidence; unsigned integers are scaled to the range from 0 to 1."""
    array = np.asarray(values)
    if array.dtype.kind not in "buf":
        raise ValueError(f"{what} must hold unsigned integers or floats, not {array.dtype}")
    scale = np.iinfo(array.dtype).max if array.dtype.kind == "u" else 1
    scaled: FloatArray = array.astype(np.float64) / scale
    _refuse(~np.isfinite(scaled), scaled, f"{what} must be finite")
    return scaled


def check_probabilities(values: FloatArray, what: str, otherwise: str = "") -> None:
    """Refuse what is not between 0 and 1."""
    bad = (values < 0) | (values > 1)
    _refuse(bad, values, f"{what} must lie between 0 and 1{otherwise}")


@dataclass(frozen=True)
class Weighting:
    """How evidence for boundaries becomes weights; checked before any work."""

    bias: float | None
    attractive: float | None
    length_exponent: float

    def __post_init__(self) -> None:
        bias, attractive = self.bias, self.attractive
        if bias is not None and attractive is not None:
            raise ValueError("give bias (for probabilities) or attractive (any unit), not both")
        if bias is not None and not 0 < bias < 1:
            raise ValueError(f"bias must lie strictly between 0 and 1, not {bias}")
        if attractive is not None and not 0 <= attractive <= 1:
            raise ValueError(f"attractive must lie between 0 and 1, not {attractive}")
        if not 0 <= self.length_exponent < np.inf:
            raise ValueError(f"length_exponent must be at least 0, not {self.length_exponent}")

    def weights(self, evidence: FloatArray, length: FloatArray) -> FloatArray:
        """Log-odds of belonging together, times a power of the length of the boundary."""
        if self.attractive is not None:
            odds = log_odds(evidence, self.attractive)
        else:
            odds = weights_from_probabilities(evidence, 0.5 if self.bias is None else self.bias)
        # Evidence that is undecided but for rounding is no evidence: a weight of 1e-15 would have
        # to be decided by a proof, which compares with the smallest of them.
        odds = np.where(np.abs(odds) < SAME, 0.0, odds)
        weights: FloatArray = odds * length**self.length_exponent
        return weights


def log_odds(evidence: FloatArray, attractive: float) -> FloatArray:
    """Return ``log((1 - p) / p)`` for a logistic ``p`` that is 1/2 at the given quantile."""
    if evidence.size == 0:
        return evidence
    tolerance = SAME * np.abs(evidence).max()
    centre, floor, spread = np.quantile(evidence, attractive), evidence.min(), evidence.std()
    # The logistic curve is the inverse of the log-odds, so p itself never needs to be computed.
    odds = (centre - evidence) / (0.5 * spread) if spread > tolerance else np.zeros_like(evidence)
    if attractive > 0 and centre - floor <= tolerance:
        # So many edges show no trace of a boundary (a drawing, an empty picture) that the curve
        # would be undecided about all of them.
        odds[evidence - floor <= tolerance] = MAX_LOG_ODDS
    return np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)


def _refuse(bad: Any, values: FloatArray, rule: str) -> None:
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{rule}: the entry at {at} is {values[at]}")
