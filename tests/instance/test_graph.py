import dataclasses
from itertools import permutations
from math import fsum

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from bdcc_jax import Graph
from bdcc_jax.base.labels import canonical_labels
from bdcc_jax.base.validation import MAX_NODES
from bdcc_jax.io.convert import as_graph

EDGES = [(0, 1), (0, 2), (1, 3)]
WEIGHTS = [1.0, -2.0, 0.5]


def content(graph):
    return graph.n, graph.edges.tolist(), graph.weights.tolist()


EXPECTED = (4, [list(edge) for edge in EDGES], WEIGHTS)


@st.composite
def instances(draw):
    n = draw(st.integers(2, 8))
    node = st.integers(0, n - 1)
    # Multiples of 1/8 add up without rounding, in any order.
    weight = st.integers(-40, 40).map(lambda k: k / 8)
    triples = st.tuples(node, node, weight).filter(lambda t: t[0] != t[1])
    return n, draw(st.lists(triples, max_size=20))


def dense(n, triples):
    W = np.zeros((n, n))
    for u, v, w in triples:
        W[u, v] += w
        W[v, u] += w
    return W


# Constructors


def test_from_edges():
    u, v = zip(*EDGES, strict=True)
    assert content(Graph.from_edges(u, v, WEIGHTS)) == EXPECTED
    assert Graph.from_edges(u, v, WEIGHTS, n=9).n == 9
    assert Graph.from_edges([], [], [], n=3).n == 3
    assert content(Graph.from_edges(np.array(u, np.uint8), np.array(v, float), WEIGHTS)) == EXPECTED


def test_from_networkx():
    G = nx.Graph()
    G.add_nodes_from("abcd")
    G.add_weighted_edges_from(
        ("abcd"[u], "abcd"[v], w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True)
    )
    graph = Graph.from_networkx(G)
    assert content(graph) == EXPECTED
    assert graph.names == ("a", "b", "c", "d")
    assert Graph.from_networkx(nx.empty_graph(3)).names is None
    assert Graph.from_networkx(nx.empty_graph(3)).n == 3


def test_from_networkx_sums_directions_and_parallel_edges():
    G = nx.MultiDiGraph()
    G.add_edge(0, 1, cost=1.0)
    G.add_edge(1, 0, cost=2.0)
    G.add_edge(0, 1, cost=0.5)
    assert Graph.from_networkx(G, weight="cost").weights.tolist() == [3.5]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_matrix, sp.csc_array, sp.lil_array])
def test_from_scipy(kind):
    W = dense(4, [(u, v, w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True)])
    assert content(Graph.from_scipy(kind(W))) == EXPECTED


def test_from_scipy_with_integers():
    assert Graph.from_scipy(sp.csr_array([[0, 2], [2, 0]])).weights.tolist() == [2.0]


def test_from_dense():
    W = dense(4, [(u, v, w) for (u, v), w in zip(EDGES, WEIGHTS, strict=True)])
    assert content(Graph.from_dense(W)) == content(Graph.from_dense(W.tolist())) == EXPECTED
    assert Graph.from_dense([[0]]).n == 1


def test_rounding_noise_is_no_asymmetry():
    graph = Graph.from_dense([[0, 1.0, 5.0], [1.0 + 1e-14, 0, 0], [5.0, 0, 0]])
    np.testing.assert_allclose(graph.weights, [1.0, 5.0])


def test_asymmetry_is_seen_beside_any_other_entry():
    for heavy in (1.0, 1e12):
        W = np.zeros((4, 4))
        W[0, 1] = W[1, 0] = heavy
        W[2, 3], W[3, 2] = 0.3, -0.3
        for build in (Graph.from_dense, lambda W: Graph.from_scipy(sp.csr_array(W))):
            with pytest.raises(ValueError, match=r"entry \(2, 3\) is 0\.3 but \(3, 2\) is -0\.3"):
                build(W)
        W[3, 2] = 0
        with pytest.raises(ValueError, match=r"but \(3, 2\) is 0\.0; pass \(A \+ A\.T\) / 2"):
            Graph.from_dense(W)


