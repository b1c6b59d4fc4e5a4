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
from dataclasses import dataclass, field
from math import fsum, inf
from typing import Any, NamedTuple

import numpy as np

from .arrays import BoolArray, FloatArray, IntArray
from .bounds import Bounds
from .certificate import Relaxation, a_path
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


class Fork(NamedTuple):
    """An edge, and the numbers of the nodes that keep it and that cut it."""

    edge: int
    kept: int
    cut: int


class Leaf(NamedTuple):
    """Rows of the LP and their multipliers."""

    rows: IntArray
    multipliers: FloatArray


class Contradiction(NamedTuple):
    """Edges that are kept connect the ends of one that is cut: no clustering does that.

    The cycle inequality ``x_cut <= sum of x_kept`` makes the bound as large as its multiplier.
    """

    cycle: list[int]
    multiplier: float


Why = Leaf | Contradiction


@dataclass(eq=False)
class Branching:
    """Why the bound of a tree holds; it becomes better as the tree grows."""

    graph: Graph
    rows: Rows
    nodes: list[Fork | Why] = field(default_factory=list)

    @property
    def proven(self) -> bool:
        """By the Lagrangians of the leaves."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """Write the nodes, each with what keeps its edge and then what cuts it behind it."""
        written: list[Any] = []
        todo = [0]
        while todo:
            node = self.nodes[todo.pop()]
            if isinstance(node, Fork):
                written.append(self.graph.edges[node.edge].tolist())
                todo += [node.cut, node.kept]
            elif isinstance(node, Leaf):
                rows = self.rows.take(np.isin(np.arange(len(self.rows)), node.rows))
                written.append(Relaxation(self.graph, rows, node.multipliers).to_dict())
            else:
                cycle = ["cycle", node.multiplier, *node.cycle]
                written.append({"rule": "lp", "rows": [cycle]})
        return {"rule": "branching", "nodes": written}


class Node:
    """Clusterings that decide some edges alike, and why they cost at least ``bound``."""

    edge: int
    """What divides them further."""

    basis: tuple[IntArray, IntArray]
    """Of the last LP, for those of the two halves to start from."""

    def __init__(self, number: int, cut: dict[int, bool], bound: float, why: Why) -> None:
        self.number, self.cut = number, cut
        self.bound, self.why = bound, why

    def __lt__(self, other: Node) -> bool:
        return (self.bound, self.number) < (other.bound, other.number)


class Tree:
    """The clusterings of an instance, divided until no leaf can hold a better one.

    Parameters
    ----------
    graph : Graph
        The instance.
    master : Master
        Its LP, not integral.
    bounds : Bounds
        What is known about it; says when a leaf need not be divided.
    clock : Clock
        Holds the deadline; collects the timings.
    look_around : callable
        Called with every x that is to be divided: there may be better clusterings around it.
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
        self._leaves: list[Node] = []
        self.proof = Branching(graph, master.rows)
        master.sharpen()

    @property
    def bound(self) -> float:
        """What every clustering costs at least."""
        return self._leaves[0].bound if self._leaves else -inf

    def grow(self) -> Separation:
        """Divide the weakest leaf; returns the rows that were added on the way."""
        nodes = self.proof.nodes
        found: list[Separation] = []
        if not self._leaves:
            root = Node(0, {}, -inf, Leaf(np.empty(0, dtype=np.int64), np.empty(0)))
            self._settle(root, found)
            self._leaves.append(root)
            nodes.append(root.why)
        else:
            node = self._leaves[0]
            kept, cut = (
                Node(len(nodes) + way, {**node.cut, node.edge: way}, node.bound, node.why)
                for way in (False, True)
            )
            for half in (kept, cut):
                self._master.start_from(*node.basis)
                self._settle(half, found)
            heapq.heapreplace(self._leaves, kept)
            heapq.heappush(self._leaves, cut)
            nodes[node.number] = Fork(node.edge, kept.number, cut.number)
            nodes += [kept.why, cut.why]
        self.proof.rows = self._master.rows
        rows = Rows.concatenate(separation.rows for separation in found)
        return Separation(rows, sum(separation.violated_roots for separation in found), 0)

    def _settle(self, node: Node, found: list[Separation]) -> None:
        """Solve the LP of a node until its bound is enough, or no more rows are found."""
        graph, master, bounds, clock = self._graph, self._master, self._bounds, self._clock
        kept, cut = np.zeros((2, graph.m), dtype=bool)
        for edge, is_cut in node.cut.items():
            kept[edge], cut[edge] = not is_cut, is_cut
        if cycle := _contradiction(graph, kept, cut):
            node.bound, node.why = inf, Contradiction(cycle, 2.0 * fsum(np.abs(graph.weights)))
            return
        master.restrict(cut.astype(np.float64), 1.0 - kept)
        # What is kept attracts, what is cut repels: cycles are looked for where they matter.
        size = np.abs(graph.weights)
        signed = Graph(graph.n, graph.edges, np.select([kept, cut], [size, -size], graph.weights))
        engine = PackingEngine(signed, vertex_cover(signed, "greedy", clock.remaining))
        tightened = -inf
        while True:
            with clock.measure("master"):
                x = master.solve(clock, bounds.cut)
            if master.proven_bound > node.bound:
                used = np.flatnonzero(master.multipliers > 0)
                node.bound, node.why = master.proven_bound, Leaf(used, master.multipliers[used])
            gap = bounds.cutoff - node.bound
            if gap <= 0.0:
                return
            separation = engine.separate(x, clock)
            if len(separation.rows) == 0 and node.bound - tightened >= PAYS * gap:
                tightened = node.bound
                with clock.measure("subproblems"):
                    wheels = violated_wheels(signed, x)
                separation = Separation(wheels, len(wheels), 0)
            if len(separation.rows) == 0:
                self._look_around(x)
                node.edge = _most_open(x, kept | cut, graph)
                node.basis = master.basis
                return
            found.append(separation)
            master.add(separation.rows)


def _most_open(x: FloatArray, decided: BoolArray, graph: Graph) -> int:
    """The edge to divide by: fractional, and of much weight."""
    fractional = np.minimum(x, 1.0 - x)
    if fractional.max() <= FRACTIONAL:  # a clustering, and a bound that is short of it by rounding
        fractional = np.ones(graph.m)
    return int(np.argmax(np.where(decided, -1.0, fractional * np.abs(graph.weights))))


def _contradiction(graph: Graph, kept: BoolArray, cut: BoolArray) -> list[int]:
    """A path along kept edges between the ends of an edge that is cut; empty if there is none."""
    inside = cut & ~graph.cut(graph.components(kept))
    if not inside.any():
        return []
    u, v = graph.edges[np.argmax(inside)].tolist()
    return a_path(graph.edges[kept].tolist(), u, v)
