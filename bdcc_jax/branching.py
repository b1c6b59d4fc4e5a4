"""Branch and bound over the LP: every clustering keeps an edge or cuts it.

A node of the tree stands for the clusterings that decide some edges as it does. Its LP has these
variables fixed, and multipliers ``y >= 0`` of its rows prove for all of these clusterings::

    w x  >=  -b y  +  sum over edges that are free  min(0, r_e)
                   +  sum over edges that are cut        r_e ,        r = w + omega^T y.

Every clustering belongs to a leaf, so the smallest bound of a leaf is a bound on all of them. It
holds whatever the LP solver's tolerances are, and it has a proof, unlike that of an ILP solver.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from math import fsum, inf
from typing import Any

import numpy as np

from .arrays import BoolArray, FloatArray
from .bounds import Bounds
from .certificate import Proof, Relaxation, a_path
from .clock import Clock
from .cover import vertex_cover
from .graph import Graph
from .master import Master
from .rows import Rows
from .subproblems.odd_wheels import violated_wheels
from .subproblems.packing import PackingEngine
from .subproblems.separation import Separation

FRACTIONAL = 1e-6
"""A value of x this far from 0 and 1 is fractional."""

PAYS = 0.05
"""Odd wheels have to close this share of a leaf's gap, or it is divided instead."""


class Node:
    """Some clusterings, and why none of them costs less than ``bound``."""

    def __init__(self, above: Node | None, edge: int, cut: bool, bound: float, why: Proof) -> None:
        self._above, self._edge, self._cut = above, edge, cut
        self.bound, self.why = bound, why
        self.undecided: int
        self.divided: tuple[int, Node, Node] | None = None

    def decisions(self, m: int) -> tuple[FloatArray, FloatArray]:
        """Bounds on x: both are 0 at edges that are kept, both are 1 at edges that are cut."""
        lower, upper, node = np.zeros(m), np.ones(m), self
        while node._above is not None:
            lower[node._edge] = upper[node._edge] = node._cut
            node = node._above
        return lower, upper


class Tree:
    """The clusterings of an instance, divided until no leaf can hold a better one.

    Parameters
    ----------
    graph : Graph
        The instance.
    master : Master
        Its LP, not integral.
    bounds : Bounds
        What is known about it; better clusterings are offered to it.
    clock : Clock
        Holds the deadline; collects the timings.
    look_around : callable
        Called with every x that is divided; may find better clusterings.
    """

    def __init__(
        self,
        graph: Graph,
        master: Master,
        bounds: Bounds,
        clock: Clock,
        look_around: Callable[[FloatArray], None],
    ) -> None:
        self._graph, self._master, self._bounds = graph, master, bounds
        self._clock, self._look_around = clock, look_around
        self._number = count()
        known: tuple[float, Proof] = -inf, Relaxation.trivial(graph)
        if bounds.proof.proven:
            known = bounds.lower, bounds.proof
        self._root = Node(None, -1, False, *known)
        self._leaves: list[tuple[float, int, Node]] = []
        master.sharpen()

    @property
    def bound(self) -> float:
        """What every clustering costs at least."""
        return self._leaves[0][0] if self._leaves else -inf

    @property
    def proven(self) -> bool:
        """By the multipliers of its leaves."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Write the edges that divide, and the rows and multipliers of the leaves."""
        return _written(self._root, self._graph)

    def grow(self) -> Separation:
        """Divide the weakest leaf; returns the rows that were added on the way."""
        self._found: list[Rows] = []
        self._roots = 0
        if not self._leaves:
            self._settle(self._root)
            self._push(self._root)
        else:
            node = self._leaves[0][2]
            edge = node.undecided
            kept, cut = (Node(node, edge, way, node.bound, node.why) for way in (False, True))
            self._settle(kept)
            self._settle(cut)
            heapq.heappop(self._leaves)
            node.divided = edge, kept, cut
            self._push(kept)
            self._push(cut)
        return Separation(Rows.concatenate(self._found), self._roots, 0)

    def _push(self, node: Node) -> None:
        heapq.heappush(self._leaves, (node.bound, next(self._number), node))

    def _settle(self, node: Node) -> None:
        """Solve the LP of a node until its bound is enough, or no more rows are found."""
        graph, master, bounds, clock = self._graph, self._master, self._bounds, self._clock
        lower, upper = node.decisions(graph.m)
        if cycle := _contradiction(graph, upper == 0.0, lower == 1.0):
            node.bound, node.why = inf, Contradiction(cycle, 2.0 * fsum(np.abs(graph.weights)))
            return
        master.restrict(lower, upper)
        attractive = self._as_decided(lower, upper)
        cover = vertex_cover(attractive, "greedy", clock.remaining)
        engine = PackingEngine(attractive, cover)
        tightened = -inf
        while True:
            with clock.measure("master"):
                x = master.solve(clock, bounds.cut)
            if master.proven_bound > node.bound:
                used = master.multipliers > 0
                why = Relaxation(graph, master.rows.take(used), master.multipliers[used])
                node.bound, node.why = master.proven_bound, why
            gap = bounds.cutoff - node.bound
            if gap <= 0.0:
                return
            separation = engine.separate(x, clock)
            rows = separation.rows
            if len(rows) == 0 and node.bound - tightened >= PAYS * gap:
                tightened = node.bound
                with clock.measure("subproblems"):
                    rows = violated_wheels(attractive, x)
            if len(rows) == 0:
                break
            self._found.append(rows)
            self._roots += separation.violated_roots
            master.add(rows)
        self._look_around(x)
        free = upper > lower
        fractional = np.minimum(x, 1.0 - x)
        # Where x is a clustering that is no better than the best, only rounding errors are left.
        value = fractional if fractional.max() > FRACTIONAL else np.ones(graph.m)
        node.undecided = int(np.argmax(np.where(free, value * np.abs(graph.weights), -1.0)))

    def _as_decided(self, lower: FloatArray, upper: FloatArray) -> Graph:
        """What is kept attracts, what is cut repels: so cycles are looked for where they matter."""
        weights, size = self._graph.weights, np.abs(self._graph.weights)
        signed = np.where(upper == 0.0, size, np.where(lower == 1.0, -size, weights))
        return Graph(self._graph.n, self._graph.edges, signed)


class Contradiction:
    """Edges that are kept connect the ends of one that is cut: no clustering does that.

    The cycle inequality ``x_cut <= sum of x_kept`` makes the bound as large as its multiplier.
    """

    def __init__(self, cycle: list[int], multiplier: float) -> None:
        self._cycle, self._multiplier = cycle, multiplier

    @property
    def proven(self) -> bool:
        """By the cycle."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Write the cycle."""
        return {"rule": "lp", "rows": [["cycle", self._multiplier, *self._cycle]]}


def _contradiction(graph: Graph, kept: BoolArray, cut: BoolArray) -> list[int]:
    """A path along kept edges between the ends of an edge that is cut; empty if there is none."""
    inside = cut & ~graph.cut(graph.components(kept))
    if not inside.any():
        return []
    u, v = graph.edges[np.argmax(inside)].tolist()
    return a_path(graph.edges[kept].tolist(), u, v)


def _written(node: Node, graph: Graph) -> dict[str, Any]:
    if node.divided is None:
        return node.why.to_dict()
    edge, kept, cut = node.divided
    u, v = graph.edges[edge].tolist()
    return {
        "rule": "branching",
        "edge": [u, v],
        "kept": _written(kept, graph),
        "cut": _written(cut, graph),
    }
