"""How sure each cluster is: what the best other clustering of a simple kind costs more.

The margin of a cluster is the least that one of these changes costs:

- to divide the cluster in two,
- to join it with another cluster, if a pair between the two has a score,
- to move one record from it to such a cluster, or from there into it.

Dividing in more than two parts need not be looked at: a division in k parts costs half of what its
parts cost to be cut off one by one, so one of these costs at most 2 / k of it. Clusters of up to
``EXACT`` records have all their divisions looked at; of larger ones only those that cut off one
record, or that cut one edge of the maximum spanning tree. The confidence is the probability that
belongs to the margin, ``1 / (1 + exp(-margin))``: that the clustering is right and not the best of
these others, if one of the two is and the scores of pairs are independent. At an optimum no margin
is below 0, and no confidence below 0.5. It is NaN where there is no such change: for a record
without any scored pair.
"""

from __future__ import annotations

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled, inlined
from ..base.components import find
from ..instance.graph import Graph

EXACT = 12
"""A cluster of so many records has 2047 divisions."""


def confidences(graph: Graph, labels: IntArray, groups: IntArray | None = None) -> FloatArray:
    """The confidence of every cluster.

    Parameters
    ----------
    graph : Graph
        The instance.
    labels : ndarray of int, shape (n,)
        The cluster of every record, 0, 1, ...
    groups : ndarray of int, shape (n,), optional
        No two records of one group may be in one cluster, so changes that do this do not count.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2)], [3.0, 1.0, -2.0])
    >>> confidences(graph, np.array([0, 0, 1, 2])).round(3).tolist()
    [0.731, 0.731, nan]
    """
    least = margins(graph, labels, groups)
    with np.errstate(over="ignore"):
        return np.where(np.isinf(least), np.nan, 1 / (1 + np.exp(-least)))


def margins(graph: Graph, labels: IntArray, groups: IntArray | None = None) -> FloatArray:
    """The margin of every cluster; infinite where no change is possible."""
    count = int(labels.max()) + 1
    u, v, w = graph.edges[:, 0], graph.edges[:, 1], graph.weights
    inside = labels[u] == labels[v]
    least = _divisions(count, labels, u[inside], v[inside], w[inside])
    u, v, w = u[~inside], v[~inside], w[~inside]
    if not len(u):
        return least
    # Joining two clusters, and moving a record, say what all pairs between two groups of records
    # add up to. Numbers of both are kept in one key.
    a, b = np.minimum(labels[u], labels[v]), np.maximum(labels[u], labels[v])
    pairs, attraction = _totals(a * count + b, w)
    a, b = pairs // count, pairs % count
    allowed = _allowed_joins(a, b, labels, groups)
    _lower(least, a[allowed], b[allowed], -attraction[allowed])
    keys = np.concatenate([u * count + labels[v], v * count + labels[u]])
    moves, attraction = _totals(keys, np.concatenate([w, w]))
    record, to = moves // count, moves % count
    held = _held(graph, labels)[record]
    allowed = _allowed_moves(record, to, labels, groups)
    record, to = record[allowed], to[allowed]
    _lower(least, labels[record], to, (held - attraction)[allowed])
    return least


def _held(graph: Graph, labels: IntArray) -> FloatArray:
    """How strongly its own cluster holds every record."""
    u, v = graph.edges[:, 0], graph.edges[:, 1]
    w = np.where(labels[u] == labels[v], graph.weights, 0.0)
    return np.asarray(np.bincount(u, w, graph.n) + np.bincount(v, w, graph.n), np.float64)


