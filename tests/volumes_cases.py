"""Small volumes in zarr for tests."""

import numpy as np
import zarr

UNITS = [(-1, 0, 0), (0, -1, 0), (0, 0, -1)]


def truth_of(shape=(12, 48, 48), step=(6, 16, 16), seed=1):
    """Cells of points in a jittered grid, from 1 on."""
    grid = [-(-size // each) for size, each in zip(shape, step, strict=True)]
    points = np.stack(np.indices(grid), -1).reshape(-1, 3) * step
    points = points + np.random.default_rng(seed).uniform(0.25, 0.75, points.shape) * step
    voxels = np.stack(np.indices(shape), -1).reshape(-1, 3)
    far = (((voxels[:, None, :] - points[None]) / step) ** 2).sum(axis=-1)
    return (far.argmin(axis=1) + 1).reshape(shape)


def affinities_of(truth, offsets=UNITS, noise=0.0, seed=0):
    """How sure it is that voxels belong together: 0.95 in a cell, 0.05 between two, and noise."""
    maps = []
    for offset in offsets:
        there = np.roll(truth, [-step for step in offset], (0, 1, 2))
        maps.append(np.where(truth == there, 0.95, 0.05))
    return np.clip(maps + np.random.default_rng(seed).normal(0, noise, np.shape(maps)), 0, 1)


def store(path, data, offsets=None, chunks=None, zarr_format=3):
    """Write an array; returns its path."""
    array = zarr.create_array(
        str(path),
        shape=data.shape,
        dtype=data.dtype,
        chunks=chunks or data.shape,
        zarr_format=zarr_format,
    )
    array[...] = data
    if offsets is not None:
        array.attrs["offsets"] = [list(offset) for offset in offsets]
    return path
