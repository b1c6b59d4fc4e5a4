"""The ball around a violated root that its subproblem is cut down to.

Only E+ is searched: the cycles of C have exactly one edge in E-, and the subproblem's flow can use
E+ only. A violated path from the root to v is shorter than ``x_sv``, so no node at distance
``max x_sv`` or more lies on one: the ball of all nearer nodes holds everything that matters. A
smaller ball gives rows that are as valid, from shorter cycles.
"""

from dataclasses import dataclass

import numpy as np

from ...base.adjacency import Adjacency
from ...base.arrays import BoolArray, IntArray
from ...base.compiled import compiled

VIOLATION = 1e-6
"""A cycle inequality counts as violated by more than this: ten times HiGHS' row tolerance, so that
a row of the master is never found again. Integral solutions violate by at least 1."""


@dataclass(frozen=True, eq=False)
class Ball:
    """One violated root with the part of E+ that its subproblem sees.

    ``nodes`` are ids, nearest first and the root at 0; positions in it are local ids. ``edges`` are
    ids of E+, ``tail`` and ``head`` their local ends. ``targets`` are the local far ends of the
    violated edges ``target_edges`` of E-_s. ``tree`` has for every local node the local id of the
    edge to its parent in the shortest-path tree, -1 at the root.
    """

    nodes: IntArray
    edges: IntArray
    tail: IntArray
    head: IntArray
    targets: IntArray
    target_edges: IntArray
    tree: IntArray

    def tree_path(self, node: int) -> IntArray:
        """Local ids of the edges on the shortest path from a local node to the root."""
        path = []
        while node != 0:
            edge = self.tree[node]
            path.append(edge)
            node = self.tail[edge] + self.head[edge] - node
        return np.array(path, dtype=np.int64)


@compiled
def nodes_to_keep(parent: IntArray, targets: IntArray, size: int) -> BoolArray:
    """Which settled nodes make the ball: all on a tree path to a target, then the nearest."""
    kept = np.zeros(len(parent), dtype=np.bool_)
    kept[0] = True
    left = size - 1
    for node in targets:
        while not kept[node]:
            kept[node] = True
            left -= 1
            node = parent[node]
    for node in range(len(parent)):
        if left <= 0:
            break
        if not kept[node]:
            kept[node] = True
            left -= 1
    return kept


@compiled
def edges_between(
    positive: Adjacency, nodes: IntArray, via: IntArray, position: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The edges of E+ between the given nodes: ids, local ends, and which is each node's `via`.

    ``position`` is -1 everywhere, and left so: allocated once, not once a ball.
    """
    starts, neighbours, edge_ids = positive
    for i in range(len(nodes)):
        position[nodes[i]] = i
    edges, tail, head = [0 for _ in range(0)], [0 for _ in range(0)], [0 for _ in range(0)]
    tree = np.full(len(nodes), -1)
    for i in range(len(nodes)):
        for k in range(starts[nodes[i]], starts[nodes[i] + 1]):
            j = position[neighbours[k]]
            if j > i:
                if edge_ids[k] == via[j]:
                    tree[j] = len(edges)
                edges.append(edge_ids[k])
                tail.append(i)
                head.append(j)
    for u in nodes:
        position[u] = -1
    return (
        np.array(edges, dtype=np.int64),
        np.array(tail, dtype=np.int64),
        np.array(head, dtype=np.int64),
        tree,
    )
