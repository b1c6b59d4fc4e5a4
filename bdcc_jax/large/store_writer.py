"""Writing a block store: blocks and faces in any order, by any number of processes."""

import io
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.sums import sum_down
from ..base.validation import MAX_NODES, node_count, node_ids, real_weights, sum_by_key
from ..io.files import write_bytes
from ..options import as_count
from .store import BlockStore
from .store_files import (
    FORMAT,
    MANIFEST,
    NODES,
    block_name,
    digest_of_arrays,
    digest_of_text,
    face_name,
    read_npz,
    write_npz,
)

_FACTS = ("m", "negative", "size", "digest")

MOST_WEIGHT = 2.0**1000
"""All weights together may have this size at most: sums and multiples of them must not overflow."""


class BlockWriter:
    """Writes the blocks and faces of a store, in any order and by any number of processes.

    It keeps nothing but the name of the folder, and may be sent to other processes. A block that
    is written again must be the same: blocks that overlap are refused. After a kill, write again
    whatever :meth:`has_block` and :meth:`has_face` do not know, and :meth:`finish`.

    Parameters
    ----------
    folder : path
        Where the store will be; made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> writer = BlockWriter(folder.name)
    >>> writer.write_block(0, 3, [0, 1], [1, 2], [2.0, -1.0])
    >>> writer.write_block(1, 2, [0], [1], [1.0])
    >>> writer.write_face(0, 1, [2], [0], [-3.0])
    >>> store = writer.finish(2)
    >>> store
    BlockStore(n=5, m=4, blocks=2, faces=1)
    >>> store.block(0).edges.tolist(), store.face(0, 1).w.tolist(), store.starts.tolist()
    ([[0, 1], [1, 2]], [-3.0], [0, 3, 5])
    >>> folder.cleanup()
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / MANIFEST).exists():
            raise FileExistsError(
                f"{self.folder / MANIFEST} exists: the store is finished; remove the folder, or "
                "choose another"
            )

    def write_block(self, block: int, n: int, u: ArrayLike, v: ArrayLike, w: ArrayLike) -> None:
        """Write a block: its number of nodes, and its edges in ids ``0 .. n - 1``.

        Parallel edges are summed; loops, and what weighs 0, are dropped. A block may be empty.
        """
        block = as_count("block", block, at_least=0)
        n, what = node_count(n) if n != 0 else 0, f"block {block}"
        first, second, weights = _checked(u, v, w, n, n, what)
        low, high = np.minimum(first, second), np.maximum(first, second)
        proper = low != high
        ends, weights = _summed(low[proper], high[proper], weights[proper], n)
        self._write(block_name(block), what, {"n": np.asarray(n), **_columns(*ends, weights)})

    def write_face(self, a: int, b: int, u: ArrayLike, v: ArrayLike, w: ArrayLike) -> None:
        """Write all edges between blocks a and b, from ``u`` in a to ``v`` in b, in local ids."""
        a, b = (as_count("block", block, at_least=0) for block in (a, b))
        if a == b:
            raise ValueError(f"a face is between two blocks, not between {a} and {b}")
        if a > b:
            a, b, u, v = b, a, v, u
        what = f"face {a}, {b}"
        first, second, weights = _checked(u, v, w, MAX_NODES, MAX_NODES, what)
        ends, weights = _summed(first, second, weights, MAX_NODES)
        self._write(face_name(a, b), what, _columns(*ends, weights))

    def has_block(self, block: int) -> bool:
        """Whether a block has been written."""
        return (self.folder / block_name(block)).is_file()

    def has_face(self, a: int, b: int) -> bool:
        """Whether a face has been written."""
        return (self.folder / face_name(min(a, b), max(a, b))).is_file()

    def write_nodes(self, nodes: ArrayLike) -> None:
        """Write which nodes of another graph these are, ``0 .. n - 1``, block after block.

        Labels of all nodes come in the order of that graph.
        """
        buffer = io.BytesIO()
        np.save(buffer, node_ids(nodes, "nodes"))
        write_bytes(self.folder / NODES, buffer.getvalue(), force=True)

    def finish(self, n_blocks: int) -> BlockStore:
        """Check that all is there and fits together, and make it a store."""
        n_blocks = as_count("n_blocks", n_blocks, at_least=1)
        blocks, faces = [], []
        for block in range(n_blocks):
            if not self.has_block(block):
                raise ValueError(
                    f"{self.folder}: block {block} is missing; expected 0 .. {n_blocks - 1}"
                )
            blocks.append(read_npz(self.folder / block_name(block), ("n", *_FACTS)))
        for path in sorted(self.folder.glob("block-*.npz")):
            if int(path.stem.split("-")[1]) >= n_blocks:
                raise ValueError(f"{path}: there should be {n_blocks} blocks, numbered from 0")
        for path in sorted(self.folder.glob("face-*.npz")):
            a, b = map(int, path.stem.split("-")[1:])
            if b >= n_blocks:
                raise ValueError(f"{path}: there are {n_blocks} blocks only, numbered from 0")
            facts = read_npz(path, ("most", *_FACTS))
            for block, most in zip((a, b), facts["most"].tolist(), strict=True):
                if most >= (n := int(blocks[block]["n"])):
                    raise ValueError(
                        f"{path}: an edge ends at node {most} of block {block}, which has {n} nodes"
                    )
            if int(facts["m"]):
                faces.append({"a": a, "b": b, **_plain(facts)})
        sizes = [int(each["n"]) for each in blocks]
        content: dict[str, Any] = {
            "format": FORMAT,
            "blocks": [{"n": n, **_plain(each)} for n, each in zip(sizes, blocks, strict=True)],
            "faces": faces,
            "nodes": self._digests_of_nodes(sizes),
        }
        if sum(each["size"] for each in (*content["blocks"], *faces)) > MOST_WEIGHT:
            raise ValueError(
                f"{self.folder}: all weights together are of size {MOST_WEIGHT:.0e} or more; scale "
                "them down"
            )
        content["digest"] = digest_of_text(json.dumps(content, sort_keys=True))
        write_bytes(self.folder / MANIFEST, json.dumps(content).encode(), force=True)
        return BlockStore(self.folder)

    def _digests_of_nodes(self, sizes: Sequence[int]) -> list[str]:
        """Of the part of every block, where nodes were renumbered; each of them must be there."""
        path, n = self.folder / NODES, sum(sizes)
        if not path.exists():
            return []
        nodes = np.load(path, mmap_mode="r")
        if nodes.shape != (n,):
            raise ValueError(
                f"{path}: expected {n} nodes, as many as the blocks have, not {nodes.shape}"
            )
        digests, there = list[str](), np.zeros(n, dtype=bool)
        for part in np.split(nodes, np.cumsum(sizes)[:-1]):
            if len(part) and (most := int(part.max())) >= n:
                raise ValueError(f"{path}: node {most} is out of range: there are {n} nodes")
            there[part] = True
            digests.append(digest_of_arrays({NODES: part}))
        if not there.all():
            lacking = int(np.flatnonzero(~there)[0])
            raise ValueError(f"{path}: node {lacking} is in no block, and another one twice")
        return digests

    def _write(self, name: str, what: str, arrays: dict[str, np.ndarray]) -> None:
        path, digest = self.folder / name, digest_of_arrays(arrays)
        if path.exists():
            if str(read_npz(path, ("digest",))["digest"]) != digest:
                raise ValueError(f"{path}: {what} is there already, with other content")
            return
        write_npz(path, {**arrays, "digest": np.asarray(digest)})


def _checked(
    u: ArrayLike, v: ArrayLike, w: ArrayLike, n_u: int, n_v: int, what: str
) -> tuple[IntArray, IntArray, FloatArray]:
    first, second = node_ids(u, f"u of {what}"), node_ids(v, f"v of {what}")
    if len(first) != len(second):
        raise ValueError(
            f"u and v of {what} must be of one length, not {len(first)} and {len(second)}"
        )
    weights = real_weights(w, len(first), f"w of {what}")
    if not (finite := np.isfinite(weights)).all():
        at = int(np.flatnonzero(~finite)[0])
        raise ValueError(f"w of {what} must be finite: entry {at} is {weights[at]}")
    for ends, n in ((first, n_u), (second, n_v)):
        if len(ends) and (most := int(ends.max())) >= n:
            raise ValueError(f"{what}: node {most} is out of range: it has {n} nodes")
    return first, second, weights


def _summed(
    u: IntArray, v: IntArray, w: FloatArray, n: int
) -> tuple[tuple[IntArray, IntArray], FloatArray]:
    """Parallel edges summed, zeros dropped, in lexicographic order."""
    n = max(n, 1)
    keys, sums = sum_by_key(u * n + v, w)
    keys, sums = keys[sums != 0.0], sums[sums != 0.0]
    return (keys // n, keys % n), sums


def _plain(facts: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What the table of contents says of a file."""
    return {name: facts[name].item() for name in _FACTS}


def _columns(u: IntArray, v: IntArray, w: FloatArray) -> dict[str, np.ndarray]:
    most = np.array([u.max(initial=-1), v.max(initial=-1)])
    small: dict[str, NDArray[np.int32]] = {"u": u.astype(np.int32), "v": v.astype(np.int32)}
    facts = {
        "m": np.asarray(len(w)),
        "most": most,
        "negative": np.asarray(sum_down(w[w < 0.0])),
        "size": np.abs(w).sum(),
    }
    return {**facts, **small, "w": w}
