"""What the best set with some nodes has of surplus, at most: a program for cuts into two sides.

Of sets S with all nodes of I, and of C those that they like, the surplus is, with ``y_0 = 1``, and
``y_j = 1`` for nodes j of C in S, -1 for the others::

    f(S) = f(I) + sum over j in C of g_j (1 + y_0 y_j) / 2
                + sum over pairs of C of w_ij (1 + y_0 y_i + y_0 y_j + y_i y_j) / 4,

where ``g_j`` is what j adds to I alone. That is linear in ``Y = y y^T``, which is semidefinite with
ones on its diagonal, and of any three pairs one or all three are 1: four inequalities for every
three nodes (the semidefinite bound for max-cut with triangles, as in BiqMac).
"""

from __future__ import annotations

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from ..base.compiled import compiled
from ..base.sums import sum_up
from ..instance.completion import pair_ids
from ..lp.lagrangian import EPSILON
from ..lp.rows import Rows
from ..lp.semidefinite import SemidefiniteProgram
from ..proofs.price_leaf import SetLeaf

ITERATIONS = 20
"""Between two searches for rows."""

ROWS, VIOLATED = 4, 0.02
"""So many rows for every node are added at a time, of those that are violated by so much."""


class BestSet:
    """The program for sets that have the nodes of ``inside``, and of all but these some others.

    ``bound`` is the best bound on their surplus so far, and ``leaf`` what proves it.
    """

    def __init__(
        self,
        worth: FloatArray,
        prices: FloatArray,
        inside: IntArray,
        others: IntArray,
        gone: IntArray,
        like: BestSet | None = None,
    ) -> None:
        self.inside, self.others, self._gone, self._like = inside, others, gone, like
        mine, own = worth[np.ix_(inside, inside)], worth[np.ix_(others, others)]
        between = worth[np.ix_(inside, others)]
        gains, attractive = between.sum(axis=0) - prices[others], np.maximum(0.0, own)
        fixed = 0.5 * float(mine.sum()) - float(prices[inside].sum())
        sizes = [
            np.abs(part).sum() for part in (mine, own, between, prices[inside], prices[others])
        ]
        # Of each of these sums every term was rounded, and what it was added to.
        self._off = 4.0 * (len(prices) + 4) * EPSILON * float(sum(sizes))
        self.fixed = fixed
        self.gains, self.own = gains, own
        trivial = [fixed, np.maximum(0.0, gains).sum(), 0.5 * attractive.sum(), self._off]
        self.bound = sum_up(trivial)
        self.leaf = SetLeaf(others, gone)
        self._program: SemidefiniteProgram | None = None

    def improve(self, clock: Clock) -> None:
        """Do some iterations, with new rows."""
        program = self._program
        if program is None:
            program = self._program = self._new_program()
        else:
            program.add(_violated(program, ROWS * program.n))
        program.iterate(ITERATIONS, clock)
        proven = program.prove()
        above = sum_up([self._constant, -proven.bound, self._off])
        if above < self.bound:
            self.bound = above
            self.leaf = SetLeaf(
                self.others, self._gone, proven.rows, proven.multipliers, proven.gram
            )

    def _new_program(self) -> SemidefiniteProgram:
        k = len(self.others)
        c = np.zeros((k + 1, k + 1))
        c[1:, 1:] = 0.25 * self.own
        c[0, 1:] = 0.5 * self.gains + 0.25 * self.own.sum(axis=1)
        costs = c[np.triu_indices(k + 1, 1)]
        # f = fixed + ... + sum of c Y, and Y = 1 - x.
        parts = [self.fixed, 0.5 * self.gains.sum(), 0.125 * self.own.sum(), costs.sum()]
        self._constant = float(np.sum(parts))
        like, self._like = self._like, None
        if like is None or like._program is None:
            return SemidefiniteProgram.of(k + 1, costs, reach=2.0)
        place = np.full(1 + len(like.others), -1)
        place[0] = 0
        place[1:][np.isin(like.others, self.inside)] = 0
        place[1:][np.isin(like.others, self.others)] = np.arange(1, k + 1)
        return like._program.moved(place, costs)

    @property
    def sides(self) -> FloatArray:
        """How much each of the others is inside."""
        program = self._program
        assert program is not None
        return np.clip(0.5 * (1.0 + program.y[: len(self.others)]), 0.0, 1.0)

    def rounded(self) -> float:
        """The surplus of the set that has what is inside by more than a half."""
        chosen = self.sides > 0.5
        inner = self.own[np.ix_(chosen, chosen)]
        return self.fixed + float(self.gains[chosen].sum()) + 0.5 * float(inner.sum())


def _violated(program: SemidefiniteProgram, most: int) -> Rows:
    pairs, values, amount = _triangles(pair_ids(program.n), program.semidefinite_x, VIOLATED)
    order = np.argsort(-amount, kind="stable")[:most]
    starts = np.arange(0, 3 * len(order) + 1, 3)
    upper = np.where((values[order] > 0.0).all(axis=1), 4.0, 0.0)
    return Rows(starts, pairs[order].ravel().astype(np.int32), values[order].ravel(), upper)


@compiled
def _triangles(
    ids: IntArray, x: FloatArray, least: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Of every three nodes the row that is violated most, if it is by so much."""
    n = len(ids)
    count = 0
    for turn in range(2):
        if turn == 1:
            pairs, values = np.empty((count, 3), np.int64), np.empty((count, 3))
            amount = np.empty(count)
            count = 0
        for i in range(n):
            for j in range(i + 1, n):
                a = x[ids[i, j]]
                for k in range(j + 1, n):
                    b, c = x[ids[i, k]], x[ids[j, k]]
                    largest = max(a, b, c)
                    above, total = 2.0 * largest - (a + b + c), a + b + c - 4.0
                    if max(above, total) <= least:
                        continue
                    if turn == 1:
                        pairs[count, 0], pairs[count, 1], pairs[count, 2] = (
                            ids[i, j],
                            ids[i, k],
                            ids[j, k],
                        )
                        values[count, :] = 1.0 if total >= above else -1.0
                        if total < above:
                            values[count, 0 if largest == a else 1 if largest == b else 2] = 1.0
                        amount[count] = max(above, total)
                    count += 1
    return pairs, values, amount
