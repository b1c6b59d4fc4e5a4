"""Lifted multicut beside bioimage-cpp: ``python -m benchmarks.lifted [--size 2d 3d] [--seconds S]``.

The instances are made here, of the sizes of the published ones: superpixels of a synthetic picture
(756) and of a synthetic volume (about 18,000) of cells, whose boundaries have gaps. Affinities of
neighbouring pixels make the ordinary edges, those of pixels 9 and 27 apart the lifted ones.

bioimage-cpp's solvers find clusterings only; ours also has a lower bound, so that the gap to the
optimum is known for all of them.
"""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from bdcc_jax import Graph
from bdcc_jax.image import graph_from_affinities

SIZES = {
    "2d": ((256, 256), 756, 40, [(-1, 0), (0, -1), (-9, 0), (0, -9), (-9, -9), (9, -9)]
           + [(-9, -4), (-4, -9), (4, -9), (9, -4), (-27, 0), (0, -27)]),
    "3d": ((30, 300, 300), 18_000, 400, [(-1, 0, 0), (0, -1, 0), (0, 0, -1)]
           + [(-3, 0, 0), (0, -9, 0), (0, 0, -9)]),
}  # fmt: skip
"""Shape, superpixels, cells and offsets."""


def instance(size: str, seed: int = 0) -> Graph:
    """Superpixels of noisy affinities of cells."""
    shape, superpixels, cells, offsets = SIZES[size]
    rng = np.random.default_rng(seed)
    anisotropy = np.array([1.0] * (len(shape) - 2) + [0.3, 0.3]) if len(shape) == 3 else np.ones(2)
    pixels = np.indices(shape).reshape(len(shape), -1).T * anisotropy
    warp = np.stack([gaussian_filter(rng.normal(size=shape), 6) for _ in shape], -1)
    warped = pixels + 60 * warp.reshape(-1, len(shape)) * anisotropy
    extent = np.array(shape) * anisotropy

    def voronoi(count: int, at: np.ndarray) -> np.ndarray:
        return cKDTree(rng.uniform(size=(count, len(shape))) * extent).query(at)[1].reshape(shape)

    truth = voronoi(cells, warped)
    fine = voronoi(superpixels, pixels)
    # Aligned with most boundaries, as watersheds are: a superpixel is cut where cells meet ...
    labels = np.unique(fine * cells + truth, return_inverse=True)[1].reshape(shape)
    sizes = np.bincount(labels.ravel())
    # ... but only the largest ones are kept apart: the rest goes to what is next to it.
    kept = np.sort(np.argsort(-sizes)[:superpixels])
    centres = [np.bincount(labels.ravel(), axis) / sizes for axis in pixels.T]
    near = cKDTree(np.column_stack(centres)[kept]).query(np.column_stack(centres))[1]
    near[kept] = np.arange(len(kept))
    labels = near[labels]
    maps = []
    for offset in offsets:
        there = tuple(np.clip(np.indices(shape)[a] + o, 0, shape[a] - 1)
                      for a, o in enumerate(offset))  # fmt: skip
        same = np.where(truth == truth[there], 1.0, -1.0)
        blur = gaussian_filter(rng.normal(size=shape), 4)
        logit = 1.6 * same + 2.0 * blur / blur.std() + rng.normal(size=shape)
        maps.append(1.0 / (1.0 + np.exp(-logit)))
    return graph_from_affinities(
        np.array(maps, dtype=np.float32), offsets, labels=labels, long_range="lifted"
    )[0]
