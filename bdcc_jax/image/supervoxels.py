"""Superpixels and supervoxels from affinity maps: basins between walls of low affinity."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from ..base.arrays import BoolArray, IntArray
from .evidence import check_probabilities, finite_map
from .flooding import LEVELS, connected_pieces, flood
from .marks import as_mask
from .region_graph import Offset, checked_offsets

SMOOTHING, SPACING = 1.0, 3
"""Voxels: standard deviation of the blur of the ground whose minima are sources; the least between
two of these."""

BLUR = 3.0
"""The Gaussian ends after this many standard deviations."""

TOP = LEVELS - 256
"""Of 1024 levels of a step, 255 are those of the wall in between, the rest of the smooth ground:
the latter keeps basins from leaking through holes, the former from ending beside the wall."""


def supervoxels(
    affinities: ArrayLike,
    offsets: Sequence[Sequence[int]],
    *,
    mask: ArrayLike | None = None,
    smoothing: float | Sequence[float] = SMOOTHING,
    spacing: int | Sequence[int] = SPACING,
) -> IntArray:
    """Divide a picture or volume into superpixels that end where affinities are low.

    A seeded watershed on pairs of neighbours: sources are the minima of the smoothed mean of one
    minus the affinities at every voxel, and the voxels go to the source that reaches them over the
    lowest steps. Only offsets of length 1 are used.

    Parameters
    ----------
    affinities, offsets
        As for :func:`graph_from_affinities`.
    mask : array_like of bool, optional
        Voxels where it is False belong to no superpixel.
    smoothing : float, or one an axis
        Standard deviation of the Gaussian, in voxels; less along an axis with thick voxels.
    spacing : int, or one an axis
        A source is the lowest of all voxels up to so far away: the larger, the larger the
        superpixels. 0 along z makes sources in every slice.

    Returns
    -------
    ndarray of int, of the shape of a channel
        1, 2, ..., connected along faces; 0 where masked out.

    Examples
    --------
    >>> affinities = np.full((2, 6, 8), 0.9)
    >>> affinities[1, :, 4] = 0.1  # between the columns 3 and 4
    >>> supervoxels(affinities, [(-1, 0), (0, -1)])[2].tolist()
    [1, 1, 1, 1, 2, 2, 2, 2]
    """
    together = finite_map(affinities, "affinities")
    if together.ndim not in (3, 4) or together.size == 0:
        raise ValueError(
            "affinities must have shape (channels, height, width) or "
            f"(channels, depth, height, width), not {together.shape}"
        )
    check_probabilities(together, "affinities")
    shape, ndim = together.shape[1:], together.ndim - 1
    steps = checked_offsets(offsets, len(together), ndim)
    how = Basins(units(steps), an_axis(smoothing, ndim, "smoothing"), spacings(spacing, ndim))
    inside = None if mask is None else as_mask(mask, shape)
    basins = how.grow(together, inside)
    connected_pieces(basins.reshape((1,) * (3 - ndim) + shape))
    return basins.astype(np.int64)


@dataclass(frozen=True)
class Basins:
    """How supervoxels are made, of a volume or of a block of one; all of it checked already.

    ``units`` are the channels with offsets of length 1: (channel, axis, sign) of each.
    """

    units: tuple[tuple[int, int, int], ...]
    smoothing: tuple[float, ...]
    spacing: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """How far away, along every axis, voxels have a say in whether one is a source."""
        pairs = zip(self.smoothing, self.spacing, strict=True)
        return tuple(int(BLUR * sigma + 0.5) + far + 1 for sigma, far in pairs)

    def grow(self, together: NDArray[Any], inside: BoolArray | None) -> NDArray[np.int32]:
        """The basin of every voxel, above 0, and 0 outside; numbers may be left out.

        ``together`` has all channels, checked, of which some are used.
        """
        shape = together.shape[1:]
        flat = (1,) * (3 - len(shape))
        padded = tuple(size + 2 for size in (*flat, *shape))
        core = (slice(1, -1),) * 3
        walls = np.zeros((3, *padded), np.uint8)
        ground = np.zeros((*flat, *shape), np.float32)
        axes = sorted({axis for _, axis, _ in self.units})
        for axis in axes:
            wall, place = walls[axis + len(flat)], axis + len(flat)
            parts = [self._wall(together[c], axis, s) for c, a, s in self.units if a == axis]
            mean = parts[0] if len(parts) == 1 else np.mean(parts, axis=0)
            along = [*core]
            along[place] = slice(1, shape[axis])
            wall[tuple(along)] = mean.reshape((*flat, *mean.shape))
            _mirror(wall, place)
            before = [*core]
            before[place] = slice(0, -2)
            ground += wall[core]
            ground += wall[tuple(before)]
        ground /= 2 * 255 * len(axes)
        ground = ndimage.gaussian_filter(ground, (*[0] * len(flat), *self.smoothing), truncate=BLUR)
        if inside is not None:
            inside = inside.reshape(ground.shape)
            ground[~inside] = 1.0
        size = (*flat, *(2 * far + 1 for far in self.spacing))
        lowest = ground == ndimage.minimum_filter(ground, size)
        if inside is not None:
            lowest &= inside
        # Sources that share a face are one: a plateau, where affinities have no noise. Over edges
        # and corners plateaus of two cells may touch, no voxel of which is at a wall.
        basins = np.full(padded, -1, np.int32)
        ndimage.label(lowest, output=basins[core])
        if inside is not None:
            basins[core][~inside] = -1
        soil = np.zeros(padded, np.int16)
        soil[core] = np.rint(ground * TOP)
        flood(basins, soil, walls)
        return _with_rest(np.ascontiguousarray(basins[core])).reshape(shape)

    @staticmethod
    def _wall(together: NDArray[Any], axis: int, sign: int) -> NDArray[np.uint8]:
        """One minus the affinity of all neighbours along an axis, as bytes."""
        size = together.shape[axis]
        inner = (slice(1, size) if sign < 0 else slice(0, size - 1),)
        pairs = together[(slice(None),) * axis + inner]
        if pairs.dtype.kind == "u":
            top = np.iinfo(pairs.dtype).max
            return ((top - pairs) // ((top + 1) // 256)).astype(np.uint8)
        return np.rint(255 * (1 - pairs.astype(np.float32))).astype(np.uint8)


def units(steps: Sequence[Offset]) -> tuple[tuple[int, int, int], ...]:
    """The channels that say something of neighbours: channel, axis and sign of each."""
    found = tuple(
        (channel, int(np.flatnonzero(step)[0]), sum(step))
        for channel, step in enumerate(steps)
        if sum(map(abs, step)) == 1
    )
    if not found:
        raise ValueError(
            "superpixels need an offset of length 1, such as (0, 0, -1): there is none in offsets"
        )
    return found


def an_axis(value: Any, ndim: int, name: str) -> tuple[float, ...]:
    """Check a number that is not negative, or one for each axis."""
    array = np.asarray(value)
    if array.shape not in ((), (ndim,)) or array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a number, or {ndim}, one an axis, not {value!r}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"{name} must be at least 0 and finite, not {value!r}")
    return tuple(np.broadcast_to(array, (ndim,)).tolist())


def spacings(value: Any, ndim: int) -> tuple[int, ...]:
    """Check distances between sources, whole numbers of which one is above 0."""
    numbers = an_axis(value, ndim, "spacing")
    if any(number != int(number) for number in numbers) or not any(numbers):
        raise ValueError(f"spacing must be whole numbers, not all of them 0, not {value!r}")
    return tuple(map(int, numbers))


def _mirror(wall: NDArray[np.uint8], axis: int) -> None:
    """Where the volume ends, walls are taken to be as on the other side of the outermost voxel."""
    at = [(slice(None),) * axis + (place,) for place in (0, 1, -3, -2)]
    if wall.shape[axis] > 3:
        wall[at[0]], wall[at[3]] = wall[at[1]], wall[at[2]]


def _with_rest(basins: NDArray[np.int32]) -> NDArray[np.int32]:
    """Pieces of the mask that no source has reached become basins of their own; outside is 0."""
    rest = basins == 0
    if rest.any():
        pieces, _ = ndimage.label(rest, output=np.int32)
        basins[rest] = pieces[rest] + basins.max()
    return np.maximum(basins, 0)
