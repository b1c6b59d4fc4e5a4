"""Both bounds of a solve: what is taken, what is refused, and when they have met."""

from math import gcd, inf, nextafter

import numpy as np
import pytest
from families import joined, wheel
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import Graph, Status
from bdcc_jax.instance.enumeration import best_of_all as enumerated
from bdcc_jax.proofs.certificate import Claim, Enumeration, LowerBound
from bdcc_jax.search.bounds import MOST, TOLERANCE, Bounds, allowed_excess

TRIANGLE = ([0, 1, 0], [1, 2, 2])
PROOF = Enumeration()


def best_of_all(graph):
    return enumerated(graph)[0]


def triangle(*weights):
    """Weights of the edges 01, 12, 02."""
    return Graph.from_edges(*TRIANGLE, weights)


@st.composite
def integer_graphs(draw):
    n, factor = draw(st.integers(3, 6)), draw(st.sampled_from([1, 2, 6, 10**6]))
    u, v = np.triu_indices(n, 1)
    weight = st.sampled_from([-5, -3, -2, -1, 1, 2, 3, 4])
    w = draw(st.lists(weight, min_size=len(u), max_size=len(u)))
    return Graph.from_edges(u, v, np.array(w, dtype=float) * factor, n)


def test_the_start():
    """Everything apart or all that attraction joins, whichever is better; all of E- below."""
    graph = triangle(2.0, -1.0, -3.0)
    bounds = Bounds(graph)
    assert (bounds.lower, bounds.upper) == (-4.0, -4.0)
    assert bounds.labels.tolist() == [0, 0, 1]
    assert bounds.cut.tolist() == graph.cut([0, 0, 1]).tolist()
    assert bounds.verdict is Status.OPTIMAL


def test_an_empty_instance_is_solved():
    bounds = Bounds(Graph(3, [], []))
    assert (bounds.lower, bounds.upper, bounds.verdict) == (0.0, 0.0, Status.OPTIMAL)


@settings(max_examples=50)
@given(integer_graphs(), st.floats(0.0, 1.0))
def test_integer_bounds_are_rounded_up_to_the_unit_but_never_past_the_optimum(graph, share):
    optimum = brute_force(graph)
    bound = graph.negative_sum + share * (optimum - graph.negative_sum)
    bounds = Bounds(graph)
    bounds.offer(best_of_all(graph))
    assert bounds.raise_lower(LowerBound(bound, PROOF))
    unit = gcd(*graph.weights.astype(int).tolist())
    assert bound - bounds.noise <= bounds.lower <= optimum
    assert bounds.lower % unit == 0
    assert bounds.lower < bound + unit


@pytest.mark.parametrize(
    ("bound", "lower"), [(-7.9, -6.0), (-6.1, -6.0), (-6.0, -6.0), (-8.1, -8.0), (-11.9, -10.0)]
)
def test_the_unit_is_the_greatest_common_divisor(bound, lower):
    graph = Graph(7, [(0, 1), (2, 3), (4, 5), (5, 6), (4, 6)], [-2.0, -4.0, 6.0, 6.0, -4.0])
    bounds = Bounds(graph)
    bounds.raise_lower(LowerBound(bound, PROOF))
    assert bounds.lower == lower


def test_a_bound_that_passes_a_multiple_by_a_rounding_error_is_that_multiple():
    bounds = Bounds(wheel(5))  # the optimum is -2
    bounds.raise_lower(LowerBound(-3.0 + 0.9 * bounds.noise, PROOF))
    assert bounds.lower == -3.0
    bounds.raise_lower(LowerBound(-3.0 + 2 * bounds.noise, PROOF))
    assert bounds.lower == -2.0


def test_float_weights_have_no_unit():
    graph = triangle(1.1, 1.0, -0.9)
    bounds = Bounds(graph)
    bounds.raise_lower(LowerBound(-0.7, PROOF))
    assert bounds.lower == -0.7
    assert bounds.upper - bounds.cutoff == bounds.tolerance / 4


