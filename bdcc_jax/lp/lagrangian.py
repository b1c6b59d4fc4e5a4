"""Lower bounds that hold whatever the LP solver returned."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..base.sums import sum_down, two_sum
from .rows import Rows

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """``w x + sum_i y_i (omega_i x - b_i)``, a lower bound on ``w x`` for every clustering x.

    Every clustering satisfies the rows ``omega_i x <= b_i``, so this holds for any ``y >= 0``.
    ``reduced`` are lower bounds on the coefficients ``r = w + omega^T y``, the reduced costs, which
    may be larger by ``error``; ``constant`` is a lower bound on ``-b y``.
    """

    reduced: FloatArray
    constant: float
    error: FloatArray

    @classmethod
    def of(cls, weights: FloatArray, rows: Rows, multipliers: FloatArray) -> Lagrangian:
        """Relax the rows with multipliers ``y >= 0``.

        The coefficients are summed up as pairs of float64, so that they are off by little more than
        a rounding of their own, which may be many orders smaller than the terms.
        """
        lowest, error = _reduced(weights, rows.starts, rows.indices, rows.values, multipliers)
        return cls(lowest, constant(rows.upper, multipliers), error)

    @property
    def bound(self) -> float:
        """What every clustering costs at least: ``sum_e min(0, r_e) - b y``."""
        return self._sum(self.reduced[self.reduced < 0])

    def bound_within(self, lower: FloatArray, upper: FloatArray) -> float:
        """The same for clusterings with ``lower <= x <= upper``, all of which are 0 or 1."""
        return self._sum(np.minimum(self.reduced * lower, self.reduced * upper))

    def waste(self, cut: BoolArray) -> FloatArray:
        """What a clustering costs more on each edge than the bound counts for it, at most.

        ``r_e x_e - min(0, r_e)``: nothing of this is lost in a sum over all edges.
        """
        return np.maximum(0.0, np.where(cut, self.reduced + self.error, -self.reduced))

    def _sum(self, terms: FloatArray) -> float:
        return sum_down(np.append(terms, self.constant))


def row_waste(rows: Rows, multipliers: FloatArray, cut: BoolArray) -> FloatArray:
    """What a clustering costs more than the bound because rows are slack: ``y (b - omega x)``."""
    return np.maximum(0.0, -multipliers * rows.violation(cut.astype(np.float64)))


def constant(upper: FloatArray, multipliers: FloatArray) -> float:
    """Lower bound on ``-b y`` in exact arithmetic: every product may be off by half an ulp."""
    products = multipliers * upper
    return -fsum(products) - EPSILON * fsum(np.abs(products))


@compiled
def _reduced(
    weights: FloatArray,
    starts: IntArray,
    indices: NDArray[np.int32],
    values: FloatArray,
    multipliers: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Lower bounds on ``w + omega^T y``, and how much larger the sums may be."""
    m = len(weights)
    high, low, lost = weights.copy(), np.zeros(m), np.zeros(m)
    for i in range(len(multipliers)):
        y = multipliers[i]
        if y == 0.0:
            continue
        for k in range(starts[i], starts[i + 1]):
            e, term = indices[k], y * values[k]
            high[e], rounded = two_sum(high[e], term)
            low[e], off = two_sum(low[e], rounded)
            lost[e] += abs(off)
            if abs(values[k]) != 1.0:  # the product was rounded
                lost[e] += EPSILON * abs(term)
    lowest, error = np.empty(m), np.zeros(m)
    for e in range(m):
        s, rest = two_sum(high[e], low[e])
        lowest[e] = s
        if rest != 0.0 or lost[e] != 0.0:
            off = 2.0 * lost[e]
            lowest[e] = np.nextafter(s + (rest - off), -np.inf)
            error[e] = 2.0 * (np.nextafter(s + (rest + off), np.inf) - lowest[e])
    return lowest, error
