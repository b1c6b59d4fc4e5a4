"""Balls around violated roots, all of one shape: what the device solves LPs on.

A ball has NODES nodes, the root first, and ROWS rows of WIDTH slots. A slot is an edge of E+ seen
from one of its ends. Row k belongs to node k; a node with more than WIDTH edges has further rows,
which ``owner`` tells. Flow is not conserved at the root: it needs no slots of its own. Arrays are
[WIDTH, ROWS], so that what is done with rows is done with vectors.
"""

from typing import Any, NamedTuple

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

LANES = 4
"""Balls of one root, at most, where the paths to its violated edges do not fit into one."""


class Balls(NamedTuple):
    """Balls, one a lane; the first axis of every array.

    Attributes
    ----------
    root : (lanes,) ints
        Number of the root in the list of roots that was given.
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

    root: IntArray
    nodes: IntArray
    neighbor: NDArray[np.int32]
    edge: NDArray[np.int32]
    owner: NDArray[np.int32]
    target: IntArray
    margin: FloatArray

    def __len__(self) -> int:
        return len(self.root)


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
    nodes on the most violated paths, up to ``most`` in all. What does not fit makes further balls,
    while there is room.
    """
    room = len(roots) + len(roots) // 4 + LANES
    balls = Balls(
        np.empty(room, np.int64),
        np.empty((room, NODES), np.int64),
        np.zeros((room, WIDTH, ROWS), np.int32),
        np.empty((room, WIDTH, ROWS), np.int32),
        np.zeros((room, ROWS - NODES), np.int32),
        np.empty((room, NODES), np.int64),
        np.zeros(room),
    )
    tree = new_tree(positive)
    with clock.alarm() as stop:
        count = _gather(positive, tree, x, roots, starts, far_ends, edges, most, balls, stop)
    clock.check()
    some: list[Any] = [array[:count] for array in balls]
    return Balls(*some)


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
) -> int:
    """Fill in the balls of all roots, unless stopped; returns how many there are."""
    n = len(positive.starts) - 1
    local = np.full(n, -1)
    path = np.empty(n, np.int64)
    degree, back, slack = np.empty(NODES, np.int64), new_tree(positive), np.empty(n)
    lane = 0
    for r in range(len(roots)):
        if stop[0]:
            break
        first, last = starts[r], starts[r + 1]
        reach = 0.0
        for j in range(first, last):
            reach = max(reach, x[edges[j]])
            tree.wanted[far_ends[j]] = True
        root = roots[r]
        touched = search(root, positive, tree, x, x, -1.0, PER_HOP, reach, n + 1, SEARCHED, n)
        missing = 0
        for j in range(first, last):
            missing += tree.distance[far_ends[j]] == np.inf
        if missing > 0:
            clear(tree, touched)
            touched = search(root, positive, tree, x, x, -1.0, PER_HOP, reach, last - first, n, n)
        for j in range(first, last):
            tree.wanted[far_ends[j]] = False
        seen = _by_slack(positive, tree, back, x, far_ends[first:last], edges[first:last], slack)
        order = first + np.argsort(tree.distance[far_ends[first:last]], kind="mergesort")
        done = np.zeros(last - first, np.bool_)
        for ball in range(LANES):
            if ball > 0 and lane + len(roots) - r > len(balls.root):
                break
            nodes, target = balls.nodes[lane], balls.target[lane]
            nodes[:], target[:], balls.edge[lane] = -1, -1, -1
            nodes[0], local[root], size, extra, found = root, 0, 1, 0, 0
            degree[:] = 0
            for j in order:
                if done[j - first]:
                    continue
                length, v = 0, far_ends[j]
                if tree.distance[v] == np.inf:
                    continue
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
                if length > 0:
                    continue
                target[local[far_ends[j]]] = edges[j]
                margin = x[edges[j]] - tree.distance[far_ends[j]]
                balls.margin[lane] = max(balls.margin[lane], margin)
                done[j - first] = True
                found += 1
            if found > 0:
                for v in seen:
                    if size >= min(most, NODES):
                        break
                    if local[v] < 0:
                        more = _add(positive, v, local, degree, nodes, size, extra)
                        if more >= 0:
                            size, extra = size + 1, more
                _fill(positive, local, size, balls, lane)
                balls.root[lane] = r
                lane += 1
            for i in range(size):
                local[nodes[i]] = -1
            if found == 0 or np.all(done):
                break
        clear(tree, touched)
    return lane


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
