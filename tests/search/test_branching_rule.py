"""Which edge divides a leaf: one that is open, and raises both bounds as far as trials tell."""

import numpy as np
import pytest
from oracles import random_graph

from bdcc_jax.base.arrays import FloatArray
from bdcc_jax.base.clock import Clock
from bdcc_jax.instance.graph import Graph
from bdcc_jax.lp.master import Master
from bdcc_jax.lp.rough_master import RoughMaster
from bdcc_jax.search.branching_rule import IN_VAIN, RELIABLE, TRIALS, BranchingRule


class Foretold(RoughMaster):
    """Its trials find rises that are known before."""

    def __init__(self, graph: Graph, rises: FloatArray) -> None:
        super().__init__(graph.weights, lambda: 0.0)
        self.rises, self.tried = rises, []

    def probe(self, edge: int, way: float, clock: Clock) -> float:
        self.tried.append((edge, way))
        return float(self.rises[int(way), edge])


def complete(seed: int) -> Graph:
    return random_graph(np.random.default_rng(seed), 9, 1.0)


def test_the_exact_lp_divides_by_weight_and_fraction():
    graph = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [1.0, -9.0, 2.0, 1.0])
    rule = BranchingRule(graph, Master(graph.weights), Clock(None))
    x, nothing = np.array([0.5, 0.1, 0.5, 1.0]), np.zeros(4, dtype=bool)
    assert rule.choose(x, nothing, -5.0, 0.0) == 2
    assert rule.choose(x, np.array([False, False, True, False]), -5.0, 0.0) == 0


@pytest.mark.parametrize("rough", [False, True])
def test_what_is_decided_is_not_chosen_even_if_all_else_is_whole(rough):
    graph, rng = complete(1), np.random.default_rng(1)
    master = RoughMaster(graph.weights, lambda: 0.0) if rough else Master(graph.weights)
    rule = BranchingRule(graph, master, Clock(None))
    for turn in range(20):
        decided = rng.random(graph.m) < 0.8
        decided[0] = False
        x = np.where(decided | (turn % 2 == 0), rng.integers(2, size=graph.m), rng.random(graph.m))
        assert not decided[rule.choose(x, decided, -5.0, 0.0)]


def test_the_edge_that_raises_both_bounds_most_is_chosen():
    graph, rng = complete(2), np.random.default_rng(2)
    rises = rng.random((2, graph.m))
    master = Foretold(graph, rises)
    rule = BranchingRule(graph, master, Clock(None))
    edge = rule.choose(np.full(graph.m, 0.5), np.zeros(graph.m, dtype=bool), 0.0, 10.0)
    tried = sorted({edge for edge, _ in master.tried})
    assert IN_VAIN <= len(tried) <= TRIALS
    assert edge == max(tried, key=lambda e: rises[0, e] * rises[1, e])


def test_more_than_the_gap_is_no_gain():
    graph = Graph(3, [(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    master = Foretold(graph, np.array([[100.0, 2.0, 0.0], [0.1, 2.0, 0.0]]))
    rule = BranchingRule(graph, master, Clock(None))
    assert rule.choose(np.full(3, 0.5), np.zeros(3, dtype=bool), 0.0, 2.0) == 1


def test_an_edge_that_was_tried_often_is_believed():
    graph = Graph(3, [(0, 1), (1, 2), (0, 2)], [1.0, 1.0, -1.0])
    master = Foretold(graph, np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 1.0]]))
    rule = BranchingRule(graph, master, Clock(None))
    chosen = [
        rule.choose(np.full(3, 0.5), np.zeros(3, dtype=bool), 0.0, 10.0)
        for _ in range(RELIABLE + 3)
    ]
    assert len(master.tried) == 2 * 3 * RELIABLE
    assert set(chosen) == {1}
