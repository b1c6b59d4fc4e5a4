"""Clusterings whose clusters have classes, without a proof.

Greedy contraction with what joining two clusters costs in classes, moves of single nodes, and, the
classes of the nodes being given, the local search for plain instances over the edges that do not
join two classes (all others are cut). One after another, until none of them gains anything.
"""

import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from ..base.compiled import compiled
from ..base.labels import canonical_labels
from ..base.sums import exact_sum
from ..instance.classes import best_classes, costs_of_clusters
from ..instance.graph import Graph
from .local_search import local_search

LEAST_GAIN = 1e-9
"""Changes that gain less than this part of the largest number are rounding errors."""

TURNS = 20
"""Rounds of moves and of local search at most; a few are enough."""


def cost(graph: Graph, costs: FloatArray, labels: IntArray) -> float:
    """What a clustering costs with the best class for every cluster."""
    classes = best_classes(costs, canonical_labels(labels))
    chosen = costs[np.arange(graph.n), classes]
    return exact_sum(np.concatenate([graph.weights[graph.cut(labels)], chosen]))[0]


def classified_search(
    graph: Graph,
    costs: FloatArray,
    labels: IntArray | None = None,
    *,
    seed: int = 0,
    clock: Clock | None = None,
) -> IntArray:
    """Find a good clustering whose clusters have classes.

    Parameters
    ----------
    graph : Graph
        The instance.
    costs : ndarray, shape (n, k)
        What every class costs every node; inf for those that it cannot have.
    labels : ndarray of int, shape (n,), optional
        Where to start; at a greedy clustering if not given. The result is never worse.
    seed : int
        For the noise of the local search.
    clock : Clock, optional
        When its time is up, the clustering so far is returned.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 1.0, 1.0])
    >>> classified_search(graph, np.array([[0, 5], [0, 5], [5, 0], [5, 0]], float)).tolist()
    [0, 0, 1, 1]
    """
    clock = clock or Clock(None)
    labels = np.arange(graph.n) if labels is None else canonical_labels(labels)
    best, found = cost(graph, costs, labels), labels
    for turn in range(TURNS):
        if clock.remaining == 0.0:
            break
        labels = joined(graph, costs, labels)
        labels = moved(graph, costs, labels)
        labels = within_classes(graph, costs, labels, seed + turn, clock)
        now = cost(graph, costs, labels)
        if now >= best:
            break
        best, found = now, labels
    return found


def joined(graph: Graph, costs: FloatArray, labels: IntArray) -> IntArray:
    """Join clusters as long as that gains: pairs that are each other's best, many at a time.

    Joining A and B gains the weight between them, and costs ``m(A + B) - m(A) - m(B)``, with m the
    cost of the best class, which is not negative.
    """
    labels = canonical_labels(labels)
    least = _least(graph, costs)
    sums = costs_of_clusters(costs, labels)
    a, b, weights = _between(labels, graph.edges[:, 0], graph.edges[:, 1], graph.weights)
    while len(weights):
        count = len(sums)
        alone = sums.min(axis=1)
        gain = weights - ((sums[a] + sums[b]).min(axis=1) - alone[a] - alone[b])
        # The best partner of every cluster; the smallest number among equals, for the sake of
        # order only.
        order = np.lexsort((np.arange(len(gain)), -gain))
        best = np.full(count, len(gain))
        rank = np.empty(len(gain), dtype=np.int64)
        rank[order] = np.arange(len(gain))
        np.minimum.at(best, a, rank)
        np.minimum.at(best, b, rank)
        chosen = order[np.unique(best[best < len(gain)])]
        chosen = chosen[(gain[chosen] > least) & (best[a[chosen]] == best[b[chosen]])]
        if len(chosen) == 0:
            break
        into = np.arange(count)
        into[b[chosen]] = a[chosen]
        into = canonical_labels(into)
        labels, sums = into[labels], costs_of_clusters(sums, into)
        a, b, weights = _between(into, a, b, weights)
    return labels


def moved(graph: Graph, costs: FloatArray, labels: IntArray) -> IntArray:
    """Move single nodes to other clusters, or to new ones of any class, as long as that gains."""
    u, v = graph.edges.T
    arcs = adjacency(graph.n, u, v, np.arange(graph.m))
    labels = canonical_labels(labels)
    least = _least(graph, costs)
    while True:
        classes = costs_of_clusters(costs, labels).argmin(axis=1)
        labels = labels.copy()
        gained = _move(arcs, graph.weights[arcs.edges], costs, labels, classes, least)
        labels = canonical_labels(labels)
        if gained <= least:
            return labels


def within_classes(
    graph: Graph, costs: FloatArray, labels: IntArray, seed: int, clock: Clock
) -> IntArray:
    """The local search for plain instances, every node keeping its class."""
    classes = best_classes(costs, labels)
    same = classes[graph.edges[:, 0]] == classes[graph.edges[:, 1]]
    inner = Graph._trusted(graph.n, graph.edges[same], graph.weights[same])
    start, _ = inner.refined(labels)
    return local_search(inner, start, seed=seed, clock=clock)


def _between(
    labels: IntArray, u: IntArray, v: IntArray, weights: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """The pairs of clusters that edges join, and the weight between them."""
    a, b = labels[u], labels[v]
    apart = a != b
    count = int(labels.max()) + 1
    keys = np.minimum(a, b)[apart] * count + np.maximum(a, b)[apart]
    pairs, place = np.unique(keys, return_inverse=True)
    sums: FloatArray = np.bincount(place, weights[apart], len(pairs)).astype(np.float64)
    return pairs // count, pairs % count, sums


def _least(graph: Graph, costs: FloatArray) -> float:
    largest = np.abs(costs[np.isfinite(costs)]).max(initial=0.0)
    return LEAST_GAIN * float(max(largest, np.abs(graph.weights).max(initial=0.0)))


@compiled
def _move(
    arcs: Adjacency,
    weights: FloatArray,
    costs: FloatArray,
    labels: IntArray,
    classes: IntArray,
    least: float,
) -> float:
    """Sweep over the nodes until none moves; returns what that gained. Changes the labels.

    A cluster has the class that it had at the start: moving v from A to B gains ``w(v, B) - w(v, A)
    + costs[v, class of A] - costs[v, class of B]``.
    """
    n = len(labels)
    count = len(classes)
    most = count + n
    label_class = np.empty(most, np.int64)
    label_class[:count] = classes
    towards = np.zeros(most)
    near = np.empty(n, np.int64)
    total, moving = 0.0, True
    while moving:
        moving = False
        for v in range(n):
            own = labels[v]
            found = 0
            for k in range(arcs.starts[v], arcs.starts[v + 1]):
                c = labels[arcs.neighbours[k]]
                if towards[c] == 0.0:
                    near[found] = c
                    found += 1
                towards[c] += weights[k]
            here = costs[v, label_class[own]] - towards[own]
            new_class = np.argmin(costs[v])
            target, gain = -1, here - costs[v, new_class]
            for i in range(found):
                c = near[i]
                if c != own:
                    gained = here - costs[v, label_class[c]] + towards[c]
                    if gained > gain:
                        target, gain = c, gained
            for i in range(found):
                towards[near[i]] = 0.0
            if gain > least and (target >= 0 or count < most):
                if target < 0:
                    target = count
                    label_class[count] = new_class
                    count += 1
                labels[v] = target
                total += gain
                moving = True
    return total
