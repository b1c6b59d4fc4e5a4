"""Presolve: the optimum is kept, and any clustering of the rest lifts to one that costs no more."""

from dataclasses import replace
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import all_cuts, brute_force, instance, instances, partitions, random_graph
from scipy.spatial import Delaunay

from bdcc_jax import Graph, solve
from bdcc_jax.base.clock import Clock
from bdcc_jax.base.sums import sum_parallel_pairs
from bdcc_jax.instance.contraction import contract
from bdcc_jax.presolve import driver, presolve, reduction
from bdcc_jax.presolve.biconnected import biconnected_blocks
from bdcc_jax.presolve.dominance import _similar
from bdcc_jax.presolve.triangles import joined_triangles

RULES = ("separate", "split", "weaken_and_join", "join_triangles")


def random_planar(rng, n, kind="normal"):
    triangles = Delaunay(rng.random((n, 2))).simplices
    u, v = np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]]).T
    u, v = np.unique(np.sort(np.column_stack([u, v]), axis=1), axis=0).T
    w = rng.normal(0.2, 1, len(u)) if kind == "normal" else rng.integers(-2, 4, len(u))
    return Graph.from_edges(u, v, w, n)


def random_cactus(rng, n_parts, kind):
    """Small graphs that hang together by cut vertices."""
    u, v, w, n = [], [], [], 1
    for _ in range(n_parts):
        part = random_graph(rng, int(rng.integers(2, 5)), 0.9, kind)
        shared, names = int(rng.integers(n)), n + np.arange(part.n) - 1
        names[0] = shared
        u, v, w = (
            [*u, *names[part.edges[:, 0]]],
            [*v, *names[part.edges[:, 1]]],
            [*w, *part.weights],
        )
        n += part.n - 1
    return Graph.from_edges(u, v, np.array(w, dtype=float), n)


def check(graph, n_labels=60):
    """Optimum kept, and clusterings of the rest lift; returns the presolved instance."""
    presolved = presolve(graph)
    rest, slack = presolved.graph, 1e-9 * (1 + np.abs(graph.weights).sum())
    best = np.concatenate([best_labels(piece) for piece in presolved.pieces])
    optimum = brute_force(graph)
    assert abs(presolved.constant + rest.objective(pieced(presolved, best)) - optimum) <= slack
    assert abs(graph.objective(presolved.lift(best)) - optimum) <= slack
    rng = np.random.default_rng(graph.m)
    for labels in rng.integers(0, rng.integers(1, rest.n + 1, n_labels), (rest.n, n_labels)).T:
        cost = presolved.constant + rest.objective(labels)
        assert graph.objective(presolved.lift(labels)) <= cost + slack
    return presolved


def best_labels(graph):
    return partitions(graph.n)[(all_cuts(graph) @ graph.weights).argmin()]


def pieced(presolved, labels):
    """The same clusters, but none in two pieces."""
    sizes = np.diff(presolved.piece_starts)
    return labels + np.repeat(np.arange(len(sizes)), sizes) * 100


FAMILIES = {
    "dense, floats": lambda rng, n: random_graph(rng, n, 1.0),
    "dense, ties": lambda rng, n: random_graph(rng, n, 1.0, "ties"),
    "sparse, floats": lambda rng, n: random_graph(rng, n, 0.4),
    "sparse, ties": lambda rng, n: random_graph(rng, n, 0.4, "ties"),
    "planar, floats": lambda rng, n: random_planar(rng, n),
    "planar, ties": lambda rng, n: random_planar(rng, n, "ties"),
    "cactus, floats": lambda rng, n: random_cactus(rng, 3, "normal"),
    "cactus, ties": lambda rng, n: random_cactus(rng, 3, "ties"),
}


def apply_only(rule, monkeypatch):
    """Run the loop as Python, with the other rules replaced by ones that do nothing."""
    monkeypatch.setattr(driver, "reduced", reduction.reduced.py_func)
    for other in set(RULES) - {rule}:
        monkeypatch.setattr(reduction, other, lambda left, log, *_: (left, log))
    if rule != "weaken_and_join":  # it adds up parallel edges, and looks at what has changed
        monkeypatch.setattr(reduction, "weaken_and_join", lambda left, log, *_: settled(left, log))


