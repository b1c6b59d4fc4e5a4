"""Branch and bound over the LP: every leaf is proven, and together they are everything."""

import pickle
from math import inf

import numpy as np
import pytest
from certificates import proven_bound
from families import wheel
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_cuts, brute_force, random_graph

from bdcc_jax import Graph, Options, solve, verify
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.completion import completed
from bdcc_jax.lp.lagrangian import Lagrangian
from bdcc_jax.lp.master import Master, MasterFailed
from bdcc_jax.lp.rough_master import RoughMaster
from bdcc_jax.lp.rows import Rows
from bdcc_jax.proofs.branching_proof import Branching, Contradiction, Fork, Leaf
from bdcc_jax.search.bounds import Bounds
from bdcc_jax.search.branching import BranchAndBound, Node
from bdcc_jax.separation.complete import CompleteGraphRows
from bdcc_jax.separation.separation import Separation

WHOLE = Options(presolve=False, integer="whole", heuristics=False, odd_wheels=False)
CYCLES = Options(presolve=False, heuristics=False, odd_wheels=False)


def tree_of(
    graph: Graph, proof: Branching | None = None, *, rough: bool = False
) -> tuple[BranchAndBound, Bounds]:
    proof = proof or Branching(graph)
    bounds = Bounds(graph)
    master = RoughMaster(graph.weights, lambda: bounds.cutoff) if rough else Master(graph.weights)
    master.add(proof.rows)
    look = lambda x: bounds.offer(graph.components(x <= 0.5))  # noqa: E731
    return BranchAndBound(proof, master, bounds, Clock(None), look), bounds


def leaves(tree: BranchAndBound) -> list[Node]:
    return sorted(tree._leaves)


def proven(graph: Graph, tree: BranchAndBound) -> float:
    """What the checker makes of it."""
    unit = 2.0**100
    pairs = zip(map(tuple, graph.edges.tolist()), graph.weights.tolist(), strict=True)
    weights = {pair: int(w * unit) for pair, w in pairs}
    return proven_bound(100, graph.n, weights, tree.lower_bound.proof.to_dict()) / unit


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("kind", ["normal", "ties"])
@pytest.mark.parametrize("seed", range(6))
def test_every_leaf_is_a_bound_on_its_clusterings_at_any_time(seed, kind, rough, monkeypatch):
    if rough:  # without rows that would close all of it at once
        monkeypatch.setattr(CompleteGraphRows, "__call__", lambda *_: Separation.nothing_violated())
    graph = random_graph(np.random.default_rng(seed), 9, (0.6, 1.0)[seed % 2], kind)
    graph = completed(graph)[0] if rough else graph
    cuts, optimum = all_cuts(graph), brute_force(graph)
    costs = cuts @ graph.weights
    tree, bounds = tree_of(graph, rough=rough)
    before = -inf
    while tree.lower_bound.value < bounds.cutoff:
        tree.grow()
        assert before <= tree.lower_bound.value
        before = tree.lower_bound.value
        found = np.zeros(len(cuts), dtype=int)
        for leaf in leaves(tree):
            inside = (cuts[:, list(leaf.cut)] == list(leaf.cut.values())).all(axis=1)
            found += inside
            assert leaf.bound <= costs[inside].min(initial=inf) + 1e-12
        assert (found == 1).all()  # every clustering is in exactly one leaf
        assert tree.lower_bound.value - 1e-9 <= proven(graph, tree) <= optimum + 1e-12
    assert bounds.upper == pytest.approx(optimum, abs=1e-9)


def test_the_weakest_leaf_is_divided():
    graph = random_graph(np.random.default_rng(1), 25, 0.5)
    tree, bounds = tree_of(graph)
    tree.grow()
    assert tree.lower_bound.value < bounds.cutoff  # odd wheels do not close it
    while tree.lower_bound.value < bounds.cutoff:
        weakest = leaves(tree)[0]
        assert tree.lower_bound.value == weakest.bound
        tree.grow()
        assert weakest not in leaves(tree)
        assert isinstance(tree.proof.nodes[weakest.number], Fork)


