import subprocess
import sys

import duckdb
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from bdcc_jax import FormatError, Graph, solve, write
from bdcc_jax.io.convert import as_graph

GRAPH = Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, -2.0, 0.5])
DENSE = [[0, 1.0, 0.5], [1.0, 0, -2.0], [0.5, -2.0, 0]]
U, V = GRAPH.edges.T


class ArrayLike:
    def __array__(self, dtype=None, copy=None):
        return np.array(DENSE, dtype=dtype)


def networkx_graph():
    G = nx.Graph()
    G.add_weighted_edges_from([(0, 1, 1.0), (1, 2, -2.0), (0, 2, 0.5)])
    return G


@pytest.mark.parametrize(
    "obj",
    [
        networkx_graph(),
        sp.csr_array(DENSE),
        sp.coo_matrix(DENSE),
        np.array(DENSE),
        DENSE,
        ArrayLike(),
        pd.DataFrame({"source": U, "target": V, "weight": GRAPH.weights}),
        (U, V, GRAPH.weights),
        (U.tolist(), V.tolist(), GRAPH.weights.tolist()),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_everything_that_describes_a_graph(obj):
    graph = as_graph(obj)
    assert graph.n == 3
    assert graph.names is None
    np.testing.assert_array_equal(graph.edges, GRAPH.edges)
    np.testing.assert_array_equal(graph.weights, GRAPH.weights)


def test_a_graph_is_itself():
    assert as_graph(GRAPH) is GRAPH


def test_paths(tmp_path):
    write(GRAPH, tmp_path / "graph.txt")
    for path in (tmp_path / "graph.txt", str(tmp_path / "graph.txt")):
        assert as_graph(path).m == 3
    (tmp_path / "bad.txt").write_text("what?")
    with pytest.raises(FormatError):
        as_graph(tmp_path / "bad.txt")


@pytest.mark.parametrize("obj", [None, 3, {"a": 1}, {1, 2}, object()])
def test_anything_else_is_refused(obj):
    with pytest.raises(TypeError, match=rf"graph of '{type(obj).__name__}'; accepted are a Graph"):
        as_graph(obj)


def test_malformed_objects():
    with pytest.raises(TypeError, match=r"a tuple must be \(u, v, w\), not of length 2"):
        as_graph((U, V))
    with pytest.raises(ValueError, match="rows of the matrix must have the same length"):
        as_graph([[0, 1], [1]])
    with pytest.raises(ValueError, match="must be square"):
        as_graph([1.0, 2.0])


def test_optional_packages_are_not_imported():
    code = (
        "import sys; from bdcc_jax.io.convert import as_graph; as_graph([[0, 1], [1, 0]]);"
        "optional = {'networkx', 'pandas', 'polars', 'pyarrow', 'duckdb'};"
        "optional |= {'skimage', 'matplotlib', 'sklearn'};"
        "sys.exit(' '.join(optional & set(sys.modules)) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


EDGES = pd.DataFrame({"source": U, "target": V, "weight": GRAPH.weights})


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame(EDGES.to_dict("list")),
        pl.LazyFrame(EDGES.to_dict("list")),
        pa.table(EDGES),
        duckdb.from_arrow(pa.table(EDGES)),
    ],
    ids=lambda table: f"{type(table).__module__}.{type(table).__name__}",
)
def test_tables_are_no_matrices(table):
    graph = as_graph(table)
    np.testing.assert_array_equal(graph.edges, GRAPH.edges)
    np.testing.assert_array_equal(graph.weights, GRAPH.weights)
    assert graph.names is None


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_may_be_chosen(kind):
    table = kind({"a": ["y", "x"], "b": ["z", "y"], "w": [-1.0, 2.0]})
    graph = as_graph(table, ("a", "b", "w"))
    assert graph.names == ("x", "y", "z")
    assert graph.weights.tolist() == [2.0, -1.0]
    assert solve(table, columns=["a", "b", "w"]).clusters == {"x": 0, "y": 0, "z": 1}
    with pytest.raises(ValueError, match=r"no column 'source'.*columns=\(a, b, w\); scores of"):
        as_graph(table)
    with pytest.raises(ValueError, match=r"columns must be three names .*, not 'abc'"):
        as_graph(table, "abc")
    with pytest.raises(ValueError, match="columns are for tables, not for 'list'"):
        as_graph(DENSE, ("a", "b", "w"))


def test_tables_with_gaps():
    with pytest.raises(ValueError, match="column 'weight' must have no missing entries"):
        as_graph(pa.table({"source": [0], "target": [1], "weight": pa.array([None], pa.float64())}))
    with pytest.raises(ValueError, match="column 'source' has no id in row 0"):
        as_graph(pl.DataFrame({"source": [None], "target": ["a"], "weight": [1.0]}))


def test_a_list_of_tuples_is_edges():
    rows = [(0, 1, 1.0), (1, 2, -2.0), (0, 2, 0.5), (5, 4, 1.0)]
    graph = as_graph(rows)
    assert (graph.n, graph.m, graph.names) == (6, 4, None)  # ids, as in (u, v, w)
    named = as_graph([("b", "a", 1), ("a", "c", -1)])
    assert named.names == ("b", "a", "c")
    assert named.edges.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(ValueError, match=r"must be edges \(a, b, weight\), not \(0, 1\); a matrix"):
        as_graph([(0, 1), (1, 0)])
    with pytest.raises(ValueError, match="may be three edges or a matrix: pass a list of lists"):
        as_graph([(0, 1, 2), (1, 0, 3), (2, 3, 0)])
