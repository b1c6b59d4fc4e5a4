"""Branch and bound with semidefinite programs, for dense instances that the LP leaves a gap in.

A leaf stands for the clusterings that decide some pairs as it does. Nodes that they keep together
are joined, so every leaf has a complete graph of its own, with some pairs that are apart, and no
decisions ever contradict each other. A leaf is divided by a pair that is neither.

Several of the weakest leaves are divided at a time, their halves in threads. How many is fixed, and
all of them know the same best clustering: so the tree does not depend on the number of threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from math import inf

import numpy as np

from ..base import workers
from ..base.arrays import FloatArray, IntArray
from ..base.blas import one_thread
from ..base.clock import Clock
from ..instance.completion import pair_ids
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..lp.semidefinite import Proven, SemidefiniteProgram, joined_places
from ..proofs.branching_proof import Branching, Reason
from ..proofs.certificate import LowerBound
from ..proofs.semidefinite_leaf import SemidefiniteLeaf
from ..separation.partition_search import searched_partitions
from ..separation.separation import Separation
from ..separation.two_partitions import violated_partitions, violated_triangles
from .bounds import Bounds

ITERATIONS = 20
"""Of a program between two searches for rows."""

PAYS, PATIENCE = 0.2, 2
"""Rows have to close this share of a leaf's gap in so many rounds, or it is divided."""

WIDE, PAYS_WIDE, PATIENCE_WIDE = 0.02, 0.1, 6
"""The same where the gap is so large a share of the cost that no tree would close it soon."""

AT_A_TIME = 4
"""So many leaves are divided at a time."""

TRIANGLES, PARTITIONS, SEARCHED = 8, {1: 2, 2: 1}, 2
"""So many rows of each kind in a round for every node, of 2-partitions by the smaller side."""

VIOLATED, FEW = 0.01, 4
"""Triangles are violated by at least this much; the search for 2-partitions of any size waits until
there are fewer other rows for every node."""

FIRST, FAR, FIRST_FAR = 250.0, 0.05, 50.0
"""The LP comes first: for so much work for every pair of nodes, less where its gap is larger than
this share of the cost. What it closes in that time it closes sooner."""

COARSE = 1e-9
"""Costs must be multiples of a unit, of at least this share of the sum of all |w|: to prove more
precise bounds the LP is better."""

LARGEST = 1e280
"""The sum of all |w| is less: sums of products of many nodes' must not overflow."""

WORK, WORK_AT_LEAST = 30.0, 2e4
"""A search for rows in units of the clock's work: for every pair of nodes, and however few."""

SLIGHT = 1e-6
"""A pair with z this near to 0 or 1 is not divided by, unless all are."""


class Half:
    """Clusterings that decide some pairs alike, and why they cost at least ``bound``."""

    settled = False
    """Whether rows no longer pay, so that it is to be divided."""

    exhausted = False
    """Whether its bound is that of the best clustering, as far as float64 can tell."""

    def __init__(
        self,
        number: int,
        place: IntArray,
        program: SemidefiniteProgram,
        bound: float,
        why: Reason,
    ) -> None:
        self.number, self.place, self.program = number, place, program
        self.bound, self.why = bound, why
        self.history = [bound]

    def __lt__(self, other: Half) -> bool:
        return (self.bound, self.number) < (other.bound, other.number)

    def learn(self, proven: Proven) -> None:
        """Take a bound if it is better."""
        if proven.bound > self.bound:
            self.bound = proven.bound
            self.why = SemidefiniteLeaf(proven.rows, proven.multipliers, proven.gram)

    def x(self, graph: Graph) -> FloatArray:
        """The solution for the edges of the instance: 1 for those that are cut."""
        ids = pair_ids(self.program.n)[tuple(self.place[graph.edges.T])]
        return np.where(ids < 0, 0.0, np.append(self.program.x, 0.0)[ids])


