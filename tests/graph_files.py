"""Graphs to write, and files to read."""

import io

import h5py
import numpy as np
import pytest
from hypothesis import strategies as st

from bdcc_jax import FormatError, Graph, read

WEIGHTS = st.floats(-1e100, 1e100, allow_nan=False).filter(bool)


@st.composite
def graphs(draw, names=None):
    n = draw(st.integers(1, 12))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1])
    edges = draw(st.lists(pairs, unique_by=frozenset, max_size=15 if n > 1 else 0))
    weights = draw(st.lists(WEIGHTS, min_size=len(edges), max_size=len(edges)))
    if names is not None:
        names = draw(st.lists(names, min_size=n, max_size=n, unique=True))
    return Graph(n, edges, weights, names)


JSON_NAMES = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False, allow_infinity=False))


def assert_same(a, b):
    assert a.n == b.n
    assert a.names == b.names
    np.testing.assert_array_equal(a.edges, b.edges)
    assert a.weights.tobytes() == b.weights.tobytes()


def text_file(folder, content, name="graph.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def error_of(folder, content, name="graph.txt"):
    path = text_file(folder, content, name)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    return str(caught.value).replace(str(path), "FILE")


def h5(**datasets):
    """The content of a file with these datasets; ``__`` stands for a slash, ``_`` for a dash."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        for key, value in datasets.items():
            if value is not None:
                file[key.replace("__", "/").replace("_", "-")] = value
    return buffer.getvalue()


def general(**changes):
    valid = {
        "graph__graph_type_id": np.int32(10000),
        "graph__multiple_edges_enabled": np.uint8(1),
        "graph__number_of_vertices": np.uint64(4),
        "graph__number_of_edges": np.uint64(3),
        "graph__edges": np.array([[0, 1], [2, 1], [1, 0]], dtype=np.uint64),
        "edge_values": [1.0, -2.0, 0.5],
    }
    return h5(**(valid | changes))
