"""Prices in branch and bound: the same optimum as without, and proofs that the checker accepts."""

import numpy as np
import pytest
from certificates import proven_bound
from oracles import brute_force

from bdcc_jax import Graph, Options, solve, verify
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.completion import completed
from bdcc_jax.proofs.branching_proof import Branching
from bdcc_jax.search import dense_tree, priced_leaf, priced_tree, semidefinite_tree
from bdcc_jax.search.bounds import Bounds
from bdcc_jax.search.dense_tree import DenseTree
from bdcc_jax.search.priced_tree import PricedTree


def graph_of(seed: int, n: int, kind: str) -> Graph:
    rng = np.random.default_rng(seed)
    edges = np.column_stack(np.triu_indices(n, 1))
    m = len(edges)
    weights = {
        "whole": lambda: rng.integers(-9, 10, m),
        "signs": lambda: rng.choice([-1, 1], m, p=[0.6, 0.4]),
        "forbidden": lambda: np.where(rng.random(m) < 0.2, -9999, rng.integers(0, 101, m)),
    }[kind]()
    return Graph(n, edges, weights.astype(float))


@pytest.fixture
def at_once(monkeypatch):
    """Prices before the LP and rows have done much, whether they gain much or not."""
    monkeypatch.setattr(semidefinite_tree, "FIRST", 0.0)
    monkeypatch.setattr(semidefinite_tree, "FIRST_FAR", 0.0)
    monkeypatch.setattr(dense_tree, "BEFORE_PRICES", 0.0)
    monkeypatch.setattr(dense_tree, "PROMISES", -np.inf)
    monkeypatch.setattr(semidefinite_tree, "WIDE", np.inf)
    monkeypatch.setattr(semidefinite_tree, "PATIENCE", 1)
    monkeypatch.setattr(semidefinite_tree, "PAYS", 1.0)
    monkeypatch.setattr(priced_leaf, "CLOSES", 0.0)
    monkeypatch.setattr(priced_tree, "MANY", 2)
    priced = []
    grow = PricedTree.grow

    def note(self):
        grow(self)
        if self.proof.priced:
            priced.append(len(self.proof.priced))

    monkeypatch.setattr(PricedTree, "grow", note)
    return priced


@pytest.mark.parametrize(
    ("kind", "n", "seed"),
    [
        ("whole", 24, 0),
        ("whole", 28, 0),
        ("signs", 28, 1),
        ("forbidden", 24, 0),
        ("forbidden", 28, 1),
    ],
)
def test_the_optimum_is_proven_and_the_checker_agrees(kind, n, seed, at_once):
    graph = graph_of(seed, n, kind)
    result = solve(graph)
    assert result.status == "optimal"
    assert at_once  # some bounds were by prices
    verdict = verify(graph, result.certificate)
    assert verdict.lower_bound == verdict.upper_bound == result.objective


@pytest.mark.parametrize("kind", ["whole", "signs", "forbidden"])
@pytest.mark.parametrize("seed", range(6))
def test_what_a_tree_has_proven_holds_at_any_time(seed, kind, at_once):
    graph = completed(graph_of(seed, 8, kind))[0]
    optimum, unit = brute_force(graph), 2.0**100
    pairs = zip(map(tuple, graph.edges.tolist()), graph.weights.tolist(), strict=True)
    weights = {pair: int(w * unit) for pair, w in pairs}
    bounds = Bounds(graph)
    bounds.offer(np.arange(8) % 3)  # not a good one: there is something to be done
    tree = DenseTree(Branching(graph), bounds, Clock(None), lambda x: None)
    before = tree.lower_bound.value
    for _ in range(40):
        if tree.lower_bound.value >= bounds.cutoff:
            break
        tree.grow()
        found = tree.lower_bound
        assert before - 1e-9 <= found.value
        before = found.value
        proven = proven_bound(100, graph.n, weights, found.proof.to_dict()) / unit
        assert found.value - 1e-9 <= proven
        assert proven <= max(optimum, bounds.upper)
        assert min(found.value, bounds.cutoff) <= optimum


def test_the_value_is_the_same_without_prices(at_once, monkeypatch):
    graph = graph_of(0, 24, "whole")
    result = solve(graph)
    monkeypatch.setattr(dense_tree, "BEFORE_PRICES", np.inf)
    at_once.clear()
    without = solve(graph)
    assert not at_once
    assert result.objective == without.objective


def test_threads_change_nothing(at_once):
    graph = graph_of(0, 28, "whole")
    one, two = (solve(graph, options=Options(threads=k)) for k in (1, 2))
    assert one.certificate["proof"] == two.certificate["proof"]
    assert one.labels.tolist() == two.labels.tolist()
    assert at_once


@pytest.mark.parametrize("limit", [0.05, 0.2, 0.4])
def test_a_limit_leaves_a_bound_that_holds(limit, at_once):
    graph = graph_of(0, 32, "whole")
    result = solve(graph, time_limit=limit)
    exact = solve(graph)
    assert result.lower_bound <= exact.objective <= result.objective
    assert verify(graph, result.certificate).lower_bound >= result.lower_bound


def test_a_tree_with_prices_goes_on_from_a_checkpoint(at_once, tmp_path):
    graph, file = graph_of(0, 32, "whole"), tmp_path / "run.npz"
    rounds = 0

    def stop(progress):
        nonlocal rounds
        rounds += 1
        return bool(at_once)

    first = solve(graph, callback=stop, checkpoint=file)
    assert at_once
    again = solve(graph, checkpoint=file)
    assert again.status == "optimal"
    assert again.objective <= first.objective
    assert again.lower_bound >= first.lower_bound
    assert verify(graph, again.certificate).lower_bound == again.objective


def test_an_instance_whose_pairs_exclude_each_other_has_prices_at_once():
    patience = [
        dense_tree._patience(completed(graph_of(1, 30, kind))[0]) for kind in ("forbidden", "whole")
    ]
    assert patience == [0.0, dense_tree.BEFORE_PRICES]
