"""Dijkstra's algorithm on E+ from one root to many targets, bounded in what it settles."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .adjacency import Adjacency
from .arrays import BoolArray, FloatArray
from .compiled import borrowing, compiled


class ShortestPathTree(NamedTuple):
    """What a search leaves behind, and what it works with.

    ``distance`` is infinite where it has not been. Where it has, ``parent`` and ``edge`` lead back
    to the root, ``depth`` edges away; ``seen`` lists these nodes. ``wanted`` are the targets, to be
    set before a search and unset after it.
    """

    distance: FloatArray
    parent: NDArray[np.int32]
    edge: NDArray[np.int32]
    depth: NDArray[np.int32]
    seen: NDArray[np.int32]
    wanted: BoolArray
    keys: FloatArray
    nodes: NDArray[np.int32]


@compiled
def new_tree(edges: Adjacency) -> ShortestPathTree:
    """Allocate a tree; it serves any number of searches, one after another."""
    n, arcs = len(edges.starts) - 1, len(edges.neighbours)
    return ShortestPathTree(
        np.full(n, np.inf),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.zeros(n, np.bool_),
        np.empty(arcs + 1),
        np.empty(arcs + 1, np.int32),
    )


@borrowing
def clear(tree: ShortestPathTree, touched: int) -> None:
    """Reset the nodes that a search has touched, so that the tree is ready for the next one."""
    for i in range(touched):
        tree.distance[tree.seen[i]] = np.inf


@borrowing
def search(
    root: int,
    edges: Adjacency,
    tree: ShortestPathTree,
    length: FloatArray,
    width: FloatArray,
    narrow: float,
    per_edge: float,
    reach: float,
    missing: int,
    most: int,
    hops: int,
) -> int:
    """Settle nodes nearest first until all ``missing`` wanted ones are, or ``most`` nodes.

    An edge counts ``length + per_edge``, so that of equally short paths the one with the fewest
    edges wins; edges not wider than ``narrow`` and nodes not nearer than ``reach`` are left out,
    and so is what a node reached by ``hops`` edges leads to. Returns how many nodes it touched.
    """
    distance, keys, nodes = tree.distance, tree.keys, tree.nodes
    distance[root], tree.depth[root] = 0.0, 0
    tree.seen[0] = root
    touched, settled, size = 1, 0, 1
    keys[0], nodes[0] = 0.0, root
    while size > 0:
        d, u = keys[0], nodes[0]
        drop_top(keys, nodes, size)
        size -= 1
        if d > distance[u]:
            continue
        if tree.wanted[u]:
            missing -= 1
            if missing == 0:
                break
        settled += 1
        if settled > most:
            break
        if tree.depth[u] == hops:
            continue
        for k in range(edges.starts[u], edges.starts[u + 1]):
            e, v = edges.edges[k], edges.neighbours[k]
            there = d + length[e] + per_edge
            if width[e] > narrow and there < reach and there < distance[v]:
                if distance[v] == np.inf:
                    tree.seen[touched] = v
                    touched += 1
                distance[v], tree.depth[v] = there, tree.depth[u] + 1
                tree.parent[v], tree.edge[v] = u, e
                push(keys, nodes, size, there, v)
                size += 1
    return touched


@borrowing
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


@borrowing
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
