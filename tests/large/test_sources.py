"""Edges from all kinds of files come out as the same blocks, a few at a time."""

import errno
import os

import numpy as np
import pytest
from oracles import random_graph

from bdcc_jax import FormatError, Graph, large, write
from bdcc_jax.large.budget import Budget, as_bytes
from bdcc_jax.large.partition import Partition, block_of_nodes, by_position, count, distribute
from bdcc_jax.large.sources import source_of, source_of_graph

GRAPH = random_graph(np.random.default_rng(5), 30, 0.3)
U, V = GRAPH.edges.T
W = GRAPH.weights


def parquet(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "edges.parquet"
    table = pa.table({"w": W, "source": U, "extra": W, "u": U, "v": V})
    pq.write_table(table, path, row_group_size=20)
    return path


def parquet_folder(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "parts").mkdir()
    for i, part in enumerate(np.array_split(np.arange(GRAPH.m), 3)):
        columns = {"source": U[part], "target": V[part], "weight": W[part]}
        pq.write_table(pa.table(columns), folder / "parts" / f"{i}.parquet")
    return folder / "parts"


def feather(folder):
    import pyarrow as pa
    import pyarrow.feather as feather

    feather.write_feather(pa.table({"u": U, "v": V, "w": W}), folder / "edges.feather")
    return folder / "edges.feather"


def npz(folder):
    np.savez(folder / "edges.npz", u=U, v=V.astype(np.int32), w=W)
    return folder / "edges.npz"


def compressed(folder):
    np.savez_compressed(folder / "edges.npz", edges=GRAPH.edges, weights=W)
    return folder / "edges.npz"


def ours(folder):
    write(GRAPH, folder / "graph.npz")
    return folder / "graph.npz"


def text(folder):
    write(GRAPH, folder / "graph.txt")
    return folder / "graph.txt"


def triples(folder):
    np.save(folder / "edges.npy", np.column_stack([U, V, W]))
    return folder / "edges.npy"


def arrays(folder):
    (folder / "arrays").mkdir()
    for name, array in (("u", U), ("v", V), ("w", W)):
        np.save(folder / "arrays" / f"{name}.npy", array)
    return folder / "arrays"


def zarr_chunks(folder):
    import zarr

    group = zarr.open_group(str(folder / "edges.zarr"), mode="w")
    for name, array in (("u", U), ("v", V), ("w", W)):
        group.create_array(name, data=array, chunks=(16,))
    return folder / "edges.zarr"


KINDS = [
    parquet, parquet_folder, feather, npz, compressed, ours, text, triples, arrays, zarr_chunks,
]  # fmt: skip


def nothing(*_):
    pass


def whole(store):
    """The graph that a store is, in the numbers of the graph that it was made of."""
    u, v, w = [], [], []
    nodes = [store.nodes(b) for b in range(store.n_blocks)]
    for b in range(store.n_blocks):
        graph = store.block(b)
        u.append(nodes[b][graph.edges[:, 0]])
        v.append(nodes[b][graph.edges[:, 1]])
        w.append(graph.weights)
    for a, b in store.faces:
        face = store.face(a, b)
        u.append(nodes[a][face.u])
        v.append(nodes[b][face.v])
        w.append(face.w)
    return Graph.from_edges(*map(np.concatenate, (u, v, w)), store.n)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_all_kinds_of_files_are_the_same_graph(tmp_path, kind):
    source = source_of(kind(tmp_path))
    assert count(source, 7)[0] == GRAPH.n
    block = np.random.default_rng(1).integers(0, 4, GRAPH.n)
    store = distribute(source, Partition.given(block), tmp_path / "store", 7, nothing)
    again = whole(store)
    assert again.n == GRAPH.n
    assert again.edges.tolist() == GRAPH.edges.tolist()
    assert again.weights.tolist() == GRAPH.weights.tolist()
    assert [store.size(b)[0] for b in range(4)] == np.bincount(block).tolist()
    assert not (store.folder / "raw").exists()


def test_columns_that_are_called_otherwise(tmp_path):
    np.savez(tmp_path / "edges.npz", one=U, other=V, cost=W)
    with pytest.raises(FormatError, match=r"it has \['cost', 'one', 'other'\]; expected u, v, w"):
        source_of(tmp_path / "edges.npz")
    source = source_of(tmp_path / "edges.npz", ("one", "other", "cost"))
    assert count(source, 50) == (GRAPH.n, GRAPH.m)


def test_parallel_edges_in_different_chunks_are_summed(tmp_path):
    u, v, w = np.tile([0, 1, 2], 4), np.tile([1, 0, 3], 4), np.tile([1.0, 0.5, -1.0], 4)
    np.savez(tmp_path / "edges.npz", u=u, v=v, w=w)
    source = source_of(tmp_path / "edges.npz")
    store = distribute(source, Partition.ranges(4, 2), tmp_path / "store", 2, nothing)
    assert store.block(0).weights.tolist() == [6.0]
    assert store.block(1).weights.tolist() == [-4.0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"u": [0], "v": [1.5], "w": [1.0]}, r"node ids must be integers"),
        ({"u": [0], "v": [-1], "w": [1.0]}, r"node ids must be at least 0"),
        ({"u": [0], "v": [1], "w": [np.nan]}, r"must be numbers: entry 0 is nan"),
        ({"u": [0], "v": [1], "w": [np.inf]}, r"weights must be finite: that of edge 0 is inf"),
        ({"u": [0, 1], "v": [1], "w": [1.0]}, r"u, v and w must have one entry an edge"),
        ({"u": [0], "v": [1], "w": ["a"]}, r"must be real numbers"),
        ({"u": [], "v": [], "w": []}, r"there are no edges"),
        ({"u": [0], "v": [10**9], "w": [1.0]}, r"the largest id is 1000000000, but there are 1"),
    ],
)
def test_bad_edges(tmp_path, arrays, message):
    np.savez(tmp_path / "edges.npz", **{k: np.array(x) for k, x in arrays.items()})
    with pytest.raises(ValueError, match=message):
        large.solve(tmp_path / "edges.npz", blocks=2, workers=1)


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.npz: there is no such file"):
        source_of(tmp_path / "nowhere.npz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match=r"a folder must be a block store"):
        source_of(tmp_path / "empty")
    (tmp_path / "bad.npz").write_bytes(b"PK nothing")
    with pytest.raises(FormatError, match=r"truncated or corrupt npz archive"):
        source_of(tmp_path / "bad.npz")
    np.save(tmp_path / "flat.npy", np.zeros(5))
    with pytest.raises(FormatError, match=r"expected \(m, 3\), both ends and the weight"):
        source_of(tmp_path / "flat.npy")
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    with pytest.raises(FormatError, match=r"not a readable parquet file"):
        source_of(tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match=r"columns must be three names"):
        source_of(triples(tmp_path), ("u", "v"))
    (tmp_path / "bad.zarr").mkdir()
    with pytest.raises(FormatError, match=r"not a readable group of zarr|it has \[\]"):
        source_of(tmp_path / "bad.zarr")


def test_what_large_graphs_cannot_have():
    lifted = Graph.from_edges([0, 1], [1, 2], [1.0, 1.0], lifted=([0], [2], [-1.0]))
    with pytest.raises(ValueError, match=r"edges and weights only, not lifted"):
        source_of_graph(lifted, "the graph", str)
    named = Graph(2, [(0, 1)], [1.0], names=["a", "b"])
    with pytest.raises(ValueError, match=r"edges and weights only, not names"):
        source_of_graph(named, "the graph", str)


def test_a_file_that_changes_while_it_is_read(tmp_path):
    path = npz(tmp_path)

    def told(*_):
        os.utime(path, (1, 1))

    with pytest.raises(FormatError, match=r"edges.npz has changed while it was read"):
        distribute(source_of(path), Partition.ranges(30, 2), tmp_path / "store", 20, told)


def test_a_disk_that_is_full_while_edges_are_distributed(tmp_path, monkeypatch):
    path, real = npz(tmp_path), os.fsync

    def fail(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"No space left on device"):
        large.solve(path, blocks=3, folder=tmp_path / "work", workers=1)
    monkeypatch.setattr(os, "fsync", real)
    assert large.solve(path, blocks=3, folder=tmp_path / "work", workers=1).store.m == GRAPH.m


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([0, 1, 1], r"one whole number a node, shape \(4,\), not int64 of shape \(3,\)"),
        ([0.0, 1.0, 1.0, 0.0], r"one whole number a node, shape \(4,\), not float64"),
        ([0, 2, 2, 0], r"numbered without gaps: block 1 of 0 .. 2 has no nodes"),
        ([0, -1, 0, 1], r"blocks must be at least 0: that of node 1 is -1"),
        ([0, 9, 0, 1], r"numbered 0, 1, ...: there is a 9, but 4 nodes"),
        ([[0, 1], [1, 2, 3]], r"blocks overlap: node 1 is in block 0 and in block 1"),
        ([[0, 1], [3]], r"blocks: node 2 is in none of them"),
        ([[0, 1], [2, 4]], r"block 1 has node 4; ids are 0 .. 3"),
        ([[0, 1, 1], [2, 3]], r"block 0 has a node twice"),
        ([[0, 1], [0.5]], r"block 1 must be a list of node ids"),
    ],
)
def test_bad_blocks(blocks, message):
    with pytest.raises(ValueError, match=message):
        block_of_nodes(blocks, 4)


