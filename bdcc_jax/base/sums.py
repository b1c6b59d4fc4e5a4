"""Sums that a heavy weight does not spoil: pairs of float64, whose sum is the value.

``1e16 + 0.3 - 1e16`` is 0 in float64, and 0.3 as a pair ``(high, low)``: the high part is the
rounded value, the low part what rounding has lost. What even a pair loses is returned, too, so
that nobody has to assume that it is nothing.
"""

from collections.abc import Sequence
from math import frexp, fsum, gcd, inf, isfinite, ldexp, nextafter

import numpy as np

from .arrays import FloatArray, IntArray
from .compiled import compiled, inlined

EXACT = 2.0**52
"""Multiples of a unit that add up to at most this many units can be added and subtracted in
float64 without any rounding."""


@inlined
def two_sum(a: float, b: float) -> tuple[float, float]:
    """The rounded sum, and what rounding has lost: together they are exactly ``a + b``."""
    s = a + b
    of_b = s - a
    return s, (a - (s - of_b)) + (b - of_b)


@inlined
def add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float, float]:
    """The sum of two pairs as a pair, and at most how much of it is lost."""
    s, e = two_sum(a, b)
    t, f = two_sum(a_low, b_low)
    e, g = two_sum(e, t)
    f, h = two_sum(f, g)
    s, e = two_sum(s, e)
    e, f = two_sum(e, f)
    s, e = two_sum(s, e)
    return s, e, abs(f) + abs(h)


@compiled
def sum_parallel_pairs(
    n: int, u: IntArray, v: IntArray, w: FloatArray, low: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, float]:
    """Sum parallel edges as pairs, and drop loops and what sums to zero.

    Returns the edges ``u < v`` in lexicographic order, both parts of their weights, and at most how
    much is lost in all.
    """
    m = len(u)
    order = np.arange(m)
    for smaller in (False, True):  # sort by the larger end, then, keeping that order, by the other
        start = np.zeros(n + 1, np.int64)
        for e in range(m):
            start[(min(u[e], v[e]) if smaller else max(u[e], v[e])) + 1] += 1
        start = np.cumsum(start)
        previous, order = order, np.empty(m, np.int64)
        for i in range(m):
            e = previous[i]
            end = min(u[e], v[e]) if smaller else max(u[e], v[e])
            order[start[end]] = e
            start[end] += 1
    edges = np.empty((m, 2), np.int64)
    high, rest = np.empty(m), np.empty(m)
    k, lost = 0, 0.0
    for i in range(m):
        e = order[i]
        a, b = min(u[e], v[e]), max(u[e], v[e])
        if a == b:
            continue
        if k > 0 and edges[k - 1, 0] == a and edges[k - 1, 1] == b:
            high[k - 1], rest[k - 1], off = add(high[k - 1], rest[k - 1], w[e], low[e])
            lost += off
        else:
            if k > 0 and high[k - 1] == 0.0:
                k -= 1
            edges[k, 0], edges[k, 1], high[k], rest[k] = a, b, w[e], low[e]
            k += 1
    if k > 0 and high[k - 1] == 0.0:
        k -= 1
    return edges[:k].copy(), high[:k].copy(), rest[:k].copy(), lost


@compiled
def _sum_pair(values: FloatArray) -> tuple[float, float, float]:
    """The sum of numbers as a pair, and at most how much of it is lost."""
    s, low, lost = 0.0, 0.0, 0.0
    for i in range(len(values)):
        s, e = two_sum(s, values[i])
        low, f = two_sum(low, e)
        lost += abs(f)
    s, low = two_sum(s, low)
    return s, low, lost


def exact_sum(values: FloatArray | Sequence[float]) -> tuple[float, float]:
    """The exact sum, rounded, and what rounding has taken from it (rounded, too)."""
    if isinstance(values, np.ndarray):
        high, low, lost = _sum_pair(values)
        if lost == 0.0 and isfinite(high):
            return high, low
        values = values.tolist()
    high = fsum(values)
    return high, fsum([*values, -high])


@compiled
def exact_unit(weights: FloatArray, most: float = EXACT) -> float:
    """The largest number of which all weights are multiples, if float64 adds them up exactly.

    0 if it does not, or if they add up to more than ``most`` units: for most weights that are not
    whole numbers or simple fractions.
    """
    power, total = inf, 0.0
    for i in range(len(weights)):
        size = abs(weights[i])
        if size > 0.0:
            mantissa, exponent = frexp(size)
            digits = np.int64(mantissa * 2.0**53)
            power = min(power, ldexp(float(digits & -digits), exponent - 53))
            # Multiples of the unit: as long as this is not true, no sum has been rounded.
            total += size
            if total > most * power:
                return 0.0
    units = 0
    for i in range(len(weights)):
        units = gcd(units, np.int64(abs(weights[i]) / power))
        if units == 1:  # nothing smaller divides the rest
            break
    return power * units if units else 0.0


def common_unit(weights: FloatArray) -> float:
    """As ``exact_unit``, and the greatest common divisor of whole numbers up to 2^53.

    Larger numbers are whole whatever they mean.
    """
    unit = exact_unit(weights)
    largest = np.abs(weights).max(initial=0.0)
    if unit == 0.0 < largest <= 2.0**53 and bool((weights == np.floor(weights)).all()):
        unit = float(gcd(*map(int, weights.tolist())))
    return unit


def sum_down(terms: FloatArray | Sequence[float]) -> float:
    """The exact sum, rounded down."""
    total, low = exact_sum(terms)
    return nextafter(total, -inf) if low < 0.0 else total


def sum_up(terms: FloatArray | Sequence[float]) -> float:
    """The exact sum, rounded up."""
    total, low = exact_sum(terms)
    return nextafter(total, inf) if low > 0.0 else total
