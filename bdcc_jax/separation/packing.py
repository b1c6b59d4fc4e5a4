"""The engine of choice on a CPU: violated paths of all roots, packed into shared capacities.

The dual of a Benders subproblem (Eq. BendersSub) sends flow from the far ends of the violated
negative edges to the root through E+, an edge e carrying at most ``w_e``. Solved one by one, the
subproblems of a round use the same edges and their rows repeat each other. Here all roots share the
capacities: every path takes its bottleneck out of what the next one finds. The paths are the cycle
inequalities that the Benders rows are sums of: valid as they are, with coefficients +1 and -1.

On dense graphs the capacities run out long before every violated edge has a row, and the master
starves. So the packing starts afresh for the edges that have none, until a pass finds few.
Elsewhere that would take longer than another LP, unless the LPs take long.
"""

from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from ..base.adjacency import Adjacency
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock, TimeLimitReached
from ..base.compiled import borrowing, compiled
from ..base.path_search import ShortestPathTree, clear, new_tree, search
from ..instance.cover import Cover
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..proofs.certificate import LowerBound, relaxed_bound
from .paper.ball import VIOLATION
from .separation import Separation
from .violations import violated_edges

REACH_OF_BOUND = 4096
"""Nodes that a search settles to find a lower bound without an LP."""

GROWTH = 8
"""To search further, the number of nodes that a search may settle is multiplied by this."""

ENOUGH = 0.25
"""If a round has fewer than ENOUGH rows for each violated edge, longer searches are tried."""

WORTH = 1.5
"""Longer searches are kept if they find at least WORTH times the rows of the shorter ones."""

PASSES = 8
"""Passes over all roots in one round, each with full capacities, where the graph is dense or the LP
slow; elsewhere one."""

DENSE = 0.5
"""Graphs with this share of all pairs are dense."""

SLOW_LP = 2000
"""Work for each edge between two rounds, by which an LP is slow."""

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
    violation : float
        Cycle inequalities count as violated by more than this.
    """

    def __init__(
        self, graph: Graph, cover: Cover, reach: int | None = 64, violation: float = VIOLATION
    ) -> None:
        self._graph, self._cover, self._violation = graph, cover, violation
        self._narrow = 1e-9 * np.abs(graph.weights).mean()
        self._reach = graph.n + 1 if reach is None else reach
        self._amounts = np.empty(0)  # what the last packing has put on its rows
        self._futile = inf  # violated edges when longer searches last were in vain
        self._dense = graph.m >= DENSE * graph.n * (graph.n - 1) / 2
        self._work = inf  # the clock's, at the last round

    @cached_property
    def _apart(self) -> NDArray[np.int8]:
        """How many edges of E+ are between the ends of each negative edge, if at most three."""
        cover = self._cover
        positive = self._graph.positive_adjacency
        return _edges_between(positive, cover.roots, cover.starts, cover.far_ends)

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Cycle inequalities that x violates: some whenever there are any."""
        x = np.where(x < ZERO, 0.0, x)
        with clock.measure("detection"):
            violated = violated_edges(self._graph, self._cover, x, clock, self._violation)
        if not violated.any():
            return Separation.nothing_violated()
        roots = int(np.logical_or.reduceat(violated, self._cover.starts[:-1]).sum())
        slow = clock.work - self._work > SLOW_LP * self._graph.m
        self._work = clock.work
        with clock.measure("subproblems"):
            rows = self._widen(x, violated, clock, PASSES if self._dense or slow else 1)
            if self._cut_short:  # there is no time for an LP with these rows either
                raise TimeLimitReached
        return Separation(rows, roots, fallbacks=0, satisfied=False, multipliers=self._amounts)

    def packed_bound(self, clock: Clock) -> LowerBound:
        """A lower bound without any LP, for instances whose LP may never be solved.

        At ``x = (1 on E-, 0 on E+)`` the amounts of a packing are multipliers of its rows that
        leave every weight with its sign, so each unit of it raises the bound by one.
        """
        graph = self._graph
        everything = np.ones(len(self._cover.edges), dtype=bool)
        with clock.measure("subproblems"):
            rows = self._pack(graph.negative.astype(np.float64), everything, REACH_OF_BOUND, clock)
        return relaxed_bound(graph, rows, self._amounts)

    def _widen(self, x: FloatArray, violated: BoolArray, clock: Clock, passes: int) -> Rows:
        """Pack, and let the searches go further while few rows come out and that helps."""
        n_violated = int(violated.sum())
        rows = self._pack(x, violated, self._reach, clock, passes)
        while len(rows) < ENOUGH * n_violated and 2 * self._reach <= self._graph.n:
            clock.check()
            if len(rows) > 0 and n_violated > self._futile / 2:
                break
            amounts = self._amounts
            wider = self._pack(x, violated, GROWTH * self._reach, clock, passes)
            if 0 < len(wider) < WORTH * len(rows):
                # The capacities are what keeps the rows few.
                self._futile, self._amounts = n_violated, amounts
                break
            self._reach, rows = GROWTH * self._reach, wider
            self._futile = inf
        # Only edges of hardly any weight, or very long paths, are left.
        if len(rows) == 0:
            clock.check()
            rows = self.shortest(x, violated, clock)
        return rows

    def shortest(self, x: FloatArray, violated: BoolArray, clock: Clock) -> Rows:
        """Shortest cycles of edges that :func:`violated_edges` has found, without any margin."""
        return self._pack(x, violated, self._graph.n + 1, clock, PASSES, margin=0.0)

    def _pack(
        self,
        x: FloatArray,
        violated: BoolArray,
        reach: int,
        clock: Clock,
        passes: int = 1,
        margin: float = 1.0,
    ) -> Rows:
        per_edge = PER_EDGE / 1000 if reach > self._graph.n else PER_EDGE
        cover, weights = self._cover, self._graph.weights
        with clock.alarm() as stop:
            edges, starts, self._amounts = _pack(
                self._graph.positive_adjacency,
                x,
                weights,
                cover.roots,
                cover.starts,
                cover.edges,
                cover.far_ends,
                self._apart,
                violated,
                margin * self._narrow,
                margin * per_edge,
                reach,
                passes,
                self._violation,
                stop,
            )
        self._cut_short = bool(stop[0])
        return Rows.of_cycles(starts, edges)


