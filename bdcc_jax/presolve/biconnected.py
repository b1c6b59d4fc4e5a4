"""Biconnected blocks: the parts of a graph that can be clustered independently of each other."""

import numpy as np

from ..base.adjacency import adjacency
from ..base.arrays import BoolArray, IntArray
from ..base.compiled import compiled


@compiled
def biconnected_blocks(n: int, u: IntArray, v: IntArray) -> tuple[IntArray, IntArray, int]:
    """Find the biconnected blocks of a simple graph (Hopcroft and Tarjan, without recursion).

    Returns
    -------
    block : ndarray of int, shape (m,)
        The block of every edge.
    by_block : ndarray of int, shape (m,)
        The edges, block by block.
    n_blocks : int
        How many there are.
    """
    m = len(u)
    at = adjacency(n, v, u, np.arange(m))
    unseen = at.starts[:n].copy()  # the next edge to look at
    depth = np.full(n, -1, dtype=np.int64)  # in the search tree
    low = np.empty(n, dtype=np.int64)  # least depth next to the node's subtree
    via = np.full(n, -1, dtype=np.int64)  # the tree edge to the node
    path = np.empty(n, dtype=np.int64)
    open_edges = np.empty(m, dtype=np.int64)  # seen, but of a block that is not complete yet
    block = np.empty(m, dtype=np.int64)
    by_block = np.empty(m, dtype=np.int64)
    n_open = n_done = n_blocks = 0
    for root in range(n):
        if depth[root] >= 0:
            continue
        depth[root] = low[root] = 0
        path[0] = root
        length = 1
        while length > 0:
            x = path[length - 1]
            if unseen[x] < at.starts[x + 1]:
                e, y = at.edges[unseen[x]], at.neighbours[unseen[x]]
                unseen[x] += 1
                if depth[y] < 0:  # go down
                    open_edges[n_open] = e
                    n_open += 1
                    via[y] = e
                    depth[y] = low[y] = length
                    path[length] = y
                    length += 1
                elif depth[y] < depth[x] and e != via[x]:  # a back edge
                    open_edges[n_open] = e
                    n_open += 1
                    low[x] = min(low[x], depth[y])
            else:  # go up
                length -= 1
                if length == 0:
                    continue
                parent = path[length - 1]
                low[parent] = min(low[parent], low[x])
                if low[x] >= depth[parent]:  # parent separates what hangs below this edge
                    while n_done == 0 or by_block[n_done - 1] != via[x]:
                        n_open -= 1
                        by_block[n_done] = open_edges[n_open]
                        block[by_block[n_done]] = n_blocks
                        n_done += 1
                    n_blocks += 1
    return block, by_block, n_blocks


@compiled
def split_cut_vertices(
    n: int, u: IntArray, v: IntArray, block: IntArray, by_block: IntArray, kept: BoolArray
) -> IntArray:
    """Give every block its own copy of its nodes, in place in the ends ``u`` and ``v``.

    The first block that a node is in has the node itself; copies are numbered from ``n`` on. Only
    the blocks with ``kept`` set count.

    Returns
    -------
    ndarray of int
        The node that each copy is a copy of.
    """
    latest = np.full(n, -1, dtype=np.int64)  # block
    name = np.arange(n)  # in that block
    copied = np.empty(2 * len(u), dtype=np.int64)
    n_copies = 0
    for e in by_block:
        if not kept[block[e]]:
            continue
        for ends in (u, v):
            x = ends[e]
            if latest[x] != block[e]:
                if latest[x] >= 0:
                    name[x] = n + n_copies
                    copied[n_copies] = x
                    n_copies += 1
                latest[x] = block[e]
            ends[e] = name[x]
    return copied[:n_copies]
