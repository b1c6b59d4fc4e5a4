"""Clusterings from any solution of the master: Sec. 4.1 of the paper and its appendix C."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..instance.cover import Cover
from ..instance.graph import Graph
from ..options import Rounding

LARGEST_FLOW = 2**29
"""SciPy's maximum_flow counts in int32 and wraps silently: a width plus a flow must stay below."""


def threshold(graph: Graph, x: FloatArray) -> IntArray:
    """Sec. 4.1: cut what is above one half, and label by connected components."""
    kept = x <= 0.5
    return graph.components(kept if graph.lifted is None else kept & ~graph.lifted)


def parallel(graph: Graph, x: FloatArray, cover: Cover, clock: Clock) -> IntArray:
    """Eq. (ezProcR): cut what the minimum cut of any root cuts."""
    return _union_of_cuts(graph, x, cover, clock, free_once_cut=False)


def serial(graph: Graph, x: FloatArray, cover: Cover, clock: Clock) -> IntArray:
    """Algorithm 2: as ``parallel``, but what one root has cut is free for the next."""
    return _union_of_cuts(graph, x, cover, clock, free_once_cut=True)


def _union_of_cuts(
    graph: Graph, x: FloatArray, cover: Cover, clock: Clock, *, free_once_cut: bool
) -> IntArray:
    kappa = _kappa(graph, x)
    cuts = _RootCuts(graph, cover)
    cut = np.zeros(graph.m, dtype=bool)
    for s in range(len(cover)):
        clock.check()
        cut |= cuts.minimum_cut(s, kappa)
        if free_once_cut:
            kappa[cut] = 0.0
    return graph.components(graph.positive & ~cut)


METHODS: dict[Rounding, Callable[[Graph, FloatArray, Cover, Clock], IntArray]] = {
    "parallel": parallel,
    "serial": serial,
}


def _kappa(graph: Graph, x: FloatArray) -> FloatArray:
    """Eq. (kappaEq): weights biased towards x."""
    return graph.weights * np.where(graph.positive, 1.0 - x, x)


class _RootCuts:
    """Minimisers of Q(kappa, s, x^0s): the minimum cut between root s and its far ends.

    The network has the edges of E+ in both directions and an arc from every node to one sink; for
    root s the arcs of its far ends are as wide as the weight of the negative edge, the others are
    closed. Only the widths change from call to call.
    """

    def __init__(self, graph: Graph, cover: Cover) -> None:
        self._graph, self._cover = graph, cover
        n, ids = graph.n, np.flatnonzero(graph.positive)
        self._sink = n
        u, v = graph.edges[ids].T
        nodes = np.arange(n)
        tails = np.concatenate([u, v, nodes, np.full(n, n)])
        heads = np.concatenate([v, u, np.full(n, n), nodes])
        order = np.lexsort((heads, tails))
        starts = np.searchsorted(tails[order], np.arange(n + 2))
        self._pattern = heads[order].astype(np.int32), starts.astype(np.int32)
        at = np.empty(len(order), dtype=np.int64)
        at[order] = np.arange(len(order))
        self._positive = ids
        ends = np.cumsum([len(ids), len(ids), n])
        self._along, self._back, self._to_sink, _ = np.split(at, ends)

    def minimum_cut(self, s: int, kappa: FloatArray) -> BoolArray:
        """Which edges the root's side of the minimum cut separates from the rest."""
        cover, graph = self._cover, self._graph
        share = slice(cover.starts[s], cover.starts[s + 1])
        supply = np.abs(kappa[cover.edges[share]])
        total = supply.sum()
        if total == 0:
            return np.zeros(graph.m, dtype=bool)
        width = np.zeros(len(self._pattern[0]), dtype=np.int32)
        # One more than any flow: an edge that is wide enough must not look saturated. Shares first:
        # the largest flow over a total that is close to zero would be infinite.
        with np.errstate(over="ignore"):
            wide = np.minimum(kappa[self._positive] / total * LARGEST_FLOW, LARGEST_FLOW + 1)
        width[self._along] = width[self._back] = wide.astype(np.int32)
        supplied = (supply / total * LARGEST_FLOW).astype(np.int32)
        width[self._to_sink[cover.far_ends[share]]] = supplied
        shape = (graph.n + 1, graph.n + 1)
        network = sp.csr_array((width, *self._pattern), shape=shape)
        flow = maximum_flow(network, int(cover.roots[s]), self._sink).flow
        residual = network - flow
        residual.eliminate_zeros()
        reached = breadth_first_order(residual, cover.roots[s], return_predecessors=False)
        side = np.zeros(graph.n + 1, dtype=bool)
        side[reached] = True
        return graph.cut(side[:-1])
