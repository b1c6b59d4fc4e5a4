"""Forged proofs: whatever a file says, nothing false is accepted, and it costs what it weighs."""

import json
import random
import sys
import tracemalloc
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from certificates import proven_bound, signed_again, written
from families import joined, small_instances, wheel
from forgeries import judge, mutated, originals
from oracles import brute_force, random_graph

from bdcc_jax import Graph, Options, Rejected, solve, verify
from bdcc_jax.proofs.checker import verify as checker

LP = {"rule": "lp", "rows": []}
SQUARE = Graph(4, [(0, 1), (0, 3), (1, 2), (2, 3)], [1.0, -5.0, 1.0, 1.0])  # optimum -4

CHECKER = str(Path(checker.__file__).parent)
RULES = {"lp", "presolve", "fixing", "branching", "enumeration", "highs"}


def attack(count, seed):
    """Mutate and judge; returns how many were accepted by the rule of their proof."""
    rng, known, accepted = random.Random(seed), originals(), Counter()
    seeds = [[x.certificate["proof"], x.certificate["labels"]] for x in known]
    for _ in range(count):
        original = rng.choice(known)
        certificate = mutated(rng, original, seeds)
        if judge(original, certificate):
            accepted[certificate["proof"]["rule"]] += 1
    return accepted


def test_no_forgery_is_accepted():
    accepted = attack(1500, 0)
    assert set(accepted) == RULES
    assert min(accepted.values()) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_no_forgery_of_a_million_is_accepted(seed):
    accepted = attack(50_000, seed)
    assert min(accepted[rule] for rule in RULES) > 100


def forged(graph, proof, labels=None, **said):
    """A certificate that rests on this proof."""
    labels = [0] * graph.n if labels is None else labels
    cost = float(graph.objective(labels))
    found = {"labels": labels, "objective": cost, "lower_bound": cost, "tolerance": 0.0}
    begun = written(solve(graph, time_limit=0))
    certificate = {**begun, "status": "gap", **found, **said, "proof": proof}
    return json.loads(json.dumps(signed_again(certificate)))


@pytest.mark.parametrize("pair", [[-1, 0], [0, -1], [3, 3], [-4, 3], [4, 0], [True, 0], [0.0, 3]])
def test_no_tree_branches_on_what_is_no_pair(pair):
    proof = {"rule": "branching", "nodes": [pair, LP, {"rule": "lp", "rows": []}]}
    cut = {"rule": "lp", "rows": [["cycle", 10.0, 0, 1, 2, 3]]}
    for nodes in ([pair, LP, LP], [pair, LP, cut], [pair, cut, LP], [[0, 3], LP, pair, LP, cut]):
        with pytest.raises(Rejected, match="not different numbers"):
            verify(SQUARE, forged(SQUARE, {**proof, "nodes": nodes}, status="optimal"))


def test_a_pair_may_be_decided_twice():
    """Also in a tree in a tree: what divides all weights at its root still does in its leaves."""
    inner = {"rule": "branching", "nodes": [[0, 1], LP, LP]}
    for graph in (Graph(2, [(0, 1)], [-4.0]), Graph(2, [(0, 1)], [4.0])):
        for nodes in ([[0, 1], inner, inner], [[0, 1], [0, 1], LP, inner, [0, 1], LP, LP]):
            certificate = forged(graph, {"rule": "branching", "nodes": nodes}, lower_bound=-9.0)
            optimum = min(0.0, graph.weights[0])
            assert verify(graph, certificate).lower_bound == optimum


def test_a_heavy_piece_hides_no_light_one():
    light, heavy = wheel(5), Graph(6, wheel(5).edges, 1e12 * wheel(5).weights)
    best = written(solve(light))["labels"]
    for graph in (joined([light, heavy]), joined([heavy, light])):
        proofs = {str(p): [{"rule": "enumeration"}] for p in range(2)}
        proof = {**LP, "part": [0] * 6 + [1] * 6, "proofs": proofs}
        labels = [*best, *(6 + x for x in best)]
        assert verify(graph, forged(graph, proof, labels, status="optimal")).claims == ()
        for node in range(graph.n):
            worse = [11 if x == node else label for x, label in enumerate(labels)]
            if graph.objective(worse) > graph.objective(labels):
                certificate = forged(graph, proof, worse, status="optimal")
                with pytest.raises(Rejected, match="not proven to be optimal"):
                    verify(graph, certificate)