def test_blocks_as_lists_and_files(tmp_path):
    assert block_of_nodes([[1, 3], [0, 2]], 4).tolist() == [1, 0, 1, 0]
    np.save(tmp_path / "blocks.npy", [0, 1, 1, 0])
    assert block_of_nodes(tmp_path / "blocks.npy", 4).tolist() == [0, 1, 1, 0]
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    with pytest.raises(FormatError, match=r"bad.npy: not a numpy array of blocks"):
        block_of_nodes(tmp_path / "bad.npy", 4)


def test_positions_make_boxes_of_equal_size():
    points = np.random.default_rng(0).random((1000, 2)) * [10, 1]
    block = by_position(points, 1000, 130)
    assert np.bincount(block).tolist() == [125] * 8
    for b in range(8):  # boxes along the long axis do not overlap
        inside = points[block == b]
        box = (points >= inside.min(axis=0)).all(axis=1) & (points <= inside.max(axis=0)).all(
            axis=1
        )
        assert (block[box] == b).all()
    with pytest.raises(ValueError, match=r"positions must be one point a node, shape \(5, "):
        by_position(points, 5, 10)
    with pytest.raises(ValueError, match=r"positions must be finite: that of node 1"):
        by_position([[0.0], [np.nan]], 2, 1)


def test_amounts_of_memory():
    assert as_bytes("2 MiB") == 2**21
    for wrong in ("much", "-1GB", "1.2.3GB", 0, -5, float("inf")):
        with pytest.raises(ValueError, match=r"memory must be"):
            as_bytes(wrong)


