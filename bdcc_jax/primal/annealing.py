"""Simulated annealing by Gibbs sampling: nodes move by chance, more and more where they gain most.

A step takes a random node v out of its cluster. Let s(C) be the weight between v and a cluster C,
and s = 0 for a new cluster. The node goes into cluster C with probability proportional to
``exp(s(C) / T)``: into the one where ``s(C) - T log(-log u)`` is largest, u uniform in (0, 1), anew
for every cluster (the Gumbel trick). The temperature T falls from step to step.
"""

from math import log

import numpy as np

from ..base.arrays import BoolArray, IntArray
from ..base.compiled import borrowing, compiled
from ..base.labels import first_appearance
from .links import Links
from .randomness import State, below, uniform

COOLING = 0.1
"""The last temperature as a share of the first one."""

FAR = 15.0
"""Clusters that are worse by more temperatures are not tried: one in 10^6 would be chosen."""


@compiled
def anneal(
    links: Links, labels: IntArray, steps: int, hot: float, random: State, stop: BoolArray
) -> tuple[float, int]:
    """Change a clustering in place; returns what it gained, perhaps less than 0, and arcs read.

    Parameters
    ----------
    links : Links
        The instance.
    labels : ndarray of int, shape (n,)
        The clustering, labels in 0 .. n - 1; it is changed.
    steps : int
        How long.
    hot : float
        The first temperature, in the unit of the weights.
    random : State
        The random numbers.
    stop : ndarray of bool, shape (1,)
        Another thread may set it: then no more steps are made.
    """
    n = len(labels)
    # Labels are 0 .. 2 n - 1, so that at least half of them are free; sums are 0 between steps.
    size, sums = np.zeros(2 * n, dtype=np.int64), np.zeros(2 * n)
    near, free = np.empty(n, dtype=np.int64), 0
    for v in range(n):
        size[labels[v]] += 1
    starts, neighbours, arc_weights = links.starts, links.neighbours, links.arc_weights
    cooling = COOLING ** (1.0 / max(1, steps))
    total, work, temperature = 0.0, 0, hot
    for _ in range(steps):
        if stop[0]:
            break
        v = below(random, n)
        own, count = labels[v], 0
        for k in range(starts[v], starts[v + 1]):
            label = labels[neighbours[k]]
            if sums[label] == 0.0:  # a sum that is 0 in between is listed twice: no harm
                near[count] = label
                count += 1
            sums[label] += arc_weights[k]
        here, chosen, value = sums[own], -1, 0.0
        best = temperature * _gumbel(random)  # of a new cluster
        for i in range(count):
            label = near[i]
            if sums[label] != 0.0 and sums[label] > best - FAR * temperature:
                tried = sums[label] + temperature * _gumbel(random)
                if tried > best:
                    best, chosen, value = tried, label, sums[label]
            sums[label] = 0.0
        work += starts[v + 1] - starts[v]
        temperature *= cooling
        if chosen < 0 and size[own] > 1:
            # The next free label; as many are free as not, so that it is near.
            while size[free] > 0:
                free = (free + 1) % (2 * n)
            chosen = free
        if chosen >= 0:
            total += value - here
            size[own] -= 1
            size[chosen] += 1
            labels[v] = chosen
    renumbered = first_appearance(labels, 2 * n)
    for v in range(n):
        labels[v] = renumbered[v]
    return total, work


@borrowing
def _gumbel(random: State) -> float:
    return -log(-log(uniform(random) + 1e-300))
