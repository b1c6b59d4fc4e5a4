"""OpenGM's and andres' HDF5 files, and labels in HDF5."""

import io
import sys
from itertools import combinations

import h5py
import numpy as np
import pytest
from graph_files import assert_same, error_of, general, h5, text_file

from bdcc_jax import Graph, read, write
from bdcc_jax.io import andres, opengm, write_labels

PATH = Graph.from_edges([0, 1], [1, 2], [2.5, -1.0])


def model(**changes):
    """An OpenGM model: Potts functions 0 and 1, table 0; three factors, two of them parallel."""
    valid = {
        "gm__header": np.array([2, 0, 3, 4, 2, 16000, 1, 16006, 2, 1], dtype=np.uint64),
        "gm__numbers_of_states": np.array([3, 3, 3], dtype=np.uint64),
        "gm__function_id_16006__indices": np.array([3, 3, 3, 3], dtype=np.uint64),
        "gm__function_id_16006__values": [0.0, 2.0, 0.0, -1.5],
        "gm__function_id_16000__indices": np.array([2, 3, 3], dtype=np.uint64),
        "gm__function_id_16000__values": [0, 7, 7, 7, 0, 7, 7, 7, 0],
        "gm__factors": np.array(
            [*(0, 1, 2, 0, 1), *(1, 1, 2, 1, 2), *(0, 0, 2, 0, 2), *(0, 1, 2, 1, 0)],
            dtype=np.uint64,
        ),
    }
    return h5(**(valid | changes))


def test_opengm_model():
    graph = opengm.decode(model(), "x")
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.weights.tolist() == [4.0, 7.0, -1.5]
    old = model(gm__header=[2, 0, 3, 4, 2, 16000, 1, 16006, 2])  # without the value type
    assert_same(opengm.decode(old, "x"), graph)
    single = model(gm__function_id_16006__values=np.float32([0.0, 2.0, 0.0, -1.5]))
    assert_same(opengm.decode(single, "x"), graph)


def test_opengm_says_what_a_graph_cannot_hold():
    with pytest.warns(UserWarning, match="energy is the objective plus 1,? ?"):
        graph = opengm.decode(model(gm__function_id_16006__values=[0.5, 2.0, 0.0, 1.0]), "x")
    assert graph.weights.tolist() == [3.0, 7.0, 1.0]
    with pytest.warns(UserWarning, match="the model has 2 labels for 3 variables"):
        opengm.decode(model(gm__numbers_of_states=[3, 2, 3]), "x")


HEADER = [2, 0, 3, 4, 2, 16000, 1, 16006, 2, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gm__header": [2, 0]}, "FILE: expected a header [2, minor, variables, factors, types,"),
        ({"gm__header": [1, *HEADER[1:]]}, "value type], not [1, 0, 3, 4,"),
        ({"gm__header": [*HEADER[:4], 9, *HEADER[5:]]}, "FILE: expected a header"),
        ({"gm__header": None}, "FILE: expected a dataset 'gm/header'; there is none"),
        ({"gm__numbers_of_states": [3, 3]}, "FILE: 3 variables, but 2 numbers of states"),
        ({"gm__factors": [0, 1, 1, 0]}, "FILE: factor 0 has 1 variables; expected 2"),
        ({"gm__factors": [0, 1, 2, 0, 1]}, "FILE: 4 factors of two variables need 20 entries"),
        ({"gm__factors": [0, 5, 2, 0, 1] * 4}, "FILE: a factor is of type 5 of 2"),
        ({"gm__factors": [9, 1, 2, 0, 1] * 4}, "FILE: a factor has function 9 of 2"),
        ({"gm__factors": [0, 1, 2, 0, 3] * 4}, "FILE: node id 3 is out of range"),
        ({"gm__factors": [0, 1, 2, 0, -1] * 4}, "FILE: expected numbers from 0 to 2**63 - 1"),
        ({"gm__factors": [0.0, 1, 2, 0, 1] * 4}, "expected 1-dimensional integers, not float64"),
        ({"gm__header": [*HEADER[:7], 16001, *HEADER[8:]]}, "FILE: functions of type 16001"),
        ({"gm__header": [*HEADER[:8], 3, 1]}, "FILE: 3 Potts functions need 6 indices and values"),
        ({"gm__function_id_16006__values": [0, np.nan, 0, 1]}, "FILE: weights must be numbers"),
        ({"gm__function_id_16000__indices": [2, 3, 2]}, "table 0 of shape (3, 2) is not square"),
        ({"gm__function_id_16000__indices": [2, 9**9, 9**9]}, "has fewer entries than it says"),
        ({"gm__function_id_16000__indices": [1, 9, 1]}, "FILE: expected 1 tables of two variables"),
        ({"gm__function_id_16000__values": np.arange(9)}, "tells labels apart: expected a Potts"),
    ],
)
def test_opengm_refuses(tmp_path, changes, message):
    assert message in error_of(tmp_path, model(**changes), "g.h5")


def test_andres_general_graph():
    expected = Graph(4, [(0, 1), (1, 2)], [1.5, -2.0])
    assert_same(andres.decode(general(), "x"), expected)
    empty = general(graph__number_of_edges=0, graph__edges=None, edge_values=None)
    assert_same(andres.decode(empty, "x"), Graph(4, [], []))


def test_andres_complete_graph():
    content = h5(
        graph__graph_type_id=10002, graph__number_of_vertices=4, edge_values=np.arange(1.0, 7)
    )
    expected = Graph(4, list(combinations(range(4), 2)), np.arange(1.0, 7))
    assert_same(andres.decode(content, "x"), expected)