def test_entries_of_any_size_survive_a_matrix():
    for w in (5e-324, 0.1, 1e308):
        assert Graph.from_dense([[0, w], [w, 0]]).weights.tolist() == [w]


@pytest.mark.parametrize("missing", ["masked", "NA", "None"])
def test_missing_values_are_refused_at_every_door(missing):
    """numpy.asarray would take what is behind a mask."""
    if missing == "masked":
        lost = lambda values, at: np.ma.array(values, mask=np.arange(len(values)) == at)  # noqa: E731
    else:
        value = {"NA": pd.NA, "None": None}[missing]
        lost = lambda values, at: [value if i == at else x for i, x in enumerate(values)]  # noqa: E731
    matrix = [lost([0.0, 1.0], 1), [1.0, 0.0]]
    doors = [
        lambda: Graph(3, [[0, 1], [1, 2]], lost([1.0, 2.0], 1)),
        lambda: Graph(3, [lost([0, 1], 1), [1, 2]], [1.0, 2.0]),
        lambda: Graph.from_edges(lost([0, 1], 1), [1, 2], [1.0, 2.0]),
        lambda: Graph.from_edges([0, 1], [1, 2], lost([1.0, 2.0], 1)),
        lambda: Graph.from_dense(matrix),
        lambda: as_graph(matrix),
        lambda: as_graph(([0, 1], [1, 2], lost([1.0, 2.0], 1))),
    ]
    if missing == "masked":
        whole = np.ma.array([[0.0, 1.0], [1.0, 0.0]], mask=[[False, True], [True, False]])
        doors += [lambda: Graph.from_dense(whole), lambda: as_graph(whole)]
        doors += [lambda: Graph.from_scipy(whole)]
    for door in doors:
        with pytest.raises(ValueError, match=r"no masked entries|no missing entries: entry"):
            door()


def test_arrays_with_nothing_missing_are_taken():
    W = np.ma.array([[0.0, 1.0], [1.0, 0.0]], mask=False)
    assert as_graph(W).weights.tolist() == Graph.from_dense(W).weights.tolist() == [1.0]
    weights = pd.array([1, 2], dtype="Int64")
    graph = Graph.from_edges(np.ma.array([0, 1]), pd.Series([1, 2], dtype="Int64"), weights)
    assert graph.weights.tolist() == [1.0, 2.0]
    table = {"source": ["a"], "target": ["b"], "weight": pd.array([None], dtype="Float64")}
    with pytest.raises(ValueError, match="weights must"):
        Graph.from_pandas(pd.DataFrame(table))


def test_from_pandas():
    df = pd.DataFrame({"from": ["b", "a"], "to": ["c", "b"], "w": [-1, 2]})
    graph = Graph.from_pandas(df, "from", "to", "w")
    assert graph.names == ("a", "b", "c")
    assert content(graph) == (3, [[0, 1], [1, 2]], [2.0, -1.0])
    df = pd.DataFrame({"source": [0, 1], "target": [1, 2], "weight": [1.0, 1.0]})
    assert Graph.from_pandas(df).names is None


# Canonical form


@given(instances())
def test_all_constructors_agree(instance):
    n, triples = instance
    u, v, w = (list(column) for column in zip(*triples, strict=True)) if triples else ([], [], [])
    graph = Graph.from_edges(u, v, w, n=n)
    W = dense(n, triples)
    assert (
        content(graph) == content(Graph.from_dense(W)) == content(Graph.from_scipy(sp.csr_array(W)))
    )
    G = nx.MultiGraph()
    G.add_nodes_from(range(n))
    G.add_weighted_edges_from(triples)
    assert content(graph) == content(Graph.from_networkx(G))


@given(instances(), st.randoms())
def test_order_and_direction_do_not_matter(instance, random):
    n, triples = instance
    shuffled = [(v, u, w) if random.random() < 0.5 else (u, v, w) for u, v, w in triples]
    random.shuffle(shuffled)
    graphs = [Graph(n, [t[:2] for t in ts], [t[2] for t in ts]) for ts in (triples, shuffled)]
    assert content(graphs[0]) == content(graphs[1])
    edges = graphs[0].edges
    assert (edges[:, 0] < edges[:, 1]).all()
    assert edges.tolist() == sorted(edges.tolist())
    assert (graphs[0].weights != 0).all()