@pytest.mark.parametrize("weight", [1e9, 2.0**53, 1e200])
def test_a_small_weight_beside_a_heavy_one_is_not_within_the_tolerance(weight):
    bounds = Bounds(triangle(weight, weight, -1.0))
    assert (bounds.lower, bounds.upper) == (-1.0, 0.0)
    assert bounds.verdict is None
    bounds.raise_lower(LowerBound(-2e-3, PROOF))
    assert (bounds.verdict is Status.OPTIMAL) == (weight == 1e9)  # of whole numbers, exactly
    bounds.raise_lower(LowerBound(-1e-10, PROOF))
    assert bounds.verdict is Status.OPTIMAL


def test_integers_whose_sums_are_not_exact_have_no_unit():
    bounds = Bounds(triangle(2.0**52, 2.0**52 + 1.0, -5.0))
    bounds.raise_lower(LowerBound(-2.5, PROOF))
    assert bounds.lower == -2.5


def test_multiples_of_a_fraction_have_a_unit():
    bounds = Bounds(triangle(0.75, 0.5, -1.0))
    bounds.raise_lower(LowerBound(-0.74, PROOF))
    assert bounds.lower == -0.5


def test_better_labels_are_taken_where_float64_cannot_tell_their_costs_apart():
    graph = Graph(5, [(0, 1), (2, 3), (3, 4), (2, 4)], [-1e30, 2.0, 2.0, -1.0])
    bounds = Bounds(graph)
    assert not bounds.offer(np.array([0, 1, 2, 2, 3]))
    assert bounds.labels.tolist() == [0, 1, 2, 2, 2]
    assert bounds.excess == 1.0
    assert bounds.raise_lower(LowerBound(bounds.upper, PROOF, 0.0))
    assert bounds.verdict is Status.OPTIMAL


@settings(max_examples=50)
@given(integer_graphs())
def test_no_clustering_of_integer_weights_lies_between_cutoff_and_upper_bound(graph):
    bounds = Bounds(graph)
    costs = all_cuts(graph) @ graph.weights
    assert bounds.cutoff < bounds.upper
    assert not ((costs >= bounds.cutoff) & (costs < bounds.upper)).any()
    better = costs[costs < bounds.upper]
    assert len(better) == 0 or better.max() < bounds.cutoff


@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_that_nothing_is_below_the_cutoff_proves_optimality(kind):
    rng = np.random.default_rng(2)
    for _ in range(20):
        graph = random_graph(rng, 6, 1.0, kind)
        bounds = Bounds(graph)
        bounds.offer(best_of_all(graph))
        assert bounds.cutoff <= bounds.upper
        bounds.raise_lower(LowerBound(bounds.cutoff, PROOF))
        assert bounds.verdict is Status.OPTIMAL


@pytest.mark.parametrize(("spoke", "excess"), [(1.0, 1.0), (1.25, 0.5), (1.25, 1e-6)])
def test_a_bound_that_a_clustering_contradicts_is_refused(caplog, spoke, excess):
    bounds = Bounds(wheel(5, spoke))
    bounds.offer(best_of_all(wheel(5, spoke)))
    before = bounds.lower
    assert not bounds.raise_lower(LowerBound(bounds.upper + excess, PROOF))
    assert bounds.lower == before
    assert "a clustering costs" in caplog.text


def test_an_infinite_bound_is_refused_and_minus_infinity_changes_nothing(caplog):
    for graph in (wheel(5), wheel(5, 0.75)):
        bounds = Bounds(graph)
        before = bounds.lower
        assert not bounds.raise_lower(LowerBound(inf, PROOF))
        assert bounds.raise_lower(LowerBound(-inf, PROOF))
        assert bounds.lower == before


def test_a_bound_that_passes_the_optimum_by_a_rounding_error_is_capped():
    graph = wheel(5, 1.25)
    bounds = Bounds(graph)
    bounds.offer(best_of_all(graph))
    assert bounds.raise_lower(LowerBound(nextafter(bounds.upper, inf), PROOF))
    assert bounds.lower == bounds.upper == brute_force(graph)
    assert bounds.verdict is Status.OPTIMAL


def test_the_tolerance_is_a_share_of_the_smallest_weight():
    assert allowed_excess(np.array([1e9, -1e-3, 2.0])) == TOLERANCE * 1e-3
    assert allowed_excess(np.array([1.5, -1.0])) == MOST * 2.5


