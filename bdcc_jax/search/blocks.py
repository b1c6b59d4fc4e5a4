"""The LP of a large instance, started from the LPs of its blocks.

The simplex method takes more than linear time, and one thread. So the nodes are cut into blocks of
moderate size, the LP of every block is solved by itself, and the master starts from all their rows
and from their optimal bases together: that is the optimum of the LP without the rows that cross
from block to block, which are few and are found next. How the nodes are cut depends on the instance
alone, and the blocks are tasks for threads.
"""

from contextlib import closing
from math import ceil, inf, log2
from typing import NamedTuple

import numpy as np

from ..base import workers
from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from ..instance.cover import vertex_cover
from ..instance.graph import Graph
from ..instance.nested_order import nested_order
from ..lp.master import AT_LOWER, AT_UPPER, BASIC, Master, MasterFailed
from ..lp.rows import Rows
from ..proofs.certificate import LowerBound, Relaxation
from ..proofs.decomposition import Decomposition
from ..separation.packing import PackingEngine
from .cutting_planes import cutting_planes

BLOCK_EDGES = 20_000
"""A block has at most so many edges, about, and at least half of that."""

LEAST_EDGES = 200_000
"""Instances with so many edges are cut into blocks; the LPs of smaller ones are quick at once."""

MOST_CROSSING = 0.3
"""Share of the edges that may cross from block to block: few in planar and in grid-like graphs."""

FEW = 0.003
"""The LP of a block ends when no more than this share of its roots are violated."""


class State(NamedTuple):
    """An LP with some rows: a solution, and where its columns and rows are: AT_LOWER, BASIC, ..."""

    x: FloatArray
    columns: IntArray
    rows: Rows
    slacks: IntArray

    @classmethod
    def without_lp(cls, graph: Graph, rows: Rows) -> "State":
        """Every edge by itself, all rows slack."""
        columns = np.where(graph.negative, AT_UPPER, AT_LOWER)
        return cls(graph.negative.astype(np.float64), columns, rows, np.full(len(rows), BASIC))

    def start(self, master: Master) -> None:
        """Let a new master start from here."""
        master.add(self.rows)
        if (self.slacks != BASIC).any():
            master.start_from(self.columns, self.slacks)


class Solved(NamedTuple):
    """What the blocks tell: a bound, and where the LP of the instance starts."""

    bound: LowerBound
    state: State


def blocks(graph: Graph) -> IntArray | None:
    """The block of every node: halves of halves of the instance.

    None if it is small, or cannot be cut well: then the blocks would say little.
    """
    if graph.m < LEAST_EDGES:
        return None
    count = 1 << ceil(log2(graph.m / BLOCK_EDGES))
    block = np.empty(graph.n, dtype=np.int64)
    block[nested_order(graph, -(-graph.n // count))] = np.arange(graph.n) * count // graph.n
    return block if graph.cut(block).mean() <= MOST_CROSSING else None


def solve_blocks(
    graph: Graph, block: IntArray, rows: Rows, reach: int | None, clock: Clock
) -> Solved:
    """Solve the LPs of all blocks, starting with rows of the instance."""
    parts = Decomposition(graph, Rows.empty(), np.empty(0), block)
    state = State.without_lp(graph, rows)
    starts, crossing = _divided(state, parts)
    tasks = [_Task(parts.instance(i), start, reach) for i, start in enumerate(starts)]
    found, slacks = [], []
    with closing(workers.map(_solve, tasks, clock)) as solved:
        for i, (part, bound) in enumerate(solved):
            edges = parts.edges(i)
            state.x[edges], state.columns[edges] = part.x, part.columns
            found.append(part.rows.renamed(edges))
            slacks.append(part.slacks)
            parts.raise_bound(i, bound)
    slacks.append(np.full(len(crossing), BASIC))
    rows = Rows.concatenate([*found, crossing])
    return Solved(parts.lower_bound, State(state.x, state.columns, rows, np.concatenate(slacks)))


class _Task(NamedTuple):
    """The LP of one block, and where it starts."""

    graph: Graph
    start: State
    reach: int | None


def _divided(state: State, parts: Decomposition) -> tuple[list[State], Rows]:
    """What is known of every part, in the edges of its instance, and the rows that are in none."""
    place = np.empty(parts.graph.m, dtype=np.int64)
    for i in range(len(parts)):
        place[parts.edges(i)] = np.arange(len(parts.edges(i)))
    groups, crossing = parts.divide(state.rows)
    states = []
    for i, (rows, chosen) in enumerate(groups):
        edges = parts.edges(i)
        states.append(
            State(state.x[edges], state.columns[edges], rows.renamed(place), state.slacks[chosen])
        )
    return states, crossing


def _solve(task: _Task, clock: Clock) -> tuple[State, LowerBound]:
    """The LP of one block, almost all cycle inequalities satisfied.

    If HiGHS fails, the LP of the instance starts from what was known before.
    """
    graph, start, reach = task
    if graph.m == 0:
        return start, LowerBound(0.0, Relaxation.trivial(graph))
    master, x, few = Master(graph.weights), start.x, [False]
    cover = vertex_cover(graph, "greedy", clock)
    engine = PackingEngine(graph, cover, reach)
    try:
        start.start(master)
        for cut in cutting_planes(
            master, [engine.separate], clock, enough=lambda: few[0], forget=master.drop_slack_rows
        ):
            x, few[0] = cut.x, cut.found.violated_roots <= FEW * len(cover)
        columns, slacks = master.basis if master.n_rows else (start.columns, start.slacks)
    except MasterFailed:
        return start, LowerBound(-inf, Relaxation.trivial(graph))
    proof = Relaxation(graph, master.rows, master.multipliers)
    return State(x, columns, master.rows, slacks), LowerBound(master.proven_bound, proof)
