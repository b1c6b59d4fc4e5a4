"""Prices: the LP over clusters, and the proof that no set is worth more, against all sets."""

from math import inf

import numpy as np
import pytest
from oracles import brute_force
from scipy.optimize import linprog

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.base.workers import open_threads
from bdcc_jax.instance.completion import completed
from bdcc_jax.lp.semidefinite import SemidefiniteProgram
from bdcc_jax.prices import surplus_proof
from bdcc_jax.prices.best_set import BestSet
from bdcc_jax.prices.clusters import Clusters
from bdcc_jax.prices.exhaustive import tried
from bdcc_jax.prices.surplus_proof import prove
from bdcc_jax.prices.worth import Worth, anchors, core
from bdcc_jax.proofs.checker.labelled_graph import LabelledGraph
from bdcc_jax.proofs.checker.prices import Sets
from bdcc_jax.proofs.checker.reading import Account, Rejected
from bdcc_jax.proofs.checker.rules import Prover
from bdcc_jax.proofs.price_leaf import PriceLeaf

SHIFT = 100
KINDS = ("whole", "normal", "signs", "forbidden", "attractive", "repulsive")


def complete(seed: int, n: int, kind: str) -> Graph:
    rng = np.random.default_rng(seed)
    m = n * (n - 1) // 2
    weights = {
        "whole": lambda: rng.integers(-9, 10, m).astype(float),
        "normal": lambda: rng.normal(size=m),
        "signs": lambda: rng.choice([-1.0, 1.0], m),
        "forbidden": lambda: np.where(rng.random(m) < 0.3, -9999.0, rng.integers(0, 101, m)),
        "attractive": lambda: rng.random(m),
        "repulsive": lambda: -rng.random(m),
    }[kind]()
    return completed(Graph(n, np.column_stack(np.triu_indices(n, 1)), weights))[0]


def worth_of(graph: Graph) -> Worth:
    return Worth.of(graph)


def all_sets(n: int) -> np.ndarray:
    return (np.arange(1, 1 << n)[:, None] >> np.arange(n) & 1).astype(bool)


def surplus(worth: np.ndarray, prices: np.ndarray, sets: np.ndarray) -> np.ndarray:
    inside = sets.astype(float)
    return 0.5 * ((inside @ worth) * inside).sum(axis=1) - inside @ prices


def true_weights(graph: Graph) -> np.ndarray:
    return worth_of(graph).weights


def within(sets: np.ndarray, inside: list[int], others: np.ndarray) -> np.ndarray:
    """Sets with all of some nodes, and otherwise only some of others."""
    may = others.copy()
    may[inside] = True
    return sets[sets[:, inside].all(axis=1) & ~sets[:, ~may].any(axis=1)]


