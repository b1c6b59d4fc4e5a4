"""Baseline A: the classic cutting plane of Kappes et al. for the minimum cost multicut.

Every round adds, for each negative edge, the cycle inequality of the shortest path between its ends
in E+, if it is violated: HiGHS' LP until there is none, then HiGHS' ILP until its solution is a
clustering.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import highspy
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from bdcc_jax import Graph
from bdcc_jax.base.arrays import BoolArray, FloatArray, IntArray
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.lp.rows import Rows

VIOLATION = 1e-6
"""Smaller violations are within HiGHS' tolerances."""

HOP = 1e-9
"""Length of every edge besides x: of equally short paths, the one with the fewest edges wins."""

CHUNK = 2**22
"""Entries of the distance matrix that are computed at a time, to bound the memory."""


@dataclass(frozen=True, eq=False)
class BaselineResult:
    """What the baseline found; ``seconds`` has the keys lp, ilp, separation and total.

    ``history`` has the seconds, the lower bound and the cost of the best clustering at every round.
    """

    labels: IntArray
    objective: float
    lower_bound: float
    status: str
    rounds: int
    seconds: dict[str, float]
    history: tuple[tuple[float, float, float], ...]


def solve(graph: Graph, time_limit: float | None = None) -> BaselineResult:
    """Find the optimal clustering, or stop at the time limit.

    Parameters
    ----------
    graph : Graph
        The instance.
    time_limit : float, optional
        Seconds.

    Examples
    --------
    >>> graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [2.0, -1.0, -3.0])
    >>> result = solve(graph)
    >>> result.labels.tolist(), result.objective, result.status
    ([0, 0, 1], -4.0, 'optimal')
    """
    run = _CuttingPlane(graph, Clock(time_limit))
    try:
        run.run()
        status = "optimal"
    except TimeLimitReached:
        status = "time_limit"
    parts = dict.fromkeys(("lp", "ilp", "separation"), 0.0)
    seconds = parts | run.clock.spent | {"total": run.clock.elapsed}
    return BaselineResult(
        run.labels, run.objective, run.lower_bound, status, run.rounds, seconds, tuple(run.history)
    )


class _CuttingPlane:
    """The state of one run; the best clustering and the lower bound hold at any moment."""

    def __init__(self, graph: Graph, clock: Clock) -> None:
        self.graph, self.clock = graph, clock
        self.labels = np.arange(graph.n)
        self.objective = graph.objective(self.labels)
        self.lower_bound = graph.negative_sum
        self.history: list[tuple[float, float, float]] = []
        self.rounds = 0

    def run(self) -> None:
        graph, clock = self.graph, self.clock
        if graph.m == 0:
            return
        model, separator = _Model(graph.weights), _Separator(graph)
        while True:
            with clock.measure("ilp" if model.integral else "lp"):
                x, bound = model.solve(graph.cut(self.labels), clock)
            self.rounds += 1
            self.lower_bound = max(self.lower_bound, bound)
            self._offer(graph.components(x < 0.5))
            self.history.append((clock.elapsed, self.lower_bound, self.objective))
            with clock.measure("separation"):
                rows = separator.violated(x, clock)
            if len(rows):
                model.add(rows)
            elif np.abs(x - np.round(x)).max() <= VIOLATION:  # always so in the ILP phase
                return
            else:
                model.enforce_integrality()

    def _offer(self, labels: IntArray) -> None:
        objective = self.graph.objective(labels)
        if objective < self.objective:
            self.labels, self.objective = labels, objective


