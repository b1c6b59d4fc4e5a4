"""The edges between supervoxels of one block, and between those of two neighbours.

The numbers are those of :func:`bdcc_jax.image.graph_from_affinities` on the whole volume, to the
bit: pairs of voxels are added up in the same order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..image.affinities import weighted_edges
from ..image.evidence import Weighting
from ..image.region_graph import Offset, Window
from .grid import Grid, Shape

Read = Callable[[Window], NDArray[Any]]
"""Reads a window: all channels of the affinities, or supervoxels (1, 2, ... in each block)."""


@dataclass(frozen=True)
class EdgeRule:
    """How affinities become edges and weights; checked already."""

    offsets: tuple[Offset, ...]
    weighting: Weighting
    repulsive: bool

    @property
    def reach(self) -> Shape:
        """How long offsets are along every axis."""
        return tuple(max(map(abs, along)) for along in zip(*self.offsets, strict=True))

    def edges(
        self, nodes: IntArray, together: NDArray[Any], split: int | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Edges between nodes (-1: none) of a window, and their weights."""

        def cut_probability(channel: int, here: Window, _: Window) -> FloatArray:
            return cut_probabilities(together[channel][here])

        return weighted_edges(
            nodes,
            self.offsets,
            cut_probability,
            self.weighting,
            repulsive=self.repulsive,
            split=split,
        )


def cut_probabilities(together: NDArray[Any]) -> FloatArray:
    """One minus affinities, of which integers are scaled to the range from 0 to 1."""
    scale = np.iinfo(together.dtype).max if together.dtype.kind == "u" else 1
    return np.asarray(1.0 - together.astype(np.float64) / scale)


def face_edges(
    grid: Grid,
    rule: EdgeRule,
    blocks: tuple[int, int],
    direction: Sequence[int],
    sizes: tuple[int, int],
    affinities: Read,
    supervoxels: Read,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Edges from the first block to its neighbour: their ends in both, and their weights.

    ``sizes`` are the numbers of supervoxels. Only the voxels that an offset can join are read.
    """
    cores = [grid.core(block) for block in blocks]
    sides: list[Window] = [
        tuple(map(_at_face, core, rule.reach, [sign * step for step in direction]))
        for core, sign in zip(cores, (1, -1), strict=True)
    ]
    window = tuple(
        slice(min(a.start, b.start), max(a.stop, b.stop)) for a, b in zip(*sides, strict=True)
    )
    nodes = np.full([each.stop - each.start for each in window], -1, np.int64)
    for side, start in zip(sides, (0, sizes[0]), strict=True):
        local = tuple(
            slice(a.start - w.start, a.stop - w.start) for a, w in zip(side, window, strict=True)
        )
        numbers = supervoxels(side).astype(np.int64)
        nodes[local] = np.where(numbers > 0, numbers - 1 + start, -1)
    edges, weights = rule.edges(nodes, affinities(window), split=sizes[0])
    return edges[:, 0], edges[:, 1] - sizes[0], weights


def _at_face(core: slice, reach: int, step: int) -> slice:
    """The part of a block along an axis that is near to the neighbour in this direction."""
    if step == 0:
        return core
    if step > 0:
        return slice(max(core.start, core.stop - reach), core.stop)
    return slice(core.start, min(core.stop, core.start + reach))
