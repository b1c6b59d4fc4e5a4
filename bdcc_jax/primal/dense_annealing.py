"""Simulated annealing on graphs with most of their pairs: a step looks at one number.

The weight s(C, v) between every cluster C and every node v is kept. A step draws a node v and
another cluster C for it, half of the time any cluster or a new one, else that of a random node
that v has a positive edge to. v moves there with probability
``min(1, exp((s(C, v) - s(own, v)) / T))`` (Metropolis). Only if it does, the sums of two clusters
change: two rows of a matrix, which are added up much faster than arcs are read. The temperature T
falls to 0, evenly.
"""

from math import exp
from typing import NamedTuple

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..base.labels import first_appearance
from .links import Links
from .randomness import State, below, uniform

FAR = 15.0
"""Moves that lose more temperatures are not tried: one in 10^6 would be made."""

MOST_NODES, LEAST_DENSITY = 1000, 0.25
"""Graphs with more nodes, or less than this share of all pairs, are not worth a matrix."""

STEP_WORK, MOVE_WORK = 4, 1 / 16
"""Work of a step, and of a move for every node: in arcs that are read in that time."""


class Matrix(NamedTuple):
    """The weights of all pairs; ``liked[v, : n_liked[v]]`` has a positive edge to node v."""

    weights: FloatArray
    liked: IntArray
    n_liked: IntArray


class _State(NamedTuple):
    """``sums[c, v]`` is the weight between a cluster and a node.

    ``used`` lists all labels, first the ``n_used[0]`` that nodes have; ``place`` says where.
    """

    sums: FloatArray
    size: IntArray
    used: IntArray
    place: IntArray
    n_used: IntArray


@compiled
def is_compact(links: Links) -> bool:
    """Whether a graph has so many of its pairs that a matrix pays."""
    n = len(links.starts) - 1
    return n <= MOST_NODES and len(links.weights) >= LEAST_DENSITY * n * (n - 1) / 2


@compiled
def new_matrix(links: Links) -> Matrix:
    """The matrix of a graph."""
    n = len(links.starts) - 1
    matrix = Matrix(np.zeros((n, n)), np.empty((n, n), dtype=np.int64), np.zeros(n, dtype=np.int64))
    for v in range(n):
        for k in range(links.starts[v], links.starts[v + 1]):
            u, weight = links.neighbours[k], links.arc_weights[k]
            matrix.weights[v, u] = weight
            if weight > 0.0:
                matrix.liked[v, matrix.n_liked[v]] = u
                matrix.n_liked[v] += 1
    return matrix


@compiled
def anneal_dense(
    matrix: Matrix, labels: IntArray, steps: int, hot: float, random: State, stop: BoolArray
) -> tuple[float, int]:
    """Change a clustering in place; returns what it gained, perhaps less than 0, and the work.

    Parameters
    ----------
    matrix : Matrix
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
    state = _new_state(matrix, labels)
    sums, used, n_used = state.sums, state.used, state.n_used
    liked, n_liked = matrix.liked, matrix.n_liked
    total, moves = 0.0, 0
    for i in range(steps):
        if stop[0]:
            break
        temperature = hot * ((steps - i) / steps)
        v = below(random, n)
        own, target = labels[v], -1  # a new cluster
        chance = 2.0 * uniform(random)
        if chance >= 1.0:
            if n_liked[v] > 0:
                target = labels[liked[v, int((chance - 1.0) * n_liked[v])]]
        else:
            at = int(chance * (n_used[0] + 1))
            if at < n_used[0]:
                target = used[at]
        if target == own:
            continue
        gain = (sums[target, v] if target >= 0 else 0.0) - sums[own, v]
        if gain < -FAR * temperature:
            continue
        # Drawn for gains, too: rounding errors must not change the numbers that follow.
        luck = uniform(random)
        if gain < 0.0 and luck >= exp(gain / temperature):
            continue
        if target < 0:
            if state.size[own] == 1:
                continue
            target = used[n_used[0]]
        _move(matrix, labels, state, v, target)
        total += gain
        moves += 1
    renumbered = first_appearance(labels, n)
    for v in range(n):
        labels[v] = renumbered[v]
    return total, int(STEP_WORK * steps + MOVE_WORK * n * (moves + n))


@compiled
def _new_state(matrix: Matrix, labels: IntArray) -> _State:
    n = len(labels)
    state = _State(
        np.zeros((n, n)),
        np.zeros(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    for v in range(n):
        row, weights = state.sums[labels[v]], matrix.weights[v]
        for u in range(n):
            row[u] += weights[u]
        state.size[labels[v]] += 1
    count, last = 0, n
    for label in range(n):
        if state.size[label] > 0:
            at, count = count, count + 1
        else:
            at = last = last - 1
        state.used[at], state.place[label] = label, at
    state.n_used[0] = count
    return state


@compiled
def _move(matrix: Matrix, labels: IntArray, state: _State, v: int, target: int) -> None:
    own = labels[v]
    left, joined, weights = state.sums[own], state.sums[target], matrix.weights[v]
    if state.size[target] == 0:
        joined[:] = 0.0
        _swap(state, target, state.n_used[0])
        state.n_used[0] += 1
    for u in range(len(labels)):
        left[u] -= weights[u]
        joined[u] += weights[u]
    labels[v] = target
    state.size[target] += 1
    state.size[own] -= 1
    if state.size[own] == 0:
        state.n_used[0] -= 1
        _swap(state, own, state.n_used[0])


@compiled
def _swap(state: _State, label: int, at: int) -> None:
    """Put a label to another place of the list, and the one that is there to its own."""
    before, other = state.place[label], state.used[at]
    state.used[before], state.place[other] = other, before
    state.used[at], state.place[label] = label, at
