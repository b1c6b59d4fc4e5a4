"""The pair that divides a leaf: what both of its halves gain, against another program."""

import numpy as np
import pytest
from scipy.optimize import linprog

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.prices.clusters import Clusters
from bdcc_jax.prices.strong_branching import SLIGHT, _Packing, dividing_pair
from bdcc_jax.prices.worth import Worth


def solved(seed: int, n: int = 36, unit: float = 1.0) -> Clusters:
    rng = np.random.default_rng(seed)
    edges = np.column_stack(np.triu_indices(n, 1))
    graph = Graph(n, edges, unit * rng.choice([-1.0, 1.0], len(edges)))
    clusters = Clusters.of(Worth.of(graph), np.eye(n, dtype=bool))
    for _ in range(150):
        clusters.improve(Clock(None))
    return clusters


def most(clusters: Clusters, gone: np.ndarray) -> float:
    sets, worth = clusters.sets[~gone].T.astype(float), clusters.worth_of[~gone]
    found = linprog(-worth, A_ub=sets, b_ub=np.ones(len(sets)), bounds=(0, 1))
    return -found.fun


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_without_some_clusters(seed):
    clusters, rng = solved(seed), np.random.default_rng(seed)
    packing = _Packing(clusters)
    for share in (0.0, 0.3, 0.9, 0.1, 0.0):
        gone = rng.random(len(clusters.sets)) < share
        assert packing.most(gone, Clock(None)) == pytest.approx(most(clusters, gone), abs=1e-6)


def gains(clusters: Clusters, u: int, v: int) -> np.ndarray:
    one, other = clusters.sets[:, u], clusters.sets[:, v]
    whole = most(clusters, np.zeros(len(one), dtype=bool))
    return np.clip([whole - most(clusters, gone) for gone in (one != other, one & other)], 1e-3, 1)


def test_the_pair_gains_on_both_sides():
    """As much as any pair, by the product of the gains: all are tried if these are few."""
    tried = 0
    for seed in range(3):
        clusters = solved(seed, 32)
        u, v = clusters.worth.pairs
        z = clusters.together()[u, v]
        open_pairs = np.flatnonzero(np.minimum(z, 1.0 - z) > SLIGHT)
        if len(open_pairs) < 2:
            continue
        tried += 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bdcc_jax.prices.strong_branching.CANDIDATES", 10**6)
            pair = dividing_pair(clusters, 1.0, Clock(None))
        score = max(np.prod(gains(clusters, u[k], v[k])) for k in open_pairs)
        assert np.prod(gains(clusters, *pair)) == pytest.approx(score, abs=1e-6)
    assert tried


def test_large_weights_are_divided_as_small_ones():
    """Also where the product of two gains is more than float64 has."""
    pairs = [
        [dividing_pair(solved(seed, unit=unit), unit, Clock(None)) for seed in range(3)]
        for unit in (1.0, 2.0**700)
    ]
    assert pairs[0] == pairs[1]


def test_a_pair_that_is_not_decided_is_found_where_the_solution_is_a_clustering():
    n = 5
    edges = np.column_stack(np.triu_indices(n, 1))
    worth = Worth.of(Graph(n, edges, np.ones(len(edges)))).with_apart(0, 1).with_apart(0, 2)
    clusters = Clusters.of(worth, np.eye(n, dtype=bool))
    for _ in range(20):
        clusters.improve(Clock(None))
    assert dividing_pair(clusters, 1.0, Clock(None)) == (0, 3)


def test_a_limit_ends_it():
    clusters = next(
        each
        for each in map(solved, range(9))
        if (abs(each.shares - 0.5) < 0.4).sum() > 4  # not a clustering
    )
    with pytest.raises(TimeLimitReached):
        dividing_pair(clusters, 1.0, Clock(None, work_limit=0.0))
