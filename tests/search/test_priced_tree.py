"""The tree of prices: every leaf is proven, together they are everything, whatever happens."""

from contextlib import suppress
from math import inf

import numpy as np
import pytest
from certificates import proven_bound
from oracles import all_cuts, brute_force
from threadpoolctl import threadpool_info, threadpool_limits

from bdcc_jax import Graph
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.base.workers import open_threads
from bdcc_jax.instance.completion import completed
from bdcc_jax.lp.master import MasterFailed
from bdcc_jax.proofs.branching_proof import Branching
from bdcc_jax.search import dense_tree, priced_leaf, priced_tree
from bdcc_jax.search.bounds import Bounds
from bdcc_jax.search.dense_tree import DenseTree
from bdcc_jax.search.priced_leaf import PricedLeaf
from bdcc_jax.search.priced_tree import PricedTree
from bdcc_jax.search.semidefinite_tree import SemidefiniteTree


def graph_of(seed: int, n: int) -> Graph:
    rng = np.random.default_rng(seed)
    edges = np.column_stack(np.triu_indices(n, 1))
    weights = [rng.integers(-9, 10, len(edges)), rng.choice([-1, 1], len(edges))][seed % 2]
    return completed(Graph(n, edges, weights.astype(float)))[0]


def tree_of(graph: Graph, known: np.ndarray | None = None) -> tuple[PricedTree, Bounds]:
    bounds = Bounds(graph)
    if known is not None:
        bounds.offer(known)
    look = lambda x: bounds.offer(graph.components(x <= 0.5))  # noqa: E731
    tree = PricedTree(graph, bounds, Clock(None), look)
    tree.begin()
    return tree, bounds


@pytest.fixture
def shy(monkeypatch):
    """No prices close a leaf before some were divided, and bounds are proven all the time."""
    closable, worth = PricedLeaf.is_closable, PricedLeaf.is_worth_a_bound

    def is_closable(self, goal):
        return self.number > 8 and closable(self, goal)

    def is_worth_a_bound(self, known, goal):
        return self.estimate < goal.cutoff and worth(self, known, goal)

    monkeypatch.setattr(PricedLeaf, "is_closable", is_closable)
    monkeypatch.setattr(PricedLeaf, "is_worth_a_bound", is_worth_a_bound)
    monkeypatch.setattr(priced_leaf, "CLOSES", 0.05)
    monkeypatch.setattr(priced_tree, "MANY", 2)


def proven(graph: Graph, tree: PricedTree) -> float:
    unit = 2.0**100
    pairs = zip(map(tuple, graph.edges.tolist()), graph.weights.tolist(), strict=True)
    weights = {pair: int(w * unit) for pair, w in pairs}
    return proven_bound(100, graph.n, weights, tree.lower_bound.proof.to_dict()) / unit


def decisions_hold(graph: Graph, tree: PricedTree, cuts: np.ndarray) -> None:
    """Every clustering is in one leaf, and costs at least what that says, if it says anything."""
    costs, found = cuts @ graph.weights, np.zeros(len(cuts), dtype=int)
    bound = {leaf.number: leaf.bound for leaf in tree._leaves}
    for number, decisions, _ in tree.proof.leaves():
        inside = (cuts[:, list(decisions)] == list(decisions.values())).all(axis=1)
        found += inside
        least = costs[inside].min(initial=inf)
        assert bound.get(number, tree._bounds.cutoff) <= least + 1e-9 or least >= costs.min()
        assert bound.get(number, -inf) <= least + 1e-9
    assert (found == 1).all()


@pytest.mark.parametrize("seed", range(12))
def test_every_leaf_is_a_bound_on_its_clusterings_at_any_time(seed, shy):
    graph = graph_of(seed, 7 + seed % 2)
    cuts, optimum = all_cuts(graph), brute_force(graph)
    tree, bounds = tree_of(graph)
    before, most = -inf, 0
    for _ in range(200):
        if tree.lower_bound.value >= bounds.cutoff or tree.exhausted:
            break
        tree.grow()
        most = max(most, len(tree.proof.nodes))
        assert before <= tree.lower_bound.value
        before = tree.lower_bound.value
        decisions_hold(graph, tree, cuts)
        if before > -inf:
            assert tree.lower_bound.value - 1e-9 <= proven(graph, tree) <= optimum
    assert most > 8
    assert bounds.upper == optimum == proven(graph, tree)


@pytest.mark.parametrize("seed", range(100, 130))
def test_trees_end_with_the_optimum(seed):
    graph = graph_of(seed, 5 + seed % 5)
    tree, bounds = tree_of(graph)
    while tree.lower_bound.value < bounds.cutoff:
        assert not tree.exhausted
        tree.grow()
    assert bounds.upper == brute_force(graph) == proven(graph, tree)


@pytest.mark.parametrize("seed", range(6))
def test_limits_and_interrupts_leave_a_tree(seed, shy, monkeypatch):
    """Wherever they come: in LPs over clusters, in proofs, or while clusterings are looked for."""
    graph = graph_of(seed, 8)
    cuts, optimum, rng = all_cuts(graph), brute_force(graph), np.random.default_rng(seed)
    tree, bounds = tree_of(graph)

    def sometimes(function):
        def stops(*arguments):
            if rng.random() < 0.2:
                raise TimeLimitReached if rng.random() < 0.5 else KeyboardInterrupt
            return function(*arguments)

        return stops

    for name in ("solve", "proof"):
        monkeypatch.setattr(PricedLeaf, name, sometimes(getattr(PricedLeaf, name)))
    tree._look_around = sometimes(tree._look_around)
    stopped = 0
    for _ in range(400):
        if tree.lower_bound.value >= bounds.cutoff or tree.exhausted:
            break
        try:
            tree.grow()
        except (TimeLimitReached, KeyboardInterrupt):
            stopped += 1
        decisions_hold(graph, tree, cuts)
    assert stopped
    if tree.lower_bound.value > -inf:
        assert tree.lower_bound.value - 1e-9 <= proven(graph, tree) <= optimum


