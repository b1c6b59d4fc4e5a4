"""Path packing: exact detection, and rows that are what they claim to be."""

from contextlib import contextmanager
from itertools import pairwise

import jax
import numpy as np
import pytest
import scipy.sparse as sp
from families import planar, wheel, wheel_solution
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_cuts, random_graph
from scipy.sparse.csgraph import dijkstra

from bdcc_jax import Graph, Options, solve
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.rows import Rows
from bdcc_jax.separation.device.device_round import DeviceRound
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.packing import SLOW_LP, PackingEngine
from bdcc_jax.separation.paper.ball import VIOLATION
from bdcc_jax.separation.paper.paper_round import PaperRound
from bdcc_jax.separation.separation import Separation
from bdcc_jax.separation.violations import violated_edges

UNCLEAR = 1e-12  # sums in another order may differ by this
SPECIAL = [0.0, 0.0, 0.0, 1.0, 1.0, 0.5, VIOLATION / 2, VIOLATION, 2 * VIOLATION, 1 - VIOLATION]


def distances(graph, x):
    """All distances in E+; an edge of length 0, which SciPy would drop, is made minute."""
    u, v = graph.edges[graph.positive].T
    lengths = np.maximum(x[graph.positive], 1e-300)
    return dijkstra(sp.csr_array((lengths, (u, v)), shape=(graph.n, graph.n)), directed=False)


def violation_of(graph, x):
    """By how much x violates the worst cycle inequality of every edge of E-."""
    u, v = graph.edges[graph.negative].T
    return x[graph.negative] - distances(graph, x)[u, v]


def random_x(rng, m):
    x = np.where(rng.random(m) < 0.5, rng.choice(SPECIAL, m), rng.random(m))
    return np.clip(x + (rng.random(m) < 0.2) * rng.choice([-1, 1], m) * 1e-10, 0.0, 1.0)


def separate(graph, x, reach=64):
    cover = vertex_cover(graph, "greedy")
    return PackingEngine(graph, cover, reach).separate(x, Clock(None))


def check_rows(graph, rows, x):
    """One negative edge, then a simple path in E+ that joins its ends, violated; no row twice."""
    seen = set()
    for i, (a, b) in enumerate(pairwise(rows.starts)):
        first, path = rows.indices[a], rows.indices[a + 1 : b]
        assert graph.negative[first]
        assert graph.positive[path].all()
        assert rows.values[a:b].tolist() == [1.0] + [-1.0] * len(path)
        degree = np.bincount(graph.edges[rows.indices[a:b]].ravel(), minlength=graph.n)
        assert set(degree[degree > 0]) == {2}  # a cycle, or several
        chosen = np.zeros(graph.m, dtype=bool)
        chosen[rows.indices[a:b]] = True
        assert len(set(graph.components(chosen)[degree > 0])) == 1  # one cycle
        assert x[first] - x[path].sum() > VIOLATION - 1e-9 * len(path)
        seen.add(frozenset(rows.indices[a:b].tolist()))
        assert rows.upper[i] == 0.0
    assert len(seen) == len(rows)


def instances():
    rng = np.random.default_rng(4)
    for k in range(60):
        n, density = int(rng.integers(5, 30)), float(rng.choice([0.15, 0.3, 1.0]))
        graph = random_graph(rng, n, density, ("normal", "ties")[k % 2])
        if graph.m > 0:
            yield graph, random_x(rng, graph.m)
    for _ in range(10):
        graph = planar(rng, 12, 12)
        yield graph, random_x(rng, graph.m) * rng.choice([0.1, 1.0])


def test_detection_agrees_with_dijkstra():
    n_violated = n_held = 0
    for graph, x in instances():
        cover = vertex_cover(graph, "greedy")
        found = np.zeros(graph.m, dtype=bool)
        found[cover.edges] = violated_edges(graph, cover, x)
        worst = violation_of(graph, x)
        found = found[graph.negative]
        assert found[worst > VIOLATION + UNCLEAR].all()
        assert not found[worst < VIOLATION - UNCLEAR].any()
        n_violated, n_held = n_violated + found.sum(), n_held + (~found).sum()
    assert min(n_violated, n_held) > 100


