"""Bounds of the ascent against enumeration, and its certificates against the checker."""

import json
from fractions import Fraction
from itertools import pairwise

import jax
import numpy as np
import pytest
from families import planar, wheel
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.lp.dual_ascent import DualAscent, kernels
from bdcc_jax.lp.dual_ascent.batched_cycles import widest_cycles
from bdcc_jax.lp.dual_ascent.cycles import conflicted_cycles
from bdcc_jax.lp.dual_ascent.padding import room
from bdcc_jax.lp.lagrangian import Lagrangian
from bdcc_jax.lp.rows import Rows
from bdcc_jax.proofs.certificate import certificate, relaxed_bound
from bdcc_jax.proofs.checker.verify import verify
from benchmarks.exact_optimum import exact_optimum

KINDS = ("normal", "ties")


def last_of(graph, rounds=6, **how):
    """The snapshot after some rounds, or when nothing is left to be found."""
    *_, last = (r for r, _ in zip(DualAscent(graph, **how).run(), range(rounds), strict=False))
    return last


def first_state(method):
    """Before the first sweep."""
    start = method._start()
    method._separate(start.reduced)
    triangles, pairs = method._table.triangles, method._table.pairs
    return method._upload(pairs.weights, triangles, start.y, np.full(pairs.m, 0.5))


def sparse(rng, kind):
    """Many cycles of length 4 to 6, and few triangles."""
    return random_graph(rng, int(rng.integers(5, 9)), float(rng.uniform(0.3, 1.0)), kind)


def proven(graph, relaxed):
    """What the checker makes of the rows of a snapshot."""
    found = relaxed_bound(graph, *relaxed.rows)
    labels = np.arange(graph.n)
    written = certificate(
        graph,
        labels,
        found.proof,
        status="stopped",
        objective=float(graph.objective(labels)),
        lower_bound=found.value,
        tolerance=0.0,
    )
    verdict = verify(graph, json.loads(json.dumps(written)))
    assert not verdict.claims
    return found.value, verdict.lower_bound


@pytest.mark.parametrize(
    ("seed", "instances"),
    [(0, 100), *(pytest.param(s, 500, marks=pytest.mark.slow) for s in range(1, 21))],
)
def test_no_bound_exceeds_the_optimum(seed, instances):
    """In every round, with chords and without."""
    rng = np.random.default_rng(seed)
    for i in range(instances):
        graph = sparse(rng, KINDS[i % 2])
        if graph.m == 0:
            continue
        best = brute_force(graph)
        bounds = []
        run = DualAscent(graph, batched=i % 4 >= 2).run()
        for relaxed, _ in zip(run, range(4), strict=False):
            bounds.append(relaxed.bound)
            value = Lagrangian.of(graph.weights, *relaxed.rows).bound
            assert value >= relaxed.bound - 1e-9
            assert max(relaxed.bound, value) <= best + 1e-9
        assert bounds == sorted(bounds)
        assert bounds[-1] >= graph.negative_sum


@pytest.mark.parametrize("seed", range(10))
def test_certificates_are_accepted_and_prove_the_bound(seed):
    rng = np.random.default_rng(1000 + seed)
    for i in range(10):
        graph = sparse(rng, KINDS[i % 2])
        if graph.m == 0:
            continue
        value, exact = proven(graph, last_of(graph))
        assert Fraction(value) <= exact <= exact_optimum(graph)


@pytest.mark.fast
@pytest.mark.parametrize("length", [3, 4, 5, 6, 7, 8, 9])
def test_a_cycle_is_cut_into_triangles_and_comes_out_whole(length):
    """The chords of the triangles are gone, and the bound is the optimum."""
    edges = [*pairwise(range(length)), (0, length - 1)]
    graph = Graph(length, edges, [2.0] * (length - 1) + [-1.0])
    relaxed = last_of(graph, 40)
    assert relaxed.bound == pytest.approx(0.0, abs=1e-4)
    rows, y = relaxed.rows
    assert len(rows) == 1
    assert sorted(rows.indices.tolist()) == list(range(length))
    assert graph.weights[rows.indices[0]] == -1.0
    assert 1.0 - 1e-4 <= y[0] <= 2.0 + 1e-4
    assert proven(graph, relaxed)[1] <= 0
    assert relaxed.triangles.shape == (3, length - 2)
    assert relaxed.pairs.m == length + (length - 3)


