"""A binary heap of nodes in two arrays, smallest key first, for compiled searches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import FloatArray
from .compiled import compiled


@compiled
def push(keys: FloatArray, nodes: NDArray[np.int32], size: int, key: float, node: int) -> None:
    """Add an entry to a binary heap of ``size`` entries."""
    i = size
    while i > 0:
        up = (i - 1) // 2
        if keys[up] <= key:
            break
        keys[i], nodes[i] = keys[up], nodes[up]
        i = up
    keys[i], nodes[i] = key, node


@compiled
def drop_top(keys: FloatArray, nodes: NDArray[np.int32], size: int) -> None:
    """Remove the smallest of ``size`` entries from a binary heap."""
    last = size - 1
    key, node = keys[last], nodes[last]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= last:
            break
        if down + 1 < last and keys[down + 1] < keys[down]:
            down += 1
        if keys[down] >= key:
            break
        keys[i], nodes[i] = keys[down], nodes[down]
        i = down
    keys[i], nodes[i] = key, node
