"""Why a bound by prices holds: no set of nodes is worth more than their prices, but for so much."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..lp.gram import Gram
from ..lp.rows import Rows


class SetLeaf(NamedTuple):
    """Sets that have some nodes and may have some ``others``: their surplus by rows and a matrix.

    ``gone`` are nodes that none of them needs, in the order in which that shows. Pairs are those of
    a node that stands for all that is inside, and the others behind it; without a matrix the bound
    is what all attractive pairs would add.
    """

    others: IntArray
    gone: IntArray
    rows: Rows = Rows.empty()
    multipliers: FloatArray = np.empty(0)
    gram: Gram | None = None

    def to_dict(self) -> dict[str, Any]:
        """Write it: rows with nodes by their places, 0 for what is inside."""
        written: dict[str, Any] = {"gone": self.gone.tolist()}
        if self.gram is None:
            return written
        u, v = np.triu_indices(len(self.others) + 1, 1)
        ends = np.column_stack([u, v])[self.rows.indices.reshape(-1, 3)]
        written["rows"] = [
            [y, *_nodes(row.tolist(), values.tolist())]
            for y, row, values in zip(
                self.multipliers.tolist(), ends, self.rows.values.reshape(-1, 3), strict=True
            )
        ]
        scale = 4.0**self.gram.exponent
        return {**written, "gram": [scale, *self.gram.factor.T.tolist()]}


class Classes(NamedTuple):
    """Sets that need one node at most of every class of nodes that exclude each other."""

    def to_dict(self) -> int:
        """Write that; whoever checks makes the classes."""
        return 0


class SetFork(NamedTuple):
    """Sets that have a node, and those that do not."""

    node: int
    inside: SetFork | SetLeaf | Classes
    outside: SetFork | SetLeaf | Classes

    def to_dict(self) -> list[Any]:
        """Write the node, and both halves."""
        return [self.node, self.inside.to_dict(), self.outside.to_dict()]


SetTree = SetFork | SetLeaf | Classes


class PriceLeaf(NamedTuple):
    """Prices of the nodes that are left of an instance, and why no set has a larger surplus.

    Nodes that decisions keep together are one, in the order of their first members. ``anchors`` are
    nodes, each with a proof for the sets that have it and no node of an anchor before it.
    """

    prices: FloatArray
    heaviest: float
    anchors: tuple[tuple[int, SetTree], ...]

    def to_dict(self, n: int, kept: list[list[int]]) -> dict[str, Any]:
        """Write it for an instance with n nodes and the pairs that are kept, from the root on."""
        inside = {
            "rule": "prices",
            "prices": self.prices.tolist(),
            "heaviest": self.heaviest,
            "sets": [[node, tree.to_dict()] for node, tree in self.anchors],
        }
        return once_joined(n, kept[: n - len(self.prices)], inside)


def once_joined(n: int, kept: list[list[int]], inside: dict[str, Any]) -> dict[str, Any]:
    """A proof for what is left of n nodes once some pairs are kept together."""
    if not kept:
        return inside
    nothing = {"rule": "lp", "rows": [], "part": [-1] * n, "proofs": {}}
    return {"rule": "fixing", "lp": nothing, "kept": kept, "cut": [], "proof": inside}


def _nodes(ends: list[list[int]], values: list[float]) -> list[int]:
    """The three nodes of a row: first the one that is beside both others, or all of them in order.

    ``x_jk <= x_ij + x_ik`` is written as i, j, k and ``x_ij + x_ik + x_jk <= 2`` as -1, i, j, k.
    """
    if min(values) > 0.0:
        return [-1, *sorted({*ends[0], *ends[1]})]
    j, k = ends[values.index(1.0)]
    (i,) = {node for pair in ends for node in pair} - {j, k}
    return [i, j, k]