def test_the_memory_decides_how_many_blocks_there_are():
    amounts = [10**9, 12 * 10**8, 3 * 10**9, 2 * 10**10]
    sizes = [Budget(memory, 2).block_nodes(10**7, 3 * 10**7) for memory in amounts]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[1] < sizes[-1] == 100_000
    assert all(
        Budget(amount, 2).fits(3 * size) for amount, size in zip(amounts, sizes, strict=True)
    )
    assert Budget(10**10, 2).fits_whole(10**6)
    assert not Budget(10**10, 2).fits_whole(10**7)


def test_the_memory_decides_how_many_blocks_are_in_work():
    budget = Budget(10 * 10**9, 16)
    assert budget.at_once(0) == 9
    assert budget.at_once(10**6) == 3
    assert budget.at_once(10**6, 4000) == 1
    assert budget.at_once(10**8) == 1  # what does not fit at all has been refused before
    assert budget.fits(5 * 10**6)
    assert not budget.fits(6 * 10**6)


def test_nodes_without_edges_are_in_blocks_too(tmp_path):
    np.savez(tmp_path / "edges.npz", u=[0], v=[1], w=[1.0])
    ways = {"blocks": [[0, 3], [1, 2]], "positions": [[0.0], [1.0], [2.0], [3.0]]}
    for name, given in (*ways.items(), ("blocks", np.array([0, 1, 1, 0]))):
        place = tmp_path / f"{name}-{type(given).__name__}"
        result = large.solve(tmp_path / "edges.npz", **{name: given}, folder=place, workers=1)
        assert result.store.n == 4
        assert result.n_clusters == 3


