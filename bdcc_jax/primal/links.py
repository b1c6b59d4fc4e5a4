"""A graph as compiled searches read it, and the smaller graph that a partition of it leaves."""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.adjacency import adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled
from ..base.components import connected_components


class Links(NamedTuple):
    """The two ends of every edge, one after another, and the arcs of every node.

    Edge e joins ``ends[2 e]`` and ``ends[2 e + 1]``. The arcs of node v are
    ``starts[v] .. starts[v + 1] - 1``. Where some edges are lifted, ``connects`` and
    ``arc_connects`` say which ones are not; empty where all connect.
    """

    ends: IntArray
    weights: FloatArray
    starts: IntArray
    neighbours: NDArray[np.int32]
    arc_weights: FloatArray
    connects: BoolArray
    arc_connects: BoolArray


@compiled
def new_links(n: int, ends: IntArray, weights: FloatArray) -> Links:
    """Sort the arcs of some edges by node."""
    return lifted_links(n, ends, weights, np.empty(0, dtype=np.bool_))


@compiled
def lifted_links(n: int, ends: IntArray, weights: FloatArray, connects: BoolArray) -> Links:
    """Sort the arcs of some edges by node; not all of them connect."""
    arcs = adjacency(n, ends[::2], ends[1::2], np.arange(len(weights)))
    of_arcs = connects[arcs.edges] if len(connects) else connects
    return Links(
        ends, weights, arcs.starts, arcs.neighbours, weights[arcs.edges], connects, of_arcs
    )


@compiled
def cost(links: Links, labels: IntArray) -> float:
    """The weight of the edges that a clustering cuts."""
    total = 0.0
    for e in range(len(links.weights)):
        if labels[links.ends[2 * e]] != labels[links.ends[2 * e + 1]]:
            total += links.weights[e]
    return total


@compiled
def scale(links: Links) -> float:
    """About what moving a node changes: the mean |w| times the root of the mean degree."""
    m, n = len(links.weights), len(links.starts) - 1
    total = 0.0
    for e in range(m):
        total += abs(links.weights[e])
    return total / m * sqrt(2.0 * m / n)


@compiled
def agreed(links: Links, a: IntArray, b: IntArray) -> tuple[IntArray, int]:
    """The nodes that edges hold together which neither clustering cuts: blocks, and their number.

    Two nodes may share both clusters and still lie in two blocks: on sparse graphs this leaves far
    more to decide than the intersection of the clusters would.
    """
    m = len(links.weights)
    u, v = links.ends[::2], links.ends[1::2]
    kept = np.empty(m, dtype=np.bool_)
    for e in range(m):
        kept[e] = a[u[e]] == a[v[e]] and b[u[e]] == b[v[e]]
        if len(links.connects):
            kept[e] &= links.connects[e]
    block = connected_components(len(a), u, v, kept)
    return block, block.max() + 1


@compiled
def contracted(links: Links, block: IntArray, count: int) -> Links:
    """The graph whose nodes are the blocks; weights between two blocks are added up."""
    n, m = len(block), len(links.weights)
    # The nodes of every block, by counting.
    starts, members = np.zeros(count + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    for v in range(n):
        starts[block[v] + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    place = starts[:-1].copy()
    for v in range(n):
        members[place[block[v]]] = v
        place[block[v]] += 1
    ends, weights = np.empty(2 * m, dtype=np.int64), np.empty(m)
    lifted = len(links.connects) > 0
    connects = np.zeros(m if lifted else 0, dtype=np.bool_)
    found, edge = 0, np.full(count, -1)  # the edge to a block, if it is not older than first
    for a in range(count):
        first = found
        for i in range(starts[a], starts[a + 1]):
            v = members[i]
            for k in range(links.starts[v], links.starts[v + 1]):
                b = block[links.neighbours[k]]
                if b <= a:
                    continue
                if edge[b] < first:
                    edge[b] = found
                    ends[2 * found], ends[2 * found + 1] = a, b
                    weights[found] = 0.0
                    found += 1
                weights[edge[b]] += links.arc_weights[k]
                if lifted:
                    connects[edge[b]] |= links.arc_connects[k]
    ends, weights = ends[: 2 * found].copy(), weights[:found].copy()
    return lifted_links(count, ends, weights, connects[:found].copy())
