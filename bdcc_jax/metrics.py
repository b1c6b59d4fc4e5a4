"""How alike two clusterings are, from their contingency table."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .base.arrays import FloatArray, IntArray


def contingency_table(
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    ignore_label: int | None = None,
    sizes: ArrayLike | None = None,
) -> sp.csr_array:
    """Count the elements in every pair of a true cluster and a found one.

    Parameters
    ----------
    truth, labels : array_like, of the same shape
        The true and the found cluster of every node, pixel or voxel; any labels that can be sorted.
    ignore_label : int, optional
        Elements whose true label this is (such as 0 for what nobody annotated) do not count.
    sizes : array_like of int, of the same shape, optional
        How many elements each entry stands for, where what is compared does not fit into memory:
        count the pairs of labels in parts of it first. 1 each if not given.

    Returns
    -------
    scipy.sparse.csr_array of int
        One row a true cluster, one column a found one, both in ascending order of the labels.

    Examples
    --------
    >>> contingency_table([0, 0, 1, 1], [5, 5, 5, 7]).toarray().tolist()
    [[2, 0], [1, 1]]
    >>> contingency_table([0, 1, 1], [5, 5, 7], sizes=[20, 10, 10]).toarray().tolist()
    [[20, 0], [10, 10]]
    """
    true, found = np.asarray(truth), np.asarray(labels)
    if true.shape != found.shape:
        raise ValueError(
            f"truth and labels must have the same shape, not {true.shape} and {found.shape}"
        )
    for name, array in (("truth", true), ("labels", found)):
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(f"{name} must not hold NaN")
    counted = np.ones(true.shape, bool) if ignore_label is None else true != ignore_label
    if not counted.any():
        raise ValueError("there is nothing to compare: no element is left")
    rows, i = np.unique(true[counted], return_inverse=True)
    columns, j = np.unique(found[counted], return_inverse=True)
    keys = i * len(columns) + j
    if sizes is None:
        pairs, counts = np.unique(keys, return_counts=True)
    else:
        pairs, at = np.unique(keys, return_inverse=True)
        counts = np.zeros(len(pairs), np.int64)
        np.add.at(counts, at, _whole_sizes(sizes, true.shape)[counted])
    where = pairs // len(columns), pairs % len(columns)
    return sp.csr_array((counts.astype(np.int64), where), shape=(len(rows), len(columns)))


def rand_index(
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    ignore_label: int | None = None,
    sizes: ArrayLike | None = None,
) -> float:
    """The share of the pairs of elements that both clusterings join, or both separate.

    Parameters are those of :func:`contingency_table`.

    Examples
    --------
    >>> rand_index([0, 0, 1, 1], [5, 5, 5, 7])
    0.5
    """
    joined_both, joined_truth, joined_labels, pairs = _pairs(truth, labels, ignore_label, sizes)
    if pairs == 0:
        return 1.0
    return (pairs - joined_truth - joined_labels + 2 * joined_both) / pairs


def adjusted_rand_index(
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    ignore_label: int | None = None,
    sizes: ArrayLike | None = None,
) -> float:
    """The Rand index, adjusted for chance: 1 for equal clusterings, 0 on average for random ones.

    Parameters are those of :func:`contingency_table`.

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [3, 3, 2, 2])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    both, in_truth, in_labels, pairs = _pairs(truth, labels, ignore_label, sizes)
    if both == in_truth == in_labels:  # equal, which the formula cannot say of trivial clusterings
        return 1.0
    # In whole numbers up to the last division.
    above = both * pairs - in_truth * in_labels
    below = (in_truth + in_labels) * pairs - 2 * in_truth * in_labels
    return 2 * above / below


def variation_of_information(
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    ignore_label: int | None = None,
    sizes: ArrayLike | None = None,
) -> float:
    """The distance of two clusterings in bits: the sum of :func:`split_and_merge`.

    Parameters are those of :func:`contingency_table`.

    Examples
    --------
    >>> variation_of_information([0, 0, 1, 1], [0, 0, 0, 0])
    1.0
    """
    return sum(split_and_merge(truth, labels, ignore_label=ignore_label, sizes=sizes))


def split_and_merge(
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    ignore_label: int | None = None,
    sizes: ArrayLike | None = None,
) -> tuple[float, float]:
    """The two parts of the variation of information, in bits (logarithms to the base 2).

    Parameters are those of :func:`contingency_table`.

    Returns
    -------
    split : float
        ``H(labels | truth)``: how far true clusters are torn apart (over-segmentation).
    merge : float
        ``H(truth | labels)``: how far true clusters are thrown together (under-segmentation).

    Examples
    --------
    >>> split_and_merge([0, 0, 1, 1], [0, 0, 0, 0])
    (0.0, 1.0)
    """
    table = contingency_table(truth, labels, ignore_label=ignore_label, sizes=sizes)
    joint = _entropy(table.data)
    split, merge = (joint - _entropy(table.sum(axis=axis)) for axis in (1, 0))
    return max(0.0, split), max(0.0, merge)  # rounding may leave a little less than nothing


def _whole_sizes(sizes: ArrayLike, shape: tuple[int, ...]) -> IntArray:
    array = np.asarray(sizes)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise ValueError(
            f"sizes must be whole numbers of shape {shape}, not {array.dtype} of {array.shape}"
        )
    if array.min(initial=1) < 1:
        raise ValueError(f"sizes must be at least 1: one is {array.min()}")
    return array.astype(np.int64)


def _entropy(counts: IntArray) -> float:
    share: FloatArray = counts / counts.sum()
    return float(-(share * np.log2(share)).sum()) + 0.0


def _pairs(
    truth: ArrayLike, labels: ArrayLike, ignore_label: int | None, sizes: ArrayLike | None
) -> tuple[int, int, int, int]:
    """Pairs of elements that are joined in both, in truth and in labels, and all pairs."""
    table = contingency_table(truth, labels, ignore_label=ignore_label, sizes=sizes)
    total = int(table.sum())

    def pairs(counts: IntArray) -> int:
        exact = counts if total < 2**31 else counts.astype(object)  # or squares would overflow
        return (int(exact @ exact) - total) // 2

    in_truth, in_labels = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    return pairs(table.data), in_truth, in_labels, total * (total - 1) // 2