def test_arrays_of_an_archive_that_are_not_of_one_length(tmp_path):
    """Also where the first chunks are."""
    np.savez(tmp_path / "edges.npz", u=np.zeros(5, int), v=np.ones(5, int), w=np.ones(4))
    with pytest.raises(FormatError, match=r"one entry an edge, not \(5,\), \(5,\), \(4,\)"):
        source_of(tmp_path / "edges.npz")
    np.savez(tmp_path / "pairs.npz", edges=np.zeros((5, 3), int), weights=np.ones(5))
    with pytest.raises(FormatError, match=r"edges must be \(m, 2\) and weights \(m,\)"):
        source_of(tmp_path / "pairs.npz")


def test_damage_inside_of_files_names_them(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    columns = {
        "u": rng.integers(0, 99, 9999),
        "v": rng.integers(0, 99, 9999),
        "w": rng.random(9999),
    }
    np.savez_compressed(tmp_path / "edges.npz", **columns)
    pq.write_table(pa.table(columns), tmp_path / "edges.parquet")
    for name in ("edges.npz", "edges.parquet"):
        content = bytearray((tmp_path / name).read_bytes())
        content[1000:3000] = b"\xff" * 2000
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):  # what zip finds only at the end may be no id
            list(source_of(tmp_path / name).chunks(1000))


@pytest.mark.parametrize("given", [3, ["a", "b", "c", "d"], [1.0, 2.0]])
def test_bad_positions(tmp_path, given):
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match=r"positions must be"):
        large.solve(graph, positions=given, folder=tmp_path / "a", workers=1)


def test_bad_lists_and_columns(tmp_path):
    graph = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match=r"block 1 must be a list of node ids, not 3"):
        large.solve(graph, blocks=[[0, 1, 2], 3], folder=tmp_path / "a", workers=1)
    for columns in (3, "uvw", ("u", "v")):
        with pytest.raises(ValueError, match=r"columns must be three names"):
            source_of(npz(tmp_path), columns)


def test_other_columns_are_another_input(tmp_path):
    np.savez(tmp_path / "edges.npz", u=[0, 1], v=[1, 2], x=[1.0, 1.0], y=[-1.0, -1.0])
    first = large.solve(tmp_path / "edges.npz", blocks=2, workers=1, columns=["u", "v", "x"])
    assert first.objective == 0.0
    with pytest.raises(FileExistsError, match=r"of other columns"):
        large.solve(tmp_path / "edges.npz", blocks=2, workers=1, columns=["u", "v", "y"])


def test_blocks_that_were_not_finished_are_made_anew(tmp_path):
    """Of other sizes, because there is less memory, or of an input that has changed."""
    path = npz(tmp_path)

    def leave(state):
        if state.stage == "writing blocks" and state.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        large.solve(path, workers=1, callback=leave, blocks=2)
    np.savez(path, u=U[:-1], v=V[:-1], w=W[:-1])
    (tmp_path / "edges.npz.large" / ".source.json.0123.part").touch()
    assert large.solve(path, workers=1, blocks=3).store.m == GRAPH.m - 1


def test_a_folder_of_somebody_else_stays_as_it_is(tmp_path):
    (tmp_path / "work" / "blocks").mkdir(parents=True)
    (tmp_path / "work" / "source.json").write_text('{"mine": 1}')
    with pytest.raises(FileExistsError, match=r"is not a folder of ours"):
        large.solve(npz(tmp_path), workers=1, folder=tmp_path / "work")
    assert (tmp_path / "work" / "blocks").is_dir()