class SemidefiniteTree:
    """The clusterings of a complete graph, divided until no leaf can hold a better one.

    Parameters
    ----------
    proof : Branching
        The tree so far; kept up to date.
    bounds : Bounds
        What is known about it; says when a leaf need not be divided.
    clock : Clock
        Holds the deadline; collects the timings.
    look_around : callable
        Called with an x that is to be divided: there may be better clusterings around it.
    """

    def __init__(
        self,
        proof: Branching,
        bounds: Bounds,
        clock: Clock,
        look_around: Callable[[FloatArray], None],
    ) -> None:
        self.proof, self._graph = proof, proof.graph
        self._bounds, self._clock, self._look_around = bounds, clock, look_around
        self._leaves = [self._known(*leaf) for leaf in proof.leaves()]
        heapq.heapify(self._leaves)

    @property
    def lower_bound(self) -> LowerBound:
        """What every clustering costs at least, and why."""
        return LowerBound(self._leaves[0].bound, self.proof.proof)

    @property
    def exhausted(self) -> bool:
        """Whether the bound is about as high as float64 lets it be."""
        return self._leaves[0].exhausted

    @property
    def is_settled(self) -> bool:
        """Whether rows no longer pay in the weakest leaf, so that it is to be divided."""
        return self._leaves[0].settled

    def grow(self) -> Separation:
        """Divide the weakest leaves, or improve the weakest one; returns the rows that it found."""
        with one_thread():  # of BLAS: there are ours
            return self._grow()

    def _grow(self) -> Separation:
        if not self._leaves[0].settled:
            leaf = self._leaves[0]
            found = self._round(leaf, self._bounds.cutoff, self._clock)
            self.proof.nodes[leaf.number] = leaf.why
            heapq.heapreplace(self._leaves, leaf)
            self._offer(leaf)
            return Separation(found, violated_roots=0, fallbacks=0, satisfied=False)
        weakest: list[Half] = []
        while self._leaves and len(weakest) < AT_A_TIME and self._leaves[0].settled:
            if self._leaves[0].exhausted:
                break
            weakest.append(heapq.heappop(self._leaves))
        first, cutoff = len(self.proof.nodes), self._bounds.cutoff
        tasks = [(leaf, *self._pair(leaf)) for leaf in weakest]
        halves = [
            half
            for (leaf, pair, _), k in zip(tasks, count(first, 2), strict=False)
            for half in self._divided(leaf, pair, k)
        ]

        def settle(half: Half, clock: Clock) -> Half:
            return self._settle(half, cutoff, clock)

        done: list[Half] = []
        try:
            for half in workers.map(settle, halves, self._clock):
                done.append(half)
        finally:
            # A limit may have come in between: what is done is kept, leaf by leaf.
            whole = len(done) // 2
            for (leaf, _, edge), k in zip(tasks[:whole], count(0, 2), strict=False):
                kept, cut = done[k : k + 2]
                self.proof.divide(leaf.number, edge, kept.why, cut.why)
                heapq.heappush(self._leaves, kept)
                heapq.heappush(self._leaves, cut)
            for leaf, *_ in tasks[whole:]:
                heapq.heappush(self._leaves, leaf)
        for half in done:
            self._offer(half)
        return Separation(Rows.empty(), violated_roots=0, fallbacks=0, satisfied=False)

    def _offer(self, leaf: Half) -> None:
        """Look around its solution; that of one in which all is decided is a clustering."""
        if leaf.settled and leaf.bound < self._bounds.cutoff:
            self._look_around(leaf.x(self._graph))

    def _known(self, number: int, decisions: dict[int, bool], why: Reason) -> Half:
        """A leaf of a tree that goes on, and what its multipliers prove."""
        graph = self._graph
        place, program = np.arange(graph.n), SemidefiniteProgram.of(graph.n, graph.weights)
        meant = len(why.gram.factor) if isinstance(why, SemidefiniteLeaf) else graph.n
        above = program
        for edge, is_cut in decisions.items():
            u, v = place[graph.edges[edge]]
            pair = int(pair_ids(program.n)[u, v])
            if is_cut:
                program = program.with_apart(pair)
            else:
                program, place = program.with_joined(pair), _joined(place, program.n, u, v)
            above = program if program.n >= meant else above
        if isinstance(why, SemidefiniteLeaf):
            above.start_from(why.rows, why.multipliers, why.gram)
        leaf = Half(number, place, program, -inf, why)
        leaf.learn(above.prove())
        leaf.history = [leaf.bound]
        self.proof.nodes[number] = leaf.why
        return leaf

    def _pair(self, leaf: Half) -> tuple[int, int]:
        """The pair of nodes that divides a leaf, and an edge of the instance between them."""
        program = leaf.program
        z = np.where(program.apart, 0.0, program.z)
        undecided, sizes = np.minimum(z, 1.0 - z), np.abs(program.weights)
        if undecided.max() <= SLIGHT:
            undecided = np.where(program.apart, 0.0, 1.0)
        pair = int(np.argmax(np.where(program.apart, -1.0, undecided * (sizes + sizes.mean()))))
        ids = pair_ids(program.n)[tuple(leaf.place[self._graph.edges.T])]
        return pair, int(np.argmax(ids == pair))

    def _divided(self, leaf: Half, pair: int, first: int) -> tuple[Half, Half]:
        """The clusterings that keep a pair, and those that cut it."""
        program = leaf.program
        u, v = (int(ends[pair]) for ends in np.triu_indices(program.n, 1))
        place = _joined(leaf.place, program.n, u, v)
        kept = Half(first, place, program.with_joined(pair), leaf.bound, leaf.why)
        cut = Half(first + 1, leaf.place, program.with_apart(pair), leaf.bound, leaf.why)
        return kept, cut

    def _settle(self, half: Half, cutoff: float, clock: Clock) -> Half:
        while not half.settled:
            self._round(half, cutoff, clock)
        if half.bound >= cutoff:  # nobody asks for its program again, and there are many
            half.program = SemidefiniteProgram.of(1, np.empty(0))
        return half

    def _round(self, leaf: Half, cutoff: float, clock: Clock) -> Rows:
        """Improve a bound; returns rows that were added, unless the leaf is settled by now."""
        clock.check()
        program, found = leaf.program, Rows.empty()
        decided = program.decided()
        with clock.measure("master"):
            if decided is None:
                program.iterate(ITERATIONS, clock)
        leaf.learn(program.prove() if decided is None else decided)
        leaf.history.append(leaf.bound)
        leaf.exhausted = leaf.bound >= cutoff or decided is not None
        gap = cutoff - leaf.bound
        is_wide = gap > WIDE * abs(cutoff)
        share, rounds = (PAYS_WIDE, PATIENCE_WIDE) if is_wide else (PAYS, PATIENCE)
        before = leaf.history[-1 - rounds] if len(leaf.history) > rounds else -inf
        leaf.settled = leaf.exhausted or leaf.bound - before < share * gap
        if not leaf.settled:
            with clock.measure("subproblems"):
                found = _violated(program, len(leaf.history))
                clock.work += WORK_AT_LEAST + WORK * program.n**2
            program.add(found)
        return found