class _Model:
    """``min w x`` over the rows so far, in one HiGHS object, so that every LP starts warm."""

    def __init__(self, weights: FloatArray) -> None:
        # HiGHS' tolerances are absolute: bring the mean |w| to about 1.
        self._scale = 2.0 ** np.floor(np.log2(np.abs(weights).mean()))
        self.integral = False
        self._highs = highs = highspy.Highs()
        highs.silent()
        m = len(weights)
        self._columns = np.arange(m, dtype=np.int32)
        highs.addVars(m, np.zeros(m), np.ones(m))
        highs.changeColsCost(m, self._columns, weights / self._scale)
        for option, value in {
            "threads": 1,
            "presolve": "off",  # the next LP starts from this one's basis instead
            "mip_rel_gap": 0.0,
            "mip_abs_gap": 0.0,
        }.items():
            highs.setOptionValue(option, value)

    def add(self, rows: Rows) -> None:
        k = len(rows)
        lower, upper = np.full(k, -highspy.kHighsInf), np.zeros(k)
        starts = rows.starts[:-1].astype(np.int32)
        self._highs.addRows(k, lower, upper, len(rows.indices), starts, rows.indices, rows.values)

    def enforce_integrality(self) -> None:
        self.integral = True
        kinds = np.full(len(self._columns), highspy.HighsVarType.kInteger)
        self._highs.changeColsIntegrality(len(kinds), self._columns, kinds)
        self._highs.setOptionValue("presolve", "choose")

    def solve(self, incumbent: BoolArray, clock: Clock) -> tuple[FloatArray, float]:
        """Minimiser and lower bound; the ILP starts from the cut of the best clustering."""
        clock.check()
        highs, status = self._highs, highspy.HighsModelStatus
        if self.integral:
            # Otherwise HiGHS would try to complete the last solution, as long as an ILP may take.
            highs.setSolution(len(incumbent), self._columns, incumbent.astype(np.float64))
        # The limit counts from the start of an ILP, but of an LP from the first run of this object.
        used = 0.0 if self.integral else highs.getRunTime()
        highs.setOptionValue("time_limit", used + clock.remaining)
        highs.run()
        if highs.getModelStatus() == status.kTimeLimit:
            raise TimeLimitReached
        if highs.getModelStatus() != status.kOptimal:
            raise RuntimeError(f"HiGHS: {highs.modelStatusToString(highs.getModelStatus())}")
        info = highs.getInfo()
        bound = info.mip_dual_bound if self.integral else info.objective_function_value
        x: FloatArray = np.clip(highs.getSolution().col_value, 0.0, 1.0)
        return np.round(x) if self.integral else x, float(bound * self._scale)


class _Separator:
    """Dijkstra's algorithm on E+ from one end of every negative edge, many roots in one call."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._keys = graph.edges @ [graph.n, 1]  # sorted, since edges are
        positive = np.flatnonzero(graph.positive)
        u, v = graph.edges[positive].T
        # The pattern of the symmetric matrix of E+ and the edge of each entry; only x changes.
        entries = np.concatenate([positive, positive])
        tails, heads = np.concatenate([u, v]), np.concatenate([v, u])
        order = np.lexsort((heads, tails))
        self._edge_of_entry, self._heads = entries[order], heads[order]
        self._starts = np.searchsorted(tails[order], np.arange(graph.n + 1))
        # The end with more negative edges is the root: fewer roots for the same edges.
        self._edges = np.flatnonzero(graph.negative)
        ends = graph.edges[self._edges]
        degree = np.bincount(ends.ravel(), minlength=graph.n)
        swap = degree[ends[:, 0]] < degree[ends[:, 1]]
        ends = np.where(swap[:, None], ends[:, ::-1], ends)
        by_root = np.argsort(ends[:, 0], kind="stable")
        self._edges, self._roots, self._far = self._edges[by_root], *ends[by_root].T

    def violated(self, x: FloatArray, clock: Clock) -> Rows:
        """The most violated cycle inequality of every negative edge that has one.

        Each has its own negative edge, so no two of them are equal.
        """
        lengths = x[self._edge_of_entry] + HOP
        shape = (self._graph.n, self._graph.n)
        network = sp.csr_array((lengths, self._heads, self._starts), shape=shape)
        parts = []
        for edges, roots, far in self._chunks(x):
            clock.check()
            sources, row = np.unique(roots, return_inverse=True)
            distance, parent = dijkstra(
                network, indices=sources, return_predecessors=True, limit=x[edges].max()
            )
            bad = np.flatnonzero(x[edges] - distance[row, far] > VIOLATION)
            parts.append(self._cycles(edges[bad], parent, row[bad], far[bad]))
        return Rows.concatenate(parts)

    def _chunks(self, x: FloatArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """The negative edges that may be violated with root and far end, so many roots a time."""
        chosen = np.flatnonzero(x[self._edges] > VIOLATION)
        rank = np.unique(self._roots[chosen], return_inverse=True)[1]
        size = max(1, CHUNK // self._graph.n)
        ends = np.searchsorted(rank, np.arange(size, rank.max(initial=0) + 1, size))
        for part in np.split(chosen, ends):
            if len(part):
                yield self._edges[part], self._roots[part], self._far[part]

    def _cycles(self, edges: IntArray, parent: IntArray, row: IntArray, node: IntArray) -> Rows:
        """The rows of these negative edges: all paths are walked to their roots in step."""
        walking = np.arange(len(edges))
        owner, path = [walking], [edges]
        while len(walking):
            before = parent[row, node].astype(np.int64)
            at_root = before < 0
            walking, row, node, before = (a[~at_root] for a in (walking, row, node, before))
            key = np.minimum(before, node) * self._graph.n + np.maximum(before, node)
            owner.append(walking)
            path.append(np.searchsorted(self._keys, key))
            node = before
        owner_of_entry = np.concatenate(owner)
        order = np.argsort(owner_of_entry, kind="stable")
        starts = np.searchsorted(owner_of_entry[order], np.arange(len(edges) + 1))
        return Rows.of_cycles(starts, np.concatenate(path)[order].astype(np.int32))
