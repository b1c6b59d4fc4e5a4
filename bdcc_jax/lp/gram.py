"""The inequalities of positive semidefinite matrices, with whole numbers: valid by their form.

With ``Y_ij = 1 - x_ij``, 1 for nodes that are together, and ``Y_ii = 1``, every clustering and
every vector v satisfy ``v^T Y v >= 0``: it is the sum of ``v(C)^2`` over the clusters C. For the
columns v of a matrix V, with ``Z = V V^T``, these add up to ``<Z, Y> >= 0``, or

    2 * sum over pairs of Z_ij x_ij  <=  sum of all Z_ij.

Whatever V is: so its entries may be rounded, and then nothing about Z is left to be believed.
"""

from __future__ import annotations

from math import frexp, inf, ldexp, nextafter
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray

BITS = 22
"""Entries have at most so many bits: Z is then exact in float64, and what rounding costs a bound is
less than what the iterations are short of the best one."""

LEAST = 1e-9
"""Columns whose squares are a smaller share of the largest ones add nothing but length."""


class Gram(NamedTuple):
    """``Z = 4^exponent V V^T`` for a matrix V of whole numbers, a row a node.

    Examples
    --------
    >>> gram = Gram.near(np.array([[1.0], [0.5], [-0.25]]))
    >>> gram.matrix().tolist()
    [[1.0, 0.5, -0.25], [0.5, 0.25, -0.125], [-0.25, -0.125, 0.0625]]
    >>> gram.total
    1.5625
    """

    factor: IntArray
    exponent: int

    @staticmethod
    def near(factor: FloatArray) -> Gram:
        """The same with entries that are rounded."""
        squares = (factor**2).sum(axis=0)
        factor = factor[:, squares > LEAST * squares.max(initial=0.0)]
        # Every entry of Z is at most the square of the longest row.
        longest = np.sqrt((factor**2).sum(axis=1)).max(initial=0.0)
        exponent = frexp(longest)[1] - BITS
        return Gram(np.rint(np.ldexp(factor, -exponent)).astype(np.int64), exponent)

    @staticmethod
    def none(n: int) -> Gram:
        """No columns: Z is 0."""
        return Gram(np.zeros((n, 0), dtype=np.int64), 0)

    def matrix(self) -> FloatArray:
        """Z: exactly, since all sums of products are whole numbers below 2^53."""
        factor = self.factor.astype(np.float64)
        return np.ldexp(factor @ factor.T, 2 * self.exponent)

    @property
    def total(self) -> float:
        """The sum of all entries of Z, rounded up."""
        total = sum(s * s for s in self.factor.sum(axis=0).tolist())
        above = float(total) if int(float(total)) >= total else nextafter(float(total), inf)
        return ldexp(above, 2 * self.exponent)