def settled(left, log):
    n = len(left.slots)
    edges, w, low, _ = sum_parallel_pairs(n, left.u, left.v, left.w, left.low)
    rest = reduction.Rest(*edges.T.copy(), w, low, left.slots, np.zeros_like(left.changed))
    return reduction.only(rest, np.ones(len(w), dtype=bool)), log


@pytest.mark.parametrize("family", FAMILIES)
def test_brute_force(family):
    rng = np.random.default_rng(len(family))
    removed = sum(
        check(FAMILIES[family](rng, n)).removed.edges for n in (4, 5, 6, 7, 7, 8, 8, 9) * 4
    )
    assert removed > 0


@pytest.mark.parametrize(
    ("family", "rule"),
    [
        *product(["sparse, floats", "sparse, ties", "cactus, ties"], RULES[:3]),
        *product(["planar, floats", "planar, ties", "cactus, ties"], RULES[3:]),
    ],
)
def test_brute_force_of_one_rule(family, rule, monkeypatch):
    apply_only(rule, monkeypatch)
    rng = np.random.default_rng(len(family))
    presolved = [check(FAMILIES[family](rng, n)) for n in (5, 6, 7, 8) * 5]
    assert sum(p.removed.edges for p in presolved) > 0


@st.composite
def graphs(draw, max_nodes=8):
    n = draw(st.integers(1, max_nodes))
    u, v = np.triu_indices(n, 1)
    weight = st.one_of(
        st.just(0), st.integers(-3, 3), st.floats(-5, 5, allow_nan=False), st.just(0.1)
    )
    w = draw(st.lists(weight, min_size=len(u), max_size=len(u)))
    return Graph.from_edges(u, v, np.array(w, dtype=float), n)


@settings(max_examples=300)
@given(graphs())
def test_any_graph(graph):
    check(graph, n_labels=20)


@settings(max_examples=100)
@given(graphs(), st.integers(-60, 60))
def test_powers_of_two_change_nothing(graph, exponent):
    """No absolute tolerance hides in the rules."""
    assume(np.abs(graph.weights).min(initial=1.0) > 1e-200)  # else scaling is not exact
    scaled = presolve(Graph(graph.n, graph.edges, np.ldexp(graph.weights, exponent)))
    plain = presolve(graph)
    assert scaled.removed == plain.removed
    assert scaled.constant == np.ldexp(plain.constant, exponent)
    assert scaled.graph.weights.tolist() == np.ldexp(plain.graph.weights, exponent).tolist()


def wheels(n_wheels):
    """Odd wheels around one hub: no rule but that of blocks applies."""
    rim = np.arange(5)
    u = np.concatenate([[np.zeros(5), 1 + 5 * i + rim] for i in range(n_wheels)], axis=None)
    v = np.concatenate(
        [[1 + 5 * i + rim, 1 + 5 * i + (rim + 1) % 5] for i in range(n_wheels)], None
    )
    return Graph.from_edges(u, v, np.tile(np.repeat([1.0, -1.0], 5), n_wheels))


@pytest.mark.parametrize(
    ("rule", "graph", "constant"),
    [
        ("dominant", Graph(3, [(0, 1), (0, 2), (1, 2)], [3, -1, 2]), 0.0),
        # dropping the edge of weight -1.5 altogether would say -1.5
        ("weakened", Graph(3, [(0, 1), (1, 2), (0, 2)], [1, 1, -1.5]), -0.5),
        ("attracted", Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [2, 2, 2, 1]), 0.0),
        ("separated", Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [1, -2, 1, -3]), -5.0),
    ],
)
def test_a_rule_that_decides_everything(rule, graph, constant):
    presolved = check(graph)
    assert getattr(presolved.removed, rule) > 0
    assert presolved.constant == constant
    assert (presolved.graph.n, presolved.graph.m) == (1, 0)


