"""What somebody has marked in a picture: seeds of regions, and where there are any."""

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import BoolArray, IntArray
from ..instance.graph import Graph


def as_marks(seeds: ArrayLike, shape: tuple[int, ...]) -> IntArray:
    """Check seeds: a whole number a pixel, 0 for none."""
    marks = np.asarray(seeds)
    if marks.shape != shape or marks.dtype.kind not in "biu":
        raise ValueError(
            f"seeds must be whole numbers of shape {shape}, not {marks.dtype} of {marks.shape}"
        )
    if marks.min(initial=0) < 0:
        raise ValueError(f"seeds must be at least 0, which means none: one is {marks.min()}")
    return marks.astype(np.int64)


def as_mask(mask: ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    """Check a mask: a truth value a pixel, at least one of them True."""
    inside = np.asarray(mask)
    if inside.shape != shape or inside.dtype.kind != "b":
        raise ValueError(
            f"mask must be truth values of shape {shape}, not {inside.dtype} of {inside.shape}"
        )
    if not inside.any():
        raise ValueError("mask must be True somewhere")
    return inside


def divided(superpixels: IntArray, marks: IntArray) -> IntArray:
    """Superpixels, numbered from 1 on, of which none has two different seeds.

    Where one has several, the pixels of each but the first become a superpixel of their own.
    """
    regions = superpixels.astype(np.int64)
    pairs = np.unique(np.column_stack([regions[marks > 0], marks[marks > 0]]), axis=0)
    more = pairs[np.diff(pairs[:, 0], prepend=0) == 0]
    for number, (region, mark) in enumerate(more.tolist(), start=int(regions.max()) + 1):
        regions[(superpixels == region) & (marks == mark)] = number
    return regions


def marked(graph: Graph, nodes: IntArray, marks: IntArray) -> Graph:
    """The graph of superpixels, with what the seeds say about its nodes."""
    seen = (marks > 0) & (nodes >= 0)
    pairs = np.unique(np.column_stack([marks[seen], nodes[seen]]), axis=0)
    first = np.diff(pairs[:, 0], prepend=0) > 0
    group = np.cumsum(first) - 1
    together = np.column_stack([pairs[first, 1][group], pairs[:, 1]])[~first]
    apart = [*combinations(pairs[first, 1].tolist(), 2)]
    return graph.constrained(must_link=together, cannot_link=apart)