def is_suited(graph: Graph, bounds: Bounds) -> bool:
    """Whether bounds by semidefinite programming are precise enough for an instance."""
    total = float(np.abs(graph.weights).sum())
    return bounds.unit > COARSE * total and total < LARGEST


def is_due(graph: Graph, bounds: Bounds, work: float) -> bool:
    """Whether the LP has had its time, having done so much work."""
    far = bounds.upper - bounds.lower > FAR * abs(bounds.upper)
    return is_suited(graph, bounds) and work >= (FIRST_FAR if far else FIRST) * graph.n**2


def _joined(place: IntArray, n: int, u: int, v: int) -> IntArray:
    """Where the nodes of an instance are once two of the n nodes that are left are joined."""
    joined: IntArray = joined_places(n, min(u, v), max(u, v))[place]
    return joined


def _violated(program: SemidefiniteProgram, seed: int) -> Rows:
    n, ids, x = program.n, pair_ids(program.n), program.semidefinite_x
    if n < 3:
        return Rows.empty()
    parts = [violated_triangles(ids, x, TRIANGLES * n, VIOLATED)[0]]
    parts += [violated_partitions(ids, x, side, most * n) for side, most in PARTITIONS.items()]
    if sum(map(len, parts)) < FEW * n:
        parts.append(searched_partitions(ids, x, seed, SEARCHED * n))
    return Rows.concatenate(parts)
