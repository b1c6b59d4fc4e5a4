"""Exact detection: which negative edges have a violated cycle inequality at x.

A cycle inequality of C reads ``x_uv <= sum of x over a path from u to v in E+``, so the edge uv of
E- is violated iff the distance of its ends in E+, with lengths x, is smaller than ``x_uv``. Nodes
that a path of length zero joins are the same place for every distance: they are merged first.
What is left has the edges with ``0 < x < 1`` only (no path worth finding uses a longer one), and
near the end of a solve these are few. That makes the last, exact rounds cheap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from ..cover import Cover
from ..graph import Graph
from .ball import VIOLATION
from .path_search import search


def violated_edges(graph: Graph, cover: Cover, x: FloatArray) -> BoolArray:
    """Which edges of ``cover.edges`` have a cycle inequality that x violates by > VIOLATION.

    Examples
    --------
    >>> from bdcc_jax.cover import vertex_cover
    >>> triangle = Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, 1.0, -1.0])
    >>> cover = vertex_cover(triangle, "greedy")
    >>> violated_edges(triangle, cover, np.array([0.0, 1.0, 0.3])).tolist()
    [True]
    """
    positive = graph.positive
    place = graph.components(positive & (x == 0.0))
    open_edges = np.flatnonzero(positive & (x > 0.0) & (x < 1.0))
    u, v = place[graph.edges[open_edges]].T
    apart = u != v
    open_edges, u, v = open_edges[apart], u[apart], v[apart]
    tails = np.concatenate([u, v])
    order = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[order], np.arange(place.max() + 2))
    return _violated(
        starts,
        np.concatenate([v, u])[order].astype(np.int32),
        np.concatenate([open_edges, open_edges])[order].astype(np.int32),
        x,
        cover.starts,
        cover.edges,
        place[cover.roots],
        place[cover.far_ends],
        VIOLATION,
    )


@compiled
def _violated(
    starts: IntArray,
    heads: NDArray[np.int32],
    edge_ids: NDArray[np.int32],
    x: FloatArray,
    shares: IntArray,
    negative_edges: IntArray,
    root_place: IntArray,
    far_place: IntArray,
    least: float,
) -> BoolArray:
    """Search from the place of every root to the places of its far ends."""
    n = len(starts) - 1
    distance = np.full(n, np.inf)
    arc, depth = np.empty(n, np.int32), np.empty(n, np.int32)
    seen, wanted = np.empty(n, np.int32), np.zeros(n, np.bool_)
    keys, nodes = np.empty(len(heads) + 1), np.empty(len(heads) + 1, np.int32)
    violated = np.zeros(len(negative_edges), np.bool_)
    for s in range(len(root_place)):
        root = root_place[s]
        reach, missing = 0.0, 0
        for j in range(shares[s], shares[s + 1]):
            size, target = x[negative_edges[j]], far_place[j]
            if size <= least:
                continue
            if target == root:
                violated[j] = True
            elif starts[target] < starts[target + 1]:
                reach = max(reach, size - least)
                missing += not wanted[target]
                wanted[target] = True
        if missing == 0 or starts[root] == starts[root + 1]:
            for j in range(shares[s], shares[s + 1]):
                wanted[far_place[j]] = False
            continue
        touched = search(
            root, starts, heads, edge_ids, x, x, 0.0, 0.0, reach,
            wanted, missing, n, n, depth, distance, arc, seen, keys, nodes,
        )  # fmt: skip
        for j in range(shares[s], shares[s + 1]):
            target = far_place[j]
            wanted[target] = False
            size = x[negative_edges[j]]
            if size > least and distance[target] < size - least:
                violated[j] = True
        for i in range(touched):
            distance[seen[i]] = np.inf
    return violated