@pytest.mark.parametrize("shape", [(5,), (3, 2), (2, 3, 4), (1, 1)])
def test_andres_grid(shape):
    """The first coordinate runs fastest; edges are numbered axis by axis."""
    step = np.cumprod([1, *shape[:-1]])
    edges = []
    for axis in range(len(shape)):
        shorter = [length - (i == axis) for i, length in enumerate(shape)]
        for reverse in np.ndindex(*shorter[::-1]):
            node = int(np.dot(reverse[::-1], step))
            edges.append((node, node + int(step[axis])))
    weights = np.arange(1.0, len(edges) + 1)
    content = h5(graph__graph_type_id=10003, graph__shape=np.array(shape), edge_values=weights)
    assert_same(andres.decode(content, "x"), Graph(int(np.prod(shape)), edges, weights))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"graph__graph_type_id": 10001}, "expected the graph-type-id 10000, 10002 or 10003, not"),
        ({"graph__graph_type_id": [1, 2]}, "'graph/graph-type-id': expected one integer"),
        ({"graph__graph_type_id": "x"}, "expected 0-dimensional integers, not object"),
        ({"edge_values": [1.0]}, "FILE: the graph has 3 edges, but 'edge-values' holds 1"),
        ({"edge_values": None}, "FILE: expected a dataset 'edge-values'; there is none"),
        ({"graph__number_of_edges": 7}, "FILE: expected 'edges' of shape (7, 2), not (3, 2)"),
        ({"graph__number_of_vertices": 2}, "FILE: node id 2 is out of range"),
        ({"graph__number_of_vertices": 0}, "FILE: n must be at least 1"),
        ({"graph__graph_type_id": 10002}, "the complete graph of 4 nodes has 6 edges, but"),
        (
            {"graph__graph_type_id": 10002, "graph__number_of_vertices": 10**9},
            "the complete graph of 1000000000 nodes has 499999999500000000 edges, but",
        ),
        (
            {"graph__graph_type_id": 10003, "graph__shape": [10**9, 2]},
            "the grid of shape [1000000000, 2] has 2999999998 edges, but 'edge-values' holds 3",
        ),
        ({"graph__graph_type_id": 10003, "graph__shape": [10**9] * 4}, "must have 1 to 8 axes"),
        ({"graph__graph_type_id": 10003, "graph__shape": [0, 3]}, "must have 1 to 8 axes"),
    ],
)
def test_andres_refuses(tmp_path, changes, message):
    assert message in error_of(tmp_path, general(**changes), "g.h5")


def test_other_hdf5(tmp_path):
    message = "FILE: expected a group 'graph' (andres) or 'gm' (OpenGM)"
    assert error_of(tmp_path, h5(image=np.zeros((2, 2))), "g.h5") == message
    assert "truncated or corrupt HDF5 file" in error_of(tmp_path, general()[:700], "g.h5")
    assert "truncated or corrupt HDF5 file" in error_of(tmp_path, "0 1 2\n", "g.h5")


def test_hdf5_declared_sizes_and_other_files_are_not_followed(tmp_path):
    for what, message in [
        ("huge", "'edge-values' declares the shape (1000000000000,): more than the file can hold"),
        ("external", "'edge-values' is stored in another file, which is not followed"),
        ("link", "'edge-values' is a link, which is not followed"),
        ("virtual", "'edge-values' is stored in another file, which is not followed"),
    ]:
        buffer = io.BytesIO(general(edge_values=None))
        with h5py.File(buffer, "r+") as file:
            match what:
                case "huge":
                    file.create_dataset("edge-values", (10**12,), "f8", chunks=(1000,))
                case "external":
                    file.create_dataset(
                        "edge-values", (3,), "f8", external=[("/etc/passwd", 0, 24)]
                    )
                case "link":
                    file["edge-values"] = h5py.ExternalLink("other.h5", "/edge-values")
                case "virtual":
                    layout = h5py.VirtualLayout((3,), "f8")
                    layout[:] = h5py.VirtualSource("other.h5", "x", (3,))
                    file.create_virtual_dataset("edge-values", layout)
        assert message in error_of(tmp_path, buffer.getvalue(), "g.h5")


def test_without_h5py(tmp_path, monkeypatch):
    path = text_file(tmp_path, general(), "g.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    for action in (lambda: read(path), lambda: write(PATH, tmp_path / "new.h5")):
        with pytest.raises(ImportError, match=r'pip install "\.\[hdf5\]"'):
            action()
    assert [p.name for p in tmp_path.iterdir()] == ["g.h5"]


def test_labels_to_hdf5_and_with_names(tmp_path):
    labels, names = np.array([0, 1, 0]), ["ü a", 7, "b\tc"]
    for suffix in ("h5", "npz", "txt", "npy"):
        write_labels(labels, tmp_path / f"l.{suffix}", names=names)
    with h5py.File(tmp_path / "l.h5") as file:
        assert file["labels"][()].tolist() == [0, 1, 0]
        assert file["labels"].dtype == np.uint64
        assert [name.decode() for name in file["names"]] == ["ü a", "7", '"b\\tc"']
    with np.load(tmp_path / "l.npz") as arrays:
        assert arrays["names"].tolist() == ["ü a", "7", '"b\\tc"']
    text = (tmp_path / "l.txt").read_text(encoding="utf-8")
    assert text == 'ü a\t0\n7\t1\n"b\\tc"\t0\n'
    assert np.load(tmp_path / "l.npy").tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match=r"one entry a label \(3\), not 2"):
        write_labels(labels, tmp_path / "m.txt", names=["a", "b"])


def test_written_hdf5_is_reproducible():
    for codec in (opengm, andres):
        assert codec.encode(PATH) == codec.encode(PATH)
