"""The block store: a graph in a folder, block by block, so that nobody needs all of it at once.

The nodes of block b are ``starts[b] .. starts[b + 1] - 1``; within the block they are ``0, 1`` and
so on. An edge is inside a block, or in the face between two. What its files are is said in
``store_files.py``; ``store_writer.py`` writes them. Whoever reads a block compares its digest with
that in ``store.json``: a store that changes under a run is noticed.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from ..io.files import FormatError
from .store_files import (
    FORMAT,
    MANIFEST,
    NODES,
    block_name,
    digest_of_arrays,
    digest_of_text,
    face_name,
    read_npz,
)


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


class BlockStore:
    """A finished store, opened for reading.

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
        if digest != digest_of_text(json.dumps(content, sort_keys=True)):
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
        arrays = self._content(block_name(block), self.digest_of(block))
        ends = np.column_stack([arrays["u"], arrays["v"]]).astype(np.int64)
        return Graph._trusted(int(arrays["n"]), ends, arrays["w"])

    def face(self, a: int, b: int) -> Face:
        """The edges between two blocks, ``a < b``."""
        arrays = self._content(face_name(a, b), self.digest_of(a, b))
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
