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
from math import inf

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..base.clock import Clock
from ..lp.lagrangian import Lagrangian
from ..lp.master import Master
from ..lp.rough_master import RoughMaster
from ..lp.row_pool import Proven, RowPool, Start
from ..lp.rows import Rows
from ..proofs.branching_proof import Branching, Leaf, Reason
from ..proofs.certificate import LowerBound
from ..separation.complete import CompleteGraphRows
from ..separation.separation import Separation
from ..separation.two_partitions import all_triangles
from .bounds import Bounds
from .branching_rule import BranchingRule
from .cutting_planes import Separator, cutting_planes
from .problem import Problem

FUTILE = 500
"""So many leaves are divided whose gap is within HiGHS' tolerances: beside heavy weights its LP
does not see the light ones, and the tree would have to list all that these can do."""

WHEELS_PAY = 0.05
"""Odd wheels have to close this share of a leaf's gap, or it is divided."""

PAYS, PATIENCE = 0.3, 3
"""The same share for the rows over pairs of a dense instance, and in how many rounds: a leaf that
rows would close in a dozen rounds at best is divided sooner."""

FAR, PAYS_FAR, PATIENCE_FAR = 0.05, 0.1, 10
"""The same where the gap is so large a share of the cost that no tree would close it: there rows
are what raises the bound."""


class Node:
    """Clusterings that decide some edges alike, and why they cost at least ``bound``."""

    edge: int | None = None
    """What divides them further; None if their LP has not been solved, or need not be divided."""

    exhausted = False
    """Whether its bound is that of the best clustering, as far as float64 can tell."""

    def __init__(
        self, number: int, cut: dict[int, bool], bound: float, why: Reason, start: Start
    ) -> None:
        self.number, self.cut = number, cut
        self.bound, self.why = bound, why
        self.start = start
        """Rows and basis of the last LP, or of the one above, for the next to start from."""

    def __lt__(self, other: Node) -> bool:
        return (self.bound, self.number) < (other.bound, other.number)