def test_parallel_edges_are_summed_exactly():
    """Rounded once, whatever the order; heavy and light together."""
    for order in permutations([1e16, 1.0, -1e16]):
        assert Graph(2, [(0, 1), (1, 0), (0, 1)], order).weights.tolist() == [1.0]
    assert Graph.from_edges([0] * 10, [1] * 10, [0.1] * 10).weights.tolist() == [1.0]
    A = sp.coo_array(([1e16, 1.0, -1e16] * 2, ([0] * 3 + [1] * 3, [1] * 3 + [0] * 3)))
    assert Graph.from_scipy(A).weights.tolist() == [1.0]


@given(st.lists(st.tuples(st.integers(1, 4), st.floats(-1e300, 1e300)), max_size=30))
def test_sums_of_parallel_edges_are_those_of_fsum(entries):
    ends, weights = [end for end, _ in entries], [w for _, w in entries]
    graph = Graph(5, [(0, end) for end in ends], weights)
    sums = {end: fsum(w for e, w in entries if e == end) for end in sorted(set(ends))}
    expected = {end: total for end, total in sums.items() if total}
    assert dict(zip(graph.edges[:, 1].tolist(), graph.weights.tolist(), strict=True)) == expected


def test_overflow_on_the_way_is_seen_in_any_order():
    for order in permutations([1e308, 1e308, -1e308]):
        with pytest.raises(ValueError, match="add up to more than a float64 can hold"):
            Graph(2, [(0, 1)] * 3, order)


def test_cancelling_edges_are_dropped_and_nodes_kept():
    graph = Graph(5, [(0, 1), (1, 0), (2, 3)], [1.5, -1.5, 0.0])
    assert content(graph) == (5, [], [])


def test_self_loops_are_dropped_with_a_warning():
    message = r"2 self-loop\(s\) dropped \(the first at node 1\)"
    with pytest.warns(UserWarning, match=message):
        graph = Graph(3, [(1, 1), (0, 1), (2, 2)], [5.0, 1.0, 1.0])
    assert content(graph) == (3, [[0, 1]], [1.0])
    with pytest.warns(UserWarning, match="self-loop"):
        assert content(Graph.from_dense([[7, 1], [1, 0]])) == (2, [[0, 1]], [1.0])


