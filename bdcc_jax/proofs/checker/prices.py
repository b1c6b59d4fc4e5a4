"""Check that no set of nodes is worth more than prices, but for so much: in exact arithmetic.

Whole numbers only, and the standard library: see docs/certificates.md.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from operator import mul
from typing import Any


class Sets:
    """Sets of nodes, what they are worth, and what their nodes cost.

    Parameters
    ----------
    worth : list of list of int
        What pairs are worth, symmetric, 0 on the diagonal.
    prices : list of int
        What nodes cost.
    heaviest : int
        What pairs of nodes that exclude each other are taken to repel: any number will do.
    number : callable
        Makes a whole number of a float, in the unit of the others; refuses what is none.
    pay : callable
        Called with the steps that come.
    """

    def __init__(
        self,
        worth: list[list[int]],
        prices: list[int],
        heaviest: int,
        number: Callable[[Any], int],
        pay: Callable[[float], None],
    ) -> None:
        self._worth, self._prices, self._number, self._pay = worth, prices, number, pay
        # If a pair repels as much as a node of it may gain, sets without that node are no worse.
        paid = zip(worth, prices, strict=True)
        gains = [max(0, sum(w for w in row if w > 0) - price) for row, price in paid]
        self._exclude: list[set[int]] = [set() for _ in worth]
        for i, j in combinations(range(len(worth)), 2):
            if worth[i][j] << 20 <= -((1 << 20) + 1) * min(gains[i], gains[j]):
                worth[i][j] = worth[j][i] = -heaviest
                self._exclude[i].add(j)
                self._exclude[j].add(i)

    def above(self, inside: list[int], others: set[int], tree: Any) -> int:
        """An upper bound on 4 (worth - price) of sets with all of some nodes and some of others."""
        todo, most = [(inside, others, tree)], -4 * sum(map(abs, self._prices)) - 1
        found: list[int] = []
        while todo:
            inside, others, tree = todo.pop()
            if type(tree) is list:
                node, with_it, without = tree
                if type(node) is not int or node not in others:
                    raise ValueError(f"node {node!a:.20} is decided twice, or is none")
                todo += [([*inside, node], others - {node}, with_it)]
                todo += [(inside, others - {node}, without)]
                self._pay(1 + len(others) // 16)
            else:
                found.append(self._of_leaf(inside, others, tree))
        return max(found, default=most)

    def _of_leaf(self, inside: list[int], others: set[int], leaf: Any) -> int:
        self._pay(len(inside) ** 2 // 8 + (len(inside) + 12) * len(others) // 8)
        rows = [self._worth[i] for i in inside]
        fixed = sum(row[j] for k, row in enumerate(rows) for j in inside[:k])
        fixed -= sum(self._prices[i] for i in inside)
        gains = {j: sum(row[j] for row in rows) - self._prices[j] for j in others}
        if leaf == 0 and type(leaf) is int:
            return 4 * (fixed + self._by_classes(inside, gains))
        for j in leaf["gone"]:  # each adds nothing, even beside all that attract it
            self._pay(len(gains) // 4)
            gain, row = gains.pop(j), self._worth[j]
            if gain + sum(row[k] for k in gains if row[k] > 0) > 0:
                raise ValueError(f"node {j} may be in a best set")
        if "gram" not in leaf:
            self._pay(len(gains) ** 2 // 4)
            pairs = sum(max(0, self._worth[i][j]) for i, j in combinations(gains, 2))
            return 4 * (fixed + sum(max(0, g) for g in gains.values()) + pairs)
        return 4 * fixed + self._by_cuts(gains, leaf["rows"], leaf["gram"])

    def _by_classes(self, inside: list[int], gains: dict[int, int]) -> int:
        """One node at most of every class of nodes that exclude each other."""
        exclude, worth = self._exclude, self._worth
        left = [j for j in sorted(gains) if exclude[j].isdisjoint(inside)]
        self._pay(len(left) ** 2 // 32)  # light steps, as comparisons of sets
        classes: list[list[int]] = []
        for j in left:
            found = next((c for c in classes if exclude[j].issuperset(c)), None)
            if found is None:
                classes.append([j])
            else:
                found.append(j)
        total = 0
        for c, nodes in enumerate(classes):
            before = {j: sum(max(0, *(worth[j][i] for i in b)) for b in classes[:c]) for j in nodes}
            total += max(0, *(gains[j] + before[j] for j in nodes))
        return total

    def _by_cuts(self, gains: dict[int, int], rows: Any, gram: Any) -> int:
        """``4 f = constant + c Y``, with Y of products of signs, rows and a semidefinite matrix."""
        nodes, scale, vectors = sorted(gains), self._number(gram[0]), gram[1:]
        n = len(nodes) + 1
        self._pay(n * n * (3 + len(vectors)))
        own = [[self._worth[i][j] for j in nodes] for i in nodes]
        c = [[0] * n for _ in range(n)]
        for i in range(1, n):
            c[0][i] = 2 * gains[nodes[i - 1]] + sum(own[i - 1])
            c[i][i + 1 :] = own[i - 1][i:]
        constant = 2 * sum(gains.values()) + sum(map(sum, own)) // 2
        for y, *ends in rows:
            price, (side, *three) = 4 * self._number(y), [0, *ends] if len(ends) == 3 else ends
            valid = all(type(v) is int and 0 <= v < n for v in three) and len({*three}) == 3
            if price < 0 or not valid or side not in (0, -1):
                raise ValueError(f"no row over three of {n} nodes: {[y, *ends]!a:.80}")
            constant += price
            i, j, k = three
            for u, v, sign in ((i, j, side or 1), (i, k, side or 1), (j, k, -1)):
                c[min(u, v)][max(u, v)] -= sign * price
        valid = all(type(v) is list and len(v) == n for v in vectors)
        valid = valid and all(type(x) is int and abs(x) < 2**64 for v in vectors for x in v)
        if not valid or scale < 0:
            raise ValueError(f"not {n} whole numbers a vector")
        at = [*zip(*vectors, strict=True)] if vectors else [()] * n
        for i in range(n):
            constant += 4 * scale * sum(map(mul, at[i], at[i]))
            row = c[i]
            for j in range(i + 1, n):
                row[j] += 8 * scale * sum(map(mul, at[i], at[j]))
        return constant + sum(map(abs, (x for i, row in enumerate(c) for x in row[i + 1 :])))
