"""The LP of the master solved roughly, by a first-order method that starts where the last LP ended.

The simplex method solves an LP exactly and, where many rows are tight in many ways, slowly. Rows
that cut off an x which is nearly the best are nearly as good, and multipliers that are nearly the
best prove nearly the same bound: so the loop may run on rough solutions, and solve its last LPs
exactly. An iteration of the primal-dual hybrid gradient method for

    min w x    subject to    omega x <= b,  0 <= x <= 1

is, with step sizes ``t_e = 1 / (p sum_i |omega_ie|)`` and ``s_i = p / sum_e |omega_ie|`` (Pock and
Chambolle, 2011)::

    x' = clip(x - t (w + omega^T y), 0, 1),    y' = max(0, y + s (omega (2 x' - x) - b)).

Reflected steps are averaged with the start of an epoch (Halpern's iteration, which cuPDLPx uses),
and a new epoch starts once they move little: then p becomes what x and y have moved, compared.
"""

from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.compiled import compiled

SHORT, LONG = 0.2, 0.8
"""An epoch ends once a step moves x and y by the first share of what its first one did, or by the
second share and no longer less."""

EVERY = 40
"""Iterations between two looks at how far it is."""


@compiled
def descend(
    weights: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    starts: IntArray,
    indices: NDArray[np.int32],
    values: FloatArray,
    right: FloatArray,
    x: FloatArray,
    y: FloatArray,
    state: FloatArray,
    precision: float,
    aim: float,
    most: int,
) -> int:
    """Improve x and y, and p, which is ``state[0]``, in place; returns the number of iterations.

    It ends after ``most`` iterations, or when the bound exceeds ``aim``, or when it differs from
    the cost by at most ``precision``, and violated rows, each times its y, add up to no more.
    """
    m, k = len(weights), len(right)
    # Numbers without a sign: else every access asks whether it counts from the end, which takes
    # longer than what is done with the entry.
    edges, begin = indices.astype(np.uint32), starts.astype(np.uint64)
    reach_x, reach_y = np.zeros(m), np.zeros(k)
    for i in range(k):
        for q in range(begin[i], begin[i + 1]):
            size = abs(values[q])
            reach_x[edges[q]] += size
            reach_y[i] += size
    t0 = 1.0 / np.maximum(1.0, reach_x)
    s0 = 1.0 / np.maximum(1.0, reach_y)
    start_x, start_y = x.copy(), y.copy()
    new_x, new_y = np.empty(m), np.empty(k)
    pull, ahead = np.empty(m), np.empty(m)
    p = state[0]
    length, first, before, done = 0, 0.0, 0.0, 0
    while done < most:
        done += 1
        pull[:] = weights
        for i in range(k):
            if y[i] != 0.0:
                yi = y[i]
                for q in range(begin[i], begin[i + 1]):
                    pull[edges[q]] += yi * values[q]
        for e in range(m):
            new_x[e] = min(upper[e], max(lower[e], x[e] - t0[e] / p * pull[e]))
        moved = 0.0
        cost, bound, violated = 0.0, 0.0, 0.0
        for e in range(m):
            d = new_x[e] - x[e]
            moved += d * d * p / t0[e]
            ahead[e] = new_x[e] + d
        for i in range(k):
            activity = -right[i]
            for q in range(begin[i], begin[i + 1]):
                activity += values[q] * ahead[edges[q]]
            new_y[i] = max(0.0, y[i] + s0[i] * p * activity)
            d = new_y[i] - y[i]
            moved += d * d / (s0[i] * p)
        moved = sqrt(moved)
        if length == 0:
            first, before = moved, moved
        length += 1
        fresh = moved <= SHORT * first or (moved <= LONG * first and moved > before)
        fresh = fresh or length > 0.36 * done + 200
        before = moved
        if fresh:
            dx, dy = 0.0, 0.0
            for e in range(m):
                d = new_x[e] - start_x[e]
                dx += d * d / t0[e]
                x[e], start_x[e] = new_x[e], new_x[e]
            for i in range(k):
                d = new_y[i] - start_y[i]
                dy += d * d / s0[i]
                y[i], start_y[i] = new_y[i], new_y[i]
            if dx > 1e-20 and dy > 1e-20:
                p = exp(0.5 * log(sqrt(dy / dx)) + 0.5 * log(p))
            length = 0
        else:
            a = length / (length + 1.0)
            for e in range(m):
                x[e] = a * (2.0 * new_x[e] - x[e]) + (1.0 - a) * start_x[e]
            for i in range(k):
                y[i] = a * (2.0 * new_y[i] - y[i]) + (1.0 - a) * start_y[i]
        if done % EVERY == 0 or done == most:
            pull[:] = weights
            cost, bound, violated = 0.0, 0.0, 0.0
            for i in range(k):
                bound -= new_y[i] * right[i]
                activity = -right[i]
                for q in range(begin[i], begin[i + 1]):
                    pull[edges[q]] += new_y[i] * values[q]
                    activity += values[q] * new_x[edges[q]]
                violated += max(0.0, activity) * new_y[i]
            for e in range(m):
                cost += weights[e] * new_x[e]
                bound += min(pull[e] * lower[e], pull[e] * upper[e])
            if bound > aim or (abs(cost - bound) <= precision and violated <= precision):
                break
    x[:], y[:] = new_x, new_y
    state[0] = p
    return done