def test_immutable():
    weights = np.array([1.0])
    graph = Graph(2, [(0, 1)], weights)
    weights[0] = 9
    assert graph.weights.tolist() == [1.0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.n = 3
    for array in (graph.edges, graph.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_largest_ids_do_not_overflow():
    last = MAX_NODES - 1
    graph = Graph.from_edges([last, 0], [last - 1, last], [1.0, 2.0])
    assert content(graph) == (MAX_NODES, [[0, last], [last - 1, last]], [2.0, 1.0])


def test_repr():
    assert repr(Graph(4, EDGES, WEIGHTS)) == "Graph(n=4, m=3, positive=2, negative=1)"


# Costs


def test_costs():
    graph = Graph(4, EDGES, WEIGHTS)
    assert graph.cut([0, 0, 1, 1]).tolist() == [False, True, True]
    assert graph.objective([0, 0, 1, 1]) == -1.5
    assert graph.disagreement([0, 0, 1, 1]) == 0.5
    assert graph.negative_sum == -2.0
    assert graph.components(graph.positive).tolist() == [0, 0, 1, 0]


@given(instances(), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_disagreement_is_the_objective_shifted(instance, labels):
    n, triples = instance
    graph = Graph(n, [t[:2] for t in triples], [t[2] for t in triples])
    labels = labels[:n]
    assert graph.disagreement(labels) == graph.objective(labels) - graph.negative_sum
    assert graph.disagreement(labels) >= 0
    assert graph.objective(labels) == graph.objective(canonical_labels(labels))


# One test per error message


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Graph(3, [0, 1], [1.0]), r"edges must have shape \(m, 2\), not \(2,\)"),
        (lambda: Graph(3, [(0, 1, 2)], [1.0]), r"edges must have shape \(m, 2\), not \(1, 3\)"),
        (lambda: Graph(2, [(0, 2)], [1.0]), r"node id 2 is out of range: n = 2 allows 0 \.\. 1"),
        (lambda: Graph(2.0, [(0, 1)], [1.0]), r"n must be an integer, not 2\.0"),
        (lambda: Graph(True, [], []), "n must be an integer, not True"),
        (lambda: Graph(0, [], []), r"n must be at least 1 \(a graph needs a node\), not 0"),
        (lambda: Graph(2**31, [], []), "n must be at most 2147483647, not 2147483648"),
        (lambda: Graph.from_edges([0], [1, 2], [1.0]), "same length, not 1 and 2"),
        (lambda: Graph.from_edges([], [], []), "the graph is empty: give at least one edge, or n"),
        (lambda: Graph.from_edges([[0]], [1], [1.0]), r"u must be one-dimensional, not of shape"),
        (lambda: Graph.from_edges(["a"], [1], [1.0]), "node ids in u must be integers, not .*'a'"),
        (
            lambda: Graph.from_edges([True], [1], [1.0]),
            "node ids in u must be integers, not .*True",
        ),
        (lambda: Graph.from_edges([0, 1], [1, 2.5], [1, 1]), r"integers: v\[1\] is 2\.5"),
        (lambda: Graph.from_edges([0, np.nan], [1, 2], [1, 1]), r"integers: u\[1\] is nan"),
        (lambda: Graph.from_edges([0, -3], [1, 2], [1, 1]), r"at least 0: u\[1\] is -3"),
        (lambda: Graph.from_edges([0], [MAX_NODES], [1]), r"below \d+: v\[0\] is 2147483647"),
        (lambda: Graph(2, [(0, 1)], [1.0, 2.0]), r"weights must have shape \(1,\).* not \(2,\)"),
        (lambda: Graph(2, [(0, 1)], [1j]), r"weights must be real numbers, not .*1j"),
        (lambda: Graph(2, [(0, 1)], ["heavy"]), r"weights must be real numbers, not .*'heavy'"),
        (lambda: Graph(2, [(0, 1)] * 2, [1, np.nan]), "weights must be numbers: entry 1 is nan"),
        (lambda: Graph(2, [(1, 1)], [-np.inf]), "node 1 cannot be apart from itself"),
        (lambda: Graph(2, [(0, 1)] * 2, [1e308] * 2), "add up to more than a float64 can hold"),
        (lambda: Graph(2, [], [], ["a"]), r"names must have one entry a node \(2\), not 1"),
        (lambda: Graph(2, [], [], ["a", "a"]), "names must be different: 'a' appears twice"),
        (lambda: Graph.from_networkx(nx.path_graph(2)), r"edge \(0, 1\) has no attribute 'weight'"),
        (lambda: Graph.from_scipy(sp.csr_array((2, 3))), r"square, not of shape \(2, 3\)"),
        (lambda: Graph.from_dense([1.0, 2.0]), r"must be square, not of shape \(2,\)"),
        (lambda: Graph.from_dense(np.empty((0, 0))), "n must be at least 1"),
        (lambda: Graph.from_dense([[0, np.nan], [1, 0]]), r"numbers: entry \(0, 1\) is nan"),
        (
            lambda: Graph.from_dense([[0, 1], [2, 0]]),
            r"symmetric: entry \(0, 1\) is 1\.0 but \(1, 0\) is 2\.0",
        ),
        (
            lambda: Graph.from_pandas(pd.DataFrame({"source": [0]})),
            r"no column 'target'; it has \['source'\]",
        ),
        (
            lambda: Graph.from_pandas(
                pd.DataFrame({"source": ["a", None], "target": ["b", "c"], "weight": [1, 1]})
            ),
            "row 1 of the table has no node name",
        ),
        (lambda: Graph(2, [], []).cut([0]), r"labels must have shape \(2,\), not \(1,\)"),
    ],
)
def test_errors(build, message):
    with pytest.raises(ValueError, match=message):
        build()
