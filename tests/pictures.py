"""Synthetic pictures cut into superpixels, with a ground truth and features of the boundaries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIZE, REGIONS, CELLS = 48, 6, 64


@dataclass(frozen=True, eq=False)
class Picture:
    """Superpixels, the edges between those that touch, five features an edge, the truth."""

    superpixels: np.ndarray
    edges: np.ndarray
    features: np.ndarray
    regions: np.ndarray
    labels: np.ndarray


def voronoi(points: np.ndarray) -> np.ndarray:
    """The nearest point of every pixel."""
    pixels = np.stack(np.mgrid[:SIZE, :SIZE], axis=-1)[:, :, None]
    nearest = ((pixels - points) ** 2).sum(axis=-1).argmin(axis=-1)
    return np.unique(nearest, return_inverse=True)[1].reshape(SIZE, SIZE)


def picture(rng: np.random.Generator) -> Picture:
    """Regions of one shade each under noise; a second channel shows stripes that mean nothing."""
    regions = voronoi(rng.uniform(0, SIZE, (REGIONS, 2)))
    shade = rng.permutation(np.linspace(0, 1, REGIONS))[regions]
    shade = shade + rng.normal(0, 0.25, regions.shape)
    stripes = np.sin(np.mgrid[:SIZE, :SIZE][0] / 2) + rng.normal(0, 0.1, regions.shape)

    side = int(np.sqrt(CELLS))
    grid = (np.stack(np.mgrid[:side, :side], axis=-1).reshape(-1, 2) + 0.5) * SIZE / side
    superpixels = voronoi(grid + rng.uniform(-2, 2, grid.shape))
    beside = np.column_stack([superpixels[:, :-1].ravel(), superpixels[:, 1:].ravel()])
    below = np.column_stack([superpixels[:-1].ravel(), superpixels[1:].ravel()])
    pairs = np.sort(np.concatenate([beside, below]), axis=1)
    edges, length = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0, return_counts=True)

    size = np.bincount(superpixels.flat)
    means = [np.bincount(superpixels.flat, c.flat) / size for c in (shade, stripes)]
    u, v = edges.T
    features = [
        np.ones(len(edges)),
        *(np.abs(mean[u] - mean[v]) for mean in means),
        np.sqrt(length / length.mean()) - 1,
        rng.normal(size=len(edges)),
    ]
    votes = np.zeros((len(size), REGIONS))
    np.add.at(votes, (superpixels.ravel(), regions.ravel()), 1)
    return Picture(superpixels, edges, np.column_stack(features), regions, votes.argmax(axis=1))