@pytest.mark.parametrize("exponent", [0, 1, 10, 63])
def test_no_unit_of_the_proof_makes_whole_weights_less_whole(exponent):
    """One unit more than the optimum is not optimal, though little beside the smallest weight."""
    graph = Graph(5, [(0, 1), (1, 2), (0, 2), (3, 4)], [2000.0, 2001.0, -9000.0, 2.0**52])
    labels = [0, 0, 1, 2, 2]  # at -6999; the optimum is -7000
    said = {"status": "optimal", "lower_bound": -7000.0, "exponent": exponent}
    with pytest.raises(Rejected, match=r"not (proven|different)"):
        verify(graph, forged(graph, {"rule": "enumeration"}, labels, **said))


def test_presolve_hides_no_light_piece():
    """One that it decides, so that only heavy ones are left open."""
    heavy = Graph(8, wheel(7).edges, 1e6 * wheel(7).weights)
    graph = joined([heavy, Graph(2, [(0, 1)], [1.0])])
    best = written(solve(graph))
    verify(graph, best)
    labels = [*best["labels"][:-1], graph.n - 1]
    certificate = {**best, "labels": labels, "objective": best["objective"] + 1.0}
    with pytest.raises(Rejected, match="not proven to be optimal"):
        verify(graph, signed_again(certificate))


def test_claims_imply_the_bound_they_are_used_for():
    graph = wheel(5)  # the optimum is -2, and without rows -5 is proven
    claim = {"rule": "highs", "lower_bound": -3.0, "proof": LP}
    best = {"labels": written(solve(graph))["labels"]}
    verdict = verify(graph, forged(graph, claim, **best, lower_bound=-3.0))
    assert verdict.lower_bound == -5
    assert verdict.claims == ("6 nodes and 10 edges: at least -3.0 (proven: at least -5.0)",)
    assert verify(graph, forged(graph, claim, **best, lower_bound=-5.0)).claims == ()
    for lower_bound in (-2.9, -2.0, 0.0):
        with pytest.raises(Rejected, match="HiGHS claims"):
            verify(graph, forged(graph, claim, **best, lower_bound=lower_bound))
    tree = {"rule": "branching", "nodes": [[0, 1], claim, LP]}
    with pytest.raises(Rejected, match="HiGHS claims"):  # a leaf of two says nothing of the other
        verify(graph, forged(graph, tree, **best, lower_bound=-3.0))
    with pytest.raises(Rejected, match="HiGHS claims"):
        verify(graph, forged(graph, {**claim, "lower_bound": 1e308}, **best, lower_bound=-3.0))


def test_the_smallest_weights_there_are():
    tiny = 5e-324
    graph = Graph(3, [(0, 1), (1, 2), (0, 2)], [2 * tiny, 2 * tiny, -tiny])
    verdict = verify(graph, written(solve(graph)))
    assert verdict.lower_bound == verdict.upper_bound == 0
    graph = Graph(3, [(0, 1), (1, 2), (0, 2)], [tiny, tiny, -1e300])
    verdict = verify(graph, forged(graph, {"rule": "enumeration"}, lower_bound=-1e300))
    assert verdict.lower_bound == Fraction(tiny) - Fraction(1e300)


def nested(depth, proof=LP):
    for _ in range(depth):
        proof = {"rule": "highs", "lower_bound": -9.0, "proof": proof}
    return proof


def presolves(graph, depth):
    proof = LP
    for _ in range(depth):
        nodes = list(range(graph.n))
        proof = {"rule": "presolve", "steps": [], "nodes": nodes, "proof": proof}
    return proof


def chain(length, pairs=((0, 1), (0, 2), (1, 2))):
    forks = [[list(pairs[i % len(pairs)]), LP] for i in range(length)]
    return {"rule": "branching", "nodes": [*(x for fork in forks for x in fork), LP]}


def enumerations(graph, count):
    proofs = {"0": [{"rule": "enumeration"}] * count}
    return {**LP, "part": [0] * 8 + [-1] * (graph.n - 8), "proofs": proofs}


