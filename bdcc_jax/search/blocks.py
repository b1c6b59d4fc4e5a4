"""The LP of a large instance, started from the LPs of its blocks.

The simplex method takes more than linear time. So the nodes are cut into blocks of moderate size,
the LP of every block is solved by itself, and the master starts from all their rows and from their
optimal bases together: that is the optimum of the LP without the rows that cross a boundary, which
are few and are found next.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..instance.cover import vertex_cover
from ..instance.graph import Graph
from ..lp.master import AT_LOWER, AT_UPPER, Master
from ..lp.rows import Rows
from ..proofs.certificate import LowerBound, Relaxation
from ..proofs.decomposition import Decomposition
from ..separation.packing import PackingEngine
from .cutting_planes import cutting_planes

BLOCK_EDGES = 50_000
"""About as many edges make a block; instances with twice as many are cut into blocks."""

MOST_CROSSING = 0.3
"""Share of the edges that may cross from block to block: few in planar and in grid-like graphs."""


def blocks(graph: Graph) -> IntArray | None:
    """The block of every node: consecutive nodes in an order that keeps neighbours close.

    None if the instance is small, or has no good order: then the blocks would say little.
    """
    if graph.m < 2 * BLOCK_EDGES:
        return None
    u, v = graph.edges.T
    ones = np.ones(graph.m, dtype=np.int8)
    adjacency = sp.coo_array((ones, (u, v)), shape=(graph.n, graph.n)).tocsr()
    order = reverse_cuthill_mckee((adjacency + adjacency.T).tocsr(), symmetric_mode=True)
    block = np.empty(graph.n, dtype=np.int64)
    block[order] = np.arange(graph.n) * (graph.m // BLOCK_EDGES) // graph.n
    return block if graph.cut(block).mean() <= MOST_CROSSING else None


def start_from_blocks(
    graph: Graph, block: IntArray, master: Master, reach: int | None, clock: Clock
) -> Iterator[Decomposition]:
    """Fill a new master with the rows of all blocks; yields what is known after each block."""
    parts = Decomposition(graph, Rows.empty(), np.empty(0), block)
    columns = np.where(graph.negative, AT_UPPER, AT_LOWER)  # of edges between blocks
    found, slacks = [], []
    for i in range(len(parts)):
        edges = parts.edges(i)
        instance = parts.instance(i)
        part = _solve(instance, reach, clock)
        rows = part.rows
        indices = edges[rows.indices].astype(np.int32)
        found.append(Rows(rows.starts, indices, rows.values, rows.upper))
        columns[edges], of_rows = part.basis
        slacks.append(of_rows)
        proof = Relaxation(instance, rows, part.multipliers)
        parts.raise_bound(i, LowerBound(part.proven_bound, proof))
        yield parts
    master.add(Rows.concatenate(found))
    master.start_from(columns, np.concatenate(slacks))


def _solve(block: Graph, reach: int | None, clock: Clock) -> Master:
    """The LP of one block, all cycle inequalities satisfied as far as HiGHS can.

    Converged or not, the master of all blocks has something to start from.
    """
    master = Master(block.weights)
    engine = PackingEngine(block, vertex_cover(block, "greedy", clock), reach)
    for _ in cutting_planes(master, [engine.separate], clock, forget=master.drop_slack_rows):
        pass
    return master
