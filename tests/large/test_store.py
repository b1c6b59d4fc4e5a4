"""Block stores: what is written is read, and nothing else is taken for a store."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from bdcc_jax.io.files import FormatError
from bdcc_jax.large import BlockStore, BlockWriter, StoreChanged, solve


def small(folder):
    writer = BlockWriter(folder)
    writer.write_block(0, 3, [0, 2, 1, 1, 0], [1, 1, 2, 1, 2], [2.0, -1.0, 0.5, 9.0, 0.0])
    writer.write_block(1, 2, [], [], [])
    writer.write_face(1, 0, [0, 1, 0], [2, 0, 2], [1.0, -2.0, 0.25])
    return writer


def test_what_is_written_is_read(tmp_path):
    store = small(tmp_path / "store").finish(2)
    store = BlockStore(store.folder)
    assert (store.n, store.m, store.n_blocks) == (5, 4, 2)
    graph = store.block(0)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]  # no loop, nothing of weight 0
    assert graph.weights.tolist() == [2.0, -0.5]  # parallel edges are summed
    face = store.face(0, 1)
    assert (face.u.tolist(), face.v.tolist(), face.w.tolist()) == ([0, 2], [1, 0], [-2.0, 1.25])
    assert store.faces == {(0, 1): 2}
    assert store.neighbours(0) == [1]
    assert store.size(0) == (3, 2)
    assert store.nodes(1).tolist() == [3, 4]
    assert not store.renumbered


def test_blocks_may_be_empty(tmp_path):
    writer = small(tmp_path)
    writer.write_block(2, 0, [], [], [])
    store = writer.finish(3)
    assert (store.block(2).n, store.starts.tolist()) == (0, [0, 3, 5, 5])


def test_names_of_nodes(tmp_path):
    writer = small(tmp_path)
    writer.write_nodes([1, 3, 4, 2, 0])
    store = writer.finish(2)
    assert store.renumbered
    assert store.nodes(1).tolist() == [2, 0]
    np.save(store.folder / "nodes.npy", [1, 3, 4, 0, 2])
    assert store.nodes(0).tolist() == [1, 3, 4]
    with pytest.raises(StoreChanged, match=r"nodes.npy has changed since"):
        store.nodes(1)
    (store.folder / "nodes.npy").unlink()
    with pytest.raises(StoreChanged, match=r"nodes.npy has gone"):
        store.nodes(1)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([1, 3, 50, 2, 0], r"nodes.npy: node 50 is out of range: there are 5 nodes"),
        ([1, 3, 3, 2, 0], r"nodes.npy: node 4 is in no block, and another one twice"),
        ([1, 3, 4.5, 2, 0], r"node ids must be integers: nodes\[2\] is 4.5"),
        ([1, 3, 4, 2, -1], r"node ids must be at least 0: nodes\[4\] is -1"),
    ],
)
def test_bad_names_of_nodes(tmp_path, nodes, message):
    writer = small(tmp_path)

    def write():
        writer.write_nodes(nodes)
        writer.finish(2)

    with pytest.raises(ValueError, match=message):
        write()


def test_stores_that_cannot_be_solved(tmp_path):
    writer = BlockWriter(tmp_path / "heavy")
    for block in range(2):
        writer.write_block(block, 3, [0, 1], [1, 2], [-1e308, 5e307])
    with pytest.raises(ValueError, match=r"all weights together are of size 1e\+301 or more"):
        writer.finish(2)
    writer = BlockWriter(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"n_blocks must be an integer >= 1, not 0"):
        writer.finish(0)
    with pytest.raises(ValueError, match=r"block must be an integer >= 0, not -1"):
        writer.write_block(-1, 1, [], [], [])
    writer.write_block(0, 0, [], [], [])
    writer.finish(1)
    with pytest.raises(ValueError, match=r"a graph needs a node, and no block has any"):
        solve(writer.folder)


def test_the_digest_is_that_of_the_content(tmp_path):
    first, second = small(tmp_path / "a").finish(2), small(tmp_path / "b").finish(2)
    assert first.digest == second.digest
    writer = BlockWriter(tmp_path / "c")
    writer.write_block(0, 3, [], [], [])
    writer.write_block(1, 2, [], [], [])
    assert writer.finish(2).digest != first.digest


def test_writing_the_same_again_is_fine_and_anything_else_is_refused(tmp_path):
    writer = small(tmp_path)
    small(tmp_path)
    with pytest.raises(ValueError, match=r"block 0 is there already, with other content"):
        writer.write_block(0, 3, [0], [1], [1.0])
    with pytest.raises(ValueError, match=r"face 0, 1 is there already, with other content"):
        writer.write_face(0, 1, [0], [1], [1.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, -1, [], [], []), r"n must be at least 1"),
        ((0, 0, [0], [0], [1.0]), r"block 0: node 0 is out of range: it has 0 nodes"),
        ((0, 3, [0], [3], [1.0]), r"block 0: node 3 is out of range: it has 3 nodes"),
        ((0, 3, [0], [1, 2], [1.0]), r"u and v of block 0 must be of one length, not 1 and 2"),
        ((0, 3, [0], [-1], [1.0]), r"node ids must be at least 0: v of block 0\[0\] is -1"),
        ((0, 3, [0], [1], [np.inf]), r"w of block 0 must be finite: entry 0 is inf"),
        ((0, 3, [0], [1], [np.nan]), r"w of block 0 must be numbers: entry 0 is nan"),
    ],
)
def test_bad_blocks(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        BlockWriter(tmp_path).write_block(*arguments)
    assert not list(tmp_path.iterdir())


def test_bad_stores(tmp_path):
    with pytest.raises(ValueError, match=r"a face is between two blocks, not between 1 and 1"):
        BlockWriter(tmp_path).write_face(1, 1, [0], [0], [1.0])
    with pytest.raises(ValueError, match=r"block 2 is missing; expected 0 .. 2"):
        small(tmp_path / "missing").finish(3)
    with pytest.raises(ValueError, match=r"block-000001.npz: there should be 1 blocks"):
        small(tmp_path / "missing").finish(1)
    writer = small(tmp_path / "range")
    writer.write_face(0, 2, [0], [0], [1.0])
    with pytest.raises(ValueError, match=r"face-000000-000002.npz: there are 2 blocks only"):
        writer.finish(2)
    writer.write_block(2, 1, [], [], [])
    writer.write_face(1, 2, [1], [1], [1.0])
    with pytest.raises(ValueError, match=r"ends at node 1 of block 2, which has 1 nodes"):
        writer.finish(3)
    writer = small(tmp_path / "names")
    writer.write_nodes([1, 2])
    with pytest.raises(ValueError, match=r"nodes.npy: expected 5 nodes, .* not \(2,\)"):
        writer.finish(2)


def test_what_is_no_store(tmp_path):
    with pytest.raises(FormatError, match=r"no finished block store: there is no store.json"):
        BlockStore(tmp_path)
    path = tmp_path / "store.json"
    path.write_text("{}")
    with pytest.raises(FormatError, match=r"not the table of contents"):
        BlockStore(tmp_path)
    path.write_text('{"format": "other", "digest": ""}')
    with pytest.raises(FormatError, match=r"expected format 'bdcc_jax.BlockStore 2', not 'other'"):
        BlockStore(tmp_path)
    store = small(tmp_path / "store").finish(2)
    with pytest.raises(FileExistsError, match=r"the store is finished"):
        BlockWriter(store.folder)
    content = json.loads((store.folder / "store.json").read_bytes())
    content["blocks"][0]["n"] = 4
    (store.folder / "store.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match=r"damaged; write the store anew"):
        BlockStore(store.folder)


def test_a_store_that_changes_is_noticed(tmp_path):
    store = small(tmp_path / "store").finish(2)
    path = store.folder / "block-000000.npz"
    other = BlockWriter(tmp_path / "other")
    other.write_block(0, 3, [0], [1], [1.0])
    content = path.read_bytes()
    os.replace(other.folder / "block-000000.npz", path)
    with pytest.raises(StoreChanged, match=r"block-000000.npz has changed since"):
        store.block(0)
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreChanged, match=r"block-000000.npz is damaged"):
        store.block(0)
    path.write_bytes(content.replace(np.float64(2.0).tobytes(), np.float64(3.0).tobytes()))
    with pytest.raises(StoreChanged, match=r"block-000000.npz"):
        store.block(0)
    path.unlink()
    with pytest.raises(StoreChanged, match=re.escape("block-000000.npz has gone")):
        store.block(0)


def test_a_writer_that_is_killed_leaves_no_half_block(tmp_path):
    """Killed with -9 while it writes, again and again: what is there is whole."""
    code = (
        "import sys, numpy as np\n"
        "from bdcc_jax.large import BlockWriter\n"
        "writer = BlockWriter(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "for block in range(10**6):\n"
        "    writer.write_block(block, 20_001, np.arange(20_000), np.arange(1, 20_001),"
        " np.ones(20_000))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        while len(list(tmp_path.glob("block-*.npz"))) < 5:
            pass
        process.kill()
    writer, written = BlockWriter(tmp_path), len(list(tmp_path.glob("block-*.npz")))
    assert [writer.has_block(b) for b in range(written + 1)] == [True] * written + [False]
    with pytest.raises(FormatError):
        BlockStore(tmp_path)
    store = writer.finish(written)
    assert all(store.block(b).m == 20_000 for b in range(written))
