"""A volume, divided into blocks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from ..image.region_graph import Offset, Window

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Grid:
    """Blocks of one shape, smaller at the far ends, numbered with the last axis first.

    Examples
    --------
    >>> grid = Grid((4, 10, 10), (4, 5, 8))
    >>> grid.blocks, grid.core(3)
    (4, (slice(0, 4, None), slice(5, 10, None), slice(8, 10, None)))
    """

    shape: Shape
    block_shape: Shape

    @cached_property
    def counts(self) -> Shape:
        """How many blocks there are along every axis."""
        return tuple(
            -(-size // each) for size, each in zip(self.shape, self.block_shape, strict=True)
        )

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return prod(self.counts)

    def core(self, block: int) -> Window:
        """The voxels of a block."""
        return self.around(block, (0,) * len(self.shape))

    def around(self, block: int, halo: Shape) -> Window:
        """The voxels of a block, and those around it up to so far away."""
        place = np.unravel_index(block, self.counts)
        sides = zip(place, self.block_shape, self.shape, halo, strict=True)
        return tuple(
            slice(max(0, int(at) * each - more), min(size, (int(at) + 1) * each + more))
            for at, each, size, more in sides
        )

    def later_neighbours(
        self, block: int, offsets: Iterable[Offset]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Blocks after this one to which some offset leads, and in which direction they are.

        No offset is longer than a block.
        """
        place = np.unravel_index(block, self.counts)
        for direction in self._directions(offsets):
            there = [int(at) + step for at, step in zip(place, direction, strict=True)]
            if all(0 <= at < count for at, count in zip(there, self.counts, strict=True)):
                yield int(np.ravel_multi_index(there, self.counts)), direction

    @staticmethod
    def _directions(offsets: Iterable[Offset]) -> list[tuple[int, ...]]:
        found = set()
        for offset in offsets:
            for some in product((0, 1), repeat=len(offset)):
                # An offset of two axes may leave the block along one of them only.
                step = tuple(int(np.sign(o)) * s for o, s in zip(offset, some, strict=True))
                found.add(max(step, tuple(-s for s in step)))
        return sorted(found - {(0,) * len(step) for step in found})
