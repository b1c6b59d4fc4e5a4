"""What 'optimal' means: no weight elsewhere makes it false.

Against dynamic programming in rational arithmetic, with heavy edges inside, beside and between.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from certificates import signed_again

from bdcc_jax import Graph, Options, Rejected, solve, verify
from bdcc_jax.presolve import presolve
from benchmarks.exact_optimum import exact_cost, exact_optimum


def complete(rng, n):
    u, v = np.triu_indices(n, 1)
    kept = rng.random(len(u)) < rng.choice([0.4, 0.7, 1.0])
    kept[:3] = True
    return u[kept], v[kept], rng.normal(size=int(kept.sum()))


def heavy(rng):
    return rng.choice([-1, 1]) * (1 + rng.random()) * 10.0 ** rng.choice([6, 9, 11, 13, 20, 300])


def inside(rng, n):
    u, v, w = complete(rng, n)
    w[rng.integers(len(w))] = heavy(rng)
    return u, v, w


def hanging(rng, n):
    u, v, w = complete(rng, n - 1)
    return np.append(u, rng.integers(n - 1)), np.append(v, n - 1), np.append(w, heavy(rng))


def several(rng, n):
    u, v, w = complete(rng, n)
    at = rng.choice(len(w), 3, replace=False)
    w[at] = heavy(rng) * rng.choice([-1, 1], 3)
    return u, v, w


def two_magnitudes(rng, n):
    u, v, w = complete(rng, n)
    first = u < n // 2
    apart = first == (v < n // 2)
    return u[apart], v[apart], np.where(first, heavy(rng) * w, w)[apart]


def cancelling(rng, n):
    """What is left of heavy weights once presolve adds them up decides."""
    u, v, w = complete(rng, n)
    for _ in range(3):
        i, j = rng.choice(len(w), 2, replace=False)
        much = 10.0 ** rng.choice([6, 9, 13, 15]) * (1 + rng.random())
        w[i], w[j] = w[i] + much, w[j] - much
    return u, v, w


def whole(rng, n):
    u, v, w = complete(rng, n)
    w = rng.integers(-5, 6, len(w)) * rng.choice([1.0, 3.0, 0.25, 1e6])
    w[rng.integers(len(w))] = rng.choice([-1, 1]) * 10.0 ** rng.integers(6, 17)
    return u, v, w


def large_whole(rng, n):
    """A thousandth of the smallest is many units, and so is a share of the sum."""
    u, v, w = complete(rng, n)
    return u, v, np.sign(w) * (10.0 ** rng.integers(3, 13) + rng.integers(0, 9, len(w)))


def tenths(rng, n):
    u, v, w = complete(rng, n)
    return u, v, rng.integers(-9, 10, len(w)) / 10


def smallest(rng, n):
    u, v, w = complete(rng, n)
    return u, v, rng.integers(-3, 4, len(w)) * 5e-324


def wide(rng, n):
    u, v, w = complete(rng, n)
    return u, v, w * 10.0 ** rng.uniform(0, rng.choice([3, 6, 9, 15]), len(w))


KINDS = (
    inside, hanging, several, two_magnitudes, cancelling,
    whole, large_whole, tenths, smallest, wide,
)  # fmt: skip


def check(seed: int, kind, options: Options) -> str:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 13))
    graph = Graph.from_edges(*kind(rng, n), n)
    result = solve(graph, options=options)
    truth = exact_optimum(graph)
    too_much = exact_cost(graph, result.labels) - truth
    assert too_much >= 0
    assert Fraction(result.lower_bound) <= truth
    assert too_much <= Fraction(result.tolerance)
    verify(graph, result.certificate)
    if result.status == "optimal":
        left = presolve(graph).graph if options.presolve else graph
        sizes = [abs(Fraction(w)) for w in (left if left.m else graph).weights.tolist()]
        assert 1000 * too_much <= min(sizes, default=0)
        assert kind not in (whole, large_whole) or too_much == 0
    return str(result.status)


@pytest.mark.parametrize("kind", KINDS)
def test_an_optimal_clustering_is_one_whatever_else_weighs(kind):
    """By default everything is proven; here the open weights of a piece are never too far apart."""
    assert {check(seed, kind, Options()) for seed in range(25)} == {"optimal"}


@pytest.mark.parametrize(
    "options", [Options(presolve=False), Options.paper()], ids=["bare", "paper"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_without_presolve_what_is_not_proven_is_said(kind, options):
    """All is left open: where that spans too much, the result says how much is proven."""
    assert {check(seed, kind, options) for seed in range(4)} <= {"optimal", "numerical"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thousands(kind):
    assert {check(1000 + seed, kind, Options()) for seed in range(500)} <= {
        "optimal",
        "numerical",
    }


@cache
def alone_without_it(seed):
    u, v = np.triu_indices(24, 1)
    w = np.random.default_rng(seed).normal(size=len(u))
    return u, v, w, solve((u, v, w))


@pytest.mark.parametrize("weight", [1e9, 1e13, -1e13])
@pytest.mark.parametrize("hangs", [False, True])
def test_one_heavy_edge_changes_nothing_elsewhere(weight, hangs):
    """In a component of its own, or hanging on node 0 of a complete graph of 24 nodes."""
    for seed in range(2):
        u, v, w, alone = alone_without_it(seed)
        ends = (0, 24) if hangs else (24, 25)
        graph = Graph.from_edges([*u, ends[0]], [*v, ends[1]], [*w, weight])
        result = solve(graph)
        assert result.status == alone.status == "optimal"
        assert (result.labels[:24] == alone.labels).all()


def test_pieces_of_other_magnitudes_are_solved_apart_and_proven():
    """Each too large to be enumerated, one a hundred million million times as heavy."""
    rng = np.random.default_rng(3)
    u, v = np.triu_indices(12, 1)
    w = rng.normal(size=(2, len(u)))
    graph = Graph.from_edges([*u, *u + 12], [*v, *v + 12], [*(1e14 * w[0]), *w[1]])
    result = solve(graph)
    assert result.status == "optimal"
    assert verify(graph, result.certificate).claims == ()
    for part, weights in zip((result.labels[:12], result.labels[12:]), w, strict=True):
        small = Graph.from_edges(u, v, weights)
        assert exact_cost(small, part) - exact_optimum(small) <= Fraction(1e-3 * np.abs(w).min())


def test_a_certificate_cannot_hide_a_light_piece_behind_a_heavy_one():
    rng = np.random.default_rng(3)
    u, v = np.triu_indices(12, 1)
    w = rng.normal(size=(2, len(u)))
    graph = Graph.from_edges([*u, *u + 12], [*v, *v + 12], [*(1e14 * w[0]), *w[1]])
    result = solve(graph)
    worse = result.labels.copy()
    worse[12:] = worse[12]  # all of the light piece in one cluster
    forged = forge(result.certificate, worse, graph)
    with pytest.raises(Rejected, match="optimal"):
        verify(graph, forged)


def forge(certificate, labels, graph):
    found = {"labels": labels.tolist(), "objective": graph.objective(labels)}
    return signed_again({**certificate, **found})


def test_a_certificate_of_whole_weights_must_be_exact():
    """Apart by 1, which is less than a thousandth of any weight."""
    graph = Graph(3, [(0, 1), (0, 2), (1, 2)], [5000.0, 5001.0, -9000.0])
    result = solve(graph)
    assert (result.objective, result.labels.tolist()) == (-4000.0, [0, 1, 0])
    forged = forge(result.certificate, np.array([0, 0, 1]), graph)
    with pytest.raises(Rejected, match="optimal"):
        verify(graph, forged)