def part(seed: int, n: int) -> tuple[np.ndarray, list[int], np.ndarray]:
    """Prices, nodes that are inside, and others."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    inside = order[: rng.integers(1, 3)].tolist()
    others = np.zeros(n, dtype=bool)
    others[order[2 : 2 + rng.integers(1, n - 1)]] = True
    return rng.random(n), inside, others


def verified(graph: Graph, leaf: PriceLeaf | dict) -> float:
    said = leaf if isinstance(leaf, dict) else leaf.to_dict(graph.n, [])
    pairs = zip(map(tuple, graph.edges.tolist()), graph.weights.tolist(), strict=True)
    weights = {pair: int(w * 2**SHIFT) for pair, w in pairs}
    account, arguments = Account(SHIFT), {key: said[key] for key in said if key != "rule"}
    checked = LabelledGraph([0] * graph.n, weights, account)
    # Not through prove, which rounds bounds up to a multiple of the unit.
    return Prover(account)._by_prices(checked, **arguments) / 2**SHIFT


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_node_that_goes_is_in_no_better_set(seed, kind):
    graph = complete(seed, 9, kind)
    worth, sets = worth_of(graph), all_sets(9)
    prices, inside, others = part(seed, 9)
    prices *= max(1.0, float(np.maximum(0.0, graph.weights).sum()) / 20)
    matrix = worth.matrix(prices)
    kept, gone = core(matrix, prices, np.array(inside), others)
    assert sorted([*kept, *gone]) == np.flatnonzero(others).tolist()
    few = np.zeros(9, dtype=bool)
    few[kept] = True
    best = surplus(matrix, prices, within(sets, inside, others)).max()
    assert surplus(matrix, prices, within(sets, inside, few)).max() == pytest.approx(best)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_sets_with_nodes_that_exclude_each_other_are_not_needed(seed, kind):
    graph = complete(seed, 9, kind)
    worth, prices, sets = worth_of(graph), part(seed, 9)[0] * 3, all_sets(9)
    values = surplus(true_weights(graph), prices, sets)
    changed = surplus(worth.matrix(prices), prices, sets)
    assert changed.max() == pytest.approx(values.max())
    pairs = np.argwhere(np.triu(worth.exclusive(prices)))
    both = [sets[:, u] & sets[:, v] for u, v in pairs]
    without = ~np.array(both, dtype=bool).reshape(-1, len(sets)).any(axis=0)
    assert values[without].max() == pytest.approx(values.max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_bounds_on_parts_hold_for_all_their_sets(seed, kind):
    graph = complete(seed, 8, kind)
    prices, inside, others = part(seed + 50, 8)
    prices *= max(1.0, float(np.maximum(0.0, graph.weights).sum()) / 20)
    worth = worth_of(graph)
    matrix, exclusive = worth.matrix(prices), worth.exclusive(prices)
    most = surplus(matrix, prices, within(all_sets(8), inside, others)).max()

    kept, gone = core(matrix, prices, np.array(inside), others)
    problem = BestSet(matrix, prices, np.array(inside), kept, gone)
    assert problem.bound >= most
    for _ in range(15 if len(kept) else 0):
        problem.improve(Clock(None))
        assert problem.bound >= most - 1e-9
    if len(kept):
        size = np.abs(matrix).sum()
        assert problem.bound <= most + 0.02 * size  # and are of some use

    proof = tried(matrix, exclusive, prices, np.array(inside), others, -inf, 10_000)
    free = within(all_sets(8), inside, others)
    both = [free[:, u] & free[:, v] for u, v in np.argwhere(exclusive)]
    allowed = free[~np.array(both, dtype=bool).reshape(-1, len(free)).any(axis=0)]
    if not exclusive[np.ix_(inside, inside)].any():
        assert proof[1] == pytest.approx(surplus(matrix, prices, allowed).max())
        assert surplus(matrix, prices, proof[2][None])[0] == pytest.approx(proof[1])

    whole = [[int(w * 2**SHIFT) for w in row] for row in matrix]
    number = lambda said: int(said * 2**SHIFT)  # noqa: E731
    heaviest = number(-matrix.min())
    known = Sets(whole, [*map(number, prices)], heaviest, number, lambda steps: None)
    known._exclude = [set(np.flatnonzero(row).tolist()) for row in exclusive]
    later = set(np.flatnonzero(others).tolist())
    for tree, bound in ((problem.leaf, problem.bound), (proof[0], proof[1])):
        above = known.above(inside, later, tree.to_dict()) / 4 / 2**SHIFT
        assert above == pytest.approx(bound, abs=1e-6 * (1 + np.abs(matrix).sum()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_lp_over_clusters_is_solved(kind):
    graph = complete(1, 8, kind)
    worth, sets = worth_of(graph), all_sets(8)
    clusters = Clusters.of(worth, np.eye(8, dtype=bool))
    for _ in range(200):
        clusters.improve(Clock(None))
        if clusters.open < 1e-9:
            break
    exact = linprog(
        np.ones(8), -sets.astype(float), -surplus(true_weights(graph), np.zeros(8), sets)
    )
    assert clusters.least == pytest.approx(exact.fun, abs=1e-6)
    assert clusters.centre.sum() == pytest.approx(exact.fun, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tries", [0, 300])
@pytest.mark.parametrize("seed", range(4))
def test_a_proof_holds_and_the_checker_agrees(seed, tries, kind, monkeypatch):
    """Whatever the prices: good ones, bad ones, none at all."""
    monkeypatch.setattr(surplus_proof, "TRIES", max(1, tries))
    monkeypatch.setattr(surplus_proof, "TRIES_EXCLUSIVE", max(1, tries))
    graph = complete(seed + 10, 9, kind)
    worth, rng = worth_of(graph), np.random.default_rng(seed)
    clusters = Clusters.of(worth, np.eye(9, dtype=bool))
    for _ in range(30):
        clusters.improve(Clock(None))
    optimum = brute_force(graph)
    size = float(np.abs(graph.weights).sum())
    for prices in (clusters.centre, clusters.centre * rng.random(9), np.zeros(9)):
        found = prove(worth, prices, 10.0 * size, Clock(None))
        assert found.bound <= optimum + 1e-9 * size
        assert found.why is not None
        assert verified(graph, found.why) >= found.bound - 1e-9 * size
        assert verified(graph, found.why) <= optimum + 1e-9 * size
    good = prove(worth, clusters.centre, 1e-3 * size, Clock(None))
    lp = float(graph.weights.sum()) - clusters.least
    # What is given up is the slack, unless it was not enough, or a set was overlooked.
    assert good.why is None or len(good.seen) or good.bound >= lp - 0.02 * size
    generous = prove(worth, clusters.centre, 0.2 * size, Clock(None))
    assert generous.bound >= float(graph.weights.sum()) - clusters.centre.sum() - 0.21 * size


@pytest.mark.parametrize("kind", ["whole", "forbidden"])
def test_pairs_that_are_apart_or_joined(kind):
    graph = complete(3, 8, kind)
    program = SemidefiniteProgram.of(8, graph.weights).with_apart(2).with_joined(20)
    u, v = (int(ends[20]) for ends in np.triu_indices(8, 1))
    worth = worth_of(graph).with_apart(0, 3).with_joined(v, u)
    same = np.triu_indices(7, 1)
    assert worth.weights[same].tolist() == program.weights.tolist()
    assert worth.apart[same].tolist() == program.apart.tolist()
    assert (worth.weights == worth.weights.T).all()
    assert not worth.weights.diagonal().any()
    assert not worth.apart.diagonal().any()
    assert worth.off > 0.0
    u, v = np.triu_indices(7, 1)
    smaller = completed(Graph(7, np.column_stack([u, v]), program.weights))[0]
    apart = Graph(7, smaller.edges, np.where(program.apart, -1e6, smaller.weights))
    optimum = brute_force(apart) + 1e6 * program.apart.sum() + program.weights[program.apart].sum()
    clusters = Clusters.of(worth, np.eye(7, dtype=bool))
    for _ in range(60):
        clusters.improve(Clock(None))
    found = prove(worth, clusters.centre, 1e-3 * np.abs(program.weights).sum(), Clock(None))
    assert optimum - 0.05 * np.abs(graph.weights).sum() <= found.bound <= optimum + 1e-6


def forgeries(said: dict) -> list[dict]:
    """The same proof, but for what would make its bound better."""
    prices, sets, n = said["prices"], said["sets"], len(said["prices"])
    leaves = [
        lambda v: {"gone": [u for u in range(n) if u != v]},
        lambda v: {"gone": [], "rows": [[-1.0, 0, 1, 2]], "gram": [1.0]},
        lambda v: {"gone": [], "rows": [[1.0, 0, 1, n + 1]], "gram": [1.0]},
        lambda v: {"gone": [], "rows": [[1.0, -2, 0, 1, 2]], "gram": [1.0]},
        lambda v: {"gone": [], "rows": [], "gram": [-1.0, [1] * (n - v)]},
        lambda v: {"gone": [], "rows": [], "gram": [1.0, [0.5] * (n - v)]},
        lambda v: True,
        lambda v: [v, 0, 0],
        lambda v: [n, 0, 0],
    ]
    return [
        *({**said, "sets": sets[:k] + sets[k + 1 :]} for k in range(n)),
        *({**said, "sets": [*sets, sets[k]]} for k in range(n)),
        *({**said, "sets": [[v, leaf(v)] for v in range(n)]} for leaf in leaves),
        *({**said, "prices": [factor * p for p in prices]} for factor in (0.5, -1.0, 1e300)),
        {**said, "prices": prices[1:]},
        {**said, "heaviest": -1.0},
        {**said, "heaviest": 1e300},
    ]


@pytest.mark.parametrize("kind", ["whole", "forbidden", "signs"])
def test_forgeries_prove_nothing_that_is_wrong(kind):
    graph = complete(5, 8, kind)
    worth = worth_of(graph)
    clusters = Clusters.of(worth, np.eye(8, dtype=bool))
    for _ in range(60):
        clusters.improve(Clock(None))
    found = prove(worth, clusters.centre, 1.0, Clock(None))
    optimum, said = brute_force(graph), found.why.to_dict(8, [])
    assert verified(graph, said) <= optimum
    refused = 0
    for forged in forgeries(said):
        try:
            assert verified(graph, forged) <= optimum
        except (Rejected, ValueError, KeyError, TypeError, IndexError):
            refused += 1  # the checker makes Rejected of all of them
    assert refused >= 20


def paid(weight: int, leaf: object) -> float:
    """The steps that a leaf asks for, of sets with one of 150 nodes; all pairs weigh the same."""
    steps, nodes = [], range(150)
    worth = [[weight * (i != j) for j in nodes] for i in nodes]
    Sets(worth, [0] * 150, 0, int, steps.append).above([0], {*nodes} - {0}, leaf)
    return sum(steps)


def test_leaves_are_paid_for_by_what_they_take():
    """Those by classes by nodes that are not excluded: proofs have many such, of a few bytes."""
    assert paid(-1, 0) < 400 < 149**2 / 32 < paid(1, 0)
    assert paid(1, {"gone": []}) > 149**2 / 4


@pytest.mark.parametrize("node", [True, 1.0, "1", 0, 3])
def test_what_divides_sets_is_a_node_that_may_be_inside(node):
    worth = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    sets = Sets(worth, [0, 0, 0], 0, int, lambda steps: None)
    assert sets.above([0], {1, 2}, [1, 0, 0]) == 12
    with pytest.raises(ValueError, match="decided twice, or is none"):
        sets.above([0], {1, 2}, [node, 0, 0])


def test_anchors_are_all_nodes_and_begin_with_those_that_gain_least():
    worth = np.array([[0, 5, 1], [5, 0, -2], [1, -2, 0]], dtype=float)
    assert anchors(worth, np.zeros(3)).tolist() == [2, 0, 1]
    assert anchors(worth, np.array([9.0, 0, 0])).tolist() == [0, 1, 2]


def test_sets_that_were_overlooked_are_seen_and_learned():
    graph = complete(2, 9, "attractive")  # all nodes are one cluster
    clusters = Clusters.of(worth_of(graph), np.eye(9, dtype=bool))
    clusters.centre = np.full(9, 1e-3)
    found = prove(clusters.worth, clusters.centre, 1e-6, Clock(None))
    assert len(found.seen)
    clusters.learn(found.seen)
    assert len(clusters.sets) > 9
    worth = surplus(true_weights(graph), clusters.centre, found.seen)
    assert worth.max() <= 1e-9


def test_threads_change_nothing():
    graph = complete(4, 26, "signs")
    worth = worth_of(graph)
    results = []
    for threads in (1, 3):
        with open_threads(threads):
            clusters = Clusters.of(worth, np.eye(26, dtype=bool))
            clock = Clock(None)
            for _ in range(40):
                clusters.improve(clock)
            found = prove(worth, clusters.centre, 2.0, clock)
            results.append((found.bound, clock.work, found.why and found.why.to_dict(26, [])))
    assert results[0] == results[1]


def test_a_limit_stops_a_proof():
    worth = worth_of(complete(4, 26, "signs"))
    with pytest.raises(TimeLimitReached):
        prove(worth, np.zeros(26), 1.0, Clock(None, work_limit=1e3))
