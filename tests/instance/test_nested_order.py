"""Orders in which neighbours are close."""

import numpy as np
import pytest
from families import planar
from oracles import random_graph

from bdcc_jax import Graph
from bdcc_jax.instance.nested_order import nested_order


@pytest.mark.parametrize("smallest", [1, 2, 7, 1000])
def test_every_node_once(smallest):
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 30):
        for density in (0.0, 0.1, 0.6):
            graph = random_graph(rng, n, density) if n > 1 else Graph(1, [], [])
            assert sorted(nested_order(graph, smallest).tolist()) == list(range(n))


def test_halves_of_a_grid_have_few_edges_between_them():
    graph = planar(np.random.default_rng(0), 40, 40)
    shuffled = np.random.default_rng(1).permutation(graph.n)
    graph = Graph(graph.n, shuffled[graph.edges], graph.weights)
    rank = np.empty(graph.n, dtype=int)
    rank[nested_order(graph, 100)] = np.arange(graph.n)
    crossing = [graph.cut(rank * parts // graph.n).mean() for parts in (2, 4, 16)]
    assert crossing[0] < 0.06  # of random halves it is a half
    assert crossing[1] < 0.12
    assert crossing[2] < 0.3
