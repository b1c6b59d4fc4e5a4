"""The communities of largest modularity, by our own function and by networkx."""

import subprocess
import sys
import warnings
from importlib.metadata import entry_points

import networkx as nx
import numpy as np
import pytest
from oracles import partitions

from bdcc_jax.graphs import modularity_communities
from bdcc_jax.graphs import networkx_backend as backend

BACKEND = "bdcc_jax"
FUNCTIONS = (
    "louvain_communities",
    "leiden_communities",
    "greedy_modularity_communities",
    "naive_greedy_modularity_communities",
)


def graph(kind=nx.Graph, seed=0):
    """Seven nodes with names, weights and a self-loop."""
    random = np.random.default_rng(seed)
    G = kind()
    G.add_nodes_from("gfedcba")
    for u, v in nx.gnp_random_graph(7, 0.5, seed=seed, directed=G.is_directed()).edges:
        G.add_edge("abcdefg"[u], "abcdefg"[v], weight=int(random.integers(1, 5)))
    G.add_edge("c", "c", weight=2)
    return G


def best(G, **how):
    """The largest modularity of all partitions."""
    nodes = list(G)
    return max(
        nx.community.modularity(
            G, [{nodes[i] for i in np.flatnonzero(p == k)} for k in np.unique(p)], **how
        )
        for p in partitions(len(nodes))
    )


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph])
@pytest.mark.parametrize(("weight", "resolution"), [("weight", 1), (None, 1), ("weight", 1.7)])
def test_no_partition_is_better(kind, weight, resolution):
    G, how = graph(kind), {"weight": weight, "resolution": resolution}
    communities = modularity_communities(G, **how)
    assert nx.community.is_partition(G, communities)
    assert all(type(each) is set for each in communities)
    assert sorted(map(len, communities), reverse=True) == [*map(len, communities)]
    assert nx.community.modularity(G, communities, **how) == pytest.approx(best(G, **how))


def test_nodes_without_names_and_other_kinds_of_graphs():
    G = nx.barbell_graph(4, 0)
    expected = [{0, 1, 2, 3}, {4, 5, 6, 7}]
    assert modularity_communities(G) == expected
    assert modularity_communities(nx.to_scipy_sparse_array(G)) == expected


def test_without_edges_every_node_is_alone():
    assert modularity_communities(nx.empty_graph(3)) == [{0}, {1}, {2}]
    assert modularity_communities(np.zeros((2, 2))) == [{0}, {1}]


def test_without_a_proof_there_is_a_warning_that_tells_the_bounds():
    with pytest.warns(UserWarning, match=r"\(time_limit\): .* is 0\.0+, .* of no partition is abo"):
        modularity_communities(nx.karate_club_graph(), time_limit=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who asks for a gap need not be told
        assert modularity_communities(nx.karate_club_graph(), gap=10.0)


@pytest.mark.parametrize("suffix", ["graphml", "gml"])
def test_files_whose_edges_have_no_weight(tmp_path, suffix):
    G = nx.relabel_nodes(nx.barbell_graph(3, 0), dict(enumerate("uvwxyz")))
    getattr(nx, f"write_{suffix}")(G, tmp_path / f"barbell.{suffix}")
    found = modularity_communities(tmp_path / f"barbell.{suffix}")
    assert found == [set("uvw"), set("xyz")]


# networkx


def test_it_is_registered():
    """An editable install of before there was a backend has to be installed again."""
    for group in ("networkx.backends", "networkx.backend_info"):
        (found,) = (point for point in entry_points(group=group) if point.name == BACKEND)
        found.load()
    assert nx.config.backends[BACKEND].time_limit == 60
    for name in FUNCTIONS:
        assert "Not what the heuristic of this name finds" in getattr(nx.community, name).__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("resolution", [1, 0.6])
def test_networkx_dispatches(name, resolution):
    G, function = graph(), getattr(nx.community, name)
    for weight in ("weight", None):
        how = {"weight": weight, "resolution": resolution}
        communities = function(G, **how, backend=BACKEND)
        assert nx.community.is_partition(G, communities)
        assert nx.community.modularity(G, communities, **how) == pytest.approx(best(G, **how))


def test_arguments_by_position():
    G = graph()
    expected = modularity_communities(G, resolution=1.7)
    assert nx.community.louvain_communities(G, "weight", 1.7, 0.1, None, 5, backend=BACKEND) == (
        expected
    )
    naive = nx.community.naive_greedy_modularity_communities
    assert naive(G, 1.7, "weight", backend=BACKEND) == expected


def test_weights_changed_behind_the_back_of_networkx_count():
    G = nx.path_graph(4)
    assert modularity_communities(G) == [{0, 1}, {2, 3}]
    leiden = nx.community.leiden_communities
    assert leiden(G, backend=BACKEND) == [{0, 1}, {2, 3}]
    G[1][2]["weight"] = 100
    assert {1, 2} <= leiden(G, backend=BACKEND)[0]


def test_time_limits_of_a_call_and_of_all_calls():
    G = nx.karate_club_graph()
    with pytest.warns(UserWarning, match="time_limit"):
        nx.community.leiden_communities(G, backend=BACKEND, time_limit=0)
    with nx.config.backends[BACKEND](time_limit=0), pytest.warns(UserWarning, match="time_limit"):
        nx.community.leiden_communities(G, backend=BACKEND)


def test_graphs_without_edges_or_nodes():
    assert nx.community.leiden_communities(nx.empty_graph(2), backend=BACKEND) == [{0}, {1}]
    assert nx.community.louvain_communities(nx.Graph(), backend=BACKEND) == []


def test_questions_that_an_optimum_does_not_answer_are_refused():
    G = graph()
    greedy, louvain = nx.community.greedy_modularity_communities, nx.community.louvain_communities
    for call in (
        lambda: greedy(G, cutoff=2, backend=BACKEND),
        lambda: greedy(G, None, 1, 1, 3, backend=BACKEND),
        lambda: louvain(G, max_level=1, backend=BACKEND),
    ):
        with pytest.raises(NotImplementedError, match="for the given arguments"):
            call()
    assert backend.can_run("louvain_communities", (G,), {"max_level": 1}) == (
        "an optimum has no levels: max_level must be None"
    )
    assert "cutoff must be 1" in backend.can_run(FUNCTIONS[2], (G, None, 1, 2), {})
    too_large = backend.can_run(FUNCTIONS[0], (), {"G": nx.empty_graph(7000)})
    assert too_large == "7000 nodes have more than 20000000 pairs"


def test_where_networkx_chooses():
    G = graph()
    with nx.config(backend_priority=[BACKEND]):
        assert nx.community.leiden_communities(G) == modularity_communities(G)
        exactly = nx.community.greedy_modularity_communities(G, cutoff=3, best_n=3)
        assert len(exactly) == 3  # by networkx itself
    assert backend.should_run(FUNCTIONS[0], (G,), {}) is True
    assert "1001 nodes" in backend.should_run(FUNCTIONS[0], (nx.empty_graph(1001),), {})


def test_graphs_go_there_and_back():
    G = nx.DiGraph([(0, 1)])
    taken = backend.convert_from_nx(G, edge_attrs={"weight": 1}, name="louvain_communities")
    assert taken.is_directed()
    assert not taken.is_multigraph()
    assert backend.convert_to_nx(taken) is G
    assert backend.convert_to_nx([{0}]) == [{0}]


def test_networkx_does_not_import_the_package():
    code = "import sys, networkx; sys.exit('bdcc_jax' in sys.modules or 'jax' in sys.modules)"
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True)
    assert (run.returncode, run.stderr) == (0, b"")