def test_decisions_that_contradict_each_other_are_a_leaf():
    """Keep ab and bc, and cut ac: no clustering does, and a cycle inequality says so."""
    graph = Graph(3, [(0, 1), (0, 2), (1, 2)], [1.0, 1.0, -1.0])
    tree, _ = tree_of(graph)
    node = Node(0, {0: False, 2: False, 1: True}, -inf, Leaf.trivial(), tree._leaves[0].start)
    tree._settle(node, [])
    assert node.bound == inf
    assert node.why == Contradiction([0, 1, 2], 6.0)
    leaf = Branching(graph, Rows.empty(), [node.why]).proof.to_dict()
    price = 2**2148  # what the checker takes for deciding otherwise
    weights = {(0, 1): 2**100 + price, (0, 2): 2**100 - price, (1, 2): price - 2**100}
    assert proven_bound(100, 3, weights, leaf) + price >= 4 * 2**100


def test_certificates_of_trees_have_all_kinds_of_leaves():
    graph = random_graph(np.random.default_rng(2), 25, 0.5)
    result = solve(graph, options=Options(presolve=False, odd_wheels=False))
    assert result.status == "optimal"
    assert result.certificate["proof"]["rule"] == "branching"
    verdict = verify(graph, result.certificate)
    assert verdict.claims == ()
    assert verdict.upper_bound - verdict.lower_bound <= result.tolerance
    again = pickle.loads(pickle.dumps(result))
    assert again.certificate == result.certificate


@pytest.mark.parametrize("written", [True, False])
def test_a_tree_that_goes_on_knows_what_it_knew(written):
    graph = random_graph(np.random.default_rng(1), 25, 0.5)
    tree, _ = tree_of(graph)
    for _ in range(5):
        tree.grow()
    proof = tree.proof
    again, _ = tree_of(graph, Branching.from_arrays(graph, proof.to_arrays()) if written else proof)
    assert proven(graph, again) == proven(graph, tree)
    before, after = ({leaf.number: leaf for leaf in leaves(t)} for t in (tree, again))
    assert before.keys() == after.keys()
    for number, leaf in before.items():
        assert after[number].cut == leaf.cut
        assert after[number].bound == pytest.approx(leaf.bound, rel=1e-12)


@pytest.mark.parametrize("written", [True, False])
def test_a_tree_that_goes_on_knows_contradictions(written):
    """They are not written, but found again."""
    graph = Graph(3, [(0, 1), (0, 2), (1, 2)], [1.0, 1.0, -1.0])
    proof, nothing = Branching(graph), Leaf.trivial()
    contradiction = Contradiction([0, 1, 2], 6.0)
    proof.divide(0, 0, nothing, nothing)
    proof.divide(1, 2, nothing, nothing)
    proof.divide(3, 1, nothing, contradiction)  # keeps 01 and 12, cuts 02
    tree, _ = tree_of(graph, Branching.from_arrays(graph, proof.to_arrays()) if written else proof)
    assert {leaf.number: leaf.bound for leaf in leaves(tree)} == pytest.approx(
        {2: 0.0, 4: -1.0, 5: 0.0, 6: inf}
    )
    assert tree.proof.nodes[6] == contradiction
    assert proven(graph, tree) == -1.0


