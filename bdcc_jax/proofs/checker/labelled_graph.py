"""An instance in whole numbers, with labels: what rows and steps of presolve make of it."""

from __future__ import annotations

from math import gcd
from typing import Any

from .reading import Account, require


class LabelledGraph:
    """An instance, and labels; joined nodes have several names, their slots."""

    def __init__(self, labels: list[int], weights: Any, account: Account, unit: int = 0) -> None:
        self.labels, self._parent, self.account = labels, [*range(len(labels))], account
        self.constant, self.negative, self.unit = 0, 0, unit or gcd(*weights.values()) or 1
        self.at: list[dict[int, int]] = [{} for _ in labels]
        self.met: bool | None = None  # whether the labels are optimal in every piece
        self.connecting: list[set[int]] = []  # the ordinary edges, where others are lifted
        self.numbers: tuple[int, int] | None = None  # of clusters, where there are limits
        self.terminals, self.classes, self.may = 0, list[int](), list[set[int]]()  # the last nodes
        account.pay(4 * (len(labels) + len(weights)))
        for (u, v), w in weights.items():
            self.add(u, v, w)

    def copy(self, more: int = 0) -> LabelledGraph:
        """The same, perhaps with more slots."""
        labels = self.labels + [0] * more
        copied = LabelledGraph(labels, self.weights(), self.account, self.unit)
        if more == 0:
            copied.connecting, copied.numbers = self.connecting, self.numbers
            copied.terminals, copied.classes = self.terminals, self.classes
            copied.may = [*self.may]
        return copied

    def classify(self, classes: list[int], pairs: Any) -> None:
        """Classes of the nodes; pairs are edges, and (node, a class that it may have)."""
        self.classes, self.may = classes, [set() for _ in self.at]
        self.terminals = len(self.at) - len(classes)
        for v, t in pairs:
            self.may[v] |= {t} if t >= len(classes) else set()
        own, alike = len(classes), dict(zip(self.labels, classes, strict=False))
        of_cluster = all(alike[x] == c for x, c in zip(self.labels, classes, strict=False))
        possible = all(own + c in self.may[v] for v, c in enumerate(classes))
        require(of_cluster and possible, "a cluster has no class, or one that it cannot have")

    def connect(self, edges: list[list[int]]) -> None:
        """Only these ordinary edges connect: the others are lifted."""
        self.connecting = [set() for _ in self.at]
        parts = LabelledGraph(self.labels, {}, self.account)
        for u, v in edges:
            self.connecting[u].add(v)
            self.connecting[v].add(u)
            if self.labels[u] == self.labels[v]:
                parts.join(u, v)
        count = len({*map(parts.find, range(len(self.at)))})
        require(count == len({*self.labels}), "a cluster is not connected by ordinary edges")

    def weights(self) -> dict[tuple[int, int], int]:
        """Of all edges."""
        return {(u, v): w for u, at in enumerate(self.at) for v, w in at.items() if u < v}

    def least(self) -> int:
        """The smallest size of a weight."""
        return min(map(abs, self.weights().values()), default=0)

    def cost(self) -> int:
        """What the labels cost."""
        own = len(self.at) - self.terminals
        return sum(
            w
            for (u, v), w in self.weights().items()
            if (self.labels[u] != self.labels[v] if v < own else self.classes[u] == v - own)
        )

    def near(self, bound: int, met: bool | None = None) -> bool:
        """Whether the labels are as good as optimal if this bound holds."""
        gap, unit, one = self.cost() - bound, self.unit, 1 << self.account.shift
        sizes = [0, *map(abs, self.weights().values())]  # whole ones, or few units: exactly
        exact = (unit % one == 0 and max(sizes) <= one << 53) or sum(sizes) <= unit << 52
        small = 1000 * gap <= self.least() and not (exact and gap >= unit)
        return gap <= 0 or (small if met is None else met)

    def add(self, a: int, b: int, amount: int | None) -> int:
        """Add to the weight of a pair, or take all of it; returns what it was."""
        before, _ = self.at[a].pop(b, 0), self.at[b].pop(a, None)
        if after := 0 if amount is None else before + amount:
            self.at[a][b] = self.at[b][a] = after
        self.negative += min(0, after) - min(0, before)
        return before

    def take(self, rows: list[tuple[int, Any]], sign: int) -> int:
        """Add rows to the weights; returns what they add to the bound."""
        for u, v, amount in (entry for _, entries in rows for entry in entries):
            self.add(u, v, sign * amount)
        return sum(cost for cost, _ in rows)

    def without(self, slots: list[int], all_of_it: bool = False) -> LabelledGraph:
        """Take some nodes out, with the edges between them, as an instance of their own."""
        number = {self.find(slot): i for i, slot in enumerate(slots)}
        inner = [(u, v) for u in number for v in self.at[u] if u < v and v in number]
        weights = {(number[u], number[v]): self.add(u, v, None) for u, v in inner}
        taken = LabelledGraph([self.labels[slot] for slot in slots], weights, self.account)
        if all_of_it:  # its nodes, joined or not, but nothing is left out
            taken.numbers, taken.terminals = self.numbers, self.terminals
            own = slots[: len(slots) - self.terminals] if self.terminals else []
            taken.classes = [self.classes[slot] for slot in own]
            taken.may = [{number[t] for t in self.may[slot]} for slot in (slots if own else [])]
        return taken

    def find(self, slot: int) -> int:
        """The slot that stands for the node of a slot."""
        while self._parent[slot] != slot:
            self._parent[slot] = slot = self._parent[self._parent[slot]]
        return slot

    def join(self, slot: int, into: int) -> None:
        """Make one node of two."""
        a, b = sorted(map(self.find, (slot, into)), key=lambda x: len(self.at[x]))
        self._parent[a] = b
        for y in [*self.at[a]] if a != b else ():
            self.add(b, y, self.add(a, y, None) * (y != b))
        if self.may:
            for t in self.may[a] ^ self.may[b]:  # a class that only one of them can have
                self.add(b, t, None)
            self.may[b] = self.may[a] & self.may[b]
