"""What it costs to give nodes a class: every cluster has the class that is best for it.

With ``costs[v, l]`` for node v in class l, and all nodes of a cluster C in one class, a clustering
costs what it cuts plus

    sum over clusters C of   min over classes l of   sum over v in C of costs[v, l].

So labels say all; the classes follow. Two clusters may have the same class.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.validation import plain_array


def class_costs(unaries: ArrayLike, n: int) -> FloatArray:
    """Check what a user says that classes cost, one row a node.

    Examples
    --------
    >>> class_costs([[0, 2], [1, float("inf")]], 2).tolist()
    [[0.0, 2.0], [1.0, inf]]
    """
    costs = plain_array(unaries, "unaries")
    if costs.ndim != 2 or costs.shape[0] != n or costs.shape[1] == 0:
        raise ValueError(
            f"unaries must have one row a node and one column a class, shape ({n}, k), "
            f"not {costs.shape}"
        )
    if costs.dtype.kind not in "biuf":
        raise ValueError(f"unaries must be numbers, not {costs.dtype}")
    costs = np.ascontiguousarray(costs, dtype=np.float64)
    if (bad := np.isnan(costs) | (costs == -np.inf)).any():
        v, label = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"unaries[{v}, {label}] is {costs[v, label]}: a number, or inf for a class that a "
            "node cannot have"
        )
    if (none := ~np.isfinite(costs).any(axis=1)).any():
        raise ValueError(f"unaries[{int(np.argmax(none))}] is infinite in every class")
    return costs


def costs_of_clusters(costs: FloatArray, labels: IntArray) -> FloatArray:
    """What every class costs every cluster; labels are 0, 1, ..."""
    count = int(labels.max()) + 1
    sums = [np.bincount(labels, column, count) for column in costs.T]
    return np.column_stack(sums)


def best_classes(costs: FloatArray, labels: IntArray) -> IntArray:
    """The class of every node if every cluster has the one that is best for it.

    Examples
    --------
    >>> best_classes(np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 1.0]]), np.array([0, 0, 1])).tolist()
    [1, 1, 0]
    """
    classes: IntArray = costs_of_clusters(costs, labels).argmin(axis=1)[labels]
    return classes


def check_possible(costs: FloatArray, joined: IntArray, name: Callable[[int], Hashable]) -> None:
    """Refuse must-links, which make clusters of nodes, between nodes without a common class."""
    impossible: BoolArray = np.isinf(costs_of_clusters(costs, joined)).min(axis=1)
    if impossible.any():
        nodes = [name(int(v)) for v in np.flatnonzero(impossible[joined])[:5]]
        raise ValueError(f"unaries: must_link joins nodes without a common class, {nodes}")