@pytest.mark.parametrize("rule", ["similar", "secluded", "dominant", "weakened"])
def test_rules_at_edges_occur(rule):
    """Integer graphs where the rule is the first to apply: the brute force above sees them all."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(400):
        graph = random_graph(rng, 7, 0.9, "ties")
        removed = presolve(graph).removed
        if getattr(removed, rule) and found < 10:
            check(graph)
            found += 1
    assert found == 10


@pytest.mark.parametrize("seed", range(20))
def test_critical_cliques_are_joined(seed):
    """Nodes with the same neighbours, themselves included, are together in cluster editing."""
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(3, 7))
    group = np.concatenate([np.arange(groups), rng.integers(groups, size=int(rng.integers(1, 5)))])
    linked = np.triu(rng.random((groups, groups)) < 0.5, 1)
    linked = linked | linked.T | np.eye(groups, dtype=bool)
    u, v = np.triu_indices(len(group), 1)
    unit = Graph.from_edges(u, v, np.where(linked[group[u], group[v]], 1.0, -1.0), len(group))
    presolved = check(unit)
    labels = presolved.lift(np.arange(presolved.graph.n))
    twins = group[u] == group[v]
    assert (labels[u[twins]] == labels[v[twins]]).all()


def test_similar_nodes_are_found_at_the_best_mixture():
    """Against the minimum over all breakpoints of g(t) = sum of |t a - (1 - t) b|."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        a, b = rng.normal(size=(2, 6)) + rng.normal(size=6)
        alone_a, alone_b = rng.exponential(size=2) * rng.integers(0, 2, 2)
        corners = np.concatenate([[0, 1], np.clip(b / (a + b), 0, 1)])[:, None]
        values = np.abs(corners * a - (1 - corners) * b).sum(axis=1)
        least = (values + corners[:, 0] * alone_a + (1 - corners[:, 0]) * alone_b).min()
        pairs = np.stack([a, b])
        assert not _similar(0.9999 * least, alone_a, alone_b, pairs)
        assert _similar(1.02 * least, alone_a, alone_b, pairs)


def test_blocks_become_independent_pieces():
    graph = wheels(3)
    presolved = presolve(graph)
    assert presolved.removed.split == 2
    assert (presolved.graph.n, presolved.graph.m, presolved.constant) == (18, 30, 0.0)
    assert [(piece.n, piece.m) for piece in presolved.pieces] == [(6, 10)] * 3
    assert sorted(presolved.nodes.tolist()) == [0, 0, 0, *range(1, 16)]
    best = np.concatenate([best_labels(piece) for piece in presolved.pieces])
    assert graph.objective(presolved.lift(best)) == 3 * brute_force(wheels(1)) == -6.0


