"""Lifted edges in files: written, read again, and as others write them."""

import io

import h5py
import numpy as np
import pytest
from lifted_cases import random_lifted

from bdcc_jax import Graph, read, write
from bdcc_jax.io import FormatError

CHAIN = Graph.from_edges([0, 1], [1, 2], [-2.5, 0.0], n=4, lifted=([0], [2], [1 / 3]))


def same(a, b):
    return (
        a.n == b.n
        and a.edges.tolist() == b.edges.tolist()
        and a.weights.tolist() == b.weights.tolist()
        and a.lifted.tolist() == b.lifted.tolist()
    )


@pytest.mark.parametrize("suffix", [".npz", ".txt", ".multicut.gz", ".h5"])
def test_round_trips(tmp_path, suffix):
    for seed, graph in enumerate(
        [CHAIN, *map(random_lifted, map(np.random.default_rng, range(8)))]
    ):
        path = tmp_path / f"{seed}{suffix}"
        write(graph, path)
        assert same(read(path), graph)


def test_names_survive_in_npz(tmp_path):
    graph = Graph(3, CHAIN.edges, CHAIN.weights, "abc", CHAIN.lifted)
    write(graph, tmp_path / "g.npz")
    assert read(tmp_path / "g.npz").names == ("a", "b", "c")


def test_as_lpmp_has_it(tmp_path):
    write(CHAIN, path := tmp_path / "g.txt")
    assert path.read_text() == f"MULTICUT\n4\n0 1 -2.5\n1 2 0.0\nLIFTED\n0 2 {1 / 3!r}\n"


@pytest.mark.parametrize(
    "text",
    [
        "MULTICUT\n0 1 -2.5\n1 2 0\nLIFTED\n0 2 0.5\n",
        "# nodes 3\nMULTICUT\n0 1 -2.5\n1 2 0\n LIFTED # far ones\n2 0 0.5",
        "MULTICUT\r\n 3 \r\n0 1 -2.5\r\n\r\n1 2 0\r\n\r\nLIFTED\r\n0 2 0.25\r\n0 2 0.25\r\n\r\n",
    ],
)
def test_text_that_is_read(tmp_path, text):
    path = tmp_path / "g.txt"
    path.write_text(text, newline="")
    graph = read(path)
    assert graph.n == 3
    assert graph.weights.tolist() == [-2.5, 0.5, 0.0]
    assert graph.lifted.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MULTICUT\n0 1 1\nLIFTED\n0 2 x\n", "g.txt:4: expected a finite number as weight"),
        ("MULTICUT\n0 1\nLIFTED\n0 2 1\n", "g.txt:2: expected 'i j weight', not 2 field"),
        ("MULTICUT\n2\n0 1 1\nLIFTED\n0 2 1\n", "must give at least 3"),
        ("MULTICUT\n0 1 1\nLIFTED\n0 2 1\nLIFTED\n", "g.txt:5: expected 'i j weight', not 1"),
        ("MULTICUT\n3\n0 1 1\n", "g.txt:2: expected 'i j weight', not 1"),
    ],
)
def test_text_that_is_refused(tmp_path, text, message):
    (tmp_path / "g.txt").write_text(text)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "g.txt")


def bioimage(path, **other):
    arrays = {
        "n_nodes": np.array(3),
        "local_uvs": np.array([[0, 1], [1, 2]], np.uint64),
        "local_costs": np.array([1.0, -0.5], np.float32),
        "lifted_uvs": np.array([[0, 2]], np.uint64),
        "lifted_costs": np.array([2.0], np.float32),
    }
    np.savez(path, **{**arrays, **other})


def test_problems_of_bioimage_cpp(tmp_path):
    bioimage(tmp_path / "lifted_multicut_problem_2d.npz")
    graph = read(tmp_path / "lifted_multicut_problem_2d.npz")
    assert graph.weights.tolist() == [1.0, 2.0, -0.5]
    assert graph.lifted.tolist() == [False, True, False]


def test_damaged_problems_of_bioimage_cpp(tmp_path):
    bioimage(tmp_path / "a.npz", lifted_uvs=np.zeros(3, int))
    with pytest.raises(FormatError, match=r"'lifted_uvs' must have shape \(m, 2\), not \(3,\)"):
        read(tmp_path / "a.npz")


def andres(path, shape=None, values=(0.5, 0.9, 0.0), dataset="edge-cut-probabilities"):
    with h5py.File(path, "w") as file:
        parts = {"graph": [(0, 1), (1, 2)], "graph-lifted": [(0, 1), (1, 2), (0, 2)]}
        for name, edges in parts.items():
            group = file.create_group(name)
            if name == "graph" and shape is not None:
                group["graph-type-id"], group["shape"] = 10003, shape
                continue
            group["graph-type-id"] = 10000
            group["number-of-vertices"], group["number-of-edges"] = 3, len(edges)
            group["edges"] = np.array(edges, np.uint64)
        file[dataset] = np.array(values)


@pytest.mark.parametrize("shape", [None, [3]])
def test_problems_of_andres(tmp_path, shape):
    andres(tmp_path / "g.h5", shape)
    graph = read(tmp_path / "g.h5")
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.lifted.tolist() == [False, True, False]
    assert graph.weights == pytest.approx([0.0, np.log(254), -np.log(9)])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"values": (0.5, 1.5, 0.0)}, "'edge-cut-probabilities' must lie between 0 and 1"),
        (
            {"values": (0.5, 0.5)},
            "the graph with lifted edges has 3 edges, but 'edge-values' holds 2",
        ),
        ({"shape": [4]}, "'graph' has 4 nodes, but 'graph-lifted' has 3"),
        ({"shape": [2000, 2000]}, r"the grid \[2000, 2000\] has 7996000 edges"),
        ({"dataset": "values"}, "expected a dataset 'edge-cut-probabilities'"),
    ],
)
def test_problems_of_andres_that_are_refused(tmp_path, how, message):
    andres(tmp_path / "g.h5", **how)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "g.h5")


@pytest.mark.parametrize("name", ["triples", "signed", "pace", "opengm"])
def test_formats_that_cannot_hold_them(tmp_path, name):
    with pytest.raises(
        ValueError, match=f"format '{name}' cannot hold lifted edges; npz, multicut"
    ):
        write(CHAIN, tmp_path / "g", format=name)


def test_the_directory_of_an_archive_is_asked(tmp_path):
    stream = io.BytesIO()
    np.savez(stream, local_uvs=np.zeros(3))
    (tmp_path / "a.npz").write_bytes(stream.getvalue())
    with pytest.raises(FormatError, match="expected an array 'n_nodes'"):
        read(tmp_path / "a.npz")
