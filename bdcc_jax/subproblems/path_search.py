"""Dijkstra's algorithm on E+ from one root to many targets, bounded in what it settles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..compiled import compiled
from ..heap import drop_top, push


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
    hops: int,
    depth: NDArray[np.int32],
    distance: FloatArray,
    arc: NDArray[np.int32],
    seen: NDArray[np.int32],
    keys: FloatArray,
    nodes: NDArray[np.int32],
) -> int:
    """Settle nodes nearest first until all ``missing`` wanted ones are, or ``most`` nodes.

    An edge counts ``length + per_edge``, so that of equally short paths the one with the fewest
    edges wins; edges not wider than ``narrow`` and nodes not nearer than ``reach`` are left out,
    and so is what a node reached by ``hops`` edges leads to.
    Fills ``distance`` and, per node, the ``arc`` that leads to it; returns how many nodes it
    touched, which are in ``seen``.
    """
    distance[root], arc[root], depth[root] = 0.0, -1, 0
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
        if depth[u] == hops:
            continue
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
                distance[v], arc[v], depth[v] = there, k, depth[u] + 1
                push(keys, nodes, size, there, v)
                size += 1
    return touched
