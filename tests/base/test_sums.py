"""Sums of any float64 against rational arithmetic."""

from fractions import Fraction
from math import gcd

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bdcc_jax.base.sums import common_unit, exact_sum, sum_down, sum_parallel_pairs, sum_up

FLOATS = st.floats(-1e300, 1e300, allow_nan=False)


@given(st.lists(FLOATS, max_size=20))
def test_sums_are_rounded_as_they_say(terms):
    truth = sum(map(Fraction, terms), Fraction(0))
    high, low = exact_sum(np.array(terms))
    assert high == float(truth)
    assert low == float(truth - Fraction(high))
    below, above = sum_down(terms), sum_up(terms)
    assert below <= truth <= above
    assert np.nextafter(below, np.inf) >= above


NODES = st.integers(0, 3)
EDGES = st.lists(st.tuples(NODES, NODES, FLOATS, st.floats(-0.25, 0.25)))
"""Ends, a weight, and what its rounding has lost in units of its last place."""


@given(EDGES)
def test_parallel_edges_add_up_to_what_is_not_said_to_be_lost(drawn):
    u, v, w, low = np.array(drawn, dtype=float).reshape(-1, 4).T
    low = low * np.spacing(w)
    truth = {}
    for a, b, x, y in zip(u, v, w, low, strict=True):
        if a != b:
            pair = min(a, b), max(a, b)
            truth[pair] = truth.get(pair, 0) + Fraction(x) + Fraction(y)
    edges, high, rest, lost = sum_parallel_pairs(4, u.astype(int), v.astype(int), w, low)
    pairs = list(map(tuple, edges.tolist()))
    assert pairs == sorted(set(pairs))
    found = dict(zip(pairs, zip(high.tolist(), rest.tolist(), strict=True), strict=True))
    off = sum(abs(x - sum(map(Fraction, found.get(pair, (0, 0))))) for pair, x in truth.items())
    assert set(found) <= set(truth)
    assert off <= Fraction(lost) * (1 + Fraction(1, 10**9))


@given(st.lists(st.integers(-(10**6), 10**6).filter(bool), min_size=1), st.integers(-1000, 900))
def test_the_unit_of_whole_multiples(multiples, exponent):
    unit = common_unit(np.ldexp(np.array(multiples, dtype=float), exponent))
    assert unit == np.ldexp(float(gcd(*multiples)), exponent)
