from threading import Event

import networkx as nx
import numpy as np
import pytest
from oracles import random_graph
from scipy.optimize import Bounds, LinearConstraint, milp

from bdcc_jax import Graph
from bdcc_jax.base import highs
from bdcc_jax.instance.cover import vertex_cover


def minimum_cover_size(graph):
    edges = graph.edges[graph.negative]
    rows = np.zeros((len(edges), graph.n))
    rows[np.arange(len(edges))[:, None], edges] = 1
    result = milp(
        np.ones(graph.n),
        constraints=LinearConstraint(rows, lb=1),
        integrality=np.ones(graph.n),
        bounds=Bounds(0, 1),
    )
    return round(result.fun)


@pytest.mark.parametrize("method", ["greedy", "exact"])
@pytest.mark.parametrize("seed", range(4))
def test_every_negative_edge_is_served_once_by_one_of_its_ends(method, seed):
    graph = random_graph(np.random.default_rng(seed), 25, 0.3)
    cover = vertex_cover(graph, method)
    assert sorted(cover.edges) == np.flatnonzero(graph.negative).tolist()
    for s, root in enumerate(cover.roots):
        share = slice(cover.starts[s], cover.starts[s + 1])
        assert share.stop > share.start
        for edge, far in zip(cover.edges[share], cover.far_ends[share], strict=True):
            assert set(graph.edges[edge]) == {root, far}


@pytest.mark.parametrize("seed", range(4))
def test_exact_is_minimum(seed):
    graph = random_graph(np.random.default_rng(seed), 20, 0.3)
    assert len(vertex_cover(graph, "exact")) == minimum_cover_size(graph)


def test_greedy_can_be_beaten():
    """The classic bad case of the greedy rule: exact must not just return the greedy cover."""
    G = nx.Graph()
    left = 6
    right = 0
    for size in range(2, left + 1):
        for group in range(left // size):
            for i in range(size):
                G.add_edge(("l", group * size + i), ("r", right), weight=-1.0)
            right += 1
    graph = Graph.from_networkx(G)
    assert len(vertex_cover(graph, "exact")) == left < len(vertex_cover(graph, "greedy"))


def test_no_time_still_gives_a_cover():
    graph = random_graph(np.random.default_rng(0), 30, 0.5)
    served = vertex_cover(graph, "exact", exact_time_limit=0.0).edges
    assert sorted(served) == np.flatnonzero(graph.negative).tolist()


def test_no_negative_edges():
    assert len(vertex_cover(Graph.from_edges([0], [1], [1.0]), "exact")) == 0


def test_an_ilp_that_misses_its_time_limit_is_left_to_itself(monkeypatch):
    """And the greedy cover is used; HiGHS is not touched again until it has ended."""
    graph = random_graph(np.random.default_rng(0), 30, 0.5)
    greedy = vertex_cover(graph, "greedy")
    released, ended = Event(), Event()

    def late(_):
        released.wait()
        ended.set()

    monkeypatch.setattr(highs, "run", late)
    monkeypatch.setattr(highs, "GRACE", 0.0)
    monkeypatch.setattr(Event, "wait", _not_for_a_time(Event.wait))
    cover = vertex_cover(graph, "exact", exact_time_limit=1e-3)
    assert cover.roots.tolist() == greedy.roots.tolist()
    assert not ended.is_set()
    released.set()
    ended.wait()


def _not_for_a_time(wait):
    """Waiting that has a limit is over at once; the rest goes on as long as it takes."""
    return lambda event, timeout=None: wait(event) if timeout is None else event.is_set()