def test_bounds_meet_within_the_tolerance():
    graph = triangle(1.1, 1.0, -0.9)
    bounds = Bounds(graph)
    bounds.raise_lower(LowerBound(bounds.upper - 1.01 * bounds.tolerance, PROOF))
    assert bounds.verdict is None
    bounds.raise_lower(LowerBound(bounds.upper - 0.99 * bounds.tolerance, PROOF))
    assert bounds.verdict is Status.OPTIMAL


def test_bounds_only_get_better():
    graph = wheel(5, 0.75)
    bounds = Bounds(graph)
    best = best_of_all(graph)
    assert bounds.offer(best)
    assert not bounds.offer(best)
    assert not bounds.offer(np.zeros(6, dtype=int))
    bounds.raise_lower(LowerBound(-3.0, PROOF))
    bounds.raise_lower(LowerBound(-4.0, PROOF))
    assert (bounds.lower, bounds.upper) == (-3.0, graph.objective(best))


def test_a_cluster_that_attraction_does_not_hold_together_is_split():
    graph = joined([wheel(3, 0.9), wheel(3, 0.9)], [(0, 4, -1.0)])
    bounds = Bounds(graph)
    assert bounds.offer(np.array([0, 1, 1, 1, 0, 1, 1, 1]))
    assert bounds.labels.tolist() == [0, 1, 1, 1, 2, 3, 3, 3]
    assert bounds.upper == graph.objective(bounds.labels)


@pytest.mark.parametrize(
    ("gap", "absolute_gap", "bound", "verdict"),
    [
        (0.1, 0.0, -2.4, None),
        (0.5, 0.0, -2.4, Status.GAP),
        (0.0, 0.3, -2.4, None),
        (0.0, 0.5, -2.4, Status.GAP),
    ],
)
def test_gaps(gap, absolute_gap, bound, verdict):
    graph = wheel(5, 1 + 1e-4)  # no unit; the optimum is about -2
    bounds = Bounds(graph, gap=gap, absolute_gap=absolute_gap)
    bounds.offer(best_of_all(graph))
    bounds.raise_lower(LowerBound(bound, PROOF))
    assert bounds.verdict is verdict


def test_nothing_is_optimal_by_a_claim():
    graph = Graph(3, [(0, 1), (0, 2), (1, 2)], [1.0, 1.0, -1.6])
    bounds = Bounds(graph)
    before, proof = bounds.lower, bounds.proof
    claim = Claim(bounds.upper, proof)
    assert bounds.raise_lower(LowerBound(bounds.upper, claim))
    assert bounds.lower == bounds.upper
    assert bounds.proof is claim
    assert bounds.verdict is None
    assert bounds.raise_lower(LowerBound(before + 0.01, proof))  # proven, but far from enough
    assert bounds.proof is claim
    assert bounds.raise_lower(LowerBound(bounds.upper - 0.9 * bounds.tolerance, proof))
    assert bounds.proof is proof
    assert bounds.lower < bounds.upper
    assert bounds.verdict == "optimal"


@pytest.mark.parametrize(("gap", "verdict"), [(0.0, None), (0.1, "gap")])
def test_a_claim_is_good_enough_for_a_gap(gap, verdict):
    bounds = Bounds(Graph(3, [(0, 1), (0, 2), (1, 2)], [1.0, 1.0, -2.6]), gap=gap)
    bounds.raise_lower(LowerBound(bounds.upper - 0.01, Claim(bounds.upper - 0.01, bounds.proof)))
    assert bounds.verdict == verdict


def test_what_reaches_the_cutoff_closes_the_gap_however_small_the_unit_is():
    """Weights that were float32: sums of thousands in units of 2^-23."""
    rng = np.random.default_rng(0)
    u, v = np.triu_indices(60, 1)
    weights = (2.0**-23) * np.round(3 * rng.normal(size=len(u)) * 2.0**23)
    bounds = Bounds(Graph.from_edges(u, v, weights))
    assert bounds.tolerance < 2.0**-23
    assert bounds.raise_lower(LowerBound(bounds.cutoff, PROOF))
    assert bounds.verdict is Status.OPTIMAL
