"""Which regions of a label image meet at given offsets, and what the pixels say about it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, IntArray

Offset = tuple[int, ...]
Window = tuple[slice, ...]


@dataclass(frozen=True)
class RegionGraph:
    """Edges between nodes, the mean evidence of their pairs of pixels, and how many these are."""

    edges: IntArray
    evidence: FloatArray
    length: FloatArray


def checked_offsets(offsets: Any, channels: int, dimensions: int) -> list[Offset]:
    """Check the offsets of affinity maps, one a channel."""
    rows = [np.asarray(offset) for offset in offsets]
    if len(rows) != channels:
        raise ValueError(f"offsets must have one entry a channel ({channels}), not {len(rows)}")
    for i, row in enumerate(rows):
        if row.shape != (dimensions,) or row.dtype.kind not in "iu":
            raise ValueError(f"offsets[{i}] must be {dimensions} integers, not {offsets[i]!r}")
        if not row.any():
            raise ValueError(f"offsets[{i}] is zero: it joins every pixel to itself")
    return [tuple(row.tolist()) for row in rows]


def renumbered(labels: ArrayLike, ignore_label: int | None = None) -> IntArray:
    """Return the node of every pixel: 0, 1, ... in the order of the labels, -1 where ignored."""
    array = np.asarray(labels)
    if array.dtype.kind not in "biu":
        raise ValueError(f"labels must hold integers, not {array.dtype}")
    if array.ndim < 2 or array.size == 0:
        raise ValueError(f"labels must be an image or a volume of pixels, not {array.shape}")
    counted = np.ones(array.shape, bool) if ignore_label is None else array != ignore_label
    if not counted.any():
        raise ValueError(f"every pixel has the label {ignore_label}, which is to be ignored")
    nodes = np.full(array.shape, -1, dtype=np.int64)
    values = array[counted]
    low, high = int(values.min()), int(values.max())
    if high - low < 2 * values.size:  # a table is far faster than sorting
        wide = values if values.dtype.kind == "u" else values.astype(np.int64)
        shifted = (wide - wide.min()).astype(np.int64)
        present = np.zeros(high - low + 1, bool)
        present[shifted] = True
        nodes[counted] = (np.cumsum(present) - 1)[shifted]
    else:
        nodes[counted] = np.unique(values, return_inverse=True)[1]
    return nodes


def region_graph(
    nodes: IntArray,
    offsets: Sequence[Offset],
    evidence: Callable[[int, Window, Window], FloatArray],
    split: int | None = None,
) -> RegionGraph:
    """Collect the pairs of pixels ``(x, x + offset)`` that lie in two different nodes.

    ``evidence(i, here, there)`` returns the evidence of all pairs at offset i, of which one pixel
    is in the window ``here`` and the other at the same place of the window ``there``. With
    ``split`` only pairs count of which one node is below it and the other is not.
    """
    n = int(nodes.max()) + 1
    parts = []
    for i, offset in enumerate(offsets):
        here, there = _windows(nodes.shape, offset)
        a, b = nodes[here], nodes[there]
        apart = (a != b) if split is None else ((a < split) != (b < split))
        apart &= (a >= 0) & (b >= 0)
        keys = np.minimum(a, b)[apart] * n + np.maximum(a, b)[apart]
        values = evidence(i, here, there)[apart]
        parts.append(_summed(keys, values, np.ones(len(keys))))  # at once, to save memory
    if not parts:
        return RegionGraph(np.empty((0, 2), dtype=np.int64), np.empty(0), np.empty(0))
    columns: Iterable[Any] = zip(*parts, strict=True)
    keys, total, length = _summed(*(np.concatenate(column) for column in columns))
    return RegionGraph(np.column_stack([keys // n, keys % n]), total / length, length)


def _summed(
    keys: IntArray, values: FloatArray, counts: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    unique, index = np.unique(keys, return_inverse=True)
    total: FloatArray = np.bincount(index, values, len(unique))  # type: ignore[assignment]
    number: FloatArray = np.bincount(index, counts, len(unique))  # type: ignore[assignment]
    return unique, total, number


def _windows(shape: tuple[int, ...], offset: Offset) -> tuple[Window, Window]:
    def window(step: int) -> Window:
        return tuple(
            slice(min(size, max(0, -step * o)), max(0, size - max(0, step * o)))
            for size, o in zip(shape, offset, strict=True)
        )

    return window(1), window(-1)
