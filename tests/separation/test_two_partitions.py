"""2-partitions and triangles of complete graphs: valid, violated, and found where there are any."""

from itertools import combinations, product

import numpy as np
import pytest
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import Graph, Options, solve, verify
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance import completion
from bdcc_jax.instance.completion import completed, pair_ids
from bdcc_jax.lp.master import Master
from bdcc_jax.proofs.rows_in_nodes import in_nodes
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.complete import CompleteGraphRows
from bdcc_jax.separation.paper.ball import VIOLATION
from bdcc_jax.separation.partition_search import searched_partitions
from bdcc_jax.separation.separation import Separation
from bdcc_jax.separation.two_partitions import (
    LEAST_VIOLATION,
    violated_partitions,
    violated_triangles,
)


def metric(rng, n):
    """A point that satisfies all triangles, often far from every clustering."""
    x = rng.random((n, n))
    x = np.minimum(1.0, np.minimum(x, x.T) + rng.random())
    for k in range(n):
        x = np.minimum(x, x[:, [k]] + x[[k], :])
    return x[np.triu_indices(n, 1)]


def as_matrix(rows, m):
    matrix = np.zeros((len(rows), m))
    np.add.at(matrix, (rows.row_of_entry(), rows.indices), rows.values)
    return matrix


def check(graph, rows, x, cuts):
    """2-partitions of whatever size that hold for every clustering, and not for x."""
    matrix, ids, sizes = as_matrix(rows, graph.m), pair_ids(graph.n), set()
    assert (matrix @ cuts.T <= rows.upper[:, None]).all()
    assert (rows.violation(x) > LEAST_VIOLATION - 1e-9).all()
    for ((kind, factor, nodes),), row, upper in zip(
        in_nodes(graph, rows), matrix, rows.upper, strict=True
    ):
        p = 1 if kind in ("wheel", "cycle") else kind  # three against one, two against one
        first, second = nodes[:p], nodes[p:]
        if kind == "cycle":
            first, second = [nodes[1]], [nodes[0], nodes[2]]
        sizes.add(p)
        expected = np.zeros(graph.m)
        for side in (first, second):
            for a, b in combinations(side, 2):
                expected[ids[a, b]] = 1.0
        expected[ids[np.ix_(first, second)].ravel()] = -1.0
        assert (factor, row.tolist()) == (1.0, expected.tolist())
        d = len(second) - len(first)
        assert upper == d * (d - 1) / 2
    return sizes


def points(rng, n, m):
    return metric(rng, n) if rng.random() < 0.5 else rng.choice([0.0, 0.5, 1.0], m)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("n", [5, 7, 8])
def test_rows_hold_for_every_clustering_and_are_violated(n, sides):
    rng = np.random.default_rng(n)
    graph = completed(Graph(n, [(0, 1)], [1.0]))[0]
    cuts, found = all_cuts(graph), 0
    for _ in range(30):
        x = points(rng, n, graph.m)
        rows = violated_partitions(pair_ids(n), x, sides, most=20)
        assert check(graph, rows, x, cuts) <= {sides}
        found += len(rows)
    assert found > 3


@pytest.mark.parametrize("n", [5, 7, 8])
def test_searches_find_partitions_of_all_sizes_each_once(n):
    rng = np.random.default_rng(n)
    graph = completed(Graph(n, [(0, 1)], [1.0]))[0]
    cuts, sizes = all_cuts(graph), set()
    for seed in range(30):
        x = points(rng, n, graph.m)
        rows = searched_partitions(pair_ids(n), x, seed, most=200)
        sizes |= check(graph, rows, x, cuts)
        assert len(np.unique(rows.keys())) == len(rows)
        again = searched_partitions(pair_ids(n), x, seed, most=200)
        assert again.keys().tolist() == rows.keys().tolist()
    assert sizes == set(range(1, (n + 1) // 2))


def test_searches_find_the_most_violated_one():
    """Of small graphs, by comparison with all ways to choose S and T."""
    rng, n = np.random.default_rng(0), 6
    ids, missed = pair_ids(n), 0
    for seed in range(20):
        x = metric(rng, n)
        z = np.where(ids < 0, 0.0, 1.0 - x[ids])
        best = 0.0
        for b in product((-1.0, 0.0, 1.0), repeat=n):
            b = np.array(b)
            best = max(best, -(b @ z @ b) / 2 - min((b < 0).sum(), (b > 0).sum()))
        found = searched_partitions(ids, x, seed, most=10**6).violation(x)
        missed += best > LEAST_VIOLATION and max(found, default=0.0) < best - 1e-9
    assert missed <= 2


def test_triangles_are_found_iff_there_are_any():
    rng = np.random.default_rng(0)
    ids = pair_ids(7)
    for _ in range(50):
        x = metric(rng, 7)
        assert len(violated_triangles(ids, x, 100, VIOLATION)[0]) == 0
        x[rng.integers(len(x))] = rng.random()
        rows, worst = violated_triangles(ids, x, 100, VIOLATION)
        value = x[np.maximum(ids, 0)]
        slack = [
            value[a, b] - value[a, c] - value[b, c]
            for a, b, c in (np.roll(t, k) for t in combinations(range(7), 3) for k in range(3))
        ]
        assert worst == pytest.approx(max(0.0, *slack), abs=2e-6)
        assert (rows.violation(x) > VIOLATION).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_lp_is_between_that_of_triangles_and_the_optimum(seed):
    graph = random_graph(np.random.default_rng(seed), 9, 1.0)
    ids, values = pair_ids(9), []

    def triangles(x, _):
        rows, worst = violated_triangles(ids, x, 100, VIOLATION)
        return Separation(rows, 0, 0, worst == 0.0)

    for everything in (False, True):
        master = Master(graph.weights)
        bounds = lambda m=master: (m.proven_bound, 1e9)  # noqa: E731
        rows = CompleteGraphRows(graph, 0.0, 10, bounds, lambda: VIOLATION)
        *_, last = cutting_planes(master, [rows if everything else triangles], Clock(None))
        assert last.converged
        values.append(master.proven_bound)
    assert values[0] <= values[1] + 1e-9
    assert values[1] <= brute_force(graph) + 1e-9


@pytest.mark.parametrize("density", [0.4, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_missing_pairs_change_nothing(seed, density, monkeypatch):
    monkeypatch.setattr(completion, "LEAST_NODES", 9)
    graph = random_graph(np.random.default_rng(seed), 10, density, "ties")
    for options in (Options(presolve=False), Options(presolve=False, heuristics=False)):
        result = solve(graph, options=options)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(brute_force(graph), abs=1e-9)
        verdict = verify(graph, result.certificate)
        assert verdict.claims == ()
        assert verdict.upper_bound - verdict.lower_bound <= 2 * result.tolerance
