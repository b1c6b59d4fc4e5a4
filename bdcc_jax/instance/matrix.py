"""The edges that a symmetric matrix of weights stands for."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.arrays import FloatArray, IntArray
from ..base.validation import plain_array, sum_by_key

SYMMETRY_TOLERANCE = 1e-10
"""Entries (i, j) and (j, i) may differ by this, relative to the larger: that is rounding noise."""


def edges_of_matrix(A: Any) -> tuple[int, IntArray, FloatArray]:
    """The number of nodes, pairs of them, and their weights; the diagonal holds self-loops.

    Examples
    --------
    >>> n, pairs, weights = edges_of_matrix([[0, 1.0], [1.0, 0]])
    >>> n, pairs.tolist(), weights.tolist()
    (2, [[0, 1]], [1.0])
    """
    if not sp.issparse(A):
        A = plain_array(A, "the matrix")
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"the matrix must be square, not of shape {A.shape}")
    A = sp.coo_array(A)
    n, w = A.shape[0], _real_entries(A)
    i, j = (ends.astype(np.int64) for ends in A.coords)
    finite = np.isfinite(w)
    pairs, mean = _mean_of_both(n, i[finite], j[finite], w[finite])
    if finite.all():
        return n, pairs, mean
    i, j, w = i[~finite], j[~finite], w[~finite]
    _check_both_infinite(i, j, w)
    return n, np.concatenate([pairs, np.column_stack([i, j])]), np.concatenate([mean, w])


def _real_entries(A: sp.coo_array) -> FloatArray:
    if A.dtype.kind not in "biuf":
        raise ValueError(f"the matrix must hold real numbers, not {A.dtype}")
    bad = np.isnan(A.data)
    if bad.any():
        i, j = (int(ends[bad][0]) for ends in A.coords)
        raise ValueError(f"weights must be numbers: entry ({i}, {j}) is {A.data[bad][0]}")
    entries: FloatArray = A.data.astype(np.float64)
    return entries


def _check_both_infinite(i: IntArray, j: IntArray, w: FloatArray) -> None:
    """Infinite entries off the diagonal come in pairs."""
    entries = set(zip(i.tolist(), j.tolist(), w.tolist(), strict=True))
    for row, column, value in entries:
        if (column, row, value) not in entries:
            raise ValueError(
                f"the matrix must be symmetric: entry ({row}, {column}) is {value} "
                f"but ({column}, {row}) is not"
            )


def _mean_of_both(n: int, i: IntArray, j: IntArray, w: FloatArray) -> tuple[IntArray, FloatArray]:
    """The mean of entries (i, j) and (j, i), which must agree; and the diagonal as it is."""
    above, below, loops = i < j, i > j, (i == j) & (w != 0)
    upper, a = sum_by_key(i[above] * n + j[above], w[above])
    lower, b = sum_by_key(j[below] * n + i[below], w[below])
    keys = np.union1d(upper, lower)
    first, second = np.zeros(len(keys)), np.zeros(len(keys))
    first[np.searchsorted(keys, upper)] = a
    second[np.searchsorted(keys, lower)] = b
    with np.errstate(over="ignore"):
        difference = np.abs(first - second)
    bad = difference > SYMMETRY_TOLERANCE * np.maximum(np.abs(first), np.abs(second))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        row, column = divmod(int(keys[at]), n)
        raise ValueError(
            f"the matrix must be symmetric: entry ({row}, {column}) is {first[at]} "
            f"but ({column}, {row}) is {second[at]}; pass (A + A.T) / 2 if the mean is meant"
        )
    pairs = np.column_stack([np.r_[keys // n, i[loops]], np.r_[keys % n, i[loops]]])
    return pairs, np.r_[first + (second - first) / 2, w[loops]]
