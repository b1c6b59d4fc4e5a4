"""Cells that touch: `segment_cells` beside a watershed of the distance to the background.

    python -m benchmarks.cells

Synthetic cells: ellipses (ellipsoids in volumes) of a shade each, the later ones on top of the
earlier ones, blurred and under noise. The adjusted Rand index is over the pixels of cells. The
plain watershed starts at the peaks of the distance to the background of Otsu's mask; of the three
distances between peaks that are tried, the one that is best on average is shown, which nobody can
know beforehand. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from skimage import feature, filters, segmentation

from bdcc_jax.image import segment_cells
from bdcc_jax.metrics import adjusted_rand_index

from .markdown import print_header, print_row

PEAKS = (3, 5, 7)
"""Least distances between peaks of the plain watershed."""


@dataclass(frozen=True)
class Kind:
    """What the cells of a picture are like."""

    shape: tuple[int, ...] = (256, 256)
    number: int = 60
    radius: tuple[float, float] = (9.0, 15.0)
    elongation: float = 1.6
    overlap: float = 0.35
    noise: float = 0.08
    contrast: float = 0.3


KINDS = {
    "as they are": Kind(),
    "small": Kind(number=120, radius=(5.0, 8.0)),
    "large": Kind(number=18, radius=(20.0, 28.0)),
    "long": Kind(elongation=2.2),
    "noise twice as strong": Kind(noise=0.16),
    "all of one shade": Kind(contrast=0.0),
    "that hardly overlap": Kind(overlap=0.1),
    "in a volume": Kind((48, 64, 64), number=25, radius=(7.0, 11.0)),
}


def synthetic_cells(seed: int, kind: Kind | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A picture, or volume, and the cell of every pixel, 0 for the background."""
    kind = Kind() if kind is None else kind
    rng = np.random.default_rng(seed)
    shape, d = np.array(kind.shape), len(kind.shape)
    truth, shade = np.zeros(kind.shape, int), np.zeros(kind.shape)
    made = 0
    for _ in range(20_000):
        if made == kind.number:
            break
        radius = rng.uniform(*kind.radius)
        axes = radius * np.exp(rng.uniform(-1, 1, d) * np.log(kind.elongation) / 2)
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        centre = rng.uniform(radius, shape - radius)
        if made and rng.random() < 0.6:  # beside another one
            places = np.argwhere(truth > 0)
            centre = places[rng.integers(len(places))] + 0.9 * radius * rng.normal(size=d)
        if (centre < radius).any() or (centre > shape - radius).any():
            continue
        low = np.maximum(0, centre - 2 * radius).astype(int)
        high = np.minimum(shape, centre + 2 * radius + 1).astype(int)
        window = tuple(map(slice, low, high))
        offsets = np.moveaxis(np.indices(high - low), 0, -1) + low - centre
        cell = ((offsets @ turn / axes) ** 2).sum(axis=-1) <= 1
        under, hidden = np.unique(truth[window][cell], return_counts=True)
        lost, hidden = hidden[under > 0], under[under > 0]
        whole = np.bincount(truth.ravel(), minlength=made + 1)[hidden]
        if lost.sum() > kind.overlap * cell.sum() or (lost > kind.overlap * whole).any():
            continue
        made += 1
        truth[window][cell] = made
        shade[window][cell] = 1 - kind.contrast * rng.random()
    image = 0.1 + 0.7 * ndimage.gaussian_filter(shade, 1.0) + rng.normal(0, kind.noise, kind.shape)
    return np.clip(image, 0, 1), truth


def plain_watershed(image: np.ndarray, between: int) -> np.ndarray:
    """From the peaks of the distance to the background, at least so far from each other."""
    smooth = filters.gaussian(image, 1.0)
    inside = smooth > filters.threshold_otsu(smooth)
    depth = ndimage.distance_transform_edt(inside)
    peaks = feature.peak_local_max(
        depth, min_distance=between, labels=inside.astype(int), exclude_border=False
    )
    sources = np.zeros(image.shape, int)
    sources[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    return np.asarray(segmentation.watershed(-depth, sources, mask=inside))


def agreement(truth: np.ndarray, found: np.ndarray) -> float:
    """The adjusted Rand index over the pixels of cells."""
    return adjusted_rand_index(truth, found, ignore_label=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="pictures of each kind (%(default)s)")
    arguments = parser.parse_args()
    segment_cells(synthetic_cells(1000)[0])  # compiles
    headings = "cells", "plain watershed", "`segment_cells`", "worst", "cells found / there", "s"
    print_header(headings)
    for name, kind in KINDS.items():
        plain, ours, counts, seconds = [], [], [], []
        for seed in range(arguments.seeds):
            image, truth = synthetic_cells(seed, kind)
            plain.append([agreement(truth, plain_watershed(image, between)) for between in PEAKS])
            start = time.process_time()
            found = segment_cells(image, time_limit=60)
            seconds.append(time.process_time() - start)
            ours.append(agreement(truth, found))
            counts.append((found.max(), len(np.unique(truth)) - 1))
        found_number, number = np.mean(counts, axis=0)
        print_row(
            name,
            f"{np.mean(plain, axis=0).max():.3f}",
            f"{np.mean(ours):.3f}",
            f"{min(ours):.3f}",
            f"{found_number:.1f} / {number:.1f}",
            f"{np.mean(seconds):.2f}",
        )


if __name__ == "__main__":
    main()
