"""Violation detection, and the ball around a root that its subproblem is cut down to.

Only E+ is searched: the cycles of C have exactly one edge in E-, and the subproblem's flow can use
E+ only. A violated path from the root to v is shorter than ``x_sv``, so no node at distance
``max x_sv`` or more lies on one: the ball of all nearer nodes holds everything that matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from ..compiled import compiled
from ..cover import Cover
from ..graph import BoolArray, FloatArray, Graph, IntArray

VIOLATION = 1e-6
"""A cycle inequality counts as violated by more than this: ten times HiGHS' row tolerance, so that
a row of the master is never found again. Integral solutions violate by at least 1."""


@dataclass(frozen=True, eq=False)
class Ball:
    """One violated root with the part of E+ that its subproblem sees.

    Attributes
    ----------
    nodes : ndarray of int
        Node ids, nearest first; ``nodes[0]`` is the root. Positions in it are local ids.
    edges : ndarray of int
        Ids of the edges of E+ inside; ``tail`` and ``head`` are their local ends.
    targets : ndarray of int
        Local far ends v of the violated edges of E-_s; ``target_edges`` are the ids of these.
    tree : ndarray of int
        Per local node the local id of the edge to its parent in the shortest-path tree, -1 at the
        root.
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


class BallFinder:
    """Finds the violated roots at a given x by Dijkstra's algorithm on E+.

    Parameters
    ----------
    graph : Graph
        The instance.
    cover : Cover
        The roots and their shares of E-.
    ball_size : int or None
        Keep this many nodes and the shortest paths to the violated edges; None: all that matter.
    """

    def __init__(self, graph: Graph, cover: Cover, ball_size: int | None) -> None:
        self._cover = cover
        self._size = graph.n if ball_size is None else ball_size
        self._adjacency = positive_adjacency(graph)
        # Every search leaves these as it found them: allocated once, not once a root.
        self._position = np.full(graph.n, -1, dtype=np.int64)
        self._wanted = np.zeros(graph.n, dtype=np.bool_)

    def find(self, s: int, x: FloatArray) -> Ball | None:
        """The ball of subproblem s if x violates one of its cycle inequalities, else None."""
        cover = self._cover
        share = slice(cover.starts[s], cover.starts[s + 1])
        edges, far_ends = cover.edges[share], cover.far_ends[share]
        candidates = x[edges] > VIOLATION
        edges, far_ends = edges[candidates], far_ends[candidates]
        if len(edges) == 0:
            return None
        reach = x[edges] - VIOLATION
        order, parent, via, distance, found = _search(
            *self._adjacency,
            x,
            cover.roots[s],
            far_ends,
            reach.max(),
            self._size,
            self._position,
            self._wanted,
        )
        violated = (found >= 0) & (distance[found] < reach)
        if not violated.any():
            return None
        kept = _keep(parent, found[violated], self._size)
        nodes = order[kept]
        inside, tail, head, tree = _induce(*self._adjacency, nodes, via[kept], self._position)
        targets = (np.cumsum(kept) - 1)[found[violated]]
        return Ball(nodes, inside, tail, head, targets, edges[violated], tree)


def positive_adjacency(graph: Graph) -> tuple[IntArray, IntArray, IntArray]:
    """E+ by node: slices into the neighbours and the edge ids, both directions of every edge."""
    ids = np.flatnonzero(graph.positive)
    u, v = graph.edges[ids].T
    tails = np.concatenate([u, v])
    order = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[order], np.arange(graph.n + 1))
    return starts, np.concatenate([v, u])[order], np.concatenate([ids, ids])[order]


@compiled
def _search(
    starts: IntArray,
    neighbours: IntArray,
    edge_ids: IntArray,
    x: FloatArray,
    root: int,
    far_ends: IntArray,
    limit: float,
    size: int,
    position: IntArray,
    wanted: BoolArray,
) -> tuple[IntArray, IntArray, IntArray, FloatArray, IntArray]:
    """Settle all nodes nearer than limit, or at least `size` nodes and all far ends.

    Nodes are settled in the order of (distance, hops): of equally short paths the one with the
    fewest edges wins, because short cycles make the better rows. Returns the settled nodes in that
    order; per settled node the rank of its parent, the edge to it and the distance; and the rank
    of every far end (-1 where it was not reached).
    """
    wanted[far_ends] = True
    missing = len(far_ends)
    node, distance, hops = [root], [0.0], [0]
    parent, via, rank = [-1], [-1], [-1]
    position[root] = 0
    heap = [(0.0, 0, 0)]
    order = [0 for _ in range(0)]
    while heap:
        _, _, i = heappop(heap)
        if rank[i] >= 0:
            continue
        rank[i] = len(order)
        order.append(i)
        u = node[i]
        missing -= wanted[u]
        if missing == 0 and len(order) >= size:
            break
        for k in range(starts[u], starts[u + 1]):
            v, e = neighbours[k], edge_ids[k]
            length, steps = distance[i] + x[e], hops[i] + 1
            if length >= limit:
                continue
            j = position[v]
            if j < 0:
                j = position[v] = len(node)
                node.append(v)
                distance.append(np.inf)
                hops.append(0)
                parent.append(-1)
                via.append(-1)
                rank.append(-1)
            if (length, steps) < (distance[j], hops[j]):
                distance[j], hops[j], parent[j], via[j] = length, steps, i, e
                heappush(heap, (length, steps, j))
    found = np.array([rank[position[v]] if position[v] >= 0 else -1 for v in far_ends])
    for v in node:
        position[v] = -1
    wanted[far_ends] = False
    return (
        np.array([node[i] for i in order]),
        np.array([rank[parent[i]] if i else -1 for i in order]),
        np.array([via[i] for i in order]),
        np.array([distance[i] for i in order]),
        found,
    )


@compiled
def _keep(parent: IntArray, targets: IntArray, size: int) -> BoolArray:
    """Which settled nodes make the ball: the first ones, and all on a tree path to a target."""
    kept = np.zeros(len(parent), dtype=np.bool_)
    kept[:size] = True
    for node in targets:
        while not kept[node]:
            kept[node] = True
            node = parent[node]
    return kept


@compiled
def _induce(
    starts: IntArray,
    neighbours: IntArray,
    edge_ids: IntArray,
    nodes: IntArray,
    via: IntArray,
    position: IntArray,
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The edges of E+ between the given nodes: ids, local ends, and which is each node's `via`."""
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
    return np.array(edges), np.array(tail), np.array(head), tree
