"""Node-disjoint parts of an instance, each of which raises the lower bound by itself.

The LP has relaxed the rows ``omega_i x <= b_i`` with multipliers y. Take those rows back that lie
inside a part, and relax only the others. The Lagrangian then falls apart::

    w x  >=  -b y  +  sum over edges e outside of all parts  min(0, r_e)
                   +  sum over parts                         r x on the part,     r = w + omega^T y,

where the sums of y go over the relaxed rows only. A part is a small instance with the weights r,
and its optimum can be found exactly: what the LP misses there is added to the bound. There are two
ways to choose the parts:

- :func:`split_into_components`: the connected components of the instance. No row and no edge leaves
  them, so they are independent instances, with r = w.
- :func:`split_region`: the connected components of a *region*, a set of nodes. Around the nodes at
  which the gap arises (:func:`open_region`) the parts are small, and the LP decides the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.sums import sum_down, sum_up
from ..instance.graph import Graph
from ..lp.fixing import Fixing, by_reduced_cost
from ..lp.lagrangian import Lagrangian, constant, row_waste
from ..lp.rows import Rows
from .certificate import LowerBound, Proof, Relaxation

RELATIVE_ERROR = 2.0**-40
"""An upper bound on the relative rounding error of the products that :meth:`excess` sums up."""


class Decomposition:
    """The Lagrangian of an instance, decomposed into parts, with the best bound known on each.

    ``part`` is the part of every node, 0, 1, ...; -1 for nodes in none.
    """

    def __init__(self, graph: Graph, rows: Rows, multipliers: FloatArray, part: IntArray) -> None:
        self.graph, self.all_rows, self.multipliers, self.part = graph, rows, multipliers, part
        self._proofs: dict[int, Proof] = {}  # of better bounds on some parts than the LP's
        u, v = part[graph.edges].T
        edge_part = self._edge_part = np.where(u == v, u, -1)
        row_part = _common(edge_part[rows.indices], rows.starts)
        self._row_part = np.where(multipliers > 0, row_part, -1)
        relaxed = row_part < 0
        left = Lagrangian.of(graph.weights, rows.take(relaxed), multipliers[relaxed])
        everything = Lagrangian.of(graph.weights, rows, multipliers)
        outside = edge_part < 0
        self.reduced: FloatArray = left.reduced
        self._left, self._relaxed = left, relaxed
        self._outside = _restricted(left, outside, left.constant).bound
        count = int(part.max(initial=-1)) + 1
        self._nodes, self._edges = _groups(part, count), _groups(edge_part, count)
        self._bounds = [
            _restricted(everything, edges, constant(rows.upper[own], multipliers[own])).bound
            for edges, own in zip(self._edges, _groups(row_part, count), strict=True)
        ]
        self.outside: BoolArray = outside

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def bound(self) -> float:
        """A lower bound on every clustering: the sum of those of the parts and of the rest."""
        return sum_down([self._outside, *self._bounds])

    def decided(self, cutoff: float) -> Fixing:
        """Decide edges outside of the parts on which all clusterings below ``cutoff`` agree."""
        lowest = np.where(self.outside, self.reduced, 0.0)
        highest = np.where(self.outside, self.reduced + self._left.error, 0.0)
        return by_reduced_cost(lowest, highest, sum_up([cutoff, -self.bound]))

    @property
    def largest(self) -> int:
        """Number of edges of the largest part."""
        return max((len(edges) for edges in self._edges), default=0)

    def smallest_first(self) -> Iterator[int]:
        """The numbers of the parts, those with the fewest edges first."""
        return iter(sorted(range(len(self)), key=lambda i: len(self._edges[i])))

    def edges(self, i: int) -> IntArray:
        """The edges of part i, in the order of its instance."""
        return self._edges[i]

    def rows(self, i: int) -> Rows:
        """The rows inside part i that the LP needs, in the edges of its instance."""
        rows = self.all_rows.gather(self._own_rows[i])
        there = self.reduced[self._edges[i]] != 0.0  # its graph has no pairs of weight 0
        local = np.searchsorted(self._edges[i], rows.indices)
        lost = np.bincount(rows.row_of_entry(), ~there[local], len(rows)) > 0
        number = (np.cumsum(there) - 1).astype(np.int32)
        return Rows(rows.starts, number[local], rows.values, rows.upper).take(~lost)

    @cached_property
    def _own_rows(self) -> list[IntArray]:
        """For every part the rows inside it that the LP needs."""
        return _groups(self._row_part, len(self))

    def divide(self, rows: Rows) -> tuple[list[tuple[Rows, IntArray]], Rows]:
        """For every part the rows inside it, and their numbers; and the rows inside none."""
        row_part = _common(self._edge_part[rows.indices], rows.starts)
        chosen = _groups(row_part, len(self))
        return [(rows.gather(own), own) for own in chosen], rows.take(row_part < 0)

    def instance(self, i: int) -> Graph:
        """Make an instance of part i, with the weights r."""
        local = np.searchsorted(self._nodes[i], self.graph.edges[self._edges[i]])
        return Graph(len(self._nodes[i]), local, self.reduced[self._edges[i]])

    def _gap(self, i: int, cut: BoolArray) -> float:
        edges = self._edges[i]
        of_cut = edges[cut[edges]]
        highest = self.reduced[of_cut] + self._left.error[of_cut]
        return max(0.0, sum_up(np.append(highest, -self._bounds[i])))

    def excess(self, labels: IntArray) -> float:
        """What a clustering costs more than the optimum, at most: summed up where it arises.

        The difference between its cost and ``bound`` says the same, but its rounding error is that
        of two large numbers.
        """
        cut = self.graph.cut(labels)
        outside = self._left.waste(cut)[self.outside]
        relaxed = row_waste(self.all_rows.take(self._relaxed), self.multipliers[self._relaxed], cut)
        terms = np.concatenate([outside, relaxed, self.gaps(labels)])
        return (1.0 + RELATIVE_ERROR) * sum_up(terms)

    def nodes_with_gap(self, labels: IntArray, least: float) -> BoolArray:
        """The nodes of all parts whose gap exceeds ``least``."""
        nodes = np.zeros(self.graph.n, dtype=bool)
        cut = self.graph.cut(labels)
        for i in range(len(self)):
            if self._gap(i, cut) > least:
                nodes[self._nodes[i]] = True
        return nodes

    def restrict(self, i: int, labels: IntArray) -> IntArray:
        """Restrict a clustering of the instance to the nodes of part i."""
        return labels[self._nodes[i]]

    def lift(self, i: int, labels: IntArray) -> Callable[[IntArray], IntArray]:
        """How a clustering of part i becomes one of all, the rest being as in ``labels``."""

        def lifted(of_part: IntArray) -> IntArray:
            together = labels.copy()
            together[self._nodes[i]] = of_part + self.graph.n
            return together

        return lifted

    def with_parts(self, found: Mapping[int, IntArray], labels: IntArray) -> IntArray:
        """A clustering with these clusterings of some parts, the rest being as in ``labels``."""
        together, first = labels.copy(), self.graph.n
        for i, of_part in found.items():
            together[self._nodes[i]] = of_part + first
            first += len(of_part)
        return together

    def nodes(self, i: int) -> IntArray:
        """The nodes of part i, in the order of its instance."""
        return self._nodes[i]

    def rest_of_bound(self, i: int) -> float:
        """The bound without the share of part i."""
        others = (bound for j, bound in enumerate(self._bounds) if j != i)
        return sum_down([self._outside, *others])

    def gaps(self, labels: IntArray) -> list[float]:
        """For each part, what a clustering costs there minus the bound on the part."""
        cut = self.graph.cut(labels)
        return [self._gap(i, cut) for i in range(len(self))]

    def proof(self, also: Mapping[int, Proof] = MappingProxyType({})) -> DecompositionProof:
        """The proof of the bound as it is now, with other proofs of the parts in ``also``."""
        lp = Relaxation(self.graph, self.all_rows, self.multipliers)
        return DecompositionProof(lp, self.part, {**self._proofs, **also})

    @property
    def lower_bound(self) -> LowerBound:
        """The bound together with its proof."""
        return LowerBound(self.bound, self.proof())

    def raise_bound(self, i: int, bound: LowerBound) -> None:
        """Take a lower bound on part i unless it is worse; its proof may be better all the same."""
        if bound.value >= self._bounds[i]:
            self._bounds[i], self._proofs[i] = bound.value, bound.proof


@dataclass(frozen=True, eq=False)
class DecompositionProof:
    """An LP, some of whose rows are taken back to raise the bound part by part."""

    lp: Relaxation
    part: IntArray
    proofs: Mapping[int, Proof]

    @property
    def proven(self) -> bool:
        """Whether the proofs of all parts are."""
        return all(proof.proven for proof in self.proofs.values())

    def to_dict(self) -> dict[str, Any]:
        """Write the LP, the part of every node, and the proofs of the parts that have one."""
        proofs = {str(i): [proof.to_dict()] for i, proof in sorted(self.proofs.items())}
        return {**self.lp.to_dict(), "part": self.part.tolist(), "proofs": proofs}


@dataclass(frozen=True, eq=False)
class FixingProof:
    """What is certain in every better clustering, and a proof for what that leaves."""

    graph: Graph
    division: DecompositionProof
    fixing: Fixing
    rest: Proof | None

    @property
    def proven(self) -> bool:
        """Whether the decisions are proven, and so is the bound on what they leave."""
        return self.division.proven and (self.rest is None or self.rest.proven)

    def to_dict(self) -> dict[str, Any]:
        """Write the decided edges that are used: those joined, and those that are dropped."""
        fixing, edges = self.fixing, self.graph.edges
        # Without a rest the decisions contradict each other: any of the cut edges may tell.
        cut = fixing.cut if self.rest is None else fixing.cut & self.graph.positive
        if self.rest is not None and not (fixing.kept | cut).any():
            return self.rest.to_dict()
        return {
            "rule": "fixing",
            "lp": self.division.to_dict(),
            "kept": edges[fixing.kept].tolist(),
            "cut": edges[cut].tolist(),
            "proof": None if self.rest is None else self.rest.to_dict(),
        }


def split_into_components(graph: Graph, rows: Rows, multipliers: FloatArray) -> Decomposition:
    """Make every connected component a part: independent, and nothing is outside of them."""
    return Decomposition(graph, rows, multipliers, graph.components(np.ones(graph.m, dtype=bool)))


def split_region(
    graph: Graph, rows: Rows, multipliers: FloatArray, region: BoolArray
) -> Decomposition:
    """Make every connected component of a region, a set of nodes, a part."""
    u, v = graph.edges.T
    component = graph.components(region[u] & region[v])
    part = np.full(graph.n, -1)
    part[region] = np.unique(component[region], return_inverse=True)[1]
    return Decomposition(graph, rows, multipliers, part)


def open_region(
    graph: Graph, rows: Rows, multipliers: FloatArray, labels: IntArray, least: float
) -> BoolArray:
    """The nodes where the gap between a clustering x and the bound of the LP arises.

    The gap is the sum of ``r_e x_e - min(0, r_e)`` over the edges and of ``y_i (b_i - omega_i x)``
    over the rows, none of them negative; the region is made of those that exceed ``least``.
    """
    x = graph.cut(labels).astype(np.float64)
    reduced = Lagrangian.of(graph.weights, rows, multipliers).reduced
    open_edges = reduced * x - np.minimum(0.0, reduced) > least
    open_rows = -multipliers * rows.violation(x) > least
    open_edges[rows.indices[open_rows[rows.row_of_entry()]]] = True
    return end_nodes(graph, open_edges)


def end_nodes(graph: Graph, edges: BoolArray) -> BoolArray:
    """Mark the two ends of every edge in ``edges``."""
    nodes = np.zeros(graph.n, dtype=bool)
    nodes[graph.edges[edges].ravel()] = True
    return nodes


def _restricted(lagrangian: Lagrangian, edges: BoolArray | IntArray, constant: float) -> Lagrangian:
    return Lagrangian(lagrangian.reduced[edges], constant, lagrangian.error[edges])


def _common(values: IntArray, starts: IntArray) -> IntArray:
    """The value that all entries of a row have; -1 if they differ."""
    if len(starts) == 1:
        return np.empty(0, dtype=np.int64)
    low, high = np.minimum.reduceat(values, starts[:-1]), np.maximum.reduceat(values, starts[:-1])
    common: IntArray = np.where(low == high, low, -1)
    return common


def _groups(labels: IntArray, count: int) -> list[IntArray]:
    """The positions of the labels 0, 1, ..., each in ascending order."""
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(count + 1))
    return [order[a:b] for a, b in pairwise(ends)]