class BranchAndBound:
    """The clusterings of an instance, divided until no leaf can hold a better one.

    Parameters
    ----------
    proof : Branching
        The tree so far; kept up to date.
    master : Master or RoughMaster
        The LP of its instance; with the rows of the proof if that is begun.
    bounds : Bounds
        What is known about it; says when a leaf need not be divided.
    clock : Clock
        Holds the deadline; collects the timings.
    look_around : callable
        Called with every x that is to be divided: there may be better clusterings around it.
    problem : Problem, optional
        Which clusterings count; all of them if not given.
    """

    def __init__(
        self,
        proof: Branching,
        master: Master | RoughMaster,
        bounds: Bounds,
        clock: Clock,
        look_around: Callable[[FloatArray], None],
        problem: Problem | None = None,
    ) -> None:
        self._problem = Problem(proof.graph) if problem is None else problem
        self.proof, self._graph = proof, proof.graph
        self._master, self._bounds = master, bounds
        self._clock, self._look_around = clock, look_around
        proof.rows = master.rows
        self._pool = RowPool(master)
        self._leaves = [self._known(*leaf) for leaf in proof.leaves()]
        heapq.heapify(self._leaves)
        self._rule = BranchingRule(self._graph, master, clock)
        self._futile = 0

    @property
    def lower_bound(self) -> LowerBound:
        """What every clustering costs at least, and why."""
        return LowerBound(self._leaves[0].bound, self.proof.proof)

    @property
    def exhausted(self) -> bool:
        """Whether the bound is about as high as float64 and HiGHS let it be."""
        return self._leaves[0].exhausted or self._futile > FUTILE

    def grow(self) -> Separation:
        """Divide the weakest leaf, or solve its LP; returns the rows that were added on the way."""
        found: list[Separation] = []
        node = heapq.heappop(self._leaves)
        if node.edge is None:
            self._settle(node, found)
            self.proof.rows = self._pool.rows
            self.proof.nodes[node.number] = node.why
            heapq.heappush(self._leaves, node)
        else:
            self._futile += self._bounds.cutoff - node.bound <= self._bounds.believed
            first = len(self.proof.nodes)
            kept, cut = (
                Node(first + way, {**node.cut, node.edge: way}, node.bound, node.why, node.start)
                for way in (False, True)
            )
            for half in (kept, cut):
                self._settle(half, found)
            self.proof.rows = self._pool.rows
            self.proof.divide(node.number, node.edge, kept.why, cut.why)
            heapq.heappush(self._leaves, kept)
            heapq.heappush(self._leaves, cut)
        rows = Rows.concatenate(separation.rows for separation in found)
        violated = sum(separation.violated_roots for separation in found)
        return Separation(rows, violated, fallbacks=0, satisfied=False)

    def _known(self, number: int, decisions: dict[int, bool], why: Reason) -> Node:
        """A leaf, and what its multipliers prove."""
        rows = self._pool.rows
        known = why.rows if isinstance(why, Leaf) and decisions else np.arange(len(rows))
        start = Start(np.sort(known)) if decisions else self._pool.start
        node = Node(number, decisions, -inf, why, start)
        kept, cut = self._decided(decisions)
        if not self._contradicts(node, kept, cut) and isinstance(why, Leaf):
            multipliers = np.zeros(len(rows))
            multipliers[why.rows] = why.multipliers
            lagrangian = Lagrangian.of(self._graph.weights, rows, multipliers)
            node.bound = lagrangian.bound_within(*_box(kept, cut))
        self.proof.nodes[number] = node.why
        return node

    def _decided(self, decisions: dict[int, bool]) -> tuple[BoolArray, BoolArray]:
        kept, cut = np.zeros((2, self._graph.m), dtype=bool)
        for edge, is_cut in decisions.items():
            kept[edge], cut[edge] = not is_cut, is_cut
        return kept, cut

    def _contradicts(self, node: Node, kept: BoolArray, cut: BoolArray) -> bool:
        """Whether there are no such clusterings, which is as good as any bound."""
        contradiction = self._problem.contradiction(kept, cut)
        if contradiction is not None:
            node.bound, node.why = inf, contradiction
        return contradiction is not None

    def _settle(self, node: Node, found: list[Separation]) -> None:
        """Solve the LP of a node until its bound is enough, or no more rows are found."""
        graph, master, bounds, clock = self._graph, self._master, self._bounds, self._clock
        kept, cut = self._decided(node.cut)
        if self._contradicts(node, kept, cut):
            return
        pool = self._pool
        pool.start_from(node.start)
        master.restrict(*_box(kept, cut))
        if isinstance(master, RoughMaster) and node.cut:
            pool.add(all_triangles(graph.n, *graph.edges[[*node.cut][-1]].tolist()))

        best: Proven | None = None

        def enough() -> bool:
            nonlocal best
            if master.proven_bound > node.bound:
                node.bound, best = master.proven_bound, pool.proven
            node.exhausted = node.bound >= bounds.cutoff
            return node.exhausted

        separators = self._separators(kept, cut, lambda: (node.bound, bounds.cutoff))
        for turn in cutting_planes(pool, separators, clock, enough=enough, forget=pool.forget):
            if not turn.last:
                found.append(turn.found)
                continue
            self._look_around(turn.x)
            near = bounds.upper - node.bound <= bounds.noise
            node.exhausted = near or bool((kept | cut).all())
            node.start = pool.start
            node.edge = self._rule.choose(turn.x, kept | cut, node.bound, bounds.cutoff)
        if best is not None:
            node.why = Leaf(*pool.keep(best))

    def _separators(
        self, kept: BoolArray, cut: BoolArray, bounds: Callable[[], tuple[float, float]]
    ) -> list[Separator]:
        graph = self._graph
        master = self._master
        if isinstance(master, RoughMaster):
            lower, cutoff = bounds()
            is_far = cutoff - lower > FAR * abs(cutoff)
            pays = (PAYS_FAR, PATIENCE_FAR) if is_far else (PAYS, PATIENCE)
            return [CompleteGraphRows(graph, *pays, bounds, lambda: master.blur)]
        # What is kept attracts, what is cut repels: cycles are looked for where they matter.
        size = np.abs(graph.weights)
        signed = np.select([kept, cut], [size, -size], graph.weights)
        return self._problem.separators(signed, bounds, WHEELS_PAY, self._clock)


def _box(kept: BoolArray, cut: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Bounds on x."""
    return np.where(cut, 1.0, 0.0), np.where(kept, 0.0, 1.0)