@pytest.mark.parametrize(
    ("size", "expected"),
    [(0.0, False), (0.5 * VIOLATION, False), (1.5 * VIOLATION, True), (1.0, True)],
)
@pytest.mark.parametrize("length", [0.0, 0.25])
def test_detection_around_the_tolerance(size, expected, length):
    triangle = Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, 1.0, -1.0])
    x = np.array([length, min(1.0, size + length), 0.0])  # the edges 01, 02, 12
    expected = expected and x[1] - length > VIOLATION
    found = violated_edges(triangle, vertex_cover(triangle, "greedy"), x)
    assert found.tolist() == [expected]


@pytest.mark.parametrize("reach", [2, 8, 64, None])
def test_rows_are_violated_cycles_and_exist_when_needed(reach):
    n_rows = 0
    for graph, x in instances():
        separation = separate(graph, x, reach)
        check_rows(graph, separation.rows, x)
        worst = violation_of(graph, x).max(initial=-1.0)
        if worst > 2 * VIOLATION:
            assert len(separation.rows) > 0
        if worst < VIOLATION - 1e-7:
            assert len(separation.rows) == 0
        assert separation.satisfied == (separation.violated_roots == 0)
        assert separation.satisfied == (len(separation.rows) == 0)
        n_rows += len(separation.rows)
    assert n_rows > 900


def test_rows_hold_for_every_partition():
    rng = np.random.default_rng(5)
    n_rows = 0
    for _ in range(20):
        graph = random_graph(rng, 7, 0.8)
        rows = separate(graph, random_x(rng, graph.m)).rows
        dense = np.zeros((len(rows), graph.m))
        dense[rows.row_of_entry(), rows.indices] = rows.values
        assert (dense @ all_cuts(graph).T <= 0).all()
        n_rows += len(rows)
    assert n_rows > 20


@settings(max_examples=60)
@given(st.integers(2, 9), st.data())
def test_any_x_on_a_complete_graph(n, data):
    u, v = np.triu_indices(n, 1)
    some = {"min_size": len(u), "max_size": len(u)}
    w = data.draw(st.lists(st.sampled_from([-2.0, -1.0, -0.1, 0.1, 1.0, 2.0]), **some))
    value = st.one_of(st.sampled_from(SPECIAL), st.floats(0.0, 1.0))
    x = np.array(data.draw(st.lists(value, **some)))
    graph = Graph.from_edges(u, v, w)
    rows = separate(graph, x).rows
    check_rows(graph, rows, x)
    assert len(rows) > 0 or violation_of(graph, x).max(initial=-1.0) <= VIOLATION + 1e-7


@pytest.mark.parametrize("n", [12, 40])
def test_on_dense_graphs_most_violated_edges_get_a_row_although_capacities_run_out(n):
    """Heavy repulsion: the first few paths use up all of E+."""
    rng = np.random.default_rng(n)
    u, v = np.triu_indices(n, 1)
    graph = Graph.from_edges(u, v, np.where(rng.random(len(u)) < 0.5, 1.0, -100.0))
    x = graph.negative.astype(float)
    separation = separate(graph, x)
    check_rows(graph, separation.rows, x)
    assert separation.violated_roots == len(vertex_cover(graph, "greedy"))
    with_row = np.unique(separation.rows.indices[separation.rows.starts[:-1]])
    assert len(with_row) > graph.negative.sum() / 2


def test_on_sparse_graphs_edges_without_a_row_get_one_after_slow_lps_only():
    rng = np.random.default_rng(3)
    u, v = np.triu_indices(40, 1)
    chosen = rng.random(len(u)) < 0.3
    w = np.where(rng.random(len(u)) < 0.5, 1.0, -100.0)
    graph = Graph.from_edges(u[chosen], v[chosen], w[chosen])
    engine, clock = PackingEngine(graph, vertex_cover(graph, "greedy")), Clock(None)
    x = graph.negative.astype(float)
    n_rows = []
    for work in (0, SLOW_LP, SLOW_LP + 1, 0):
        clock.work += work * graph.m
        n_rows.append(len(engine.separate(x, clock).rows))
    assert n_rows[0] == n_rows[1] == n_rows[3] < n_rows[2]


