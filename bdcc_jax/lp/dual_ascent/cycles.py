"""Conflicted cycles: one pair that repels, and a path of pairs that attract between its ends.

With one multiplier on its inequality, all of a conflicted cycle's reduced costs move towards 0:
the bound rises by the smallest of their sizes. So the search looks at reduced costs, not at a
solution of the LP: for every repelling pair it takes the paths with the fewest edges, and takes a
share of what a path carries off the capacities, so that the next one goes another way.
"""

import numpy as np
from numpy.typing import NDArray

from ...base import workers
from ...base.arrays import BoolArray, FloatArray, IntArray
from ...base.clock import Clock
from ...base.compiled import compiled

PATHS = 8
"""Paths of one length that a pair takes at most."""

REGION = 50_000
"""Pairs are searched region by region of about so many nodes, which are next to each other in
memory; regions do not share what pairs carry, and are tasks for threads."""

VISITS = 20_000
"""Half-edges that the search for one pair looks at, at most."""


def conflicted_cycles(
    n: int,
    ends: NDArray[np.int32],
    reduced: FloatArray,
    *,
    least: float,
    longest: int,
    depletion: float,
    clock: Clock,
) -> tuple[IntArray, IntArray]:
    """Cycles whose inequality raises the bound by more than ``least``.

    Parameters
    ----------
    n : int
        Number of nodes.
    ends : ndarray, shape (pairs, 2)
        The nodes of every pair.
    reduced : ndarray, shape (pairs,)
        Reduced costs.
    least : float
        All pairs of a cycle have reduced costs larger than this in size.
    longest : int
        Pairs of a cycle, at most.
    depletion : float
        The share of what a cycle carries that no other one may use: 1 packs the cycles, with less
        there are more of them.
    clock : Clock
        At its deadline, the cycles found by then are returned.

    Returns
    -------
    nodes, starts : ndarray
        Cycle i visits ``nodes[starts[i] : starts[i + 1]]``; the pair that repels is the one of its
        first and its last node.

    Examples
    --------
    >>> ends = np.array([(0, 1), (1, 2), (0, 2), (2, 3)], np.int32)
    >>> reduced = np.array([2.0, 1.0, -1.0, 5.0])
    >>> nodes, starts = conflicted_cycles(
    ...     4, ends, reduced, least=0.1, longest=5, depletion=1.0, clock=Clock(None)
    ... )
    >>> nodes.tolist(), starts.tolist()
    ([0, 1, 2], [0, 3])
    """
    attract = np.flatnonzero(reduced > least)
    attract = attract[np.argsort(-reduced[attract], kind="stable")]
    repel = np.flatnonzero(reduced < -least)
    repel = repel[np.argsort(reduced[repel], kind="stable")]
    starts, other, pair = _half_edges(n, ends, attract)

    def search(pairs: IntArray, own: Clock) -> tuple[IntArray, IntArray]:
        with own.alarm() as stop:
            return _search(
                ends,
                reduced.copy(),
                starts,
                other,
                pair,
                pairs,
                least,
                longest - 1,
                depletion,
                stop,
            )

    found = list(workers.map(search, _regions(n, ends, repel), clock))
    offsets = np.cumsum([0] + [len(nodes) for nodes, _ in found[:-1]])
    cycles = [starts[1:] + offset for (_, starts), offset in zip(found, offsets, strict=True)]
    return np.concatenate([nodes for nodes, _ in found]), np.concatenate([[0], *cycles])


def _regions(n: int, ends: NDArray[np.int32], repel: IntArray) -> list[IntArray]:
    """The repelling pairs by where they are, if the nodes are many; the order is kept in each."""
    count = n // REGION
    if count < 2:
        return [repel]
    region = ends[repel, 0].astype(np.int64) * count // n
    return [repel[region == i] for i in range(count)]


