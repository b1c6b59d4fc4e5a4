"""Leiden's method (Traag, Waltman & van Eck, 2019): nodes move between clusters, then groups do.

An iteration goes up through levels. On each of them

1. nodes *move*, in the order of a queue, to the cluster that they are pulled to the most, or to one
   of their own; the neighbours of a node that has moved are looked at again;
2. every cluster is *refined*: from single nodes, those that are pulled to others in it join these;
3. the groups that have joined become the nodes of the next level. They begin in the cluster that
   they are part of, and can leave it as a whole.

The next iteration begins again with all nodes, in another order. It never makes a clustering worse.
"""

import numpy as np

from ..base.arrays import BoolArray, IntArray
from ..base.compiled import compiled
from ..base.labels import first_appearance
from .links import Links, contracted
from .randomness import State, below

CONTRACTING = 4
"""Contracting an edge takes about as long as reading so many arcs."""

FAINT = 1e-9
"""A node moves if it gains more than this share of all |w| at it: less may be an error of rounding,
by which nodes could move in circles for ever."""


def leiden(links: Links, labels: IntArray, random: State, stop: BoolArray) -> tuple[IntArray, int]:
    """One iteration from a clustering, labels in 0 .. n - 1; returns also the arcs read.

    Once another thread has set ``stop[0]``, it ends with what has moved by then.

    Examples
    --------
    >>> from bdcc_jax.primal.links import new_links
    >>> from bdcc_jax.primal.randomness import new_state
    >>> links = new_links(4, np.array([0, 1, 1, 2, 0, 2, 2, 3]), np.array([3.0, 2.0, -1.5, -1.0]))
    >>> leiden(links, np.arange(4), new_state(0), np.zeros(1, dtype=bool))[0].tolist()
    [0, 0, 0, 1]
    """
    group = np.arange(len(labels))  # of every node, on this level
    clusters, work = labels.copy(), 0
    while True:
        work += _move(links, clusters, random, stop)
        groups, count, arcs = _refined(links, clusters, random)
        work += arcs
        if count == len(groups) or stop[0]:
            return first_appearance(clusters[group], len(labels)), work
        work += CONTRACTING * len(links.weights)
        links = contracted(links, groups, count)
        clusters = _of_groups(clusters, groups, count)
        group = groups[group]


@compiled
def _move(links: Links, labels: IntArray, random: State, stop: BoolArray) -> int:
    """Move nodes until none gains by it: changes the labels, in 0 .. n - 1; returns arcs read."""
    n = len(labels)
    size, sums, near = np.zeros(n, np.int64), np.zeros(n), np.empty(n, np.int64)
    for v in range(n):
        size[labels[v]] += 1
    unused, left = np.empty(n, np.int64), 0
    for label in range(n):
        if size[label] == 0:
            unused[left] = label
            left += 1
    queue, waits = _shuffled(n, random), np.ones(n, np.bool_)
    head, waiting, work = 0, n, 0
    while waiting > 0 and not stop[0]:
        v = queue[head]
        head = (head + 1) % n
        waiting -= 1
        waits[v] = False
        first, last, own = links.starts[v], links.starts[v + 1], labels[v]
        work += last - first
        count, total = 0, 0.0
        for k in range(first, last):
            label = labels[links.neighbours[k]]
            if sums[label] == 0.0:  # a sum that is 0 in between is listed twice: no harm
                near[count] = label
                count += 1
            sums[label] += links.arc_weights[k]
            total += abs(links.arc_weights[k])
        chosen, best = own, sums[own] + FAINT * total
        if best < 0.0 and size[own] > 1:
            chosen, best = -1, 0.0
        for i in range(count):
            if sums[near[i]] > best:
                chosen, best = near[i], sums[near[i]]
            sums[near[i]] = 0.0
        if chosen == own:
            continue
        size[own] -= 1
        if chosen < 0:
            left -= 1
            chosen = unused[left]
        elif size[own] == 0:
            unused[left] = own
            left += 1
        size[chosen] += 1
        labels[v] = chosen
        for k in range(first, last):
            u = links.neighbours[k]
            if not waits[u]:
                waits[u] = True
                queue[(head + waiting) % n] = u
                waiting += 1
    return work


@compiled
def _refined(links: Links, labels: IntArray, random: State) -> tuple[IntArray, int, int]:
    """The group of every node, how many there are, and the arcs read.

    A single node that the rest of its cluster does not repel joins the group that pulls it the
    most, of those that the rest of their cluster does not repel.
    """
    n = len(labels)
    group, single = np.arange(n), np.ones(n, np.bool_)
    sums, near, work = np.zeros(n), np.empty(n, np.int64), 0
    pull = np.zeros(n)  # of the rest of its cluster on every group
    for v in range(n):
        for k in range(links.starts[v], links.starts[v + 1]):
            if labels[links.neighbours[k]] == labels[v]:
                pull[v] += links.arc_weights[k]
    for v in _shuffled(n, random):
        if not single[v] or pull[v] < 0.0:
            continue
        first, last, count = links.starts[v], links.starts[v + 1], 0
        work += last - first
        for k in range(first, last):
            u = links.neighbours[k]
            if labels[u] == labels[v]:
                if sums[group[u]] == 0.0:
                    near[count] = group[u]
                    count += 1
                sums[group[u]] += links.arc_weights[k]
        chosen, best = -1, 0.0
        for i in range(count):
            if sums[near[i]] > best and pull[near[i]] >= 0.0:
                chosen, best = near[i], sums[near[i]]
            sums[near[i]] = 0.0
        if chosen >= 0:
            # Groups are named after their first node, which is single no more, either.
            group[v], single[v], single[chosen] = chosen, False, False
            pull[chosen] += pull[v] - 2.0 * best
    groups = first_appearance(group, n)
    return groups, groups.max() + 1, work


@compiled
def _of_groups(labels: IntArray, groups: IntArray, count: int) -> IntArray:
    """The clusters of groups, by first appearance, from those of their nodes."""
    clusters = np.empty(count, np.int64)
    for v in range(len(labels)):
        clusters[groups[v]] = labels[v]
    return first_appearance(clusters, len(labels))


@compiled
def _shuffled(n: int, random: State) -> IntArray:
    """0 .. n - 1 in any order."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = below(random, i + 1)
        order[i], order[j] = order[j], order[i]
    return order
