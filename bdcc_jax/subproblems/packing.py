"""The engine of choice on a CPU: violated paths of all roots, packed into shared capacities.

The dual of a Benders subproblem (Eq. BendersSub) sends flow from the far ends of the violated
negative edges to the root through E+, an edge e carrying at most ``w_e``. Solved one by one, the
subproblems of a round use the same edges and their rows repeat each other. Here all roots share the
capacities: every path takes its bottleneck out of what the next one finds. The paths are the cycle
inequalities that the Benders rows are sums of: valid as they are, with coefficients +1 and -1.

On dense graphs the capacities run out long before every violated edge has a row, and the master
starves. So the packing starts afresh for the edges that have none, until a pass finds few.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from ..arrays import BoolArray, FloatArray, IntArray
from ..clock import Clock
from ..compiled import compiled
from ..cover import Cover
from ..graph import Graph
from ..lagrangian import Lagrangian
from ..rows import Rows
from .ball import VIOLATION, positive_adjacency
from .path_search import search
from .separation import Separation
from .violations import violated_edges

FAR = 4096
"""Nodes that a search settles to find a lower bound without an LP."""

GROWTH = 8
"""What the bound on settled nodes is multiplied by to search further."""

ENOUGH = 0.5
"""Rows for each violated edge; with fewer, it is tried whether longer searches help."""

WORTH = 1.5
"""Longer searches have to find so many times the rows."""

PASSES = 8
"""How often at most the capacities are filled up again in one round."""

THIN_PASS = 1 / 8
"""A pass that adds less than this share of the round's rows is the last."""

PER_EDGE = 1e-6
"""What an edge counts besides its x, so that of equally short paths the shortest wins; divided by
1000 once searches are unbounded, so that nothing that is violated gets lost."""

ZERO = 1e-9
"""Smaller values of x are rounding errors of the LP solver."""


