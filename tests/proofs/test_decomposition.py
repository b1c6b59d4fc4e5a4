"""Node-disjoint parts: the bound that they add up to, and where the gap is."""

import numpy as np
import pytest
from families import chain_of_wheels, joined, random_multipliers, valid_rows, wheel
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.instance.enumeration import best_of_all as enumerated
from bdcc_jax.lp.lagrangian import Lagrangian
from bdcc_jax.lp.master import Master
from bdcc_jax.lp.rows import Rows
from bdcc_jax.proofs.certificate import Enumeration, LowerBound
from bdcc_jax.proofs.decomposition import (
    Decomposition,
    end_nodes,
    open_region,
    split_into_components,
    split_region,
)
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.odd_wheels import violated_wheels
from bdcc_jax.separation.packing import PackingEngine
from bdcc_jax.separation.separation import Separation

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=50)
ROUNDING = 1e-12


def best_of_all(graph):
    return enumerated(graph)[0]


def solved_lp(graph, wheels):
    """The rows and multipliers that prove the bound of the LP, with or without odd wheels."""
    engine = PackingEngine(graph, vertex_cover(graph, "greedy"))
    master = Master(graph.weights)
    separators = [engine.separate]
    if wheels:
        separators.append(lambda x, clock: Separation(violated_wheels(graph, x, clock), 0, 0, True))
    *_, last = cutting_planes(master, separators, Clock(None))
    assert last.converged
    return master.rows, master.multipliers


def random_parts(rng, n):
    """Every node in one of up to three parts, or in none."""
    labels = rng.integers(-1, 3, n)
    used = np.unique(labels[labels >= 0])
    return np.where(labels >= 0, np.searchsorted(used, labels), -1)


def crosses(part, edges):
    """Whether edges are not all inside one part."""
    touched = set(part[edges.ravel()].tolist())
    return len(touched) > 1 or -1 in touched


@few
@given(seeds, st.integers(3, 8), st.sampled_from([0.5, 1.0]))
def test_the_bound_holds_for_any_parts_and_multipliers(seed, n, density):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, density, ("normal", "ties")[seed % 2])
    rows = valid_rows(graph, rng)
    multipliers = random_multipliers(rows, rng, float(rng.choice([0.05, 0.5])))
    parts = Decomposition(graph, rows, multipliers, random_parts(rng, n))
    costs = all_cuts(graph) @ graph.weights
    size = ROUNDING * (1 + np.abs(graph.weights).sum() + multipliers.sum())
    relaxed = Lagrangian.of(graph.weights, rows, multipliers).bound
    assert parts.bound == pytest.approx(relaxed, abs=size)
    for i in range(len(parts)):
        optimum = brute_force(parts.instance(i))
        assert parts.rest_of_bound(i) + optimum <= costs.min() + size
        parts.raise_bound(i, LowerBound(optimum, Enumeration()))
        assert relaxed - size <= parts.bound <= costs.min() + size


