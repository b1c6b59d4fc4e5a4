"""Local search for sets of nodes with a surplus: one node in or out at a time, with a tabu list."""

from __future__ import annotations

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..base.compiled import compiled
from ..primal.randomness import State, below

STEPS = 2
"""Steps of a search for every node."""

TABU, MORE = 3, 5
"""A node that was moved stays for so many steps, and up to so many more by chance."""


@compiled
def searched(
    worth: FloatArray, prices: FloatArray, starts: BoolArray, state: State
) -> tuple[BoolArray, FloatArray]:
    """The best sets around some others, and their surplus."""
    n = len(prices)
    sets, surplus = starts.copy(), np.zeros(len(starts))
    gain, tabu = np.empty(n), np.empty(n, np.int64)
    for k in range(len(starts)):
        inside = starts[k].copy()
        value = 0.0
        for v in range(n):
            gain[v], tabu[v] = -prices[v], 0
            for u in range(n):
                if inside[u] and u != v:
                    gain[v] += worth[u, v]
        for v in range(n):
            if inside[v]:
                value += 0.5 * (gain[v] - prices[v])
        surplus[k] = value
        for step in range(STEPS * n):
            best, most = -1, 0.0
            for v in range(n):
                change = -gain[v] if inside[v] else gain[v]
                if tabu[v] > step and value + change <= surplus[k]:
                    continue
                if best < 0 or change > most:
                    best, most = v, change
            if best < 0:
                continue
            sign = -1.0 if inside[best] else 1.0
            inside[best] = not inside[best]
            value += most
            tabu[best] = step + 1 + TABU + below(state, MORE)
            for u in range(n):
                if u != best:
                    gain[u] += sign * worth[u, best]
            if value > surplus[k]:
                surplus[k] = value
                sets[k] = inside
    return sets, surplus
