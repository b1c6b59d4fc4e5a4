"""Dijkstra's algorithm on E+ from one root to many targets, bounded in what it settles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..compiled import compiled


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


@compiled
def search(
    root: int,
    starts: IntArray,
    heads: NDArray[np.int32],
    edge_ids: NDArray[np.int32],
    length: FloatArray,
    width: FloatArray,
    narrow: float,
    per_edge: float,
    reach: float,
    wanted: NDArray[np.bool_],
    missing: int,
    most: int,
    distance: FloatArray,
    arc: NDArray[np.int32],
    seen: NDArray[np.int32],
    keys: FloatArray,
    nodes: NDArray[np.int32],
) -> int:
    """Settle nodes nearest first until all ``missing`` wanted ones are, or ``most`` nodes.

    An edge counts ``length + per_edge``, so that of equally short paths the one with the fewest
    edges wins; edges not wider than ``narrow`` and nodes not nearer than ``reach`` are left out.
    Fills ``distance`` and, per node, the ``arc`` that leads to it; returns how many nodes it
    touched, which are in ``seen``.
    """
    distance[root], arc[root] = 0.0, -1
    seen[0] = root
    touched, settled, size = 1, 0, 1
    keys[0], nodes[0] = 0.0, root
    while size > 0:
        d, u = keys[0], nodes[0]
        drop_top(keys, nodes, size)
        size -= 1
        if d > distance[u]:
            continue
        if wanted[u]:
            missing -= 1
            if missing == 0:
                break
        settled += 1
        if settled > most:
            break
        for k in range(starts[u], starts[u + 1]):
            e = edge_ids[k]
            if width[e] <= narrow:
                continue
            v = heads[k]
            there = d + length[e] + per_edge
            if there < reach and there < distance[v]:
                if distance[v] == np.inf:
                    seen[touched] = v
                    touched += 1
                distance[v], arc[v] = there, k
                push(keys, nodes, size, there, v)
                size += 1
    return touched
