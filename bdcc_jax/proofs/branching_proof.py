"""Why the bound of branch and bound holds: a binary tree, with multipliers at its leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from ..lp.rows import Rows
from .certificate import combination
from .price_leaf import PriceLeaf
from .rows_in_nodes import InNodes, in_nodes
from .semidefinite_leaf import SemidefiniteLeaf, from_arrays, to_arrays


class Fork(NamedTuple):
    """An edge, and the numbers of the nodes that keep it and that cut it."""

    edge: int
    kept: int
    cut: int


class Leaf(NamedTuple):
    """Rows of the LP and their multipliers."""

    rows: IntArray
    multipliers: FloatArray

    @staticmethod
    def trivial() -> Leaf:
        """A leaf without rows: its bound is the sum of the negative weights."""
        return Leaf(np.empty(0, dtype=np.int64), np.empty(0))


class Contradiction(NamedTuple):
    """A row that the decisions violate: no clustering makes them.

    Mostly edges that are kept connect the ends of one that is cut. Then the cycle inequality
    ``x_cut <= sum of x_kept`` makes the bound as large as its multiplier.
    """

    nodes: list[int]
    multiplier: float
    kind: str | int = "cycle"


Reason = Leaf | Contradiction | SemidefiniteLeaf


@dataclass(frozen=True, eq=False)
class TreeProof:
    """A tree as it was at some moment: every clustering belongs to a leaf."""

    graph: Graph
    rows: Rows
    nodes: tuple[Fork | Reason, ...]
    priced: Mapping[int, PriceLeaf] = field(default_factory=dict)
    """Proofs by prices for all clusterings of a node, divided or not."""
    proven: ClassVar = True

    def to_dict(self) -> dict[str, Any]:
        """Write the nodes, each with what keeps its edge and then what cuts it behind it."""
        rows = in_nodes(self.graph, self.rows)
        if 0 in self.priced:
            return self._with_prices(rows, 0, [])
        return {"rule": "branching", "nodes": self._written(rows, 0, [])}

    def _written(self, rows: list[list[InNodes]], root: int, kept: list[list[int]]) -> list[Any]:
        """The nodes from one on, of which some pairs are kept."""
        written: list[Any] = []
        todo: list[tuple[int, list[list[int]]]] = [(root, kept)]
        while todo:
            number, kept = todo.pop()
            node = self.nodes[number]
            if number in self.priced and number != root:
                written.append(self._with_prices(rows, number, kept))
            elif isinstance(node, Fork):
                pair = self.graph.edges[node.edge].tolist()
                written.append(pair)
                todo += [(node.cut, kept), (node.kept, [*kept, pair])]
            elif isinstance(node, Leaf):
                written.append(combination([rows[i] for i in node.rows], node.multipliers))
            elif isinstance(node, SemidefiniteLeaf):
                written.append(node.to_dict(self.graph.n, kept))
            else:
                row = [node.kind, node.multiplier, *node.nodes]
                written.append({"rule": "lp", "rows": [row]})
        return written

    def _with_prices(
        self, rows: list[list[InNodes]], number: int, kept: list[list[int]]
    ) -> dict[str, Any]:
        """The proof by prices, or, if the node is divided, the better of that and its halves'."""
        n = self.graph.n
        prices = self.priced[number].to_dict(n, kept)
        if not isinstance(self.nodes[number], Fork):
            return prices
        halves = {"rule": "branching", "nodes": self._written(rows, number, kept)}
        ways = {"0": [prices, halves]}
        return {"rule": "lp", "rows": [], "part": [0] * n, "proofs": ways}


@dataclass(eq=False)
class Branching:
    """A tree that becomes better as it grows; node 0 is its root."""

    graph: Graph
    rows: Rows = field(default_factory=Rows.empty, repr=False)
    nodes: list[Fork | Reason] = field(default_factory=lambda: [Leaf.trivial()], repr=False)
    priced: dict[int, PriceLeaf] = field(default_factory=dict, repr=False)

    @property
    def proof(self) -> TreeProof:
        """The tree as it is now."""
        return TreeProof(self.graph, self.rows, tuple(self.nodes), dict(self.priced))

    @property
    def begun(self) -> bool:
        """Whether there are rows, so that the bound is better than the trivial one."""
        return len(self.rows) > 0 or self.semidefinite

    @property
    def semidefinite(self) -> bool:
        """Whether leaves were bounded by semidefinite programming."""
        return any(isinstance(node, SemidefiniteLeaf) for node in self.nodes)

    def leaves(self) -> list[tuple[int, dict[int, bool], Reason]]:
        """Number, decisions (whether an edge is cut) and reason of every leaf."""
        found: list[tuple[int, dict[int, bool], Reason]] = []
        todo: list[tuple[int, dict[int, bool]]] = [(0, {})]
        while todo:
            number, cut = todo.pop()
            node = self.nodes[number]
            if isinstance(node, Fork):
                todo.append((node.cut, {**cut, node.edge: True}))
                todo.append((node.kept, {**cut, node.edge: False}))
            else:
                found.append((number, cut, node))
        return found

    def divide(self, number: int, edge: int, kept: Reason, cut: Reason) -> None:
        """Make a leaf a fork; in this order, so that an interrupt leaves a tree."""
        first = len(self.nodes)
        self.nodes += [kept, cut]
        self.nodes[number] = Fork(edge, first, first + 1)

    def to_arrays(self) -> dict[str, Any]:
        """Everything but contradictions and prices, which are found again."""
        forks = [node if isinstance(node, Fork) else (-1, -1, -1) for node in self.nodes]
        leaves = [node if isinstance(node, Leaf) else Leaf.trivial() for node in self.nodes]
        return {
            "forks": np.array(forks, dtype=np.int64),
            "leaf_starts": np.cumsum([0, *(len(leaf.rows) for leaf in leaves)]),
            "leaf_rows": np.concatenate([leaf.rows for leaf in leaves]),
            "leaf_multipliers": np.concatenate([leaf.multipliers for leaf in leaves]),
            **to_arrays(
                {i: leaf for i, leaf in enumerate(self.nodes) if isinstance(leaf, SemidefiniteLeaf)}
            ),
            **self.rows.to_arrays(),
        }

    @staticmethod
    def from_arrays(graph: Graph, arrays: Mapping[str, Any]) -> Branching:
        """The tree of an instance as it was written."""
        ends = arrays["leaf_starts"][1:-1]
        rows = np.split(arrays["leaf_rows"], ends)
        multipliers = np.split(arrays["leaf_multipliers"], ends)
        nodes: list[Fork | Reason] = [
            Leaf(*leaf) if fork[0] < 0 else Fork(*fork)
            for *leaf, fork in zip(rows, multipliers, arrays["forks"].tolist(), strict=True)
        ]
        for number, leaf in from_arrays(arrays).items():
            nodes[number] = leaf
        return Branching(graph, Rows.from_arrays(arrays), nodes)
