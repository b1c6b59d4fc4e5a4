"""Graphs with lifted edges: what they are made of, and what they are refused for."""

import numpy as np
import pytest

from bdcc_jax import Graph
from bdcc_jax.graphs import modularity_graph
from bdcc_jax.instance.contraction import contract
from bdcc_jax.presolve import presolve

CHAIN = Graph.from_edges([0, 1], [1, 2], [-2.0, 0.0], lifted=([2], [0], [3.0]))


def test_edges_of_both_kinds():
    assert CHAIN.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert CHAIN.weights.tolist() == [-2.0, 3.0, 0.0]
    assert CHAIN.lifted.tolist() == [False, True, False]
    assert repr(CHAIN) == "Graph(n=3, m=3, positive=1, negative=1, lifted=1)"
    assert CHAIN.objective([0, 1, 2]) == 1.0


def test_the_same_from_its_parts():
    again = Graph(CHAIN.n, CHAIN.edges, CHAIN.weights, "abc", CHAIN.lifted)
    assert again.lifted.tolist() == CHAIN.lifted.tolist()
    assert again.weights.tolist() == CHAIN.weights.tolist()
    assert again.names == ("a", "b", "c")


def test_a_pair_of_both_kinds_adds_up_and_connects():
    graph = Graph.from_edges([0, 1], [1, 2], [1.0, 1.0], lifted=([1, 0], [0, 2], [-3.0, 1.0]))
    assert graph.weights.tolist() == [-2.0, 1.0, 1.0]
    assert graph.lifted.tolist() == [False, True, False]


def test_parallel_lifted_edges_are_summed_and_dropped_if_nothing_is_left():
    graph = Graph.from_edges(
        [0, 1], [1, 2], [1.0, 0.0], lifted=([0, 2, 0], [2, 0, 3], [1.0, -1.0, 2.0])
    )
    assert graph.edges.tolist() == [[0, 1], [0, 3], [1, 2]]


def test_without_lifted_edges_it_is_an_ordinary_graph():
    for lifted in (([], [], []), ([0], [1], [2.0]), ([0], [2], [0.0])):
        graph = Graph.from_edges([0, 1], [1, 2], [1.0, 0.0], lifted=lifted)
        assert graph.lifted is None
        assert graph.edges.tolist() == [[0, 1]]
    assert Graph(2, [(0, 1)], [1.0], lifted=[False]).lifted is None


def test_self_loops_are_dropped_with_a_warning():
    with pytest.warns(UserWarning, match=r"1 self-loop\(s\) dropped \(the first at node 2\)"):
        graph = Graph.from_edges([0, 1], [1, 2], [1.0, 1.0], lifted=([2, 0], [2, 2], [1.0, 1.0]))
    assert graph.m == 3


def test_refined_splits_what_ordinary_edges_do_not_connect():
    labels, cut = CHAIN.refined(np.array([0, 1, 0]))
    assert labels.tolist() == [0, 1, 2]
    assert cut.tolist() == [True, True, True]
    assert CHAIN.refined(np.array([4, 4, 4]))[0].tolist() == [0, 0, 0]


def test_it_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        CHAIN.lifted[0] = True


ONE = ([0], [1], [1.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Graph.from_edges(*ONE, lifted=([0], [2])), "lifted must be three arrays"),
        (
            lambda: Graph.from_edges(*ONE, lifted=7),
            r"three arrays, \(u, v, w\) of the lifted edges",
        ),
        (
            lambda: Graph.from_edges(*ONE, lifted=([0, 1], [2], [1.0])),
            "must be of one length, not 2",
        ),
        (lambda: Graph.from_edges(*ONE, lifted=([0], [-2], [1.0])), r"lifted\[1\]\[0\] is -2"),
        (
            lambda: Graph.from_edges(*ONE, lifted=([0], [2], [1.0, 2.0])),
            "the lifted weights must have",
        ),
        (
            lambda: Graph.from_edges(*ONE, lifted=([0], [2], [np.nan])),
            "the lifted weights must be num",
        ),
        (lambda: Graph.from_edges(*ONE, 2, lifted=([0], [2], [1.0])), "node id 2 is out of range"),
        (
            lambda: Graph.from_edges(*ONE, lifted=([0], [2], [np.inf])),
            "infinite weights are not supp",
        ),
        (
            lambda: Graph(2, [(0, 1)], [1.0], lifted=[1]),
            "lifted must say True or False of every edge",
        ),
        (
            lambda: Graph(2, [(0, 1)], [1.0], lifted=[True, False]),
            r"every edge, shape \(1,\), not bool",
        ),
        (lambda: CHAIN.constrained(must_link=[(0, 2)]), "not supported together with lifted edges"),
        (lambda: CHAIN.constrained(groups=[0, 0, 1]), "give such a pair a large finite weight"),
        (lambda: contract(CHAIN, [0, 0, 1]), "contraction knows of no lifted edges"),
        (lambda: presolve(CHAIN), "presolve knows of no lifted edges"),
        (lambda: modularity_graph(CHAIN), "there can be no lifted edges here"),
    ],
)
def test_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