def test_one_pass_shares_the_capacities():
    """Replayed: every path still has room when its turn comes, and takes what is there."""
    rng = np.random.default_rng(6)
    n_rows = 0
    for _ in range(8):
        graph = random_graph(rng, 10, 0.9)
        x = graph.negative.astype(float)
        cover = vertex_cover(graph, "greedy")
        engine = PackingEngine(graph, cover)
        rows = engine._pack(
            x, violated_edges(graph, cover, x), reach=64, clock=Clock(None), passes=1
        )
        check_rows(graph, rows, x)
        left = np.abs(graph.weights)
        for (a, b), taken in zip(pairwise(rows.starts), engine._amounts, strict=True):
            edges = rows.indices[a:b]
            assert left[edges].min() == pytest.approx(taken)
            left[edges] -= taken
        n_rows += len(rows)
    assert n_rows > 20


def test_a_path_longer_than_the_reach_is_found_in_the_end():
    """A long path of zeros that only an unbounded search can follow."""
    n = 300
    graph = Graph.from_edges(
        np.append(np.arange(n - 1), 0), np.append(np.arange(1, n), n - 1), [1.0] * (n - 1) + [-1.0]
    )
    x = graph.negative.astype(float)
    rows = separate(graph, x, reach=4).rows
    check_rows(graph, rows, x)
    assert len(rows.indices) == n


def test_the_ends_of_a_negative_edge_in_different_components():
    graph = Graph.from_edges([0, 2, 1], [1, 3, 2], [1.0, 1.0, -1.0])
    assert separate(graph, graph.negative.astype(float)).satisfied


@pytest.mark.parametrize("graph", [Graph(3, [(0, 1), (1, 2)], [1.0, 2.0]), Graph(1, [], [])])
def test_without_negative_edges(graph):
    cover = vertex_cover(graph, "greedy")
    assert len(violated_edges(graph, cover, np.full(graph.m, 0.5))) == 0


def test_no_negative_edges_no_rows():
    separation = separate(Graph(3, [(0, 1), (1, 2)], [1.0, 2.0]), np.full(2, 0.5))
    assert (len(separation.rows), separation.violated_roots) == (0, 0)


def test_no_positive_edges_no_rows():
    separation = separate(Graph(3, [(0, 1), (1, 2)], [-1.0, -2.0]), np.ones(2))
    assert (len(separation.rows), separation.violated_roots) == (0, 0)


@pytest.mark.parametrize("k", [3, 4, 5])
def test_the_lp_solution_of_a_wheel_satisfies_all_cycle_inequalities(k):
    graph = wheel(k)
    assert separate(graph, wheel_solution(graph)).satisfied
    assert len(separate(graph, np.where(graph.negative, 1.0, 0.49)).rows) == k


def test_cuts_of_clusterings_satisfy_all_cycle_inequalities():
    rng = np.random.default_rng(7)
    for _ in range(20):
        graph = random_graph(rng, 20, 0.5)
        # Together only what E+ joins, as the master's best solutions have it.
        labels = graph.components(graph.positive & (rng.random(graph.m) < 0.2))
        assert separate(graph, graph.cut(labels).astype(float)).satisfied


def test_rounding_errors_of_the_lp_solver_count_as_zero():
    triangle = Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, 1.0, -1.0])
    exact, noisy = np.array([0.0, 1.0, 0.0]), np.array([1e-10, 1.0, 1e-12])
    assert len(separate(triangle, noisy).rows) == len(separate(triangle, exact).rows) == 1


def test_a_deadline_within_a_call_is_no_convergence(monkeypatch):
    """However the deadline falls, violations that were not looked for are not denied."""
    graph = planar(np.random.default_rng(1), 12, 12)
    engine = PackingEngine(graph, vertex_cover(graph, "greedy"))

    @contextmanager
    def raised(_):
        yield np.ones(1, dtype=bool)

    monkeypatch.setattr(Clock, "alarm", raised)
    with pytest.raises(TimeLimitReached):
        engine.separate(graph.negative.astype(float), Clock(None))
    bound = engine.packed_bound(Clock(None)).value
    assert bound == pytest.approx(graph.weights[graph.negative].sum())


