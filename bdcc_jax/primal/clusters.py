"""A clustering that changes: the nodes of every cluster, and the labels that nobody uses."""

from typing import NamedTuple

import numpy as np

from ..base.arrays import IntArray
from ..base.compiled import borrowing, compiled


class Clusters(NamedTuple):
    """The nodes of a cluster are a doubly linked list: ``first``, then ``following``.

    Labels are ``0 .. n - 1``; those without a node are the stack ``unused[: unused_size[0]]``.
    """

    labels: IntArray
    size: IntArray
    first: IntArray
    following: IntArray
    previous: IntArray
    unused: IntArray
    unused_size: IntArray


@compiled
def new_clusters(labels: IntArray) -> Clusters:
    """The clusters of some labels in ``0 .. n - 1``."""
    n = len(labels)
    clusters = Clusters(
        labels.copy(),
        np.zeros(n, dtype=np.int64),
        np.full(n, -1),
        np.full(n, -1),
        np.full(n, -1),
        np.empty(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    # Backwards, so that lists and stack begin with the smallest.
    for v in range(n - 1, -1, -1):
        _link(clusters, v, labels[v])
    for label in range(n - 1, -1, -1):
        if clusters.size[label] == 0:
            _release(clusters, label)
    return clusters


@borrowing
def new_label(clusters: Clusters) -> int:
    """A label that no node has; there is one wherever a cluster has two nodes."""
    return int(clusters.unused[clusters.unused_size[0] - 1])


@borrowing
def move(clusters: Clusters, v: int, source: int, target: int) -> None:
    """Take a node out of one cluster and put it into another, which may be empty."""
    if clusters.size[target] == 0:
        clusters.unused_size[0] -= 1  # only new_label hands out labels of empty clusters
    before, after = clusters.previous[v], clusters.following[v]
    if before >= 0:
        clusters.following[before] = after
    else:
        clusters.first[source] = after
    if after >= 0:
        clusters.previous[after] = before
    clusters.size[source] -= 1
    _link(clusters, v, target)
    if clusters.size[source] == 0:
        _release(clusters, source)


@borrowing
def _link(clusters: Clusters, v: int, label: int) -> None:
    head = clusters.first[label]
    clusters.labels[v] = label
    clusters.following[v] = head
    clusters.previous[v] = -1
    if head >= 0:
        clusters.previous[head] = v
    clusters.first[label] = v
    clusters.size[label] += 1


@borrowing
def _release(clusters: Clusters, label: int) -> None:
    clusters.unused[clusters.unused_size[0]] = label
    clusters.unused_size[0] += 1