@few
@given(seeds, st.integers(3, 8))
def test_outside_edges_can_be_fixed_with_the_raised_bound(seed, n):
    """Deciding an outside edge against the sign of r costs at least |r| more than the bound."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, 1.0)
    rows = valid_rows(graph, rng)
    parts = Decomposition(graph, rows, random_multipliers(rows, rng, 0.2), random_parts(rng, n))
    for i in range(len(parts)):
        parts.raise_bound(i, LowerBound(brute_force(parts.instance(i)), Enumeration()))
    cuts = all_cuts(graph)
    costs = cuts @ graph.weights
    for e in np.flatnonzero(parts.outside):
        r = parts.reduced[e]
        against = cuts[:, e] == (r > 0)
        assert (costs[against] >= parts.bound + abs(r) - 1e-9).all()


@few
@given(seeds)
def test_instances_are_the_induced_graphs_with_reduced_costs(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 0.8)
    rows = valid_rows(graph, rng)
    multipliers = random_multipliers(rows, rng)
    part = random_parts(rng, 8)
    parts = Decomposition(graph, rows, multipliers, part)
    inside = [set(map(tuple, graph.edges[(part[graph.edges] == i).all(axis=1)])) for i in range(3)]
    relaxed = [
        crosses(part, graph.edges[edges]) for edges in np.split(rows.indices, rows.starts[1:-1])
    ]
    weights = graph.weights.copy()
    for i in np.flatnonzero(relaxed):
        entries = slice(rows.starts[i], rows.starts[i + 1])
        weights[rows.indices[entries]] += multipliers[i] * rows.values[entries]
    weight_of = dict(zip(map(tuple, graph.edges), weights, strict=True))
    sizes = []
    for i in parts.smallest_first():
        instance, nodes = parts.instance(i), np.flatnonzero(part == i)
        edges = [tuple(nodes[edge]) for edge in instance.edges]
        assert instance.n == len(nodes)
        assert set(edges) <= inside[i]  # an edge whose reduced cost is zero may vanish
        assert instance.weights == pytest.approx([weight_of[e] for e in edges], abs=1e-9)
        missing = inside[i] - set(edges)
        assert all(abs(weight_of[e]) < 1e-9 for e in missing)
        sizes.append(len(inside[i]))
    assert sizes == sorted(sizes)
    assert parts.largest == max(sizes, default=0)
    covered = set().union(*inside)
    assert [tuple(e) not in covered for e in graph.edges] == parts.outside.tolist()


@few
@given(seeds)
def test_pieces_add_up_to_the_optimum(seed):
    rng = np.random.default_rng(seed)
    graph = joined([random_graph(rng, int(n), 1.0) for n in rng.integers(1, 5, 3)])
    if graph.n > 9:
        return
    rows = valid_rows(graph, rng)
    parts = split_into_components(graph, rows, random_multipliers(rows, rng))
    assert not parts.outside.any()
    optimum, total = brute_force(graph), 0.0
    for i in range(len(parts)):
        instance = parts.instance(i)
        total += brute_force(instance)
        parts.raise_bound(i, LowerBound(brute_force(instance), Enumeration()))
        assert parts.bound <= optimum + ROUNDING
    assert total == pytest.approx(optimum)
    assert parts.bound == pytest.approx(optimum)


def test_pieces_keep_the_weights_exactly():
    graph = joined([wheel(5, 0.1), wheel(3, 0.7)])
    parts = split_into_components(graph, *solved_lp(graph, wheels=True))
    assert [parts.instance(i).weights.tolist() for i in range(2)] == [
        wheel(5, 0.1).weights.tolist(),
        wheel(3, 0.7).weights.tolist(),
    ]


def test_lifting_changes_one_part_and_nothing_else():
    graph = joined([wheel(3), wheel(5)], [(0, 4, 1.0)])
    rows, multipliers = solved_lp(graph, wheels=False)
    region = np.arange(graph.n) < 4
    parts = split_region(graph, rows, multipliers, region)
    labels = np.array([0, 0, 0, 0, 1, 1, 2, 2, 3, 3])
    lifted = parts.lift(0, labels)(np.array([0, 1, 1, 0]))
    rest = ~region
    assert lifted[rest].tolist() == labels[rest].tolist()
    assert lifted[0] == lifted[3] != lifted[1] == lifted[2]
    assert not set(lifted[region]) & set(lifted[rest])
    assert labels.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 3, 3]


def test_split_region_gives_the_connected_parts_of_a_region():
    graph = Graph(7, [(i, i + 1) for i in range(6)], [1.0, -1.0] * 3)
    region = np.array([True, True, False, True, False, True, True])
    parts = split_region(graph, Rows.empty(), np.empty(0), region)
    assert len(parts) == 3
    assert sorted(parts.instance(i).n for i in range(3)) == [1, 2, 2]
    assert parts.outside.tolist() == [False, True, True, True, True, False]


def test_an_empty_region_is_the_bound_of_the_lp():
    graph = chain_of_wheels([5, 5], 0.25)
    rows, multipliers = solved_lp(graph, wheels=False)
    parts = split_region(graph, rows, multipliers, np.zeros(graph.n, dtype=bool))
    assert (len(parts), parts.largest) == (0, 0)
    bound = Lagrangian.of(graph.weights, rows, multipliers).bound
    assert parts.bound == pytest.approx(bound, rel=1e-14)
    assert parts.outside.all()


@pytest.mark.parametrize("weight", [0.25, -0.25])
def test_solving_the_wheels_of_a_chain_raises_the_bound_to_the_optimum(weight):
    """The LP misses 1/2 in each of the wheels; both are found by themselves."""
    graph = chain_of_wheels([3, 3], weight)
    rows, multipliers = solved_lp(graph, wheels=False)
    parts = Decomposition(graph, rows, multipliers, np.repeat([0, 1], 4))
    optimum = brute_force(graph)
    assert parts.bound == pytest.approx(optimum - 1.0)
    for i in range(2):
        parts.raise_bound(i, LowerBound(brute_force(parts.instance(i)), Enumeration()))
    assert parts.bound == pytest.approx(optimum)


def test_the_gap_of_a_part():
    graph = joined([wheel(3), wheel(3)])
    rows, multipliers = solved_lp(graph, wheels=False)
    parts = split_into_components(graph, rows, multipliers)
    best, worse = best_of_all(graph), np.zeros(8, dtype=int)
    for i in range(2):
        assert parts.gaps(best)[i] == pytest.approx(0.5)
        assert parts.gaps(worse)[i] == pytest.approx(1.5)
    parts.raise_bound(0, LowerBound(-1.0, Enumeration()))
    parts.raise_bound(0, LowerBound(-7.0, Enumeration()))  # no improvement
    assert parts.gaps(best)[0] == pytest.approx(0.0)
    assert parts.nodes_with_gap(best, 0.1).tolist() == [False] * 4 + [True] * 4
    assert not parts.nodes_with_gap(best, 0.6).any()


@few
@given(seeds)
def test_gaps_of_parts_and_outside_add_up(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 1.0)
    rows = valid_rows(graph, rng)
    parts = split_into_components(graph, rows, random_multipliers(rows, rng))
    labels = rng.integers(0, 3, graph.n)
    total = sum(parts.gaps(labels))
    assert total == pytest.approx(graph.objective(labels) - parts.bound, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_the_open_region_is_empty_iff_there_is_no_gap(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 7, 0.9, ("normal", "ties")[seed % 2])
    rows, multipliers = solved_lp(graph, wheels=seed % 3 > 0)
    bound = Lagrangian.of(graph.weights, rows, multipliers).bound
    for labels in (best_of_all(graph), np.zeros(7, dtype=int), rng.integers(0, 3, 7)):
        gap = graph.objective(labels) - bound
        region = open_region(graph, rows, multipliers, labels, 1e-7)
        assert region.any() == (gap > 1e-5), gap


@few
@given(seeds)
def test_the_open_region_is_made_of_the_terms_of_the_gap(seed):
    """Term by term: edges that are cut or kept against r, rows that have a price but are slack."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 8, 0.7)
    rows = valid_rows(graph, rng)
    multipliers = random_multipliers(rows, rng) * (rng.random(len(rows)) < 0.2)
    labels, least = rng.integers(0, 2, graph.n), 0.5
    cut = graph.cut(labels)
    reduced = Lagrangian.of(graph.weights, rows, multipliers).reduced
    expected, total = set(), 0.0
    for e, r in enumerate(reduced):
        term = max(r, 0.0) if cut[e] else max(-r, 0.0)
        expected |= set(graph.edges[e].tolist()) if term > least else set()
        total += term
    for i, y in enumerate(multipliers):
        entries = slice(rows.starts[i], rows.starts[i + 1])
        edges = rows.indices[entries]
        term = y * (rows.upper[i] - rows.values[entries] @ cut[edges])
        expected |= set(graph.edges[edges].ravel().tolist()) if term > least else set()
        total += term
    bound = Lagrangian.of(graph.weights, rows, multipliers).bound
    assert total == pytest.approx(graph.objective(labels) - bound, abs=1e-9)
    region = open_region(graph, rows, multipliers, labels, least)
    assert set(np.flatnonzero(region).tolist()) == expected


def test_the_open_region_is_where_the_wheel_is():
    """A wheel at the end of a path on which the LP is tight."""
    graph = joined([wheel(5), Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, -1.0, 1.0])], [(0, 6, 2.0)])
    rows, multipliers = solved_lp(graph, wheels=False)
    labels = np.concatenate([best_of_all(wheel(5)), [9, 9, 8, 8]])
    labels[6:8] = labels[0]
    region = open_region(graph, rows, multipliers, labels, 1e-7)
    assert region[:6].any()
    assert not region[6:].any()


def test_ends():
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, 1.0, 1.0])
    assert end_nodes(graph, np.array([True, False, False])).tolist() == [True, True, False, False]
    assert not end_nodes(graph, np.zeros(3, dtype=bool)).any()