@compiled
def _half_edges(
    n: int, ends: NDArray[np.int32], chosen: IntArray
) -> tuple[IntArray, NDArray[np.int32], NDArray[np.int32]]:
    """For every node the other ends and the numbers of its pairs, in the order of ``chosen``."""
    starts = np.zeros(n + 1, np.int64)
    for e in chosen:
        starts[ends[e, 0] + 1] += 1
        starts[ends[e, 1] + 1] += 1
    starts = np.cumsum(starts)
    free = starts[:-1].copy()
    other, pair = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    for e in chosen:
        for side in range(2):
            a = ends[e, side]
            other[free[a]], pair[free[a]] = ends[e, 1 - side], e
            free[a] += 1
    return starts, other, pair


@compiled
def _search(
    ends: NDArray[np.int32],
    width: FloatArray,
    starts: IntArray,
    other: NDArray[np.int32],
    pair: NDArray[np.int32],
    repel: IntArray,
    least: float,
    hops: int,
    depletion: float,
    stop: BoolArray,
) -> tuple[IntArray, IntArray]:
    """Breadth-first from both ends of every repelling pair, until the two searches meet.

    The side whose next layer costs less goes on. Where they first meet, all paths have the same
    length, and the two halves of a path have only the node in common at which they meet.
    """
    n = len(starts) - 1
    reached, parent = np.full((2, n), -1), np.empty((2, n), np.int32)
    by, queue = np.empty((2, n), np.int32), np.empty((2, n), np.int32)
    low, high = np.zeros(2, np.int64), np.zeros(2, np.int64)
    nodes, cycles = [np.int64(0) for _ in range(0)], [0]
    for turn in range(len(repel)):
        if stop[0]:
            break
        need = -width[repel[turn]]
        for k in range(2):
            root = ends[repel[turn], k]
            reached[k, root], parent[k, root], queue[k, 0] = turn, -1, root
            low[k], high[k] = 0, 1
        visits, met, taken = 0, False, 0
        for _ in range(hops):
            cost = np.zeros(2, np.int64)
            for k in range(2):
                for q in range(low[k], high[k]):
                    cost[k] += starts[queue[k, q] + 1] - starts[queue[k, q]]
            k = 0 if cost[0] <= cost[1] else 1
            visits += cost[k]
            if cost[k] == 0 or visits > VISITS:
                break
            end = high[k]
            for q in range(low[k], high[k]):
                a = queue[k, q]
                for i in range(starts[a], starts[a + 1]):
                    b = other[i]
                    if reached[k, b] != turn and width[pair[i]] > least:
                        reached[k, b], parent[k, b], by[k, b] = turn, a, pair[i]
                        queue[k, end] = b
                        end += 1
            low[k], high[k] = high[k], end
            for q in range(low[k], high[k]):
                middle = queue[k, q]
                if reached[1 - k, middle] != turn:
                    continue
                met = True
                amount = need
                for side in range(2):
                    a = middle
                    while parent[side, a] >= 0:
                        amount, a = min(amount, width[by[side, a]]), parent[side, a]
                if amount <= least:
                    continue
                for side in range(2):
                    a = middle
                    while parent[side, a] >= 0:
                        width[by[side, a]] -= depletion * amount
                        a = parent[side, a]
                _append_path(parent, middle, nodes)
                cycles.append(len(nodes))
                need -= amount
                taken += 1
                if need <= least or taken == PATHS:
                    break
            if met:
                break
    return np.array(nodes, dtype=np.int64), np.array(cycles, dtype=np.int64)


@compiled
def _append_path(parent: NDArray[np.int32], middle: int, nodes: list[np.int64]) -> None:
    """The nodes from the root of the first search through ``middle`` to that of the second."""
    begin, a = len(nodes), middle
    while a >= 0:
        nodes.append(np.int64(a))
        a = parent[0, a]
    end = len(nodes) - 1
    while begin < end:
        nodes[begin], nodes[end] = nodes[end], nodes[begin]
        begin, end = begin + 1, end - 1
    a = parent[1, middle]
    while a >= 0:
        nodes.append(np.int64(a))
        a = parent[1, a]