def _totals(keys: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[starts], np.add.reduceat(values[order], starts)


def _lower(least: FloatArray, a: IntArray, b: IntArray, cost: FloatArray) -> None:
    np.minimum.at(least, a, cost)
    np.minimum.at(least, b, cost)


def _present(labels: IntArray, groups: IntArray) -> tuple[int, IntArray]:
    """Which groups are in which clusters, as sorted keys ``cluster * many + group``."""
    many, known = int(groups.max()) + 1, groups >= 0
    return many, np.unique(labels[known] * many + groups[known])


def _allowed_moves(
    record: IntArray, to: IntArray, labels: IntArray, groups: IntArray | None
) -> BoolArray:
    if groups is None or groups.max() < 0:
        return np.ones(len(record), dtype=bool)
    many, present = _present(labels, groups)
    group = groups[record]
    return (group < 0) | ~np.isin(to * many + group, present)


def _allowed_joins(
    a: IntArray, b: IntArray, labels: IntArray, groups: IntArray | None
) -> BoolArray:
    if groups is None or groups.max() < 0:
        return np.ones(len(a), dtype=bool)
    many, present = _present(labels, groups)
    starts = np.searchsorted(present, np.arange(int(labels.max()) + 2) * many)
    return _disjoint(a, b, starts, present % many)


@compiled
def _disjoint(a: IntArray, b: IntArray, starts: IntArray, group: IntArray) -> BoolArray:
    """Whether two clusters have no group in common: both lists of groups are sorted."""
    found = np.ones(len(a), np.bool_)
    for k in range(len(a)):
        i, j = starts[a[k]], starts[b[k]]
        while i < starts[a[k] + 1] and j < starts[b[k] + 1]:
            if group[i] == group[j]:
                found[k] = False
                break
            if group[i] < group[j]:
                i += 1
            else:
                j += 1
    return found


@compiled
def _divisions(count: int, labels: IntArray, u: IntArray, v: IntArray, w: FloatArray) -> FloatArray:
    """What it costs to divide each cluster in two, given the edges inside of clusters."""
    n = len(labels)
    size, first = np.zeros(count, np.int64), np.zeros(count + 1, np.int64)
    place = np.empty(n, np.int64)  # of a record in its cluster
    for i in range(n):
        place[i] = size[labels[i]]
        size[labels[i]] += 1
    for e in range(len(u)):
        first[labels[u[e]] + 1] += 1
    for c in range(count):
        first[c + 1] += first[c]
    edges, filled = np.empty(len(u), np.int64), first.copy()
    for e in range(len(u)):
        c = labels[u[e]]
        edges[filled[c]] = e
        filled[c] += 1
    least = np.full(count, np.inf)
    for c in range(count):
        if size[c] == 1:
            continue
        chosen = edges[first[c] : first[c + 1]]
        a, b, weight = place[u[chosen]], place[v[chosen]], w[chosen]
        if size[c] <= EXACT:
            least[c] = _all_divisions(size[c], a, b, weight)
        else:
            least[c] = _some_divisions(size[c], a, b, weight)
    return least


@inlined
def _all_divisions(k: int, a: IntArray, b: IntArray, weight: FloatArray) -> float:
    """Go through all divisions of k records so that one record changes sides at a time."""
    W = np.zeros((k, k))
    for e in range(len(a)):
        W[a[e], b[e]] += weight[e]
        W[b[e], a[e]] += weight[e]
    side = np.zeros(k, np.bool_)
    cost, least = 0.0, np.inf
    for step in range(1, 2 ** (k - 1)):
        i, bits = 0, step
        while bits % 2 == 0:
            i, bits = i + 1, bits // 2
        for j in range(k):
            cost += W[i, j] if side[i] == side[j] else -W[i, j]
        side[i] = not side[i]
        least = min(least, cost)
    return least


@inlined
def _some_divisions(k: int, a: IntArray, b: IntArray, weight: FloatArray) -> float:
    """Cut off one record, or cut one edge of the maximum spanning tree."""
    alone = np.zeros(k)
    for e in range(len(a)):
        alone[a[e]] += weight[e]
        alone[b[e]] += weight[e]
    least = float(alone.min())
    parent = np.arange(k)
    degree = np.zeros(k + 1, np.int64)
    tree = np.empty(k, np.int64)
    links = 0
    for e in np.argsort(-weight, kind="mergesort"):
        x, y = find(parent, a[e]), find(parent, b[e])
        if x != y:
            parent[x] = y
            tree[links] = e
            links += 1
            degree[a[e] + 1] += 1
            degree[b[e] + 1] += 1
    if links < k - 1:
        return min(least, 0.0)  # parts without any pair between them
    for i in range(k):
        degree[i + 1] += degree[i]
    near, filled = np.empty(2 * links, np.int64), degree.copy()
    for t in range(links):
        x, y = a[tree[t]], b[tree[t]]
        near[filled[x]], near[filled[y]] = y, x
        filled[x] += 1
        filled[y] += 1
    above, depth, order = np.full(k, -1), np.zeros(k, np.int64), np.zeros(k, np.int64)
    reached = 1
    for i in range(k):
        x = order[i]
        for t in range(degree[x], degree[x + 1]):
            y = near[t]
            if y != above[x]:
                above[y], depth[y], order[reached] = x, depth[x] + 1, y
                reached += 1
    # An edge between x and y is cut together with every tree edge on the way from x to y.
    through = np.zeros(k)
    for e in range(len(a)):
        x, y = a[e], b[e]
        through[x] += weight[e]
        through[y] += weight[e]
        while x != y:
            if depth[x] >= depth[y]:
                x = above[x]
            else:
                y = above[y]
        through[x] -= 2 * weight[e]
    for i in range(k - 1, 0, -1):
        x = order[i]
        least = min(least, through[x])
        through[above[x]] += through[x]
    return least
