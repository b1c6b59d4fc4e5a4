"""The reductions that were made, in order, and how a clustering of what is left undoes them.

A presolve is a stack of small steps. Each turns an instance into another one such that every
clustering of the other, once the step is undone in it, costs no more in the instance before than
it did (with its share of the constant) after. Undoing all steps from the last to the first
therefore lifts a clustering of what is left to one of the original that costs no more.

Steps name nodes by *slots*: the original's nodes are slots ``0 .. n - 1``, the copies that are
made of cut vertices follow. A contracted node keeps the slot of one of its nodes.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.compiled import borrowing, compiled, inlined
from ..base.components import find
from ..base.labels import first_appearance

Array = TypeVar("Array", IntArray, FloatArray)

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


class Log(NamedTuple):
    """Steps while they are made, in arrays with room for more."""

    kind: IntArray
    a: IntArray
    b: IntArray
    cost: FloatArray
    moved: IntArray
    """Four numbers for every edge that a split has moved: its ends before and after, as slots."""
    used: IntArray
    """How many steps, numbers in ``moved``, and slots there are."""
    off: FloatArray
    """What sums have lost, and what the edges that were dropped as residues weigh, in all."""


@inlined
def new_log(n: int) -> Log:
    """No steps, on n slots."""
    none = np.empty(0, np.int64)
    return Log(none, none, none, np.empty(0), none, np.array([0, 0, n]), np.zeros(1))


@inlined
def with_room(log: Log, steps: int, moved: int) -> Log:
    """The same log, with room for so many more steps and moved edges."""
    room = log.used[0] + steps
    return Log(
        grown(log.kind, room),
        grown(log.a, room),
        grown(log.b, room),
        grown(log.cost, room),
        grown(log.moved, log.used[1] + 4 * moved),
        log.used,
        log.off,
    )


@inlined
def grown(values: Array, room: int) -> Array:
    """The same values in an array of at least so many."""
    if room <= len(values):
        return values
    larger = np.empty(2 * room, values.dtype)
    for i in range(len(values)):
        larger[i] = values[i]
    return larger


@borrowing
def record(log: Log, kind: int, a: int, b: int, cost: float) -> None:
    """Append a step."""
    i = log.used[0]
    log.kind[i], log.a[i], log.b[i], log.cost[i] = kind, a, b, cost
    log.used[0] = i + 1


@dataclass(frozen=True, eq=False)
class Steps:
    """All steps: what was done, to which slots, and what it adds to the constant."""

    kinds: IntArray
    a: IntArray
    b: IntArray
    costs: FloatArray
    moved: IntArray
    n_slots: int

    def __len__(self) -> int:
        return len(self.kinds)

    def log(self) -> list[list[Any]]:
        """List all steps: the name of the rule, and its nodes.

        A split names the node, its copy, and the neighbours whose edges go to the copy. A triangle
        names the two nodes that are contracted, and the third.
        """
        log: list[list[Any]] = []
        neighbours = _neighbours(self.moved)
        steps = zip(self.kinds.tolist(), self.a.tolist(), self.b.tolist(), strict=True)
        for kind, a, b in steps:
            if kind == SPLIT:
                log.append([NAMES[SPLIT], a, b, *neighbours[b]])
            elif kind == TRIANGLE:
                _, other, _ = next(steps)
                log.append([NAMES[TRIANGLE], a, other, b])
            else:
                log.append([NAMES[kind], a, b])
        return log

    def undo(self, slots: IntArray, clusters: IntArray, pieces: IntArray) -> IntArray:
        """Label all slots by first appearance, given the clusters of those that are left.

        ``clusters`` are below ``len(slots)``, and none counts for two pieces, the i-th of which is
        ``slots[pieces[i] : pieces[i + 1]]``. The other slots begin in clusters of their own.
        """
        return _undo(self.kinds, self.a, self.b, self.n_slots, slots, clusters, pieces)


def _neighbours(moved: IntArray) -> dict[int, list[int]]:
    """The neighbours of each copy, as they are named when the copies are made one by one."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    for u, v, new_u, new_v in moved.reshape(-1, 4).tolist():
        if new_u != u:
            neighbours[new_u].append(new_v if v != new_v < new_u else v)
        if new_v != v:
            neighbours[new_v].append(new_u if u != new_u < new_v else u)
    return neighbours


@compiled
def _undo(
    kinds: IntArray,
    a: IntArray,
    b: IntArray,
    n_slots: int,
    slots: IntArray,
    clusters: IntArray,
    pieces: IntArray,
) -> IntArray:
    label = np.arange(n_slots)
    one = np.full(len(slots), -1)  # position in ``slots`` of the first of each cluster in a piece
    for p in range(len(pieces) - 1):
        for i in range(pieces[p], pieces[p + 1]):
            first = one[clusters[i]]
            if first < pieces[p]:
                one[clusters[i]] = first = i
            label[slots[i]] = n_slots + first
    fresh = n_slots + len(slots)
    most = fresh
    for i in range(len(kinds)):
        most += kinds[i] == WEAKENED
    merged = np.arange(most)  # a union-find forest of labels
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
    return first_appearance(label, len(merged))
