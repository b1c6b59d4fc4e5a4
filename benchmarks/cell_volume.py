"""Volumes of cells as a network might see them in electron microscopy, made block by block.

Cells are those of points in a jittered grid (Voronoi), so that any window can be made without the
rest. Affinities are low near the membranes between two cells, and noisy; one membrane in ten is so
faint that it speaks for nothing. The truth is known.
"""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
import zarr
from scipy import ndimage

CELL = 32
"""Voxels between two points of the grid."""

OFFSETS = [(-1, 0, 0), (0, -1, 0), (0, 0, -1)]
CHUNKS = (64, 128, 128)
MEMBRANE, FAINT, NOISE, BLUR = 2.5, 0.1, 0.35, 0.7


def write_volume(
    folder: Path, shape: tuple[int, int, int], *, seed: int = 0, chunks: tuple[int, ...] = CHUNKS
) -> tuple[Path, Path]:
    """Write affinities (uint8, three offsets of length 1) and truth (uint32), chunk by chunk."""
    affinities = zarr.create_array(
        str(folder / "affinities.zarr"),
        shape=(len(OFFSETS), *shape),
        chunks=(len(OFFSETS), *chunks),
        dtype="uint8",
        attributes={"offsets": OFFSETS},
    )
    truth = zarr.create_array(
        str(folder / "truth.zarr"), shape=shape, chunks=chunks, dtype="uint32"
    )
    counts = [-(-size // each) for size, each in zip(shape, chunks, strict=True)]
    for place in np.ndindex(*counts):
        start = [at * each for at, each in zip(place, chunks, strict=True)]
        stop = [min(a + each, size) for a, each, size in zip(start, chunks, shape, strict=True)]
        window = tuple(map(slice, start, stop))
        cells, maps = window_of_cells(shape, start, stop, seed)
        affinities[(slice(None), *window)], truth[window] = maps, cells
    return folder / "affinities.zarr", folder / "truth.zarr"


def window_of_cells(
    shape: tuple[int, ...], start: list[int], stop: list[int], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The cell of every voxel of a window, from 1 on, and its affinities."""
    grid = tuple(size // CELL + 3 for size in shape)  # one more on every side
    points = np.random.default_rng(seed).uniform(0, CELL, (*grid, 3))
    before = np.maximum(np.array(start) - 1, 0)  # the other ends of the pairs
    cells, second, margin = _nearest(points, before, np.array(stop))
    inner = tuple(slice(a - b, None) for a, b in zip(start, before.tolist(), strict=True))
    rng = np.random.default_rng([seed, *start])
    maps = np.empty((3, *(b - a for a, b in zip(start, stop, strict=True))), np.uint8)
    # A hash of both cells decides whether their membrane is faint.
    low, high = np.minimum(cells, second).astype(np.uint64), np.maximum(cells, second)
    mixed = (low * np.uint64(2654435761) + high * np.uint64(40503)) % np.uint64(9973)
    clear = np.where(mixed < FAINT * 9973, 0.35, 0.9)
    inside = 0.95 - clear * np.exp(-((margin / MEMBRANE) ** 2))
    for axis in range(3):
        there = np.roll(cells, 1, axis)
        value = np.where(cells == there, inside, np.minimum(inside, 0.95 - clear))[inner]
        noise = ndimage.gaussian_filter(rng.normal(0, NOISE, value.shape).astype("f4"), BLUR)
        maps[axis] = np.rint(255 * np.clip(value + noise, 0, 1))
    return cells[inner], maps


@numba.njit(cache=True)
def _nearest(
    points: np.ndarray, start: np.ndarray, stop: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nearest point of every voxel, the second, and how much further away this is."""
    shape = (stop[0] - start[0], stop[1] - start[1], stop[2] - start[2])
    first = np.empty(shape, np.uint32)
    second = np.empty(shape, np.uint32)
    margin = np.empty(shape, np.float32)
    for z in range(shape[0]):
        for y in range(shape[1]):
            for x in range(shape[2]):
                at = (z + start[0], y + start[1], x + start[2])
                near = (at[0] // CELL + 1, at[1] // CELL + 1, at[2] // CELL + 1)
                best, next_best, who, other = np.inf, np.inf, 0, 0
                for i in range(near[0] - 1, near[0] + 2):
                    for j in range(near[1] - 1, near[1] + 2):
                        for k in range(near[2] - 1, near[2] + 2):
                            point = points[i, j, k]
                            dz = point[0] + (i - 1) * CELL - at[0]
                            dy = point[1] + (j - 1) * CELL - at[1]
                            dx = point[2] + (k - 1) * CELL - at[2]
                            far = dz * dz + dy * dy + dx * dx
                            number = (i * points.shape[1] + j) * points.shape[2] + k + 1
                            if far < best:
                                next_best, other = best, who
                                best, who = far, number
                            elif far < next_best:
                                next_best, other = far, number
                first[z, y, x], second[z, y, x] = who, other
                margin[z, y, x] = np.sqrt(next_best) - np.sqrt(best)
    return first, second, margin
