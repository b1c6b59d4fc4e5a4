"""Exact detection: which negative edges have a violated cycle inequality at x.

A cycle inequality of C reads ``x_uv <= sum of x over a path from u to v in E+``, so the edge uv of
E- is violated iff the distance of its ends in E+, with lengths x, is smaller than ``x_uv``. Nodes
that a path of length zero joins are the same place for every distance: they are merged first.
What is left has the edges with ``0 < x < 1`` only (no path worth finding uses a longer one), and
near the end of a solve these are few. That makes the last, exact rounds cheap.
"""

from __future__ import annotations

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from ..cover import Cover
from ..graph import Graph
from .ball import VIOLATION
from .path_search import Network, clear, network, new_tree, search


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
    return _violated(
        network(int(place.max()) + 1, u, v, open_edges),
        x,
        cover.starts,
        cover.edges,
        place[cover.roots],
        place[cover.far_ends],
    )


@compiled
def _violated(
    places: Network,
    x: FloatArray,
    shares: IntArray,
    negative_edges: IntArray,
    root_place: IntArray,
    far_place: IntArray,
) -> BoolArray:
    """Search from the place of every root to the places of its far ends."""
    n, starts = len(places.starts) - 1, places.starts
    tree = new_tree(places)
    violated = np.zeros(len(negative_edges), np.bool_)
    for s in range(len(root_place)):
        root, share = root_place[s], range(shares[s], shares[s + 1])
        reach, missing = 0.0, 0
        for j in share:
            size, target = x[negative_edges[j]], far_place[j]
            if size <= VIOLATION:
                continue
            if target == root:
                violated[j] = True
            elif starts[target] < starts[target + 1]:
                reach = max(reach, size - VIOLATION)
                missing += not tree.wanted[target]
                tree.wanted[target] = True
        touched = 0
        if missing > 0 and starts[root] < starts[root + 1]:
            touched = search(root, places, tree, x, x, 0.0, 0.0, reach, missing, n, n)
        for j in share:
            target = far_place[j]
            tree.wanted[target] = False
            if tree.distance[target] < x[negative_edges[j]] - VIOLATION:
                violated[j] = True
        clear(tree, touched)
    return violated
