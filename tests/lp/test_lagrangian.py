"""The Lagrangian bound in exact rational arithmetic, with right-hand sides that are not zero."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from families import valid_rows, wheel, wheel_solution
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax.lp.lagrangian import Lagrangian
from bdcc_jax.lp.rows import Rows
from bdcc_jax.separation.odd_wheels import violated_wheels


def random_rows(rng, m, k):
    """Sparse rows with any coefficients and right-hand sides, of wildly different size."""
    starts = np.append(0, np.cumsum(rng.integers(1, min(m, 6) + 1, k)))
    columns = [rng.choice(m, b - a, replace=False) for a, b in pairwise(starts)]
    return Rows(
        starts,
        np.concatenate(columns).astype(np.int32),
        wild(rng, starts[-1]),
        wild(rng, k) * rng.choice([0.0, 1.0], k),
    )


def wild(rng, size):
    return rng.normal(size=size) * 10.0 ** rng.integers(-8, 9, size)


def exactly(weights, rows, multipliers):
    """The reduced costs and the constant as fractions."""
    reduced = [Fraction(w) for w in weights]
    for row, e, omega in zip(rows.row_of_entry(), rows.indices, rows.values, strict=True):
        reduced[e] += Fraction(omega) * Fraction(multipliers[row])
    products = (Fraction(y) * Fraction(b) for y, b in zip(multipliers, rows.upper, strict=True))
    return reduced, -sum(products, Fraction(0))


@settings(max_examples=80)
@given(st.integers(1, 12), st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_everything_errs_on_the_safe_side_and_only_by_rounding(m, k, seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, m, k) if k else Rows.empty()
    weights, multipliers = wild(rng, m), np.abs(wild(rng, k))
    reduced, constant = exactly(weights, rows, multipliers)
    relaxed = Lagrangian.of(weights, rows, multipliers)
    assert all(Fraction(a) <= b for a, b in zip(relaxed.reduced, reduced, strict=True))
    assert Fraction(relaxed.constant) <= constant
    truth = sum((r for r in reduced if r < 0), constant)
    assert Fraction(relaxed.bound) <= truth
    size = np.abs(weights).sum() + np.abs(rows.upper) @ multipliers
    size += (np.abs(rows.values) * multipliers[rows.row_of_entry()]).sum()
    assert float(truth) - relaxed.bound <= 1e-13 * size


@pytest.mark.parametrize("seed", range(6))
def test_no_clustering_costs_less(seed):
    """Also with odd wheels, whose right-hand sides are 1, 2, ..."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 7, 1.0, ("normal", "ties")[seed % 2])
    rows = valid_rows(graph, rng)
    assert rows.upper.max() >= 1
    cuts = all_cuts(graph).astype(float)
    costs = cuts @ graph.weights
    for size in (0.01, 0.1, 1.0, 10.0):
        multipliers = size * rng.random(len(rows)) * (rng.random(len(rows)) < 0.3)
        relaxed = Lagrangian.of(graph.weights, rows, multipliers)
        assert relaxed.bound <= costs.min() + 1e-12
        assert (cuts @ relaxed.reduced + relaxed.constant <= costs + 1e-9 * size).all()


@pytest.mark.parametrize("k", [3, 5, 7])
def test_the_wheel_closes_the_gap_of_its_cycles(k):
    """One row with multiplier 1 proves the optimum, which no cycle inequalities can."""
    graph = wheel(k)
    rows = violated_wheels(graph, wheel_solution(graph))
    assert Lagrangian.of(graph.weights, rows, np.ones(1)).bound == pytest.approx(-(k - 1) / 2)
    assert brute_force(graph) == -(k - 1) / 2


def test_no_rows_leave_the_weights_exactly_as_they_are():
    weights = np.array([0.1, -0.3, 1e-300, -1e300])
    relaxed = Lagrangian.of(weights, Rows.empty(), np.empty(0))
    assert relaxed.reduced.tolist() == weights.tolist()
    assert relaxed.constant == 0.0