def test_blocks_as_networkx_finds_them():
    rng = np.random.default_rng(4)
    for n in (2, 10, 40, 200):
        G = nx.gnm_random_graph(n, int(1.1 * n), seed=int(rng.integers(1000)))
        u, v = np.array(G.edges).reshape(-1, 2).T
        block, by_block, n_blocks = biconnected_blocks(n, u.astype(np.int64), v.astype(np.int64))
        ours = [{(u[e], v[e]) for e in np.flatnonzero(block == b)} for b in range(n_blocks)]
        theirs = [{(min(e), max(e)) for e in edges} for edges in nx.biconnected_component_edges(G)]
        assert {frozenset(b) for b in ours} == {frozenset(b) for b in theirs}
        assert sorted(by_block.tolist()) == list(range(len(u)))
        assert (np.diff(block[by_block]) >= 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_left_to_do(family):
    rng = np.random.default_rng(9)
    for n in (6, 20, 40, 60):
        once = presolve(FAMILIES[family](rng, n))
        if once.graph.m:
            twice = presolve(once.graph)
            # Rounding the weights that are left may have moved a few by their last digit.
            removed = replace(twice.removed, weakened=0)
            assert removed == driver.Removed(*[0] * len(vars(twice.removed)))
            assert np.array_equal(twice.graph.edges, once.graph.edges)


@pytest.mark.parametrize(
    ("graph", "labels"),
    [
        (Graph(1, [], []), [0]),
        (Graph(4, [], []), [0, 1, 2, 3]),
        (Graph(3, [(0, 1), (1, 2)], [1.0, 2.0]), [0, 0, 0]),
        (Graph(3, [(0, 1), (1, 2)], [-1.0, -2.0]), [0, 1, 2]),
        (Graph(6, [(0, 1), (2, 3), (3, 4)], [1.0, -1.0, 2.0]), [0, 0, 1, 2, 2, 3]),
    ],
    ids=["one node", "no edges", "all positive", "all negative", "disconnected"],
)
def test_everything_decided(graph, labels):
    presolved = presolve(graph)
    assert (presolved.graph.n, presolved.graph.m, presolved.n_pieces) == (1, 0, 1)
    assert presolved.lift([0]).tolist() == labels
    assert presolved.constant == graph.objective(labels)


def test_equal_labels_in_different_pieces_are_different_clusters():
    two = Graph(
        12, np.concatenate([wheels(1).edges, wheels(1).edges + 6]), [*wheels(1).weights] * 2
    )
    presolved = presolve(two)
    assert presolved.n_pieces == 2
    assert len(set(presolved.lift(np.zeros(12)).tolist())) == 2


def test_a_deadline_leaves_more_to_do_but_nothing_wrong():
    graph = random_planar(np.random.default_rng(0), 9)
    late, full = presolve(graph, Clock(0.0)), presolve(graph)
    assert late.graph.m > full.graph.m
    assert late.constant + brute_force(late.graph) == pytest.approx(brute_force(graph))


def test_labels_of_the_wrong_length():
    with pytest.raises(ValueError, match=r"labels must have shape \(18,\), not \(2,\)"):
        presolve(wheels(3)).lift([0, 1])


@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_large_planar_graph(kind):
    """Blocks, pieces and lifting agree at a size where recursion or a quadratic step would show."""
    rng = np.random.default_rng(1)
    graph = random_planar(rng, 50_000, kind)
    presolved = presolve(graph)
    assert 0 < presolved.graph.m < graph.m
    for labels in (np.zeros(presolved.graph.n), rng.integers(0, 50, presolved.graph.n)):
        cost = presolved.constant + presolved.graph.objective(labels)
        assert graph.objective(presolved.lift(labels)) <= cost + 1e-7


def test_a_star_of_many_leaves_takes_linear_time():
    n = 100_000
    graph = Graph.from_edges(
        np.zeros(n - 1), np.arange(1, n), np.tile([1.0, 2.0, -1.0], n)[: n - 1]
    )
    assert presolve(graph).lift([0]).tolist()[:7] == [0, 0, 0, 1, 0, 0, 2]


SMALL = [
    *instances("opengm-imageseg-frag50")[::6],
    *instances("opengm-imageseg-stitched")[:2],
    *instances("clique-partitioning"),
    *instances("signed-network")[1:4],
    *instances("modularity")[1:2],
]


@pytest.mark.parametrize("name", SMALL)
def test_optimum_of_real_instances(name):
    graph = instance(name)
    presolved = presolve(graph)
    with_, without = solve(presolved.graph), solve(graph)
    assert with_.status == without.status == "optimal"
    slack = 1e-7 * (1 + abs(without.objective))
    assert abs(graph.objective(presolved.lift(with_.labels)) - without.objective) <= slack
    assert abs(presolved.constant + with_.objective - without.objective) <= slack


def test_a_triangle_that_no_pair_decides():
    """Each edge alone is outweighed by what repels its ends from the rest, but not all three."""
    edges = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (3, 5)]
    weights = np.array([3, 3, 3, 2, 2, 2, -9, -9, -9]) + 0.25 * np.arange(9) / 9
    graph = Graph(6, [*edges, (0, 4), (1, 5), (2, 3)], [*weights, -2.5, -2.5, -2.5])
    presolved = check(graph)
    assert presolved.removed.triangle == 2
    assert len(set(presolved.lift(np.arange(presolved.graph.n))[:3].tolist())) == 1


@settings(max_examples=200)
@given(graphs(max_nodes=6))
def test_triangles_alone_keep_the_optimum(graph):
    triangles = joined_triangles(graph.n, *graph.edges.T, graph.weights, np.zeros(1, dtype=bool))
    groups = np.arange(graph.n)
    for a, b, c in triangles:
        groups[[b, c]] = a
    joined = contract(graph, groups)
    optimum = joined.constant + brute_force(joined.graph)
    assert optimum == pytest.approx(
        brute_force(graph), abs=1e-9 * (1 + np.abs(graph.weights).sum())
    )


def test_pieces_without_edges_have_a_scale():
    """A deadline may cut presolve short where nodes have lost their last edges."""
    graph = Graph(5, [(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1e9])
    presolved = presolve(graph)
    cut_short = replace(presolved, graph=graph, piece_starts=np.array([0, 3, 4, 5]))
    assert cut_short.scales().tolist() == [0, 0, 0, 0, 0]
    first = Graph(5, [(2, 3), (3, 4), (2, 4)], [1.0, 1.0, -1e9])
    cut_short = replace(presolved, graph=first, piece_starts=np.array([0, 1, 2, 5]))
    assert cut_short.scales().tolist() == [0, 0, 0, 0, 0]