@pytest.mark.parametrize("seed", range(4))
def test_rows_hold_for_every_clustering(seed):
    rng = np.random.default_rng(seed)
    for i in range(20):
        graph = sparse(rng, KINDS[i % 2])
        rows, y = last_of(graph).rows
        assert (y > 0).all()
        assert len(np.unique(rows.keys())) == len(rows)
        for cut in all_cuts(graph)[:: max(1, len(all_cuts(graph)) // 200)]:
            assert (rows.violation(cut.astype(float)) <= 0).all()


@pytest.mark.fast
def test_the_lp_over_all_cycles_is_reached():
    """Not just any valid bound: that of the LP, which a complete graph's triangles describe."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    graph = random_graph(rng, 9, 1.0)
    at = {tuple(edge): e for e, edge in enumerate(graph.edges.tolist())}
    rows = []
    for a in range(9):
        for b in range(a + 1, 9):
            for c in range(b + 1, 9):
                sides = [at[a, b], at[a, c], at[b, c]]
                rows += [(sides[i], sides[i - 1], sides[i - 2]) for i in range(3)]
    matrix = np.zeros((len(rows), graph.m))
    for i, (left, *right) in enumerate(rows):
        matrix[i, left], matrix[i, right] = 1.0, -1.0
    lp = linprog(graph.weights, A_ub=matrix, b_ub=np.zeros(len(rows)), bounds=(0, 1)).fun
    bound = last_of(graph, 60).bound
    assert bound <= lp + 1e-9
    assert bound == pytest.approx(lp, rel=2e-3)


def test_an_odd_wheel_gets_the_bound_of_its_cycles():
    """Triangles alone cannot close the gap of an odd wheel: the LP is at -5 / 2 for 5 spokes."""
    assert last_of(wheel(5), 40).bound == pytest.approx(-2.5, abs=1e-3)


def test_reduced_costs_are_those_of_the_rows():
    graph = planar(np.random.default_rng(0), 12, 12)
    relaxed = last_of(graph)
    dense = np.zeros(relaxed.pairs.m)
    dense[: graph.m] = graph.weights
    for i in range(3):
        for j in range(3):
            sign = 1.0 if i == j else -1.0
            np.add.at(dense, relaxed.triangles[j], sign * relaxed.y[i])
    assert relaxed.reduced == pytest.approx(dense, abs=1e-9)
    assert relaxed.bound == pytest.approx(np.minimum(dense, 0.0).sum(), abs=1e-9)
    assert relaxed.bound > 0.8 * graph.negative_sum


@pytest.mark.fast
def test_a_sweep_never_lowers_the_bound():
    graph = planar(np.random.default_rng(1), 15, 15)
    method = DualAscent(graph)
    state = first_state(method)
    bounds = []
    for _ in range(30):
        bounds.append(float(np.minimum(kernels.reduced_costs(state, state.y), 0.0).sum()))
        state = state._replace(y=kernels.sweep(state, 1))
    assert all(b >= a - 1e-3 for a, b in pairwise(bounds))
    assert bounds[-1] > bounds[0] + 1.0
    assert sum(np.asarray(y) > 0 for y in state.y).max() == 1


def test_first_order_steps_go_on_where_sweeps_are_stuck():
    rng = np.random.default_rng(2)
    graph = random_graph(rng, 30, 1.0)
    method = DualAscent(graph)
    state = first_state(method)

    def bound(state):
        return float(np.minimum(kernels.reduced_costs(state, state.y), 0.0).sum())

    stuck = method._sweep(state, 2000)
    assert bound(method._sweep(stuck, 100)) <= bound(stuck) + 1e-3
    assert bound(method._polish(method._polish(stuck))) > bound(stuck) + 0.1


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e30, 1e200])
def test_the_unit_of_the_weights_does_not_matter(unit):
    graph = planar(np.random.default_rng(4), 8, 8)
    other = Graph(graph.n, graph.edges, graph.weights * unit)
    assert last_of(other).bound / unit == pytest.approx(last_of(graph).bound, rel=1e-3)


def test_a_heavy_edge_beside_light_ones_leaves_the_bound_valid():
    rng = np.random.default_rng(5)
    for _ in range(20):
        graph = random_graph(rng, 7, 0.8)
        weights = graph.weights * 10.0 ** rng.integers(-12, 12, graph.m)
        graph = Graph(graph.n, graph.edges, weights)
        relaxed = last_of(graph)
        value, exact = proven(graph, relaxed)
        assert Fraction(value) <= exact <= exact_optimum(graph)
        assert Fraction(relaxed.bound) <= exact_optimum(graph)


@pytest.mark.parametrize("weights", [[], [1.0, 2.0], [-1.0, -2.0]])
def test_instances_without_conflicts_end_at_once(weights):
    graph = Graph(3, [(0, 1), (1, 2)][: len(weights)], weights)
    relaxed = last_of(graph, 100)
    assert relaxed.bound == graph.negative_sum
    assert len(relaxed.rows[0]) == 0
    assert isinstance(relaxed.rows[0], Rows)


def test_the_deadline_holds_and_what_was_found_is_kept():
    graph = planar(np.random.default_rng(6), 40, 40)
    clock = Clock(None)
    rounds = DualAscent(graph, clock=clock).run()
    found = [next(rounds) for _ in range(3)]
    clock._deadline = 0.0
    with pytest.raises(TimeLimitReached):
        next(rounds)
    assert graph.negative_sum < found[0].bound <= found[2].bound


def test_the_same_every_time():
    graph = planar(np.random.default_rng(7), 20, 20)
    assert last_of(graph).y.tolist() == last_of(graph).y.tolist()


def test_few_programs_are_compiled():
    """Sizes are rounded up: a whole ascent has a handful of shapes."""
    kernels.sweep.clear_cache()
    kernels.polish.clear_cache()
    graph = planar(np.random.default_rng(8), 30, 30)
    last_of(graph, 30)
    assert kernels.sweep._cache_size() + kernels.polish._cache_size() <= 8
    sizes = {room(count) for count in range(1, 10**6, 97)}
    assert len(sizes) <= 22
    assert all(room(count) >= count for count in range(1, 5000))


def test_it_runs_on_the_device_that_is_asked_for():
    graph = planar(np.random.default_rng(9), 8, 8)
    device = jax.devices("cpu")[0]
    *_, last = (r for r, _ in zip(DualAscent(graph, device=device).run(), range(3), strict=False))
    assert last.bound > graph.negative_sum


@pytest.mark.parametrize("search", ["host", "device"])
@pytest.mark.parametrize("seed", range(5))
def test_cycles_are_conflicted(seed, search):
    """One pair repels, all others attract, none of them by less than is asked for."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 25, 0.4)
    ends, least = graph.edges.astype(np.int32), 0.2
    if search == "host":
        nodes, starts = conflicted_cycles(
            25, ends, graph.weights, least=least, longest=6, depletion=0.5, clock=Clock(None)
        )
    else:
        nodes, starts = widest_cycles(25, ends, graph.weights, least=least)
    at = {tuple(edge): w for edge, w in zip(ends.tolist(), graph.weights, strict=True)}
    assert len(starts) > 20
    for a, b in pairwise(starts):
        cycle = nodes[a:b].tolist()
        assert len(set(cycle)) == len(cycle) <= 6
        assert at[min(cycle[0], cycle[-1]), max(cycle[0], cycle[-1])] < -least
        assert all(at[min(pair), max(pair)] > least - 1e-6 for pair in pairwise(cycle))


@pytest.mark.parametrize("seed", range(3))
def test_the_device_finds_the_widest_triangle_and_square(seed):
    """Nodes have at most eight pairs here: nothing is left out."""
    graph = planar(np.random.default_rng(seed), 7, 7)
    pull = np.zeros((graph.n, graph.n))
    pull[tuple(graph.edges.T)] = np.maximum(graph.weights, 0.0)
    pull = np.maximum(pull, pull.T)
    assert (pull > 0).sum(axis=0).max() <= 8
    widest = {}
    for u, v in graph.edges[graph.negative].tolist():
        widest[u, v, 3] = np.minimum(pull[u], pull[v]).max()
        through = np.minimum(np.minimum(pull[u][:, None], pull), pull[v][None, :])
        through[v], through[:, u] = 0.0, 0.0
        widest[u, v, 4] = through.max()
    nodes, starts = widest_cycles(graph.n, graph.edges.astype(np.int32), graph.weights, least=1e-3)
    found = {}
    for a, b in pairwise(starts):
        cycle = nodes[a:b]
        found[cycle[0], cycle[-1], b - a] = pull[cycle[:-1], cycle[1:]].min()
    assert {key for key, width in widest.items() if width > 1e-3} == set(found)
    assert all(found[key] == pytest.approx(widest[key]) for key in found)


def test_both_searches_lead_to_the_same_bound():
    graph = planar(np.random.default_rng(10), 20, 20)
    host, device = (last_of(graph, 25, batched=batched).bound for batched in (False, True))
    assert host == pytest.approx(device, rel=2e-3)