def test_a_tree_of_any_depth_can_be_written_and_checked():
    """Deeper than Python's stack."""
    graph = Graph(3, [(0, 1), (0, 2), (1, 2)], [1.0, 1.0, -1.0])
    nothing = Leaf.trivial()
    forks = [Fork(i % 3, 2 * i + 1, 2 * i + 2) for i in range(3000)]  # the cut half is divided on
    nodes = [forks[0], *(node for fork in forks[1:] for node in (nothing, fork)), nothing, nothing]
    proof = Branching(graph, Rows.empty(), nodes)
    weights = {(0, 1): 1 << 64, (0, 2): 1 << 64, (1, 2): -1 << 64}
    assert proven_bound(64, 3, weights, proof.proof.to_dict()) == -1 << 64


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_bounds_within_decisions(seed):
    """For any multipliers, however bad."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 6, 0.9)
    triangles = [
        np.array([e, f, g])
        for e in range(graph.m)
        for f in range(graph.m)
        for g in range(f)
        if np.unique(graph.edges[[e, f, g]]).size == 3 and len({e, f, g}) == 3
    ]
    rows = Rows.from_cycles(triangles)
    lagrangian = Lagrangian.of(graph.weights, rows, rng.exponential(1.0, len(rows)))
    lower = (rng.random(graph.m) < 0.2).astype(float)
    upper = np.maximum(lower, rng.random(graph.m) < 0.7)
    cuts = all_cuts(graph)
    inside = cuts[((lower <= cuts) & (cuts <= upper)).all(axis=1)]
    bound = lagrangian.bound_within(lower, upper)
    assert bound <= (inside @ graph.weights).min(initial=inf)
    assert lagrangian.bound_within(np.zeros(graph.m), np.ones(graph.m)) == lagrangian.bound


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_tree_that_is_cut_short_has_a_proven_bound(after):
    graph = random_graph(np.random.default_rng(1), 25, 0.5)
    steps = []

    def stop(progress):
        steps.extend([1] if progress.round.phase == "ilp" else [])
        return len(steps) > after

    options = Options(presolve=False, heuristics=False, odd_wheels=False)
    result = solve(graph, options=options, callback=stop)
    assert result.status == "stopped"
    verdict = verify(graph, result.certificate)
    assert verdict.claims == ()
    assert verdict.lower_bound >= result.lower_bound - result.tolerance
    assert result.lower_bound <= solve(graph).objective


@pytest.mark.parametrize(
    ("error", "status"), [(KeyboardInterrupt, "interrupted"), (TimeLimitReached, "time_limit")]
)
@pytest.mark.parametrize("options", [CYCLES, WHOLE])
def test_an_interrupt_in_the_tree_returns_what_is_known(monkeypatch, options, error, status):
    graph = random_graph(np.random.default_rng(1), 25, 0.5)  # more than 7 nodes
    settle, settled = BranchAndBound._settle, []

    def settle_or_stop(self, node, found):
        settle(self, node, found)
        settled.append(node)
        if len(settled) == 6:  # between the halves of a node
            raise error

    optimum = solve(graph).objective
    monkeypatch.setattr(BranchAndBound, "_settle", settle_or_stop)
    result = solve(graph, options=options)
    assert result.status == status
    assert result.lower_bound <= optimum <= result.objective
    verdict = verify(graph, result.certificate)
    assert float(verdict.lower_bound) <= optimum
    assert options is WHOLE or verdict.claims == ()


@pytest.mark.parametrize("options", [CYCLES, WHOLE])
def test_an_lp_that_fails_in_the_tree_leaves_valid_bounds(monkeypatch, options):
    graph = random_graph(np.random.default_rng(1), 25, 0.5)  # more than 7 nodes
    restrict = Master.restrict
    nodes = []

    def restrict_or_fail(self, lower, upper):
        nodes.append(1)
        if len(nodes) > 3:
            raise MasterFailed("injected")
        restrict(self, lower, upper)

    optimum = solve(graph).objective
    monkeypatch.setattr(Master, "restrict", restrict_or_fail)
    result = solve(graph, options=options)
    assert len(nodes) > 3
    assert result.status == "numerical"
    assert result.lower_bound <= optimum <= result.objective


def test_what_is_only_rounding_errors_is_divided_too(monkeypatch):
    """An LP solver that is content too early still ends with a proof."""
    monkeypatch.setattr(Master, "sharpen", lambda _: None)
    rng = np.random.default_rng(3)
    divided = 0
    for exponent in (-9, -8, -7, -6):
        for _ in range(6):
            u, v = np.triu_indices(9, 1)
            weights = rng.choice([-1.0, 1.0], len(u)) + 10.0**exponent * rng.normal(size=len(u))
            graph = Graph.from_edges(u, v, weights, 9)
            result = solve(graph, options=Options(presolve=False, odd_wheels=False))
            assert result.status == "optimal"
            off = 2 * result.tolerance + 1e-14  # the brute force rounds
            assert result.objective == pytest.approx(brute_force(graph), abs=off)
            divided += verify(graph, result.certificate).claims == ()
    assert divided == 24


def test_a_wheel_needs_no_division():
    graph = wheel(9)
    tree, bounds = tree_of(graph)
    tree.grow()
    assert tree.lower_bound.value >= bounds.cutoff
    assert len(tree.proof.nodes) == 1
