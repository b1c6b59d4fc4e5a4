"""Violation detection on the CPU: Dijkstra's algorithm from one root after another."""

from heapq import heappop, heappush

import numpy as np

from ...base.adjacency import Adjacency
from ...base.arrays import BoolArray, FloatArray, IntArray
from ...base.clock import Clock
from ...base.compiled import compiled
from ...instance.cover import Cover
from ...instance.graph import Graph
from .ball import VIOLATION, Ball, edges_between, nodes_to_keep


class DijkstraFinder:
    """Finds the violated roots of a cover at a given x, each with its ball.

    A ball keeps the shortest paths to the violated edges, and of the nearest nodes as many as make
    ``ball_size`` in all; None: all that matter.
    """

    def __init__(self, graph: Graph, cover: Cover, ball_size: int | None) -> None:
        self._cover, self._adjacency = cover, graph.positive_adjacency
        self._size = graph.n if ball_size is None else ball_size
        # Every search leaves these as it found them: allocated once, not once a root.
        self._position = np.full(graph.n, -1, dtype=np.int64)
        self._wanted = np.zeros(graph.n, dtype=np.bool_)

    def find(self, x: FloatArray, clock: Clock) -> list[Ball]:
        """The balls of all violated roots."""
        balls = []
        for s in range(len(self._cover)):
            clock.check()
            with clock.measure_one("detection"):
                ball = self._find(s, x)
            if ball is not None:
                balls.append(ball)
        return balls

    def _find(self, s: int, x: FloatArray) -> Ball | None:
        cover = self._cover
        share = slice(cover.starts[s], cover.starts[s + 1])
        edges, far_ends = cover.edges[share], cover.far_ends[share]
        candidates = x[edges] > VIOLATION
        edges, far_ends = edges[candidates], far_ends[candidates]
        if len(edges) == 0:
            return None
        reach = x[edges] - VIOLATION
        order, parent, via, distance, found = _search(
            self._adjacency,
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
        targets = found[violated]
        kept = nodes_to_keep(parent, targets, self._size)
        nodes, local = order[kept], np.cumsum(kept) - 1
        inner, tail, head, tree = edges_between(self._adjacency, nodes, via[kept], self._position)
        return Ball(nodes, inner, tail, head, local[targets], edges[violated], tree)


@compiled
def _search(
    positive: Adjacency,
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
    starts, neighbours, edge_ids = positive
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
    found = np.array(
        [rank[position[v]] if position[v] >= 0 else -1 for v in far_ends], dtype=np.int64
    )
    for v in node:
        position[v] = -1
    wanted[far_ends] = False
    return (
        np.array([node[i] for i in order], dtype=np.int64),
        np.array([rank[parent[i]] if i else -1 for i in order], dtype=np.int64),
        np.array([via[i] for i in order], dtype=np.int64),
        np.array([distance[i] for i in order]),
        found,
    )
