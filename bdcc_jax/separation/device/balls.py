"""Balls around violated roots, all of one shape: what the device solves LPs on.

A ball has NODES nodes, the root first, and ROWS rows of WIDTH slots. A slot is an edge of E+ seen
from one of its ends. Row k belongs to node k; a node with more than WIDTH edges has further rows,
which ``owner`` tells. Flow is not conserved at the root: it needs no slots of its own. Arrays are
[WIDTH, ROWS], so that what is done with rows is done with vectors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.adjacency import Adjacency
from ...base.arrays import BoolArray, FloatArray, IntArray
from ...base.clock import Clock
from ...base.compiled import compiled
from ...base.path_search import ShortestPathTree, clear, drop_top, new_tree, push, search

NODES, ROWS, WIDTH = 64, 96, 8
"""Of every ball. Rows beyond the nodes are for hubs: a ball that needs more has fewer nodes."""

PER_HOP = 1e-9
"""What an edge counts besides its x: of equally short paths the one with the fewest edges wins."""

SEARCHED = 4 * NODES
"""Nodes that a search from a root settles, at least: of these the ball has the best."""


class Balls(NamedTuple):
    """Balls, one a lane and a root; the first axis of every array.

    Attributes
    ----------
    nodes : (lanes, NODES) ints
        Node ids, nearest first; -1 where there is none.
    neighbor : (lanes, WIDTH, ROWS) int32
        Local id of the other end of a slot.
    edge : (lanes, WIDTH, ROWS) int32
        Edge id, -1 for an empty slot.
    owner : (lanes, ROWS - NODES) int32
        The node that a further row belongs to.
    target : (lanes, NODES) ints
        Id of the violated edge of E- between a node and the root, -1 for none.
    margin : (lanes,) floats
        By how much the most violated cycle inequality of the lane is violated.
    """

    nodes: IntArray
    neighbor: NDArray[np.int32]
    edge: NDArray[np.int32]
    owner: NDArray[np.int32]
    target: IntArray
    margin: FloatArray

    def __len__(self) -> int:
        return len(self.nodes)


def gather_balls(
    positive: Adjacency,
    x: FloatArray,
    roots: IntArray,
    starts: IntArray,
    far_ends: IntArray,
    edges: IntArray,
    most: int,
    clock: Clock,
) -> Balls:
    """The balls of some roots: root r has the violated edges ``starts[r] : starts[r + 1]``.

    A ball holds the shortest paths to the nearest of the root's targets, as many as fit, then the
    nodes on the most violated paths, up to ``most`` in all.
    """
    lanes = len(roots)
    balls = Balls(
        np.full((lanes, NODES), -1),
        np.zeros((lanes, WIDTH, ROWS), np.int32),
        np.full((lanes, WIDTH, ROWS), -1, np.int32),
        np.zeros((lanes, ROWS - NODES), np.int32),
        np.full((lanes, NODES), -1),
        np.zeros(lanes),
    )
    tree = new_tree(positive)
    with clock.alarm() as stop:
        _gather(positive, tree, x, roots, starts, far_ends, edges, most, balls, stop)
    clock.check()
    return balls


@compiled
def _gather(
    positive: Adjacency,
    tree: ShortestPathTree,
    x: FloatArray,
    roots: IntArray,
    starts: IntArray,
    far_ends: IntArray,
    edges: IntArray,
    most: int,
    balls: Balls,
    stop: BoolArray,
) -> None:
    """Fill in the balls of all roots, unless stopped."""
    n = len(positive.starts) - 1
    local = np.full(n, -1)
    path = np.empty(n, np.int64)
    degree, back, slack = np.empty(NODES, np.int64), new_tree(positive), np.empty(n)
    for lane in range(len(roots)):
        if stop[0]:
            break
        root, nodes, first, last = roots[lane], balls.nodes[lane], starts[lane], starts[lane + 1]
        reach = 0.0
        for j in range(first, last):
            reach = max(reach, x[edges[j]])
            tree.wanted[far_ends[j]] = True
        touched = search(root, positive, tree, x, x, -1.0, PER_HOP, reach, n + 1, SEARCHED, n)
        if np.any(tree.distance[far_ends[first:last]] == np.inf):
            clear(tree, touched)
            touched = search(root, positive, tree, x, x, -1.0, PER_HOP, reach, last - first, n, n)
        for j in range(first, last):
            tree.wanted[far_ends[j]] = False
        nodes[0], local[root], size, extra = root, 0, 1, 0
        degree[:] = 0
        for j in first + np.argsort(tree.distance[far_ends[first:last]], kind="mergesort"):
            length, v = 0, far_ends[j]
            if tree.distance[v] == np.inf:
                break
            while local[v] < 0:
                path[length] = v
                length += 1
                v = tree.parent[v]
            if size + length > NODES:
                continue
            while length > 0:
                more = _add(positive, path[length - 1], local, degree, nodes, size, extra)
                if more < 0:
                    break
                size, extra, length = size + 1, more, length - 1
            if length == 0:
                v = far_ends[j]
                balls.target[lane, local[v]] = edges[j]
                balls.margin[lane] = max(balls.margin[lane], x[edges[j]] - tree.distance[v])
        for v in _by_slack(positive, tree, back, x, far_ends[first:last], edges[first:last], slack):
            if size >= min(most, NODES):
                break
            if local[v] < 0:
                more = _add(positive, v, local, degree, nodes, size, extra)
                if more >= 0:
                    size, extra = size + 1, more
        _fill(positive, local, size, balls, lane)
        for i in range(size):
            local[nodes[i]] = -1
        clear(tree, touched)


@compiled
def _by_slack(
    positive: Adjacency,
    tree: ShortestPathTree,
    back: ShortestPathTree,
    x: FloatArray,
    far_ends: IntArray,
    edges: IntArray,
    slack: FloatArray,
) -> NDArray[np.int32]:
    """The nodes on violated paths, those on the most violated first.

    A path from the root through v to a target t is violated iff d(root, v) + d(v, t) - x_t < 0:
    ``tree`` has the first, a search from all targets at once the least of the rest. A node on the
    best path of another comes before it, so that any number of the first nodes are connected.
    """
    size, found = 0, 0
    for j in range(len(edges)):
        t = far_ends[j]
        if tree.distance[t] < np.inf:
            back.distance[t] = -x[edges[j]]
            push(back.keys, back.nodes, size, -x[edges[j]], t)
            size += 1
    while size > 0:
        d, u = back.keys[0], back.nodes[0]
        drop_top(back.keys, back.nodes, size)
        size -= 1
        if d > back.distance[u]:
            continue
        back.seen[found], slack[found] = u, d + tree.distance[u]
        found += 1
        for k in range(positive.starts[u], positive.starts[u + 1]):
            v = positive.neighbours[k]
            there = d + x[positive.edges[k]] + PER_HOP
            if there < back.distance[v] and there + tree.distance[v] < 0.0:
                back.distance[v] = there
                push(back.keys, back.nodes, size, there, v)
                size += 1
    clear(back, found)
    order = np.argsort(slack[:found], kind="mergesort")
    seen: NDArray[np.int32] = back.seen[:found][order]
    return seen


@compiled
def _add(
    positive: Adjacency,
    v: int,
    local: IntArray,
    degree: IntArray,
    nodes: IntArray,
    size: int,
    extra: int,
) -> int:
    """Put a node into the ball; how many further rows this needs in all, -1 if there are none."""
    edges = 0
    for k in range(positive.starts[v], positive.starts[v + 1]):
        u = local[positive.neighbours[k]]
        if u >= 0:
            edges += 1
            extra += u > 0 and degree[u] > 0 and degree[u] % WIDTH == 0
    extra += max(0, edges - 1) // WIDTH
    if extra > ROWS - NODES:
        return -1
    for k in range(positive.starts[v], positive.starts[v + 1]):
        u = local[positive.neighbours[k]]
        if u >= 0:
            degree[u] += 1
    nodes[size], local[v], degree[size] = v, size, edges
    return extra


@compiled
def _fill(positive: Adjacency, local: IntArray, size: int, balls: Balls, lane: int) -> None:
    """Write the slots of a ball whose nodes are known."""
    nodes, extra = balls.nodes[lane], NODES
    for i in range(1, size):
        v, d, row = nodes[i], 0, i
        for k in range(positive.starts[v], positive.starts[v + 1]):
            j = local[positive.neighbours[k]]
            if j < 0:
                continue
            if d > 0 and d % WIDTH == 0:
                row = extra
                balls.owner[lane, row - NODES] = i
                extra += 1
            balls.neighbor[lane, d % WIDTH, row] = j
            balls.edge[lane, d % WIDTH, row] = positive.edges[k]
            d += 1
