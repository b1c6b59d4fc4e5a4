"""Labels of nodes, numbered anew in the order of their first appearance."""

import numpy as np
from numpy.typing import ArrayLike

from .arrays import IntArray
from .compiled import compiled

_TABLE = 2**22
"""Labels below this are renumbered by a table, larger ones by sorting."""


def canonical_labels(labels: ArrayLike) -> IntArray:
    """Renumber labels 0, 1, ... in the order of their first appearance.

    Examples
    --------
    >>> canonical_labels([7, 7, 2, 7, 5]).tolist()
    [0, 0, 1, 0, 2]
    """
    labels = np.asarray(labels)
    if labels.size and labels.dtype.kind == "i" and 0 <= labels.min() <= labels.max() < _TABLE:
        return first_appearance(labels.astype(np.int64), int(labels.max()) + 1)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


@compiled
def first_appearance(labels: IntArray, bound: int) -> IntArray:
    """Renumber labels from 0 .. bound - 1 in the order of their first appearance."""
    number = np.full(bound, -1)
    renumbered = np.empty(len(labels), np.int64)
    count = 0
    for i in range(len(labels)):
        if number[labels[i]] < 0:
            number[labels[i]] = count
            count += 1
        renumbered[i] = number[labels[i]]
    return renumbered