def test_the_number_of_threads_changes_nothing(shy):
    found = []
    for threads in (1, 3):
        graph = graph_of(3, 24)
        tree, _ = tree_of(graph, np.arange(24) % 5)
        with open_threads(threads):
            for _ in range(12):
                if not tree.exhausted:
                    tree.grow()
        found.append((tree.lower_bound.value, len(tree.proof.nodes), tree._clock.work))
    assert found[0] == found[1]
    assert found[0][1] > 8


def test_blas_has_one_thread_from_the_root_on(monkeypatch):
    """How many it has may change last bits, and with them the tree."""
    seen, real = set(), PricedLeaf.solve

    def solve(self, *arguments):
        blas = [each for each in threadpool_info() if each["user_api"] == "blas"]
        seen.update(each["num_threads"] for each in blas)
        real(self, *arguments)

    monkeypatch.setattr(PricedLeaf, "solve", solve)
    with threadpool_limits(2, user_api="blas"):
        tree_of(graph_of(0, 9))
    assert seen == {1}


def test_what_was_proven_before_a_limit_is_known_of_the_instance(shy, monkeypatch):
    """The tree is not asked again: a limit is the end of the solve."""
    tree, bounds = tree_of(graph_of(3, 8))
    before, prove = bounds.lower, PricedTree._prove

    def stops(self, leaves):
        prove(self, leaves)
        if self.lower_bound.value > before:
            raise TimeLimitReached

    monkeypatch.setattr(PricedTree, "_prove", stops)
    with suppress(TimeLimitReached):
        while not tree.exhausted:
            tree.grow()
    assert bounds.lower >= tree.lower_bound.value > before
    assert bounds.proof.to_dict() == tree.lower_bound.proof.to_dict()


def test_more_effort_follows_where_a_proof_is_given_up(monkeypatch):
    """And after the most of it the leaf is divided, so that the tree ends all the same."""
    graph = graph_of(1, 9)
    tree, bounds = tree_of(graph)
    efforts, real = [], priced_leaf.prove

    def given_up(*arguments):
        found = real(*arguments)
        efforts.append(arguments[4])
        gives_up = {"bound": -inf, "why": None, "seen": found.seen[:0]}
        return found._replace(**gives_up) if len(efforts) <= 3 else found

    monkeypatch.setattr(priced_leaf, "prove", given_up)
    while tree.lower_bound.value < bounds.cutoff:
        assert not tree.exhausted
        tree.grow()
    assert efforts[:3] == [1, 4, 16]
    assert len(tree.proof.nodes) > 1
    assert bounds.upper == brute_force(graph) == proven(graph, tree)


def test_rows_go_on_where_the_lp_over_clusters_fails(monkeypatch):
    graph = graph_of(0, 9)
    monkeypatch.setattr(dense_tree, "BEFORE_PRICES", 0.0)
    monkeypatch.setattr(dense_tree, "PROMISES", -inf)
    monkeypatch.setattr(SemidefiniteTree, "is_settled", True)  # prices are tried at once
    bounds = Bounds(graph)
    look = lambda x: bounds.offer(graph.components(x <= 0.5))  # noqa: E731
    tried = []

    def fails(*arguments):
        tried.append(1)
        raise MasterFailed("no")

    monkeypatch.setattr(PricedLeaf, "solve", fails)
    tree = DenseTree(Branching(graph), bounds, Clock(None), look)
    while tree.lower_bound.value < bounds.cutoff:
        assert not tree.exhausted
        tree.grow()
    assert tried == [1]
    assert bounds.upper == brute_force(graph)


def test_rows_go_on_where_prices_can_do_no_more(monkeypatch):
    graph = graph_of(0, 9)
    monkeypatch.setattr(dense_tree, "BEFORE_PRICES", 0.0)
    monkeypatch.setattr(dense_tree, "PROMISES", -inf)
    monkeypatch.setattr(PricedTree, "exhausted", True)
    monkeypatch.setattr(SemidefiniteTree, "is_settled", True)  # prices are tried at once
    bounds = Bounds(graph)
    look = lambda x: bounds.offer(graph.components(x <= 0.5))  # noqa: E731
    tree = DenseTree(Branching(graph), bounds, Clock(None), look)
    while tree.lower_bound.value < bounds.cutoff:
        assert not tree.exhausted
        tree.grow()
    assert tree._prices is not None
    assert bounds.upper == brute_force(graph)


def test_prices_that_promise_little_do_not_take_over(monkeypatch):
    graph = graph_of(2, 24)
    monkeypatch.setattr(dense_tree, "BEFORE_PRICES", 0.0)
    monkeypatch.setattr(dense_tree, "PROMISES", 1.5)
    begun = []
    begin = PricedTree.begin
    monkeypatch.setattr(PricedTree, "begin", lambda self: begun.append(begin(self)))
    bounds = Bounds(graph)
    tree = DenseTree(Branching(graph), bounds, Clock(None), lambda x: None)
    for _ in range(40):
        if tree.lower_bound.value < bounds.cutoff and not tree.exhausted:
            tree.grow()
    assert begun == [None]  # once
    assert tree._prices is None
