"""Basins of a volume: every voxel goes to the source from which the lowest path leads to it."""

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import BoolArray
from ..base.compiled import borrowing, compiled

Labels = NDArray[np.int32]
Levels = NDArray[np.int16]
Bytes = NDArray[np.uint8]

LEVELS = 1024
"""Heights are whole numbers below this, so that a list for each takes the place of a heap."""


@compiled
def flood(basins: Labels, ground: Levels, walls: Bytes) -> None:
    """Let the sources, which have numbers above 0 in ``basins``, grow over all that is 0 there.

    What is below 0 stays as it is, and all faces of the volume must be. The step between two
    neighbours is as high as the ground that it leads to and the wall in between: ``walls[d][x]`` is
    that from x to the next voxel along the axis d. The lowest step that leads out of any basin is
    taken next (Prim's algorithm); among equals the one that has waited longest, so that fronts
    meet in the middle of what is flat.
    """
    shape = basins.shape
    strides = (shape[1] * shape[2], shape[2], 1)
    label, soil, barrier = basins.ravel(), ground.ravel(), walls.reshape(3, -1)
    n = label.size
    first, last = np.full(LEVELS, -1, np.int32), np.full(LEVELS, -1, np.int32)
    after, before = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    due = np.full(n, LEVELS, np.int16)  # at which level each voxel waits, and for whom
    heir = np.zeros(n, np.int32)
    for p in range(n):
        if label[p] > 0:
            heir[p], label[p], due[p] = label[p], 0, 0
            _append(first, last, after, before, 0, p)
    level = 0
    while level < LEVELS:
        p = first[level]
        if p < 0:
            level += 1
            continue
        _remove(first, last, after, before, level, p)
        label[p] = heir[p]
        for side in range(6):
            axis = side >> 1
            q = p + strides[axis] if side & 1 else p - strides[axis]
            if label[q] != 0:
                continue
            step = max(level, soil[q] + barrier[axis, min(p, q)])
            if step < due[q]:
                if due[q] < LEVELS:
                    _remove(first, last, after, before, due[q], q)
                due[q], heir[q] = step, label[p]
                _append(first, last, after, before, step, q)


@compiled
def connected_pieces(basins: Labels) -> int:
    """Number the pieces, by faces, of what has one number above 0; returns how many there are.

    In place, 1, 2, ... in the order of their first voxels; what is 0 stays 0.
    """
    shape = basins.shape
    label = basins.ravel()
    done: BoolArray = label <= 0
    stack = np.empty(label.size, np.int32)
    count = 0
    for start in range(label.size):
        if done[start]:
            continue
        count += 1
        old, stack[0], height = label[start], start, 1
        done[start] = True
        while height:
            height -= 1
            p = stack[height]
            label[p] = count
            z, rest = divmod(p, shape[1] * shape[2])
            y, x = divmod(rest, shape[2])
            for side in range(6):
                if side == 0 and z > 0:
                    q = p - shape[1] * shape[2]
                elif side == 1 and z < shape[0] - 1:
                    q = p + shape[1] * shape[2]
                elif side == 2 and y > 0:
                    q = p - shape[2]
                elif side == 3 and y < shape[1] - 1:
                    q = p + shape[2]
                elif side == 4 and x > 0:
                    q = p - 1
                elif side == 5 and x < shape[2] - 1:
                    q = p + 1
                else:
                    continue
                if not done[q] and label[q] == old:
                    done[q] = True
                    stack[height] = q
                    height += 1
    return count


@borrowing
def _append(first: Labels, last: Labels, after: Labels, before: Labels, level: int, p: int) -> None:
    """Put a voxel at the end of the list of a level."""
    tail = last[level]
    before[p], after[p] = tail, -1
    if tail < 0:
        first[level] = p
    else:
        after[tail] = p
    last[level] = p


@borrowing
def _remove(first: Labels, last: Labels, after: Labels, before: Labels, level: int, p: int) -> None:
    """Take a voxel out of the list of a level."""
    a, b = before[p], after[p]
    if a < 0:
        first[level] = b
    else:
        after[a] = b
    if b < 0:
        last[level] = a
    else:
        before[b] = a
