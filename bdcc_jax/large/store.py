"""The block store: a graph in a folder, block by block, so that nobody needs all of it at once.

The nodes of block b are ``starts[b] .. starts[b + 1] - 1``; within the block they are ``0, 1`` and
so on. An edge is inside a block, or in the face between two. Files of the folder:

- ``block-000007.npz``: ``n`` nodes and the edges inside, ``u < v`` in local ids, weights ``w``;
- ``face-000003-000007.npz``: edges from nodes ``u`` of the lower block to ``v`` of the higher one;
- ``nodes.npy``, if nodes were renumbered: which node each was, ``0 .. n - 1``, block after block;
- ``store.json``, written last: how many nodes and edges each file has, and its digest.

Every file comes to be by renaming one that is complete, and holds a digest of its content. So
any number of processes may write blocks, and a process that is killed leaves a store that lacks
some, never one with half a block. Whoever reads a block compares its digest with that in
``store.json``: a store that changes under a run is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.sums import sum_down
from ..base.validation import MAX_NODES, node_count, node_ids, real_weights, sum_by_key
from ..instance.graph import Graph
from ..io.files import FormatError, write_bytes
from ..options import as_count

FORMAT = "bdcc_jax.BlockStore 2"
MANIFEST, NODES = "store.json", "nodes.npy"
_FACTS = ("m", "negative", "size", "digest")

MOST_WEIGHT = 2.0**1000
"""All weights together may have this size at most: sums and multiples of them must not overflow."""


class StoreChanged(RuntimeError):
    """A file of a store is no longer what it was when the store was finished."""


@dataclass(frozen=True, eq=False)
class Face:
    """The edges between two blocks.

    Attributes
    ----------
    u, v : ndarray of int
        Their ends in the lower block, and in the higher one, in local ids.
    w : ndarray of float
        Their weights.
    """

    u: IntArray
    v: IntArray
    w: FloatArray


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
        self._write(_block_name(block), what, {"n": np.asarray(n), **_columns(*ends, weights)})

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
        self._write(_face_name(a, b), what, _columns(*ends, weights))

    def has_block(self, block: int) -> bool:
        """Whether a block has been written."""
        return (self.folder / _block_name(block)).is_file()

    def has_face(self, a: int, b: int) -> bool:
        """Whether a face has been written."""
        return (self.folder / _face_name(min(a, b), max(a, b))).is_file()

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
            blocks.append(read_npz(self.folder / _block_name(block), ("n", *_FACTS)))
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
        content["digest"] = _digest_of_text(json.dumps(content, sort_keys=True))
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


class BlockStore:
    """A finished store, opened for reading; see the module for what its files are.

    Parameters
    ----------
    folder : path
        Where it is.

    Attributes
    ----------
    starts : ndarray of int, shape (blocks + 1,)
        Block b has the nodes ``starts[b] .. starts[b + 1] - 1``.
    faces : dict from pairs of blocks to int
        The pairs ``a < b`` of blocks that edges join, and by how many.
    digest : str
        Of all that is in it: two stores with the same digest are the same graph.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        path = self.folder / MANIFEST
        if not path.is_file():
            raise FormatError(
                f"{self.folder} is no finished block store: there is no {MANIFEST} in it"
            )
        try:
            content = json.loads(path.read_bytes())
            form, digest = content["format"], content.pop("digest")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"{path}: not the table of contents of a block store") from error
        if form != FORMAT:
            raise FormatError(f"{path}: expected format {FORMAT!r}, not {form!r}")
        if digest != _digest_of_text(json.dumps(content, sort_keys=True)):
            raise FormatError(f"{path}: damaged; write the store anew")
        self.digest: str = digest
        self._blocks, self._nodes = content["blocks"], content["nodes"]
        self._faces = {(face["a"], face["b"]): face for face in content["faces"]}
        self.faces: dict[tuple[int, int], int] = {ab: f["m"] for ab, f in self._faces.items()}
        self.starts: IntArray = np.cumsum([0] + [block["n"] for block in self._blocks])

    def __repr__(self) -> str:
        return (
            f"BlockStore(n={self.n}, m={self.m}, blocks={self.n_blocks}, faces={len(self.faces)})"
        )

    @property
    def n(self) -> int:
        """Number of nodes."""
        return int(self.starts[-1])

    @cached_property
    def m(self) -> int:
        """Number of edges."""
        return sum(self.faces.values(), sum(int(block["m"]) for block in self._blocks))

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self._blocks)

    def size(self, block: int) -> tuple[int, int]:
        """Number of nodes and of edges inside a block, without reading it."""
        return int(self._blocks[block]["n"]), int(self._blocks[block]["m"])

    def negative_sum(self, block: int, other: int | None = None) -> float:
        """The negative weights of a block, or of a face, added up and rounded down."""
        of = self._blocks[block] if other is None else self._faces[block, other]
        return float(of["negative"])

    def digest_of(self, block: int, other: int | None = None) -> str:
        """Of a block, or of the face between two."""
        of = self._blocks[block] if other is None else self._faces[block, other]
        return str(of["digest"])

    @cached_property
    def _neighbours(self) -> list[list[int]]:
        around: list[list[int]] = [[] for _ in self._blocks]
        for a, b in self.faces:
            around[a].append(b)
            around[b].append(a)
        return [sorted(each) for each in around]

    def neighbours(self, block: int) -> list[int]:
        """The blocks that edges join to this one, in order."""
        return self._neighbours[block]

    def block(self, block: int) -> Graph:
        """The graph inside a block, in local ids."""
        arrays = self._content(_block_name(block), self.digest_of(block))
        ends = np.column_stack([arrays["u"], arrays["v"]]).astype(np.int64)
        return Graph._trusted(int(arrays["n"]), ends, arrays["w"])

    def face(self, a: int, b: int) -> Face:
        """The edges between two blocks, ``a < b``."""
        arrays = self._content(_face_name(a, b), self.digest_of(a, b))
        return Face(arrays["u"].astype(np.int64), arrays["v"].astype(np.int64), arrays["w"])

    def nodes(self, block: int) -> IntArray:
        """Which nodes of the graph that the store was made of those of a block are."""
        start, stop = self.starts[block : block + 2].tolist()
        if not self.renumbered:
            return np.arange(start, stop)
        path = self.folder / NODES
        try:
            nodes = np.array(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop])
        except (OSError, ValueError, EOFError) as error:
            raise StoreChanged(f"{path} has gone, or is damaged ({error})") from error
        if digest_of_arrays({NODES: nodes}) != self._nodes[block]:
            raise StoreChanged(f"{path} has changed since the store was finished")
        return nodes

    @property
    def renumbered(self) -> bool:
        """Whether nodes have other numbers here than in the graph that it was made of."""
        return bool(self._nodes)

    def _content(self, name: str, digest: str) -> dict[str, np.ndarray]:
        path = self.folder / name
        try:
            arrays = read_npz(path)
            same = str(arrays.pop("digest")) == digest == digest_of_arrays(arrays)
        except FileNotFoundError:
            raise StoreChanged(f"{path} has gone since the store was finished") from None
        except (FormatError, KeyError) as error:
            raise StoreChanged(f"{path} is damaged ({error}); write the store anew") from error
        if not same:
            raise StoreChanged(f"{path} has changed since the store was finished")
        return arrays


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays into a file that is complete or not there."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_bytes(path, buffer.getvalue(), force=True)


def read_npz(path: Path, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Read some arrays of a file, or all."""
    # zipfile and numpy let all kinds of exceptions out where an archive is damaged.
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in names or archive.files}
    except (MemoryError, FileNotFoundError):
        raise
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FormatError(f"{path}: truncated or corrupt ({error})") from error


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


def _block_name(block: int) -> str:
    return f"block-{block:06d}.npz"


def _face_name(a: int, b: int) -> str:
    return f"face-{a:06d}-{b:06d}.npz"


def digest_of_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    """Of names, types, shapes and content."""
    total = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape};".encode())
        total.update(array.data if array.ndim else array.tobytes())
    return total.hexdigest()


def _digest_of_text(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
