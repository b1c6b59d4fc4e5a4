"""The reductions that were made, in order, and how a clustering of what is left undoes them.

A presolve is a stack of small steps. Each turns an instance into another one such that every
clustering of the other, once the step is undone in it, costs no more in the instance before than
it did (with its share of the constant) after. Undoing all steps from the last to the first
therefore lifts a clustering of what is left to one of the original that costs no more.

Steps name nodes by *slots*: the original's nodes are slots ``0 .. n - 1``, the copies that are
made of cut vertices follow. A contracted node keeps the slot of one of its nodes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.compiled import compiled
from ..base.components import find
from ..base.sums import sum_down

DOMINANT = 0
"""a was contracted into b, along an edge that outweighs the rest of an end."""
SIMILAR = 1
"""a was contracted into b, along an edge that outweighs how its ends differ."""
SECLUDED = 2
"""a was contracted into b, along an edge that outweighs what attracts either end elsewhere."""
WEAKENED = 3
"""The negative edge ab was weakened to the positive weight at a."""
SPLIT = 4
"""b is a copy of the cut vertex a."""
ATTRACTED = 5
"""a and b are in one block without negative edges."""
SEPARATED = 6
"""The negative edge ab was dropped: no path of positive edges joins its ends."""
TRIANGLE = 7
"""a was contracted into b, with a third node of a triangle that outweighs the rest."""
NAMES = (
    "dominant", "similar", "secluded", "weakened", "split", "attracted", "separated", "triangle",
)  # fmt: skip
"""What the kinds are called in a certificate, and in :class:`~bdcc_jax.presolve.Removed`."""


@dataclass
class Steps:
    """The steps so far: what was done, to which slots, and what it adds to the constant."""

    n_slots: int
    kinds: list[IntArray] = field(default_factory=list)
    ends: list[IntArray] = field(default_factory=list)
    costs: list[FloatArray] = field(default_factory=list)
    moved: list[IntArray] = field(default_factory=list)
    """For each set of splits the edges that moved: their ends before, and after, as four rows."""
    off: float = 0.0
    """What sums have lost, and what the edges that were dropped as residues weigh."""

    def add(self, kind: int | IntArray, a: IntArray, b: IntArray, cost: FloatArray | None) -> None:
        """Append steps of one kind, or of a kind each; without a cost they are free."""
        if len(a):
            self.kinds.append(np.broadcast_to(kind, a.shape))
            self.ends.append(np.stack([a, b]))
            self.costs.append(np.zeros(len(a)) if cost is None else cost)

    @property
    def constant(self) -> float:
        """What all steps add to the constant, rounded down once."""
        return sum_down(np.concatenate([[0.0], *self.costs]))

    def counts(self) -> IntArray:
        """How many steps of each kind there are."""
        none = np.empty(0, dtype=np.int64)
        return np.bincount(np.concatenate([none, *self.kinds]), minlength=len(NAMES))

    def log(self) -> list[list[Any]]:
        """List all steps: the name of the rule, and its nodes.

        A split names the node, its copy, and the neighbours whose edges go to the copy. A triangle
        names the two nodes that are contracted, and the third.
        """
        log: list[list[Any]] = []
        moved = iter(self.moved)
        for kinds, (a, b) in zip(self.kinds, self.ends, strict=True):
            if kinds[0] == SPLIT:
                neighbours = _neighbours(next(moved))
                pairs = zip(a.tolist(), b.tolist(), strict=True)
                log.extend([NAMES[SPLIT], x, copy, *neighbours[copy]] for x, copy in pairs)
            elif kinds[0] == TRIANGLE:
                triples = np.column_stack([a.reshape(-1, 2), b[0::2]]).tolist()
                log.extend([NAMES[TRIANGLE], *triple] for triple in triples)
            else:
                names = (NAMES[kind] for kind in kinds.tolist())
                log.extend(map(list, zip(names, a.tolist(), b.tolist(), strict=True)))
        return log

    def origin(self, slots: IntArray) -> IntArray:
        """Name the original node that each slot is, or is a copy of."""
        origin = np.arange(self.n_slots)
        for kinds, (a, b) in zip(self.kinds, self.ends, strict=True):
            if kinds[0] == SPLIT:
                origin[b] = origin[a]
        return origin[slots]

    def undo(self, slots: IntArray, clusters: IntArray) -> IntArray:
        """Label all slots, given the cluster of those that are left.

        ``clusters`` are numbered ``0 .. len(slots) - 1`` and none spans two pieces; the other
        slots begin in clusters of their own.
        """
        label = np.arange(self.n_slots)
        label[slots] = self.n_slots + clusters
        if not self.kinds:
            return label
        kinds, (a, b) = np.concatenate(self.kinds), np.concatenate(self.ends, axis=1)
        used = self.n_slots + len(slots)
        merged = np.arange(used + np.count_nonzero(kinds == WEAKENED))
        _undo(kinds, a, b, label, merged, used)
        return label


def _neighbours(moved: IntArray) -> dict[int, list[int]]:
    """The neighbours of each copy, as they are named when the copies are made one by one."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for u, v, new_u, new_v in moved.T.tolist():
        if new_u != u:
            neighbours[new_u].append(new_v if v != new_v < new_u else v)
        if new_v != v:
            neighbours[new_v].append(new_u if u != new_u < new_v else u)
    return neighbours


@compiled
def _undo(
    kinds: IntArray, a: IntArray, b: IntArray, label: IntArray, merged: IntArray, fresh: int
) -> None:
    """Undo the steps in ``label``; ``merged`` is a union-find forest of the labels."""
    for i in range(len(kinds) - 1, -1, -1):
        kind, s, t = kinds[i], a[i], b[i]
        if kind in (SPLIT, ATTRACTED):  # whole clusters become one
            merged[find(merged, label[s])] = find(merged, label[t])
        elif kind == WEAKENED:  # cutting a off costs its positive weight, and gains no less
            if find(merged, label[s]) == find(merged, label[t]):
                label[s] = fresh
                fresh += 1
        elif kind != SEPARATED:  # contracted
            label[s] = label[t]
    for s in range(len(label)):
        label[s] = find(merged, label[s])