class PackingEngine:
    """Lines 6 to 13 of Algorithm 1 by path packing.

    Parameters
    ----------
    graph : Graph
        The instance.
    cover : Cover
        The roots and their shares of E-.
    reach : int or None
        Nodes that a search settles in the first rounds: short cycles make the better rows, and a
        target that full edges have cut off would cost a walk through the whole graph. None: all.
    """

    def __init__(self, graph: Graph, cover: Cover, reach: int | None = 64) -> None:
        self._graph, self._cover = graph, cover
        starts, heads, edge_ids = positive_adjacency(graph)
        tails = np.repeat(np.arange(graph.n), np.diff(starts))
        self._starts = starts
        self._arcs = heads.astype(np.int32), edge_ids.astype(np.int32), tails.astype(np.int32)
        self._narrow = 1e-9 * np.abs(graph.weights).mean()
        self._reach = graph.n + 1 if reach is None else reach
        self._futile = inf  # violated edges when longer searches last were in vain

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Cycle inequalities that x violates: some whenever there are any."""
        x = np.where(x < ZERO, 0.0, x)
        with clock.measure("detection"):
            violated = violated_edges(self._graph, self._cover, x)
        if not violated.any():
            return Separation(Rows.empty(), violated_roots=0, fallbacks=0)
        roots = int(np.logical_or.reduceat(violated, self._cover.starts[:-1]).sum())
        with clock.measure("subproblems"):
            rows = self._widen(x, violated, clock)
        return Separation(rows, roots if len(rows) > 0 else 0, fallbacks=0)

    def packed_bound(self, clock: Clock) -> float:
        """A lower bound without any LP, for instances whose LP may never be solved.

        At ``x = (1 on E-, 0 on E+)`` the amounts of a packing are multipliers of its rows that
        leave every weight with its sign, so each unit of it raises the bound by one.
        """
        graph = self._graph
        everything = np.ones(len(self._cover.edges), dtype=bool)
        with clock.measure("subproblems"):
            rows = self._pack(graph.negative.astype(np.float64), everything, FAR, 1)
        return Lagrangian.of(graph.weights, rows, self._amounts).bound

    def _widen(self, x: FloatArray, violated: BoolArray, clock: Clock) -> Rows:
        """Pack, and let the searches go further while few rows come out and that helps."""
        n_violated = int(violated.sum())
        rows = self._pack(x, violated, self._reach)
        while len(rows) < ENOUGH * n_violated and self._reach <= self._graph.n:
            clock.check()
            if len(rows) > 0 and n_violated > self._futile / 2:
                break
            wider = self._pack(x, violated, GROWTH * self._reach)
            if 0 < len(wider) < WORTH * len(rows):
                # The capacities are what keeps the rows few.
                self._futile = n_violated
                break
            self._reach, rows = GROWTH * self._reach, wider
            self._futile = inf
        return rows

    def _pack(self, x: FloatArray, violated: BoolArray, reach: int, passes: int = PASSES) -> Rows:
        exact = reach > self._graph.n
        cover, weights = self._cover, self._graph.weights
        edges, starts, self._amounts = _pack(
            self._starts,
            *self._arcs,
            x,
            weights,
            cover.roots,
            cover.starts,
            cover.edges,
            cover.far_ends,
            violated,
            self._narrow,
            PER_EDGE / 1000 if exact else PER_EDGE,
            reach,
            passes,
        )
        return Rows.of_cycles(starts, edges)


@compiled
def _pack(
    starts: IntArray,
    heads: NDArray[np.int32],
    edge_ids: NDArray[np.int32],
    tails: NDArray[np.int32],
    x: FloatArray,
    weights: FloatArray,
    roots: IntArray,
    shares: IntArray,
    negative_edges: IntArray,
    far_ends: IntArray,
    violated: BoolArray,
    narrow: float,
    per_edge: float,
    most: int,
    passes: int,
) -> tuple[NDArray[np.int32], IntArray, FloatArray]:
    """The cycles found, one after another with their negative edge first, and where each starts.

    Also the amounts that the first pass packed into the capacities, 0 for later passes.
    """
    n = len(starts) - 1
    distance = np.full(n, np.inf)
    arc, depth = np.empty(n, np.int32), np.empty(n, np.int32)
    seen, wanted = np.empty(n, np.int32), np.zeros(n, np.bool_)
    keys, nodes = np.empty(len(heads) + 1), np.empty(len(heads) + 1, np.int32)
    width = np.empty(len(weights))
    left = np.empty(len(negative_edges))
    has_row = np.zeros(len(negative_edges), np.bool_)
    cycles, ends = [np.int32(0) for _ in range(0)], [0]
    amounts = [0.0 for _ in range(0)]
    for number in range(passes):
        before = len(ends) - 1
        width[:] = np.maximum(weights, 0.0)
        for j in range(len(negative_edges)):
            waits = violated[j] and not has_row[j]
            left[j] = -weights[negative_edges[j]] if waits else 0.0
        for hops in (2, 3, n):
            for s in range(len(roots)):
                root, share = roots[s], range(shares[s], shares[s + 1])
                found = True
                while found:
                    found = False
                    reach, missing = 0.0, 0
                    for j in share:
                        if left[j] > narrow:
                            reach = max(reach, x[negative_edges[j]])
                            wanted[far_ends[j]] = True
                            missing += 1
                    if missing == 0:
                        break
                    touched = search(
                        root, starts, heads, edge_ids, x, width, narrow, per_edge, reach,
                        wanted, missing, most, hops, depth, distance, arc, seen, keys, nodes,
                    )  # fmt: skip
                    for j in share:
                        v = far_ends[j]
                        wanted[v] = False
                        if left[j] <= narrow or distance[v] == np.inf:
                            continue
                        amount, length, u = left[j], 0.0, v
                        while u != root:
                            e = edge_ids[arc[u]]
                            amount, length = min(amount, width[e]), length + x[e]
                            u = tails[arc[u]]
                        if amount <= narrow or length >= x[negative_edges[j]] - VIOLATION:
                            continue
                        cycles.append(np.int32(negative_edges[j]))
                        u = v
                        while u != root:
                            e = edge_ids[arc[u]]
                            width[e] -= amount
                            cycles.append(e)
                            u = tails[arc[u]]
                        ends.append(len(cycles))
                        amounts.append(amount if number == 0 else 0.0)
                        left[j] -= amount
                        has_row[j] = found = True
                    for i in range(touched):
                        distance[seen[i]] = np.inf
        if len(ends) - 1 - before < THIN_PASS * (len(ends) - 1):
            break
    return np.array(cycles, dtype=np.int32), np.array(ends), np.array(amounts)