DENSE = random_graph(np.random.default_rng(0), 30, 1.0)
GREEDY = {
    "enumerations": lambda: enumerations(DENSE, 300),
    "a chain": lambda: chain(500, DENSE.edges.tolist()),
    "a chain of parts": lambda: {
        "rule": "branching",
        "nodes": [[0, 1], enumerations(DENSE, 0)] * 60 + [LP],
    },
    "deep presolves": lambda: presolves(DENSE, 30),
    "deep claims": lambda: nested(200),
    "weakened": lambda: {
        "rule": "presolve",
        "steps": [["weakened", 0, 1]] * 600,
        "nodes": list(range(30)),
        "proof": LP,
    },
    "splits": lambda: {
        "rule": "presolve",
        "steps": [["split", 0, 30 + i, *range(1, 30)] for i in range(50)],
        "nodes": list(range(30)),
        "proof": LP,
    },
    "2-partitions": lambda: {"rule": "lp", "rows": [[9, 1e308, *range(30)]] * 100},
    "matrices": lambda: {"rule": "lp", "rows": [["gram", 1e308, [1] * 30, [2**60] * 30]] * 50},
    "rows": lambda: {"rule": "lp", "rows": [["cycle", 1e308, *range(30)]] * 100},
}


def lines_run(work):
    """How many lines of the checker are run: the same on every machine."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(CHECKER):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_the_work_of_large_2_partitions_is_bounded():
    path = Graph(400, [(i, i + 1) for i in range(399)], np.resize([1.0, -1.0], 399))
    proof = {"rule": "lp", "rows": [[40, 1.0, *range(400)]] * 20}
    certificate = forged(path, proof, lower_bound=-1e6)
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match="more work"):
            verify(path, certificate)
        assert tracemalloc.get_traced_memory()[1] < 2000 * len(json.dumps(certificate))
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("side", [-1, 6, 1.0, True, "1", None, [1], "partition"])
def test_a_2_partition_has_a_side(side):
    """Of so many of its first nodes: a whole number, and less than all of them."""
    graph = wheel(5)
    rows = [[side, 1.0, *range(6)]]
    with pytest.raises(Rejected):
        verify(graph, forged(graph, {"rule": "lp", "rows": rows}, lower_bound=-5.0))


@pytest.mark.parametrize("seed", range(3))
def test_2_partitions_prove_no_more_than_is_true(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 7, 0.8, "ties")
    pairs = zip(map(tuple, graph.edges.tolist()), np.rint(graph.weights), strict=True)
    weights = {pair: int(w) << 64 for pair, w in pairs}
    whole = Graph(7, list(weights), [w >> 64 for w in weights.values()])
    optimum = brute_force(whole)
    for _ in range(300):
        rows = [
            [int(rng.integers(0, k)), float(rng.integers(0, 3)), *rng.permutation(7)[:k].tolist()]
            for k in rng.integers(3, 8, rng.integers(1, 8)).tolist()
        ]
        assert proven_bound(64, 7, weights, {"rule": "lp", "rows": rows}) <= int(optimum) << 64


@pytest.mark.parametrize("columns", [1, 40])
def test_the_work_of_large_matrices_is_bounded(columns):
    path = Graph(600, [(i, i + 1) for i in range(599)], np.resize([1.0, -1.0], 599))
    proof = {"rule": "lp", "rows": [["gram", 1.0, *[[1] * 600] * columns]] * 3}
    certificate = forged(path, proof, lower_bound=-1e6)
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match="more work"):
            verify(path, certificate)
        assert tracemalloc.get_traced_memory()[1] < 2000 * len(json.dumps(certificate))
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "vector",
    [3, None, "111111", [1.0] * 6, [True] * 6, [1] * 5, [1] * 7, [], [2**70] * 6, {"0": 1}],
)
def test_a_vector_has_a_whole_number_for_every_node(vector):
    graph = wheel(5)
    rows = [["gram", 1.0, [1] * 6, vector]]
    with pytest.raises(Rejected):
        verify(graph, forged(graph, {"rule": "lp", "rows": rows}, lower_bound=-5.0))


@pytest.mark.parametrize("factor", [-1.0, 1, True, "1", None])
def test_a_matrix_has_no_negative_factor(factor):
    graph = wheel(5)
    rows = [["gram", factor, [1, -1, 0, 0, 0, 0]]]
    with pytest.raises(Rejected):
        verify(graph, forged(graph, {"rule": "lp", "rows": rows}, lower_bound=-5.0))


@pytest.mark.parametrize("seed", range(3))
def test_matrices_prove_no_more_than_is_true(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 7, 0.8, "ties")
    pairs = zip(map(tuple, graph.edges.tolist()), np.rint(graph.weights), strict=True)
    weights = {pair: int(w) << 64 for pair, w in pairs}
    optimum = brute_force(Graph(7, list(weights), [w >> 64 for w in weights.values()]))
    for _ in range(300):
        rows = [
            ["gram", float(rng.integers(0, 3)) / 4, *rng.integers(-2, 3, size=(k, 7)).tolist()]
            for k in rng.integers(0, 4, rng.integers(1, 4)).tolist()
        ]
        assert proven_bound(64, 7, weights, {"rule": "lp", "rows": rows}) <= int(optimum) << 64


def test_a_matrix_alone_proves_a_bound():
    """Of a pentagon that repels along its sides and attracts along its diagonals.

    The vectors are cosine and sine of its corners, rounded; the best factor leaves 1 of 3.
    """
    sides = {tuple(sorted((i, (i + 1) % 5))) for i in range(5)}
    pairs = [(i, j) for i in range(5) for j in range(i + 1, 5)]
    weights = {pair: -1 << 64 if pair in sides else 1 << 64 for pair in pairs}
    optimum = brute_force(Graph(5, pairs, [float(w >> 64) for w in weights.values()]))
    turn = 2 * np.pi * np.arange(5) / 5
    vectors = [np.rint(1024 * f(turn)).astype(int).tolist() for f in (np.cos, np.sin)]
    bounds = []
    for y in np.linspace(0.0, 2.0, 21) / 2**20:
        proof = {"rule": "lp", "rows": [["gram", float(y), *vectors]]}
        bounds.append(proven_bound(64, 5, weights, proof) / 2**64)
    assert (bounds[0], max(bounds), optimum) == (-5.0, -3.0, -2.0)


@pytest.mark.parametrize("name", GREEDY)
def test_work_and_memory_are_bounded_by_the_length(name):
    """512 lines and 2 kB at most for every byte, node and edge: see docs/certificates.md."""
    certificate = forged(DENSE, GREEDY[name](), lower_bound=-1e6)
    size = len(json.dumps(certificate)) + DENSE.n + DENSE.m

    def check():
        with suppress(Rejected):
            verify(DENSE, certificate)

    assert lines_run(check) < 512 * size
    tracemalloc.start()
    try:
        check()
        assert tracemalloc.get_traced_memory()[1] < 2000 * size
    finally:
        tracemalloc.stop()


def test_too_much_work_is_refused():
    certificate = forged(DENSE, enumerations(DENSE, 1000), lower_bound=-1e6)
    with pytest.raises(Rejected, match="more work than its length allows"):
        verify(DENSE, certificate)
    nine = random_graph(np.random.default_rng(0), 9, 1.0)
    with pytest.raises(Rejected, match="more work"):
        verify(nine, forged(nine, {"rule": "enumeration"}, lower_bound=-1e6))


def test_the_solver_asks_for_less_than_half_of_what_is_allowed(monkeypatch):
    """Also where every node is in an enumeration, or in a join of a dense instance."""
    monkeypatch.setattr(checker, "WORK", checker.WORK // 2)
    rng = np.random.default_rng(0)
    cluster, (u, v) = rng.integers(0, 4, 100), np.triu_indices(100, 1)
    w = np.where((cluster[u] == cluster[v]) ^ (rng.random(len(u)) < 0.05), 1, -1)
    graphs = [
        joined([wheel(7) for _ in range(40)]),
        Graph.from_edges(u, v, w),
        *small_instances(1).values(),
    ]
    for graph in graphs:
        for options in (Options(), Options(odd_wheels=False)):
            verify(graph, written(solve(graph, options=options)))


@pytest.mark.parametrize("depth", [900, 5000, 100_000])
def test_what_is_nested_too_deeply_is_refused(depth):
    lists: list = []
    for _ in range(depth):
        lists = [lists]
    for proof in (nested(depth), {"rule": "lp", "rows": lists}):
        certificate = {**written(solve(SQUARE)), "proof": proof}
        with pytest.raises(Rejected):
            verify(SQUARE, certificate)