@compiled
def _pack(
    positive: Adjacency,
    x: FloatArray,
    weights: FloatArray,
    roots: IntArray,
    shares: IntArray,
    negative_edges: IntArray,
    far_ends: IntArray,
    apart: NDArray[np.int8],
    violated: BoolArray,
    narrow: float,
    per_edge: float,
    most: int,
    passes: int,
    violation: float,
    stop: BoolArray,
) -> tuple[NDArray[np.int32], IntArray, FloatArray]:
    """The cycles found, one after another with their negative edge first, and where each starts.

    Also the amounts that the first pass packed into the capacities, 0 for later passes. Another
    thread may set ``stop``: then no further root is searched.
    """
    tree = new_tree(positive)
    width = np.empty(len(weights))
    left = np.empty(len(negative_edges))
    has_row = np.zeros(len(negative_edges), np.bool_)
    hopeful = np.empty(len(negative_edges), np.bool_)  # targets that may yet be reached
    cycles, ends = [np.int32(0) for _ in range(0)], [0]
    amounts = [0.0 for _ in range(0)]
    for number in range(passes):
        before = len(ends) - 1
        for e in range(len(weights)):
            width[e] = max(weights[e], 0.0)
        for j in range(len(negative_edges)):
            waits = violated[j] and not has_row[j]
            left[j] = -weights[negative_edges[j]] if waits else 0.0
        # The shortest cycles first: they make the better rows and take the least capacity.
        for hops in (2, 3, len(positive.starts)):
            for s in range(len(roots)):
                share = range(shares[s], shares[s + 1])
                for j in share:
                    hopeful[j] = apart[j] <= hops
                found = True
                while found and not stop[0]:
                    found = False
                    reach, missing = 0.0, 0
                    for j in share:
                        if hopeful[j] and left[j] > narrow:
                            reach = max(reach, x[negative_edges[j]])
                            tree.wanted[far_ends[j]] = True
                            missing += 1
                    if missing == 0:
                        break
                    touched = search(
                        roots[s], positive, tree, x, width, narrow, per_edge,
                        reach, missing, most, hops,
                    )  # fmt: skip
                    for j in share:
                        tree.wanted[far_ends[j]] = False
                        if left[j] <= narrow:
                            continue
                        e, v = negative_edges[j], far_ends[j]
                        amount = _take(roots[s], e, v, left[j], narrow, violation, x, tree, width)
                        if amount > 0.0:
                            cycles.append(np.int32(e))
                            u = v
                            while u != roots[s]:
                                cycles.append(tree.edge[u])
                                u = tree.parent[u]
                            ends.append(len(cycles))
                            amounts.append(amount if number == 0 else 0.0)
                            left[j] -= amount
                            has_row[j] = found = True
                        elif tree.distance[v] == np.inf:  # edges only get narrower
                            hopeful[j] = False
                    clear(tree, touched)
        if len(ends) - 1 - before < THIN_PASS * (len(ends) - 1):
            break
    return np.array(cycles, dtype=np.int32), np.array(ends, dtype=np.int64), np.array(amounts)


@compiled
def _edges_between(
    positive: Adjacency, roots: IntArray, shares: IntArray, far_ends: IntArray
) -> NDArray[np.int8]:
    """Breadth first from every root: how far its far ends are, 4 if further than 3."""
    n = len(positive.starts) - 1
    depth, queue = np.full(n, 4, np.int8), np.empty(n, np.int32)
    apart = np.empty(len(far_ends), np.int8)
    for s in range(len(roots)):
        depth[roots[s]], queue[0] = 0, roots[s]
        size, i = 1, 0
        while i < size and depth[queue[i]] < 3:
            u = queue[i]
            for k in range(positive.starts[u], positive.starts[u + 1]):
                v = positive.neighbours[k]
                if depth[v] == 4:
                    depth[v], queue[size] = depth[u] + 1, v
                    size += 1
            i += 1
        for j in range(shares[s], shares[s + 1]):
            apart[j] = depth[far_ends[j]]
        for i in range(size):
            depth[queue[i]] = 4
    return apart


@borrowing
def _take(
    root: int,
    negative_edge: int,
    far_end: int,
    left: float,
    narrow: float,
    violation: float,
    x: FloatArray,
    tree: ShortestPathTree,
    width: FloatArray,
) -> float:
    """Send what fits along the path in the tree, if its cycle is violated; returns how much."""
    if tree.distance[far_end] == np.inf:
        return 0.0
    amount, length, u = left, 0.0, far_end
    while u != root:
        e = tree.edge[u]
        amount, length, u = min(amount, width[e]), length + x[e], tree.parent[u]
    # Detection adds up from the root, as the search does: where it sees a violation that rounding
    # hides from the other end, a search without margins has the same distance.
    if amount <= narrow or min(length, tree.distance[far_end]) >= x[negative_edge] - violation:
        return 0.0
    u = far_end
    while u != root:
        width[tree.edge[u]] -= amount
        u = tree.parent[u]
    return amount
