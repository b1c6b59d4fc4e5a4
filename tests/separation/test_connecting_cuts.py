"""Cut inequalities: found exactly when there are violated ones, and true of all clusterings."""

import networkx as nx
import numpy as np
import pytest
from lifted_cases import is_connected, random_lifted
from oracles import all_cuts, partitions

from bdcc_jax.base.clock import Clock
from bdcc_jax.proofs.rows_in_nodes import in_nodes
from bdcc_jax.separation.connecting_cuts import ConnectingCuts


def minimum_cut(graph, x, pair):
    network = nx.Graph()
    network.add_nodes_from(range(graph.n))
    for e in np.flatnonzero(~graph.lifted):
        network.add_edge(*graph.edges[e].tolist(), capacity=1.0 - x[e])
    return nx.minimum_cut_value(network, *graph.edges[pair].tolist())


@pytest.mark.parametrize("seed", range(60))
def test_found_exactly_where_the_minimum_cut_is_too_small(seed):
    rng = np.random.default_rng(seed)
    graph = random_lifted(rng)
    x = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], size=graph.m)
    lifted = np.flatnonzero(graph.lifted)
    violated = {int(e) for e in lifted if minimum_cut(graph, x, e) < 1.0 - x[e] - 1e-6}
    found = ConnectingCuts(graph)(x, Clock(None))
    rows = found.rows
    assert found.satisfied == (not violated)
    assert {int(rows.indices[start]) for start in rows.starts[:-1]} == violated
    # As much as the minimum cut says, and more where what is left out was wide.
    for start, violation in zip(rows.starts[:-1], rows.violation(x), strict=True):
        e = rows.indices[start]
        assert violation >= 1.0 - x[e] - minimum_cut(graph, x, e) - 1e-9
    labels = partitions(graph.n)
    connected = [is_connected(graph, each) for each in labels]
    for cut in all_cuts(graph)[connected]:
        assert (rows.violation(cut.astype(float)) <= 0.0).all()


@pytest.mark.parametrize("seed", range(60))
def test_said_in_nodes(seed):
    rng = np.random.default_rng(seed)
    graph = random_lifted(rng)
    rows = ConnectingCuts(graph)(rng.choice([0.0, 0.5, 1.0], size=graph.m), Clock(None)).rows
    ordinary = graph.edges[~graph.lifted]
    for i, ((kind, amount, (v, w, *others)),) in enumerate(in_nodes(graph, rows)):
        row = slice(rows.starts[i], rows.starts[i + 1])
        pair, *cut = graph.edges[rows.indices[row]].tolist()
        side = {v, *others}
        leaving = [e for e in ordinary.tolist() if (e[0] in side) != (e[1] in side)]
        assert (kind, amount, sorted([v, w])) == ("cut", 1.0, pair)
        assert w not in side
        assert sorted(cut) == sorted(leaving)
        assert rows.upper[i] == len(leaving) - 1
