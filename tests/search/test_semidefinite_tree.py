"""Branch and bound by semidefinite programs: every leaf is proven, together they are everything."""

from math import inf

import numpy as np
import pytest
from certificates import proven_bound
from determinism import facts
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import Graph, Options, solve, verify
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.base.workers import open_threads
from bdcc_jax.instance.completion import completed
from bdcc_jax.proofs.branching_proof import Branching
from bdcc_jax.proofs.semidefinite_leaf import SemidefiniteLeaf
from bdcc_jax.search import semidefinite_tree
from bdcc_jax.search.bounds import Bounds
from bdcc_jax.search.semidefinite_tree import SemidefiniteTree, is_suited


def whole(seed: int, n: int, largest: int = 9) -> Graph:
    """A complete graph with whole weights."""
    rng = np.random.default_rng(seed)
    edges = np.column_stack(np.triu_indices(n, 1))
    weights = rng.integers(-largest, largest + 1, size=len(edges)).astype(float)
    return completed(Graph(n, edges, weights))[0]


def divide_soon(monkeypatch) -> None:
    """Leaves are divided before their bounds are good."""
    for name, value in {"WIDE": inf, "PAYS": 1.0, "PATIENCE": 1, "ITERATIONS": 8}.items():
        monkeypatch.setattr(semidefinite_tree, name, value)


def tree_of(graph: Graph, proof: Branching | None = None) -> tuple[SemidefiniteTree, Bounds]:
    bounds = Bounds(graph)
    look = lambda x: bounds.offer(graph.components(x <= 0.5))  # noqa: E731
    return SemidefiniteTree(proof or Branching(graph), bounds, Clock(None), look), bounds


def proven(graph: Graph, tree: SemidefiniteTree) -> float:
    """What the checker makes of it, which rounds up to multiples of the unit."""
    unit = 2.0**100
    pairs = zip(map(tuple, graph.edges.tolist()), graph.weights.tolist(), strict=True)
    weights = {pair: int(w * unit) for pair, w in pairs}
    return proven_bound(100, graph.n, weights, tree.lower_bound.proof.to_dict()) / unit


def decisions_hold(graph: Graph, tree: SemidefiniteTree, cuts: np.ndarray) -> None:
    """Every clustering is in one leaf, and costs at least what that says."""
    costs, found = cuts @ graph.weights, np.zeros(len(cuts), dtype=int)
    bound = {leaf.number: leaf.bound for leaf in tree._leaves}
    for number, decisions, _ in tree.proof.leaves():
        inside = (cuts[:, list(decisions)] == list(decisions.values())).all(axis=1)
        found += inside
        assert bound[number] <= costs[inside].min(initial=inf) + 1e-9
    assert (found == 1).all()


@pytest.mark.parametrize("pays", [semidefinite_tree.PAYS, 1.0])
@pytest.mark.parametrize("seed", range(12))
def test_every_leaf_is_a_bound_on_its_clusterings_at_any_time(seed, pays, monkeypatch):
    if pays == 1.0:  # every leaf is divided soon
        divide_soon(monkeypatch)
    graph = whole(seed, 7 + seed % 2)
    cuts, optimum = all_cuts(graph), brute_force(graph)
    tree, bounds = tree_of(graph)
    before = -inf
    while tree.lower_bound.value < bounds.cutoff:
        tree.grow()
        assert before <= tree.lower_bound.value
        before = tree.lower_bound.value
        decisions_hold(graph, tree, cuts)
        if len(tree.proof.nodes) < 60:  # it takes its time
            assert tree.lower_bound.value - 1e-9 <= proven(graph, tree) <= optimum
    assert bounds.upper == optimum == proven(graph, tree)


def closed(seed: int) -> None:
    """A complete graph of any size and scale, closed by the tree: as brute force has it."""
    rng = np.random.default_rng(seed)
    whole_weights = whole(seed, int(rng.integers(2, 9)), int(rng.choice([1, 2, 9, 1000])))
    scale = float(rng.choice([1.0, 0.5, 3.0, 2.0**40, 2.0**-40]))
    graph = completed(Graph(whole_weights.n, whole_weights.edges, whole_weights.weights * scale))[0]
    tree, bounds = tree_of(graph)
    while tree.lower_bound.value < bounds.cutoff:
        assert not tree.exhausted
        tree.grow()
    assert bounds.upper == brute_force(graph) == proven(graph, tree)


