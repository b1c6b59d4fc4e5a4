"""Lower bounds that hold whatever the LP solver returned."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..base.sums import sum_down
from .rows import Rows

EPSILON = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """``w x + sum_i y_i (omega_i x - b_i)``, a lower bound on ``w x`` for every clustering x.

    Every clustering satisfies the rows ``omega_i x <= b_i``, so this holds for any ``y >= 0``.

    Attributes
    ----------
    reduced : ndarray, shape (m,)
        Lower bounds on the coefficients ``r = w + omega^T y``, the reduced costs.
    constant : float
        Lower bound on ``-b y``.
    error : ndarray, shape (m,)
        How much larger the coefficients may be.
    """

    reduced: FloatArray
    constant: float
    error: FloatArray

    @classmethod
    def of(cls, weights: FloatArray, rows: Rows, multipliers: FloatArray) -> Lagrangian:
        """Relax the rows with multipliers ``y >= 0``.

        ``r_e`` is a floating-point sum of k_e + 1 terms; it is lowered by the classic error bound
        ``(k_e + 2) eps`` times the sum of their magnitudes, so it holds in exact arithmetic.
        """
        m = len(weights)
        magnitudes = Rows(rows.starts, rows.indices, np.abs(rows.values), rows.upper)
        terms = np.bincount(rows.indices, minlength=m)
        error = (terms + 2) * EPSILON * (np.abs(weights) + magnitudes.combine(multipliers, m))
        error[terms == 0] = 0.0
        reduced = weights + rows.combine(multipliers, m) - error
        return cls(reduced, constant(rows.upper, multipliers), 2.0 * error)

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
