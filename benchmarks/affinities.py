"""From affinities to masks: seconds and memory of every step.

    python -m benchmarks.affinities

Voronoi cells of a volume, and affinities of three direct and three long offsets under noise, as a
network might predict them. Supervoxels are a watershed of the mean affinity of the direct offsets.
Seconds are those of the processor, memory is the largest that the process had until then.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from itertools import pairwise

import numpy as np
from scipy import ndimage
from scipy.spatial import KDTree
from skimage.feature import peak_local_max
from skimage.segmentation import watershed

from bdcc_jax import solve
from bdcc_jax.image import graph_from_affinities, label_image
from bdcc_jax.metrics import adjusted_rand_index

from .markdown import print_header, print_row

OFFSETS = [(-1, 0, 0), (0, -1, 0), (0, 0, -1), (-4, 0, 0), (0, -9, 0), (0, 0, -9)]
VOXELS_A_CELL = 20_000


def volume(shape: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The cell of every voxel, and affinities as bytes, of shape (6, *shape)."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, shape, (max(2, int(np.prod(shape)) // VOXELS_A_CELL), 3))
    truth = KDTree(points).query(np.moveaxis(np.indices(shape), 0, -1).reshape(-1, 3))[1]
    truth = truth.reshape(shape).astype(np.int32) + 1
    affinities = np.empty((len(OFFSETS), *shape), np.uint8)
    for channel, offset in enumerate(OFFSETS):
        there = np.roll(truth, [-step for step in offset], (0, 1, 2))
        noisy = np.where(truth == there, 0.85, 0.15) + rng.normal(0, 0.25, shape)
        smooth = ndimage.gaussian_filter(noisy, 0.7)
        affinities[channel] = np.rint(255 * np.clip(smooth, 0, 1))
    return truth, affinities


def supervoxels(affinities: np.ndarray) -> np.ndarray:
    """Basins of the mean affinity of the direct offsets."""
    inside = ndimage.gaussian_filter(affinities[:3].mean(axis=0), 1.5)
    peaks = peak_local_max(inside, min_distance=3, exclude_border=False)
    sources = np.zeros(inside.shape, np.int32)
    sources[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    return np.asarray(watershed(-inside, sources))


def memory() -> float:
    """The most that this process had, in GB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024) / 1e9


def measure(shape: tuple[int, ...]) -> None:
    truth, affinities = volume(shape)
    before = memory()
    moments = [time.process_time()]
    labels = supervoxels(affinities)
    moments.append(time.process_time())
    graph, nodes = graph_from_affinities(affinities, OFFSETS, labels=labels, long_range="repulsive")
    moments.append(time.process_time())
    result = solve(graph, time_limit=120)
    moments.append(time.process_time())
    masks = label_image(result.labels, nodes)
    moments.append(time.process_time())
    print_row(
        " x ".join(map(str, shape)),
        graph.n,
        graph.m,
        *(f"{b - a:.2f}" for a, b in pairwise(moments)),
        str(result.status),
        f"{before:.2f} / {memory():.2f}",
        f"{masks.max()} / {len(np.unique(truth))}",
        f"{adjusted_rand_index(truth, masks):.3f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 128, 192, 256])
    arguments = parser.parse_args()
    solve(([0, 1, 0], [1, 2, 2], [1.0, -1.0, 0.5]))  # compiles
    print_header(
        (
            "voxels",
            "supervoxels",
            "edges",
            "watershed s",
            "graph s",
            "solve s",
            "masks s",
            "status",
            "GB before / at most",
            "masks / cells",
            "adjusted Rand",
        )
    )
    for size in arguments.sizes:
        measure((size,) * 3)


if __name__ == "__main__":
    main()