@pytest.mark.parametrize("seed", range(100, 160))
def test_trees_end_with_the_optimum(seed):
    closed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_many_trees_end_with_the_optimum(batch):
    for seed in range(1000 + 200 * batch, 1200 + 200 * batch):
        closed(seed)


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_tree_that_was_written_goes_on(seed, divided, monkeypatch):
    divide_soon(monkeypatch)
    graph = whole(seed, 8)
    tree, bounds = tree_of(graph)
    for _ in range(5 if divided else 1):
        if tree.lower_bound.value < bounds.cutoff:
            tree.grow()
    assert tree.proof.begun
    assert tree.proof.semidefinite
    assert divided == (len(tree.proof.nodes) > 1)
    again, _ = tree_of(graph, Branching.from_arrays(graph, tree.proof.to_arrays()))
    assert again.lower_bound.value == pytest.approx(tree.lower_bound.value, abs=1e-6)
    assert proven(graph, again) == pytest.approx(proven(graph, tree), abs=1.0)
    decisions_hold(graph, again, all_cuts(graph))
    while again.lower_bound.value < again._bounds.cutoff:
        again.grow()
    assert proven(graph, again) == brute_force(graph)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    divide_soon(monkeypatch)
    found = []
    for threads in (1, 3):
        graph = whole(3, 24)
        tree, _ = tree_of(graph)
        with open_threads(threads):
            for _ in range(8):
                tree.grow()
        found.append((tree.lower_bound.value, len(tree.proof.nodes), tree._clock.work))
    assert found[0] == found[1]
    assert found[0][1] > 8


def test_a_limit_keeps_what_is_done(monkeypatch):
    divide_soon(monkeypatch)
    graph = whole(1, 8)
    tree, bounds = tree_of(graph)
    settle, settled = SemidefiniteTree._settle, []

    def settle_some(self, half, cutoff, clock):
        settled.append(half)
        if len(settled) % 4 == 0:
            raise TimeLimitReached
        return settle(self, half, cutoff, clock)

    monkeypatch.setattr(SemidefiniteTree, "_settle", settle_some)
    interrupted = 0
    while tree.lower_bound.value < bounds.cutoff and not tree.exhausted and interrupted < 12:
        try:
            tree.grow()
        except TimeLimitReached:
            interrupted += 1
        decisions_hold(graph, tree, all_cuts(graph))
        assert proven(graph, tree) <= brute_force(graph)
    assert interrupted > 0


@pytest.mark.parametrize("density", [1.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_solves_end_with_certificates_that_hold(seed, density):
    """The LP's own tree, on weights without a unit, comes to the same value."""
    rng = np.random.default_rng(seed)
    graph = whole(seed, 26)
    chosen = rng.random(graph.m) < density
    graph = Graph(graph.n, graph.edges[chosen], graph.weights[chosen])
    result = solve(graph)
    assert result.status == "optimal"
    assert verify(graph, result.certificate).lower_bound == result.objective
    shaken = graph.weights * (1.0 + 1e-9 * rng.random(graph.m))
    other = solve(Graph(graph.n, graph.edges, shaken))
    assert other.status == "optimal"
    assert other.objective == pytest.approx(result.objective, abs=1e-4)


def has_leaves(proof: dict) -> bool:
    return '"gram"' in str(proof).replace("'", '"')


def test_certificates_have_matrices():
    graph = whole(2, 30)
    result = solve(graph)
    assert result.status == "optimal"
    assert has_leaves(result.certificate["proof"])
    assert verify(graph, result.certificate).lower_bound == result.objective


def test_runs_are_the_same():
    graph = whole(5, 28)
    assert has_leaves(solve(graph).certificate["proof"])
    one, three = (solve(graph, options=Options(threads=k)) for k in (1, 3))
    assert facts(solve(graph)) == facts(one) == facts(three)


def test_weights_without_a_unit_are_left_to_the_lp():
    graph = random_graph(np.random.default_rng(0), 24, 1.0)
    assert not is_suited(graph, Bounds(graph))
    assert is_suited(whole(0, 24), Bounds(whole(0, 24)))
    finer = completed(Graph(3, [(0, 1), (1, 2)], [1.0, -(2.0**52)]))[0]
    assert not is_suited(finer, Bounds(finer))


def test_a_leaf_without_decisions_is_written_without_them():
    graph = whole(1, 6)
    tree, _ = tree_of(graph)
    tree.grow()
    (leaf,) = tree.proof.nodes
    assert isinstance(leaf, SemidefiniteLeaf)
    assert leaf.to_dict(6, [])["rule"] == "lp"
    assert leaf.to_dict(7, [[0, 3]])["kept"] == [[0, 3]]
