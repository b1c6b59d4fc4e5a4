"""Exact detection: which negative edges have a violated cycle inequality at x.

A cycle inequality of C reads ``x_uv <= sum of x over a path from u to v in E+``, so the edge uv of
E- is violated iff the distance of its ends in E+, with lengths x, is smaller than ``x_uv``. Nodes
that a path of length zero joins are the same place for every distance: they are merged first.
What is left has the edges with ``0 < x < 1`` only (no path worth finding uses a longer one), and
near the end of a solve these are few. That makes the last, exact rounds cheap.

Lengths are added up in the order of the path, root first, on the merged graph as on the whole one:
what is said to be violated is so to the last bit, and the packing without margins finds the same.
"""

import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock, TimeLimitReached
from ..base.compiled import compiled
from ..base.path_search import clear, new_tree, search
from ..instance.cover import Cover
from ..instance.graph import Graph
from .paper.ball import VIOLATION


def violated_edges(
    graph: Graph,
    cover: Cover,
    x: FloatArray,
    clock: Clock | None = None,
    violation: float = VIOLATION,
) -> BoolArray:
    """Which edges of ``cover.edges`` have a cycle inequality that x violates by > ``violation``.

    Raises TimeLimitReached where the clock ends the search: half an answer would be none.

    Examples
    --------
    >>> from bdcc_jax.instance.cover import vertex_cover
    >>> triangle = Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, 1.0, -1.0])
    >>> cover = vertex_cover(triangle, "greedy")
    >>> violated_edges(triangle, cover, np.array([0.0, 1.0, 0.3])).tolist()
    [True]
    """
    place, open_edges, (u, v) = places(graph, x)
    with (clock or Clock(None)).alarm() as stop:
        violated = _violated(
            adjacency(int(place.max()) + 1, u, v, open_edges),
            x,
            cover.starts,
            cover.edges,
            place[cover.roots],
            place[cover.far_ends],
            violation,
            stop,
        )
        if stop[0]:
            raise TimeLimitReached
    return violated


def places(graph: Graph, x: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """The place of every node, the edges that are left between places, and their two ends."""
    place = graph.components(graph.positive & (x == 0.0))
    open_edges = np.flatnonzero(graph.positive & (x > 0.0) & (x < 1.0))
    ends = place[graph.edges[open_edges]].T
    apart = ends[0] != ends[1]
    return place, open_edges[apart], np.ascontiguousarray(ends[:, apart])


@compiled
def _violated(
    places: Adjacency,
    x: FloatArray,
    shares: IntArray,
    negative_edges: IntArray,
    root_place: IntArray,
    far_place: IntArray,
    violation: float,
    stop: BoolArray,
) -> BoolArray:
    """Search from the place of every root to the places of its far ends.

    Another thread may set ``stop``: then no further root is searched.
    """
    n, starts = len(places.starts) - 1, places.starts
    tree = new_tree(places)
    violated = np.zeros(len(negative_edges), np.bool_)
    for s in range(len(root_place)):
        if stop[0]:
            break
        root, share = root_place[s], range(shares[s], shares[s + 1])
        reach, missing = 0.0, 0
        for j in share:
            size, target = x[negative_edges[j]], far_place[j]
            if size <= violation:
                continue
            if target == root:
                violated[j] = True
            elif starts[target] < starts[target + 1]:
                reach = max(reach, size - violation)
                missing += not tree.wanted[target]
                tree.wanted[target] = True
        touched = 0
        if missing > 0 and starts[root] < starts[root + 1]:
            touched = search(root, places, tree, x, x, 0.0, 0.0, reach, missing, n, n)
        for j in share:
            target = far_place[j]
            tree.wanted[target] = False
            if tree.distance[target] < x[negative_edges[j]] - violation:
                violated[j] = True
        clear(tree, touched)
    return violated
