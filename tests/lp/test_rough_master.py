"""The rough LP: its bounds are true, near those of HiGHS, and exact where that is what it takes."""

import numpy as np
import pytest
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import solve, verify
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.completion import pair_ids
from bdcc_jax.lp.first_order import descend
from bdcc_jax.lp.master import Master
from bdcc_jax.lp.rough_master import ROUGH, RoughMaster
from bdcc_jax.lp.row_pool import RowPool
from bdcc_jax.lp.rows import Rows
from bdcc_jax.search.bounds import Bounds
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.complete import CompleteGraphRows
from bdcc_jax.separation.two_partitions import all_triangles


def triangles(n: int) -> Rows:
    return Rows.concatenate(all_triangles(n, u, v) for u in range(n) for v in range(u + 1, n))


def optimum(weights, rows, lower=None, upper=None) -> float:
    master = Master(weights)
    master.add(rows)
    if lower is not None:
        master.restrict(lower, upper)
    master.solve(Clock(None))
    return master.proven_bound


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_below_that_of_highs_by_the_share_that_is_allowed(seed):
    graph = random_graph(np.random.default_rng(seed), 12, 1.0)
    upper = Bounds(graph).upper
    master = RoughMaster(graph.weights, lambda: upper)
    master.add(triangles(12))
    x = master.solve(Clock(None))
    exact = optimum(graph.weights, master.rows)
    trivial = graph.negative_sum
    assert exact - ROUGH * (upper - trivial) <= master.proven_bound <= exact + 1e-9
    assert graph.weights @ x == pytest.approx(exact, abs=2 * ROUGH * (upper - trivial))
    assert (x >= 0.0).all()
    assert (x <= 1.0).all()


@pytest.mark.parametrize("seed", range(4))
def test_every_solution_proves_a_bound_on_the_clusterings_within_the_limits(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 1.0)
    cuts = all_cuts(graph)
    master = RoughMaster(graph.weights, lambda: 0.0)
    master.add(triangles(8))
    for _ in range(8):
        like = cuts[rng.integers(len(cuts))]
        decided = rng.random(graph.m) < 0.3
        lower, upper = np.where(decided, like, 0.0), np.where(decided, like, 1.0)
        inside = (cuts[:, decided] == like[decided]).all(axis=1)
        best = (cuts[inside] @ graph.weights).min()
        master.restrict(lower, upper)
        master.solve(Clock(None))
        assert master.proven_bound <= best + 1e-9
        edge = int(rng.integers(graph.m))
        for way in (0.0, 1.0):
            there = cuts[inside & (cuts[:, edge] == way)] @ graph.weights
            if not decided[edge] and len(there):
                assert master.probe(edge, way, Clock(None)) <= there.min() + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_an_lp_that_closes_the_gap_is_solved_exactly_in_the_end(seed):
    """Real weights: no rough bound is as high as the optimum."""
    graph = random_graph(np.random.default_rng(seed), 9, 1.0)
    best, ids = brute_force(graph), pair_ids(9)
    assert len(ids) == 9
    tolerance = 1e-9 * np.abs(graph.weights).sum()
    master = RoughMaster(graph.weights, lambda: best)
    bounds = lambda: (master.proven_bound, best)  # noqa: E731
    separate = CompleteGraphRows(graph, 0.0, 10, bounds, lambda: master.blur)
    for _ in cutting_planes(master, [separate], Clock(None), forget=master.drop_slack_rows):
        assert master.proven_bound <= best + tolerance
    assert master.proven_bound >= best - tolerance


def test_rows_that_are_here_are_not_added_again():
    master = RoughMaster(np.array([1.0, 1.0, -1.0]), lambda: 0.0)
    rows = all_triangles(3, 0, 1)
    master.add(rows)
    master.add(rows)
    assert master.n_rows == 3


def test_the_pool_starts_an_lp_where_another_ended():
    graph = random_graph(np.random.default_rng(1), 12, 1.0)
    upper = Bounds(graph).upper
    master = RoughMaster(graph.weights, lambda: upper)
    pool = RowPool(master)
    pool.add(triangles(12))
    pool.solve(Clock(None))
    bound, start = master.proven_bound, pool.start
    assert 0 < len(start.numbers) == len(pool.rows) < master.n_rows
    pool.start_from(start)
    assert master.n_rows == len(start.numbers)
    assert np.array_equal(np.sort(pool.keep(pool.proven)[0]), start.numbers)
    master._learn()
    assert master.proven_bound == pytest.approx(bound, rel=1e-12)


def test_it_ends_at_once_when_the_bound_is_enough():
    graph = random_graph(np.random.default_rng(2), 12, 1.0)
    rows = triangles(12)
    arguments = (
        graph.weights, np.zeros(graph.m), np.ones(graph.m),
        rows.starts, rows.indices, rows.values, rows.upper,
    )  # fmt: skip
    done = [
        descend(*arguments, np.zeros(graph.m), np.zeros(len(rows)), np.ones(1), 0.0, aim, 1000)
        for aim in (2 * graph.negative_sum, 0.0)
    ]
    assert done == [40, 1000]


def test_a_deadline_ends_it():
    master = RoughMaster(np.array([1.0, 1.0, -1.0]), lambda: 0.0)
    master.add(all_triangles(3, 0, 1))
    with pytest.raises(TimeLimitReached):
        master.solve(Clock(0.0))


@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_dense_instances_are_proven_and_the_same_every_time(kind):
    graph = random_graph(np.random.default_rng(4), 26, 0.6, kind)
    results = [solve(graph) for _ in range(2)]
    assert all(result.status == "optimal" for result in results)
    assert np.array_equal(results[0].labels, results[1].labels)
    assert results[0].certificate == results[1].certificate
    verdict = verify(graph, results[0].certificate)
    assert verdict.claims == ()
    assert verdict.upper_bound - verdict.lower_bound <= results[0].tolerance
