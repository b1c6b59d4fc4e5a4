"""From edges anywhere to a block store: who is in which block, and edges to their blocks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import IntArray
from ..io.files import FormatError
from ..options import as_count
from .sources import Source
from .store import BlockStore
from .store_writer import BlockWriter

Blocks = int | str | PathLike[str] | ArrayLike | Sequence[ArrayLike]
"""How many blocks, of ids one after another; the block of every node, an array or an .npy file; or
for every block its nodes."""

_EDGE = np.dtype([("u", "<i4"), ("v", "<i4"), ("w", "<f8")])
_FACE = np.dtype([("other", "<i4"), ("u", "<i4"), ("v", "<i4"), ("w", "<f8")])

NODES_PER_EDGE, ALWAYS_NODES = 16, 2**24
"""With more nodes than this for each edge, beyond so many, ids are surely keys, not positions."""


class Partition(NamedTuple):
    """Which node is where.

    Attributes
    ----------
    starts : ndarray of int
        Block b has the nodes ``starts[b] .. starts[b + 1] - 1`` of the store.
    order : ndarray of int or None
        The nodes of the graph, block after block; None if they stay in order.
    rank : ndarray of int or None
        The other way round: which node of the store a node of the graph is.
    """

    starts: IntArray
    order: IntArray | None
    rank: IntArray | None

    @staticmethod
    def ranges(n: int, blocks: int) -> Partition:
        """Ids one after another, in blocks that differ by a node at most."""
        return Partition(np.arange(blocks + 1) * n // blocks, None, None)

    @staticmethod
    def given(block: NDArray[Any]) -> Partition:
        """By the block of every node."""
        counts = np.bincount(block)
        starts = np.concatenate([[0], np.cumsum(counts)])
        order = np.argsort(block, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        return Partition(starts, order, rank)


def count(source: Source, chunk: int) -> tuple[int, int]:
    """Numbers of nodes and of edges: one more than the largest id, and all that are read."""
    largest, m = -1, 0
    for u, v, w in source.chunks(chunk):
        if len(w):
            largest, m = max(largest, int(u.max()), int(v.max())), m + len(w)
    if largest < 0:
        raise FormatError(f"{source.name}: there are no edges")
    n = largest + 1
    if n > max(ALWAYS_NODES, NODES_PER_EDGE * m):
        raise FormatError(
            f"{source.name}: the largest id is {largest}, but there are {m} edges only: ids must "
            "be 0, 1, ..., not keys"
        )
    return n, m


def block_of_nodes(blocks: Blocks, n: int) -> NDArray[Any]:
    """Check which block each of n nodes is in, given as an array, a file or lists of nodes."""
    given = loaded(blocks, "blocks")
    if are_lists(given):
        return _of_lists(given, n)
    array = np.asarray(given)
    if array.dtype.kind not in "iu" or array.shape != (n,):
        raise ValueError(
            f"blocks must be one whole number a node, shape ({n},), not {array.dtype} of shape "
            f"{array.shape}; or a number of blocks, or for every block its nodes"
        )
    if n and (least := int(array.min())) < 0:
        raise ValueError(f"blocks must be at least 0: that of node {array.argmin()} is {least}")
    if n and (most := int(array.max())) >= n:
        raise ValueError(f"blocks must be numbered 0, 1, ...: there is a {most}, but {n} nodes")
    missing = np.flatnonzero(np.bincount(array) == 0)
    if len(missing):
        raise ValueError(
            f"blocks must be numbered without gaps: block {missing[0]} of 0 .. {array.max()} has "
            "no nodes"
        )
    return array


def _of_lists(blocks: Sequence[ArrayLike], n: int) -> NDArray[Any]:
    array = np.full(n, -1)
    for b, nodes in enumerate(blocks):
        ids = np.asarray(nodes)
        if ids.dtype.kind not in "iu" or ids.ndim != 1:
            raise ValueError(f"blocks: block {b} must be a list of node ids, not {nodes!r:.60}")
        bad = (ids < 0) | (ids >= n)
        if bad.any():
            raise ValueError(f"blocks: block {b} has node {ids[bad][0]}; ids are 0 .. {n - 1}")
        taken = ids[array[ids] >= 0]
        if len(taken):
            raise ValueError(
                f"blocks overlap: node {taken[0]} is in block {array[taken[0]]} and in block {b}"
            )
        array[ids] = b
        if len(np.unique(ids)) != len(ids):
            raise ValueError(f"blocks: block {b} has a node twice")
    if (array < 0).any():
        raise ValueError(f"blocks: node {int(np.flatnonzero(array < 0)[0])} is in none of them")
    return block_of_nodes(array, n)


def by_position(positions: str | PathLike[str] | ArrayLike, n: int, most: int) -> NDArray[Any]:
    """Blocks of at most so many nodes: halved where they are widest, again and again.

    Examples
    --------
    >>> by_position([[0, 0], [9, 0], [1, 1], [8, 1]], 4, 2).tolist()
    [0, 1, 0, 1]
    """
    points = np.asarray(loaded(positions, "positions"))
    if points.dtype.kind not in "iuf":
        raise ValueError(f"positions must be real numbers, not {points.dtype}")
    points = points.astype(np.float64, copy=False)
    if points.ndim != 2 or len(points) != n:
        raise ValueError(
            f"positions must be one point a node, shape ({n}, dimensions), not {points.shape}"
        )
    if not np.isfinite(points).all():
        at = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ValueError(f"positions must be finite: that of node {at} is {points[at]}")
    block, number, parts = np.zeros(n, np.int64), 0, [np.arange(n)]
    while parts:
        nodes = parts.pop()
        if len(nodes) <= most:
            block[nodes] = number
            number += 1
            continue
        here = points[nodes]
        axis = int(np.argmax(here.max(axis=0) - here.min(axis=0)))
        order = np.argsort(here[:, axis], kind="stable")
        half = len(nodes) // 2
        parts += [nodes[order[half:]], nodes[order[:half]]]
    return block


def distribute(
    source: Source,
    partition: Partition,
    folder: Path,
    chunk: int,
    told: Callable[[str, int, int], None],
) -> BlockStore:
    """Write a store: edges go to files of their blocks in one pass, then block after block."""
    state = source.state()
    writer, raw = BlockWriter(folder), folder / "raw"
    shutil.rmtree(raw, ignore_errors=True)  # of a run that was killed
    raw.mkdir()
    n_blocks = len(partition.starts) - 1
    done = 0
    for u, v, w in source.chunks(chunk):
        _append(u, v, w, partition, raw)
        done += len(w)
        told("reading edges", done, 0)
    if source.state() != state:
        raise FormatError(f"{source.name} has changed while it was read; run again")
    if partition.order is not None:
        writer.write_nodes(partition.order)
    sizes = np.diff(partition.starts)
    for block in range(n_blocks):
        edges = _spilled(raw / f"block-{block}", _EDGE)
        writer.write_block(block, int(sizes[block]), edges["u"], edges["v"], edges["w"])
        beyond = _spilled(raw / f"face-{block}", _FACE)
        beyond = beyond[np.argsort(beyond["other"], kind="stable")]
        others, first = np.unique(beyond["other"], return_index=True)
        for other, part in zip(others.tolist(), np.split(beyond, first[1:]), strict=False):
            writer.write_face(block, other, part["u"], part["v"], part["w"])
        told("writing blocks", block + 1, n_blocks)
    shutil.rmtree(raw)
    return writer.finish(n_blocks)


def _append(u: IntArray, v: IntArray, w: Any, partition: Partition, raw: Path) -> None:
    """Append the edges of a chunk to the files of their blocks."""
    starts, rank = partition.starts, partition.rank
    n = int(starts[-1])
    if len(u) and (largest := int(max(u.max(), v.max()))) >= n:
        raise ValueError(f"node id {largest} is out of range: there are {n} nodes, 0 .. {n - 1}")
    if rank is not None:
        u, v = rank[u], rank[v]
    first, second = (np.searchsorted(starts, ends, side="right") - 1 for ends in (u, v))
    turned = first > second
    a, b = np.where(turned, second, first), np.where(turned, first, second)
    low, high = np.where(turned, v, u) - starts[a], np.where(turned, u, v) - starts[b]
    order = np.argsort(a * 2 + (a != b), kind="stable")
    key = (a * 2 + (a != b))[order]
    records = np.empty(len(w), _FACE)
    records["other"], records["u"], records["v"], records["w"] = b, low, high, w
    records = records[order]
    keys, begins = np.unique(key, return_index=True)
    for which, part in zip(keys.tolist(), np.split(records, begins[1:]), strict=False):
        inside = which % 2 == 0
        path = raw / f"{'block' if inside else 'face'}-{which // 2}"
        try:
            with path.open("ab") as file:
                file.write((part[["u", "v", "w"]].astype(_EDGE) if inside else part).tobytes())
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _spilled(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.fromfile(path, dtype) if path.exists() else np.empty(0, dtype)


def loaded(given: Any, what: str) -> Any:
    """What was given, or what the file holds whose name was given."""
    if not isinstance(given, str | PathLike):
        return given
    try:
        return np.load(given, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FormatError(f"{given}: not a numpy array of {what} ({error})") from error


def are_lists(blocks: Any) -> bool:
    """Whether blocks are given as lists of their nodes."""
    return isinstance(blocks, list | tuple) and bool(blocks) and np.ndim(blocks[0]) == 1


def as_block_count(blocks: object) -> int | None:
    """A number of blocks, if that is what was given."""
    if isinstance(blocks, bool | int | np.integer):
        return as_count("blocks", blocks, at_least=1, what="a number of blocks")
    return None
