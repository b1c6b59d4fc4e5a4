"""Odd wheels: valid, violated, and found where there are any."""

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from families import joined, wheel, wheel_solution
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_cuts, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.master import Master
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.odd_wheels import FRACTIONAL_SPOKE, LEAST_VIOLATION, violated_wheels
from bdcc_jax.separation.packing import PackingEngine


def dense(rows, m):
    matrix = np.zeros((len(rows), m))
    np.add.at(matrix, (rows.row_of_entry(), rows.indices), rows.values)
    return matrix


def check_wheels(graph, rows, x):
    """Each row is an odd cycle and its spokes to a hub, violated, right for every partition."""
    matrix = dense(rows, graph.m)
    assert (matrix @ all_cuts(graph).T <= rows.upper[:, None]).all()
    assert (matrix @ x - rows.upper > LEAST_VIOLATION - 1e-9).all()
    assert rows.violation(x) == pytest.approx(matrix @ x - rows.upper, abs=1e-12)
    for i, row in enumerate(matrix):
        rim, spokes = graph.edges[row == 1.0], graph.edges[row == -1.0]
        k = len(rim)
        assert k == len(spokes) == (rows.starts[i + 1] - rows.starts[i]) / 2
        assert k % 2 == 1
        assert rows.upper[i] == (k - 1) / 2
        hubs = set.intersection(*(set(edge) for edge in spokes.tolist()))
        assert any(set(rim.ravel()) == set(spokes.ravel()) - {hub} for hub in hubs)
        assert set(np.bincount(rim.ravel())) <= {0, 2}


def cycle_lp(graph):
    """The solution of the LP over all cycle inequalities, and its value."""
    engine = PackingEngine(graph, vertex_cover(graph, "greedy"))
    master = Master(graph.weights)
    *_, last = cutting_planes(master, [engine.separate], Clock(None))
    assert last.converged
    return last.x


def worst_wheel(graph, x):
    """The largest violation of any odd wheel with fractional spokes, by enumeration."""
    value = np.full((graph.n, graph.n), np.nan)
    u, v = graph.edges.T
    value[u, v] = value[v, u] = x
    worst = -np.inf
    for hub in range(graph.n):
        spoke = value[hub]
        fractional = (spoke > FRACTIONAL_SPOKE) & (spoke < 1 - FRACTIONAL_SPOKE)
        around = np.flatnonzero(fractional).tolist()
        for k in range(3, len(around) + 1, 2):
            for nodes in combinations(around, k):
                for order in permutations(nodes[1:]):
                    if order[0] > order[-1]:
                        continue  # the same rim the other way round
                    rim = [nodes[0], *order, nodes[0]]
                    total = sum(value[a, b] for a, b in pairwise(rim))
                    total -= spoke[list(nodes)].sum() + (k - 1) / 2
                    worst = max(worst, total) if total == total else worst
    return worst


@pytest.mark.parametrize("k", [3, 5, 7, 9])
def test_the_wheel_itself(k):
    graph = wheel(k)
    x = wheel_solution(graph)
    rows = violated_wheels(graph, x)
    check_wheels(graph, rows, x)
    full = [row for row in dense(rows, graph.m) if (row != 0).all()]
    assert len(full) == 1
    assert full[0].tolist() == np.where(graph.negative, 1.0, -1.0).tolist()
    assert rows.violation(x).max() == pytest.approx(0.5)


@pytest.mark.parametrize("k", [4, 6])
def test_even_wheels_are_not_violated(k):
    graph = wheel(k)
    assert len(violated_wheels(graph, wheel_solution(graph))) == 0


def test_several_wheels_are_found_together():
    graph = joined([wheel(5), wheel(3), wheel(7)], [(0, 6, 1.0), (7, 10, -1.0)])
    x = np.where(graph.negative, 1.0, 0.5)
    rows = violated_wheels(graph, x)
    assert set(rows.upper) == {1.0, 2.0, 3.0}
    assert (rows.violation(x) == 0.5).all()


@pytest.mark.parametrize("spoke", [0.5 - 1e-4, 0.5, 0.5 + 0.5 / 5 - 1e-3, 0.5 + 0.5 / 5 + 1e-3])
def test_violation_of_a_5_wheel_as_its_spokes_grow(spoke):
    """5 - 5 x_spoke <= 2: violated by 1/2 at x = 1/2, by nothing at x = 3/5."""
    graph = wheel(5)
    x = np.where(graph.negative, 1.0, spoke)
    rows = violated_wheels(graph, x)
    by = 5 - 5 * spoke - 2
    assert len(rows) == (1 if by > LEAST_VIOLATION else 0)
    assert rows.violation(x) == pytest.approx([by] * len(rows))


def test_nothing_is_found_in_clusterings_nor_between_two_that_differ_in_one_node():
    rng = np.random.default_rng(1)
    for _ in range(30):
        graph = random_graph(rng, 10, 0.9)
        labels = rng.integers(0, 4, graph.n)
        x = graph.cut(labels).astype(float)
        assert len(violated_wheels(graph, x)) == 0
        labels[rng.integers(graph.n)] = rng.integers(0, 5)
        between = (x + graph.cut(labels)) / 2  # satisfies every valid inequality
        assert len(violated_wheels(graph, between)) == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 7), st.integers(0, 2**32 - 1), st.sampled_from([0.6, 1.0]))
def test_rows_are_wheels_for_any_x(n, seed, density):
    """Even for an x that violates cycle inequalities."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, density)
    x = np.where(rng.random(graph.m) < 0.5, rng.choice([0.0, 0.5, 1.0], graph.m), rng.random())
    check_wheels(graph, violated_wheels(graph, x), x)


def test_wheels_are_found_in_solutions_of_the_cycle_lp_wherever_there_are_any():
    rng = np.random.default_rng(2)
    with_wheel = without = 0
    for trial in range(150):
        n = int(rng.integers(5, 9))
        graph = random_graph(rng, n, (1.0, 0.7)[trial % 2], ("ties", "normal")[trial % 3 == 0])
        x = cycle_lp(graph)
        rows = violated_wheels(graph, x)
        check_wheels(graph, rows, x)
        worst = worst_wheel(graph, x)
        if worst > LEAST_VIOLATION + 1e-6:
            assert len(rows) > 0
            with_wheel += 1
        elif worst < LEAST_VIOLATION - 1e-6:
            assert len(rows) == 0
            without += 1
    assert with_wheel >= 10
    assert without >= 10


def test_a_rim_edge_serves_one_wheel_a_hub():
    rng = np.random.default_rng(3)
    u, v = np.triu_indices(8, 1)
    graph = Graph.from_edges(u, v, rng.choice([-1.0, 1.0], len(u)))
    x = np.where(graph.edges[:, 0] == 0, 0.5, 1.0)
    rows = violated_wheels(graph, x)
    check_wheels(graph, rows, x)
    rim_edges = rows.indices[rows.values > 0]
    assert len(rim_edges) == len(set(rim_edges.tolist())) > 3  # node 0 is the only hub


@pytest.mark.parametrize("graph", [Graph(1, [], []), Graph(2, [(0, 1)], [1.0])])
def test_graphs_without_a_triangle(graph):
    assert len(violated_wheels(graph, np.full(graph.m, 0.5))) == 0