def path_and_edge(lengths, size):
    """A path of positive edges between the ends of a negative one, and its x."""
    n = len(lengths) + 1
    u, v = np.append(np.arange(n - 1), 0), np.append(np.arange(1, n), n - 1)
    graph = Graph.from_edges(u, v, np.append(np.ones(n - 1), -1.0))
    x = np.empty(graph.m)
    x[graph.positive], x[graph.negative] = lengths, size
    return graph, x


def seen_from_one_end_only():
    """An x whose violation exceeds the threshold, or not, as the sum over the path is rounded."""
    rng = np.random.default_rng(0)
    while True:
        lengths = rng.random(3) / 4
        there, back = (a + b + c for a, b, c in (lengths, lengths[::-1]))
        size = max(there, back) + VIOLATION
        for candidate in (size, np.nextafter(size, 0.0), np.nextafter(size, 1.0)):
            graph, x = path_and_edge(lengths, candidate)
            violated = violated_edges(graph, vertex_cover(graph, "greedy"), x).any()
            if violated and min(there, back) < candidate - VIOLATION <= max(there, back):
                return graph, x


def test_what_detection_finds_gets_a_row_however_sums_are_rounded():
    graph, x = seen_from_one_end_only()
    cover, rng = vertex_cover(graph, "greedy"), np.random.default_rng(0)
    cpu, options = Devices((jax.devices("cpu")[0],)), Options(engine="pdlp")
    for engine in (
        PackingEngine(graph, cover),
        DeviceRound(graph, cover, options, rng, cpu),
    ):
        separation = engine.separate(x, Clock(None))
        assert not separation.satisfied
        assert separation.violated_roots == 1
        assert sorted(separation.rows.indices) == list(range(graph.m))


def test_violated_cycles_of_hardly_any_weight():
    """A heavy edge far away makes the weights of a violated triangle look like rounding errors."""
    graph = Graph.from_edges([0, 1, 0, 3], [1, 2, 2, 4], [1e-12, 1e-12, -1e-12, 1.0])
    separation = separate(graph, graph.negative.astype(float))
    assert not separation.satisfied
    assert sorted(separation.rows.indices) == [0, 1, 2]


def test_a_packing_without_margins_has_rows_iff_detection_finds_a_violation():
    n_rows = 0
    for graph, x in instances():
        cover, x = vertex_cover(graph, "greedy"), np.where(x < 1e-9, 0.0, x)
        violated = violated_edges(graph, cover, x)
        engine = PackingEngine(graph, cover)
        rows = engine._pack(x, violated, graph.n + 1, Clock(None), margin=0.0)
        check_rows(graph, rows, x)
        assert (len(rows) > 0) == violated.any()
        n_rows += len(rows)
    assert n_rows > 100


def test_another_threshold():
    triangle = Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, 1.0, -1.0])
    engine = PackingEngine(triangle, vertex_cover(triangle, "greedy"), violation=0.1)
    for size, satisfied in ((0.05, True), (0.15, False)):
        x = np.where(triangle.negative, size, 0.0)
        separation = engine.separate(x, Clock(None))
        assert separation.satisfied == satisfied == (len(separation.rows) == 0)


@pytest.mark.parametrize(
    "options",
    [Options(presolve=False, heuristics=False, integer="whole"), Options.paper(engine="reference")],
)
def test_rows_that_change_nothing_end_the_lp_but_are_no_convergence(options, monkeypatch):
    """As if HiGHS did not keep to a row that it has, in the LP and in branch and bound."""
    graph = wheel(5)
    expected = solve(graph).objective
    rim = np.flatnonzero(graph.negative)[0]
    spokes = np.flatnonzero(graph.positive & np.isin(graph.edges, graph.edges[rim]).any(axis=1))
    row = Rows.from_cycles([np.append(rim, spokes)])

    def same_row(engine, x, clock):
        return Separation(row, violated_roots=1, fallbacks=0, satisfied=False)

    for engine in (PackingEngine, PaperRound):
        monkeypatch.setattr(engine, "separate", same_row)
    result = solve(graph, options=options)
    assert result.status in ("optimal", "numerical")
    if result.status == "optimal":
        assert result.objective == pytest.approx(expected)
    assert all(record.violated_roots > 0 for record in result.history if record.phase == "lp")
