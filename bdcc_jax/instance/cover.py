"""The roots of the Benders subproblems: a vertex cover S of E-, and who serves which edge."""

from dataclasses import dataclass
from math import inf

import highspy
import numpy as np

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import BoolArray, IntArray
from ..base.clock import Clock
from ..base.compiled import compiled
from ..base.heap import new_heap, pop, put
from ..base.highs import most_nodes, run_in_time
from ..options import CoverMethod
from .graph import Graph

EXACT_WORK = 2e8
"""Work (see :mod:`.clock`) after which the search for an exact cover ends: about ten seconds."""


@dataclass(frozen=True, eq=False)
class Cover:
    """The subproblems: root s serves ``edges[starts[s] : starts[s + 1]]``, its share E-_s.

    Attributes
    ----------
    roots : ndarray of int, shape (S,)
        The nodes v_s; each serves at least one edge.
    starts : ndarray of int, shape (S + 1,)
        Slices of the two arrays below.
    edges : ndarray of int
        Ids of negative edges, each exactly once.
    far_ends : ndarray of int
        The end of each of these edges that is not the root.
    """

    roots: IntArray
    starts: IntArray
    edges: IntArray
    far_ends: IntArray

    def __len__(self) -> int:
        return len(self.roots)


def vertex_cover(
    graph: Graph, method: CoverMethod, clock: Clock | None = None, exact_time_limit: float = inf
) -> Cover:
    """Choose the roots and assign every negative edge to one of its ends among them.

    Parameters
    ----------
    graph : Graph
        The instance.
    method : {'greedy', 'exact'}
        'exact' solves the minimum vertex cover ILP with HiGHS, starting from the greedy one.
    clock : Clock, optional
        When its time is up, the best cover by then is used.
    exact_time_limit : float
        Seconds for 'exact', which also ends after EXACT_WORK.

    Examples
    --------
    >>> star = Graph.from_edges([0, 0, 0], [1, 2, 3], [-1.0, -1.0, -1.0])
    >>> vertex_cover(star, "exact").roots.tolist()
    [0]
    """
    clock = clock or Clock(None)
    chosen = _greedy(graph, clock)
    time_limit = min(exact_time_limit, clock.remaining)
    if method == "exact" and graph.negative.any() and time_limit > 0.0:
        chosen = _minimum(graph, chosen, time_limit)
    return _assign(graph, chosen)


def _greedy(graph: Graph, clock: Clock) -> BoolArray:
    """Take the node with the most uncovered edges until every edge is covered."""
    u, v = graph.edges[graph.negative].T
    with clock.alarm() as stop:
        return _busiest_first(adjacency(graph.n, u, v, np.flatnonzero(graph.negative)), stop)


@compiled
def _busiest_first(edges: Adjacency, stop: BoolArray) -> BoolArray:
    """Another thread may set ``stop``: then all nodes that still have an edge are taken."""
    starts, neighbours, _ = edges
    n = len(starts) - 1
    degree = starts[1:] - starts[:-1]
    heap = new_heap(n)
    for v in range(n):
        if degree[v] > 0:
            put(heap, v, float(degree[v]))
    chosen = np.zeros(n, np.bool_)
    while heap.size[0] > 0 and not stop[0]:
        known = heap.priorities[0]
        v = pop(heap)
        if degree[v] < known:  # it has dropped since v was put there
            if degree[v] > 0:
                put(heap, v, float(degree[v]))
            continue
        chosen[v] = True
        for k in range(starts[v], starts[v + 1]):
            degree[neighbours[k]] -= 1
    for v in range(n):
        chosen[v] |= degree[v] > 0
    return chosen


def _minimum(graph: Graph, start: BoolArray, time_limit: float) -> BoolArray:
    """Minimise ``sum_v y_v`` subject to ``y_u + y_v >= 1`` on E-, y binary."""
    edges = graph.edges[graph.negative].astype(np.int32)
    k, n = len(edges), graph.n
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("time_limit", float(time_limit))
    highs.setOptionValue("mip_max_nodes", most_nodes(EXACT_WORK, n + k))
    highs.addVars(n, np.zeros(n), np.ones(n))
    columns = np.arange(n, dtype=np.int32)
    highs.changeColsCost(n, columns, np.ones(n))
    highs.changeColsIntegrality(n, columns, np.full(n, highspy.HighsVarType.kInteger))
    starts = np.arange(0, 2 * k, 2, dtype=np.int32)
    upper = np.full(k, highspy.kHighsInf)
    highs.addRows(k, np.ones(k), upper, 2 * k, starts, edges.ravel(), np.ones(2 * k))
    highs.setSolution(n, columns, start.astype(np.float64))
    if not run_in_time(highs, time_limit):
        return start
    found = np.array(highs.getSolution().col_value) > 0.5
    covers = len(found) == n and bool((found[edges[:, 0]] | found[edges[:, 1]]).all())
    return found if covers and found.sum() < start.sum() else start


def _assign(graph: Graph, chosen: BoolArray) -> Cover:
    """Give an edge with two ends in S to the busier one: fewer, larger subproblems."""
    ids = np.flatnonzero(graph.negative)
    u, v = graph.edges[ids].T
    degree = np.bincount(np.concatenate([u, v]), minlength=graph.n)
    take_u = chosen[u] & (~chosen[v] | (degree[u] >= degree[v]))
    root, far = np.where(take_u, u, v), np.where(take_u, v, u)
    order = np.argsort(root, kind="stable")
    roots, starts = np.unique(root[order], return_index=True)
    return Cover(roots, np.append(starts, len(ids)), ids[order], far[order])
