"""What is done to one block of a volume: supervoxels, edges, and at the end its segmentation.

Any process can do any block. Every result is a file that is complete or not there, so what a kill
interrupts is done again, and what was finished is not. Files of the working folder:

- ``run.json``: what is segmented, and how;
- ``supervoxels.zarr``: the supervoxel of every voxel, 1, 2, ... in each block;
- ``supervoxels/000007.json``, written after the block's voxels: how many supervoxels there are, and
  digests of what they were made of and of them;
- ``graph``: the block store (see :mod:`bdcc_jax.large.store`), and ``solve``: what its solve keeps;
- ``segmentation.zarr``: the result, and ``segmentation/000007.json`` for every block that is in it.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import IntArray
from ..image.flooding import connected_pieces
from ..image.supervoxels import Basins
from ..io.files import write_bytes
from ..large.store import StoreChanged
from ..large.store_writer import BlockWriter
from .arrays import Affinities, Mask, opened, written
from .block_graphs import EdgeRule, face_edges
from .grid import Grid

BYTES_A_VOXEL = 80
"""Memory that a block takes, for each voxel of it and of its halo, besides the affinities."""


@dataclass(frozen=True)
class Plan:
    """All that a process must know to do a block; nothing of it is large."""

    affinities: Affinities
    mask: Mask
    grid: Grid
    basins: Basins
    rule: EdgeRule
    folder: Path

    @property
    def memory(self) -> int:
        """About how many bytes a block takes while its supervoxels are made."""
        halo = self.basins.reach
        voxels = prod(
            each + 2 * more for each, more in zip(self.grid.block_shape, halo, strict=True)
        )
        a_voxel = len(self.affinities.offsets) * np.dtype(self.affinities.dtype).itemsize
        return voxels * (BYTES_A_VOXEL + a_voxel)

    @property
    def graph(self) -> Path:
        """The folder of the block store."""
        return self.folder / "graph"

    @property
    def supervoxels(self) -> Path:
        """The array of supervoxels."""
        return self.folder / "supervoxels.zarr"

    @property
    def segmentation(self) -> Path:
        """The array of the result."""
        return self.folder / "segmentation.zarr"

    def notes(self, array: Path) -> Path:
        """The folder of notes on an array."""
        return array.with_suffix("")

    def note(self, array: Path, block: int) -> Path:
        """The file that says that a block of an array is done."""
        return self.notes(array) / f"{block:06d}.json"

    def size(self, block: int) -> int:
        """How many supervoxels a block has, once they are made."""
        return int(json.loads(self.note(self.supervoxels, block).read_bytes())["supervoxels"])


def make_block(plan: Plan, block: int) -> int:
    """Make the supervoxels of a block and the edges between them; returns how many they are.

    Of a block that is done it is checked that nothing has changed since.
    """
    core, around = plan.grid.core(block), plan.grid.around(block, plan.basins.reach)
    inner = tuple(
        slice(c.start - a.start, c.stop - a.start) for c, a in zip(core, around, strict=True)
    )
    note = plan.note(plan.supervoxels, block)
    if note.exists():
        _check(plan, block, json.loads(note.read_bytes()))
        return plan.size(block)
    together, inside = plan.affinities.read(around), plan.mask.read(around)
    here = np.ascontiguousarray(together[(slice(None), *inner)])
    if inside is not None and not inside[inner].any():
        numbers = np.zeros([each.stop - each.start for each in core], np.int32)
    else:
        numbers = np.ascontiguousarray(plan.basins.grow(together, inside)[inner])
    del together
    count = connected_pieces(numbers)
    written(plan.supervoxels)[core] = numbers.astype(np.uint32)
    edges, weights = plan.rule.edges(numbers.astype(np.int64) - 1, here)
    BlockWriter(plan.graph).write_block(block, count, edges[:, 0], edges[:, 1], weights)
    facts = {
        "supervoxels": count,
        "given": _digest(here, None if inside is None else inside[inner]),
        "digest": _digest(numbers.astype(np.uint32)),
    }
    _write_note(note, facts)
    return count


def make_faces(plan: Plan, block: int) -> None:
    """Make the edges from a block to its later neighbours, whose supervoxels must be there.

    Nothing may have changed since they were made: every block is looked at once.
    """
    writer, supervoxels = BlockWriter(plan.graph), opened(plan.supervoxels)
    _check(plan, block, json.loads(plan.note(plan.supervoxels, block).read_bytes()))
    for other, direction in plan.grid.later_neighbours(block, plan.rule.offsets):
        if not writer.has_face(block, other):
            u, v, w = face_edges(
                plan.grid,
                plan.rule,
                (block, other),
                direction,
                (plan.size(block), plan.size(other)),
                plan.affinities.read,
                lambda window: np.asarray(supervoxels[window]),
            )
            writer.write_face(block, other, u, v, w)


def paint_block(plan: Plan, labels: Callable[[int], IntArray], block: int) -> None:
    """Give every voxel the cluster of its supervoxel, plus 1; 0 where it has none.

    ``labels`` returns the clusters of a block's supervoxels.
    """
    core, note = plan.grid.core(block), plan.note(plan.segmentation, block)
    clusters = labels(block)
    facts = {"clusters": _digest(clusters)}
    if note.exists() and json.loads(note.read_bytes()) == facts:
        return  # of the same clusters: an earlier run may have had others
    note.unlink(missing_ok=True)
    numbers = _supervoxels(plan, block, json.loads(plan.note(plan.supervoxels, block).read_bytes()))
    colours = np.concatenate([[0], clusters + 1]).astype(np.uint64)
    written(plan.segmentation)[core] = colours[numbers]
    _write_note(note, facts)


def _check(plan: Plan, block: int, facts: dict[str, Any]) -> None:
    core = plan.grid.core(block)
    if _digest(plan.affinities.read(core), plan.mask.read(core)) != facts["given"]:
        raise StoreChanged(
            f"{plan.affinities.path} or its mask has changed since block {block} of {plan.folder} "
            "was made: remove that folder to begin anew"
        )
    _supervoxels(plan, block, facts)


def _supervoxels(plan: Plan, block: int, facts: dict[str, Any]) -> NDArray[Any]:
    """Those of a block, which must be as its note says."""
    numbers = np.asarray(opened(plan.supervoxels)[plan.grid.core(block)])
    if _digest(numbers) != facts["digest"]:
        raise StoreChanged(
            f"{plan.supervoxels} is damaged at block {block}: remove {plan.folder} to begin anew"
        )
    return numbers


def _write_note(path: Path, facts: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    write_bytes(path, json.dumps(facts).encode(), force=True)


def _digest(*arrays: NDArray[Any] | None) -> str:
    total = hashlib.blake2b(digest_size=16)
    for array in arrays:
        if array is not None:
            total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()
