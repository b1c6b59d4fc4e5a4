"""Bounds for dense instances by semidefinite programming: rows, and ``Y = 1 - x`` semidefinite.

On complete graphs whose LP leaves a large gap the matrix Y of pairs that are together, which is
positive semidefinite for every clustering, closes much of it (as in BiqMac and BiqCrunch for
max-cut). The program

    min  w (1 - z)    subject to    Y positive semidefinite,  Y_ii = 1,  Y_ij = z_ij,
                                    the rows hold for z,  0 <= z <= 1,  z = 0 for decided pairs

is solved roughly by alternating directions. With a penalty p and multipliers Z of ``Y = z``, an
iteration takes the eigenvalues of ``M = z - Z / p`` (z as a matrix),

    Y = the positive part of M,   Z = p (Y - M),   z = the point nearest to  Y + (Z + w / 2) / p
                                                       that satisfies rows and bounds,

with ``1.6 z - 0.6 Y`` in place of z in M (fewer iterations do then), and the nearest point by two
sweeps over the rows, each of which is made to hold (Hildreth's method; de Meijer, Sotirov, Wiegele
and Zhao, 2023, do the same for graph partitioning). The multipliers t
of these sweeps, times 2 p, are those of the rows. Z is semidefinite at any moment, so rows and Z
prove a bound at any moment: see :mod:`~bdcc_jax.lp.gram`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.compiled import compiled
from ..base.sums import sum_down
from ..instance.completion import pair_ids
from .gram import Gram
from .lagrangian import EPSILON, Lagrangian
from .rows import Rows

SWEEPS = 2
"""Sweeps over the rows in an iteration."""

BEYOND = 0.6
"""Of the way from Y to z, how much further the next M goes: over-relaxation."""

UNEVEN, STEP = 3.0, 1.3
"""The penalty changes by this factor where Y and z differ so many times more than z moves, or the
other way round."""

TINY = float(np.finfo(np.float64).tiny)

HEAVY = 10.0
"""Pairs that weigh so many times the median say nothing of what the others weigh."""

IDLE_FOR = 2
"""Rows without a multiplier so many times in a row are dropped."""

WORK, WORK_OF_ENTRY = 1.5, 0.1
"""An iteration in units of the clock's work: for every entry of Y, and for every one of a row."""


class Proven(NamedTuple):
    """A bound, and what proves it: rows, their multipliers and a semidefinite matrix."""

    bound: float
    rows: Rows
    multipliers: FloatArray
    gram: Gram


@dataclass(eq=False)
class SemidefiniteProgram:
    """The program of a complete graph, of which some pairs are apart; and where its iterations are.

    ``z``, ``push`` (the multipliers of 0 <= z <= 1, divided by 2 p) and ``weights`` are in the
    order of the pairs; ``off`` is by how much the weights may be off, together. ``t`` are the
    multipliers of the rows, divided by 2 p.
    """

    n: int
    weights: FloatArray
    apart: BoolArray
    rows: Rows
    t: FloatArray
    z: FloatArray
    push: FloatArray
    dual: FloatArray
    penalty: float
    off: float
    idle: IntArray
    factor: FloatArray
    """V with ``dual = V V^T``."""
    y: FloatArray
    """Y, as semidefinite as eigenvalues are precise; of the pairs."""
    reach: float = 1.0
    """The largest x: 2 in programs for cuts into two sides, where Y_ij is 1 or -1."""

    @staticmethod
    def of(n: int, weights: FloatArray, reach: float = 1.0) -> SemidefiniteProgram:
        """The program of a complete graph, without rows; all nodes are apart."""
        m = len(weights)
        return SemidefiniteProgram(
            n, weights, np.zeros(m, dtype=bool), Rows.empty(), np.zeros(0),
            np.zeros(m), np.zeros(m), np.zeros((n, n)), 0.5 * _usual(weights), 0.0,
            np.zeros(0, dtype=np.int64), np.zeros((n, 0)), np.zeros(m), reach,
        )  # fmt: skip

    def iterate(self, count: int, clock: Clock) -> None:
        """Do so many iterations."""
        rows, least = self.rows, 1.0 - self.reach
        inside = np.bincount(rows.row_of_entry(), rows.values, len(rows))
        self.factor, self.y, change = _iterate(
            self.weights, least, np.where(self.apart, least, 1.0), self.z, self.push, self.dual,
            rows.starts, rows.indices, -rows.values, rows.upper - inside, self.t,
            self.penalty, _usual(self.weights), count,
        )  # fmt: skip
        self.penalty *= change
        self.t /= change
        self.push /= change
        clock.work += count * (WORK * self.n**2 + WORK_OF_ENTRY * len(rows.indices))

    @property
    def x(self) -> FloatArray:
        """The solution, about: 1 for pairs that are cut; it satisfies most of the rows."""
        return 1.0 - self.z

    @property
    def semidefinite_x(self) -> FloatArray:
        """The same from Y, which is semidefinite and violates what rows are missing."""
        return np.clip(1.0 - self.y, 0.0, self.reach)

    def add(self, rows: Rows) -> None:
        """Add rows that are valid for every clustering, and drop those that have no multiplier."""
        self.idle = np.where(self.t > 0.0, 0, self.idle + 1)
        kept = self.idle < IDLE_FOR
        keys = rows.keys()
        new = np.zeros(len(rows), dtype=bool)
        new[np.unique(keys, return_index=True)[1]] = True
        new &= ~np.isin(keys, self.rows.keys())
        self.rows = Rows.concatenate([self.rows.take(kept), rows.take(new)])
        self.t = np.pad(self.t[kept], (0, int(new.sum())))
        self.idle = np.pad(self.idle[kept], (0, int(new.sum())))

    def start_from(self, rows: Rows, multipliers: FloatArray, gram: Gram) -> None:
        """Have these rows, and go on from multipliers of theirs and a semidefinite matrix."""
        self.rows, self.t = rows, multipliers / (2.0 * self.penalty)
        self.idle = np.zeros(len(rows), dtype=np.int64)
        self.dual, self.factor = gram.matrix(), np.ldexp(gram.factor, gram.exponent)

    def prove(self) -> Proven:
        """What the multipliers prove, with every rounding error on the safe side."""
        used = self.t > 0.0
        rows, multipliers = self.rows.take(used), 2.0 * self.penalty * self.t[used]
        gram = Gram.near(self.factor)
        u, v = np.triu_indices(self.n, 1)
        weights = self.weights + 2.0 * gram.matrix()[u, v]
        off = self.off + EPSILON * float(np.abs(weights).sum())
        lagrangian = Lagrangian.of(weights, rows, multipliers)
        most = np.full(len(weights), self.reach)
        inside = lagrangian.bound_within(np.where(self.apart, most, 0.0), most)
        return Proven(sum_down([inside, -gram.total, -2.0 * off]), rows, multipliers, gram)

    def decided(self) -> Proven | None:
        """What the one clustering costs that all pairs are decided by, if they are."""
        if not self.apart.all():
            return None
        bound = sum_down(np.append(self.weights, -2.0 * self.off))
        return Proven(bound, Rows.empty(), np.empty(0), Gram.none(self.n))

    def with_apart(self, pair: int) -> SemidefiniteProgram:
        """The program of clusterings that cut a pair."""
        apart, z = self.apart.copy(), self.z.copy()
        apart[pair], z[pair] = True, 0.0
        return replace(
            self, apart=apart, z=z, t=self.t.copy(), push=self.push.copy(), dual=self.dual.copy()
        )

    def with_joined(self, pair: int) -> SemidefiniteProgram:
        """The program of clusterings that keep a pair: its two nodes are one, the first of them.

        Rows over both nodes are dropped, the others stay what they are.
        """
        n = self.n
        u, v = np.triu_indices(n, 1)
        place = joined_places(n, int(u[pair]), int(v[pair]))
        new = pair_ids(n - 1)[place[u], place[v]]
        outer, m = new >= 0, (n - 1) * (n - 2) // 2
        weights = np.bincount(new[outer], self.weights[outer], m).astype(np.float64)
        both = np.bincount(new[outer], minlength=m) > 1
        off = self.off + EPSILON * float(np.abs(weights[both]).sum())
        moved = self.moved(place, weights)
        apart = np.bincount(new[outer], self.apart[outer], m) > 0.0
        return replace(moved, apart=apart, z=np.where(apart, 0.0, moved.z), off=off)

    def moved(self, place: IntArray, weights: FloatArray) -> SemidefiniteProgram:
        """A program with other nodes, which goes on from here.

        Parameters
        ----------
        place : ndarray, shape (n,)
            Where the nodes are there: several may be one, and those with -1 are left out.
        weights : ndarray
            The weights of the pairs there. No pair is apart.
        """
        n, m = int(place.max()) + 1, len(weights)
        u, v = np.triu_indices(self.n, 1)
        stays = (place[u] >= 0) & (place[v] >= 0)
        new = np.where(stays, pair_ids(n)[place[u], place[v]], -1)
        outer = np.flatnonzero(new >= 0)
        z = np.zeros(m)
        z[new[outer][::-1]] = self.z[outer][::-1]  # of the first pair, where several are one
        push = np.bincount(new[outer], self.push[outer], m).astype(np.float64)
        onto = np.zeros((self.n, n))
        onto[place >= 0, place[place >= 0]] = 1.0
        inner = np.zeros(len(self.rows), dtype=bool)
        inner[self.rows.row_of_entry()[new[self.rows.indices] < 0]] = True
        rows, t = self.rows.take(~inner), self.t[~inner]
        rows = Rows(rows.starts, new[rows.indices].astype(np.int32), rows.values, rows.upper)
        _, where, same = np.unique(rows.keys(), return_index=True, return_inverse=True)
        order = np.argsort(where)
        keep = np.zeros(len(rows), dtype=bool)
        keep[where] = True
        t = np.bincount(same, t, len(where)).astype(np.float64)[order]
        return SemidefiniteProgram(
            n, weights, np.zeros(m, dtype=bool), rows.take(keep), t,
            z, push, onto.T @ self.dual @ onto, self.penalty, 0.0,
            np.zeros(len(where), dtype=np.int64), onto.T @ self.factor, z, self.reach,
        )  # fmt: skip


def _usual(weights: FloatArray) -> float:
    """The mean of |w|, not 0; heavy pairs, which are as good as decided, do not count.

    Examples
    --------
    >>> _usual(np.array([1.0, -2.0, 3.0, -1000.0]))
    2.0
    """
    sizes = np.abs(weights)
    if (median := float(np.median(sizes)) if len(sizes) else 0.0) > 0.0:
        sizes = sizes[sizes <= HEAVY * median]
    return max(float(sizes.sum()) / max(1, len(sizes)), TINY)


def joined_places(n: int, i: int, j: int) -> IntArray:
    """Where the nodes are once j is joined to i < j.

    Examples
    --------
    >>> joined_places(5, 1, 3).tolist()
    [0, 1, 2, 1, 3]
    """
    place = np.arange(n)
    place[j] = i
    place[j + 1 :] -= 1
    return place


@compiled
def _iterate(
    weights: FloatArray,
    least: float,
    most: FloatArray,
    z: FloatArray,
    push: FloatArray,
    dual: FloatArray,
    starts: IntArray,
    indices: NDArray[np.int32],
    values: FloatArray,
    right: FloatArray,
    t: FloatArray,
    penalty: float,
    scale: float,
    count: int,
) -> tuple[FloatArray, FloatArray, float]:
    """Iterate in place; returns V with ``dual = V V^T``, Y, and how the penalty is to change.

    The rows are those of z: ``values z <= right``, all values 1 or -1.
    """
    n, m = len(dual), len(z)
    edges, begin = indices.astype(np.uint32), starts.astype(np.uint64)
    middle, before, y = np.empty((n, n)), np.empty(m), np.empty(m)
    factor, change, positive = np.empty((n, 0)), 1.0, np.eye(n)
    for step in range(count):
        e, beyond = 0, BEYOND if step > 0 else 0.0
        for i in range(n):
            middle[i, i] = 1.0 + beyond * (1.0 - positive[i, i]) - dual[i, i] / penalty
            for j in range(i + 1, n):
                ahead = z[e] + beyond * (z[e] - positive[i, j])
                middle[i, j] = middle[j, i] = ahead - dual[i, j] / penalty
                e += 1
        eigenvalues, vectors = np.linalg.eigh(middle)
        k = 0
        while k < n and eigenvalues[k] < 0.0:
            k += 1
        if 2 * k <= n:
            half = vectors[:, :k] * np.sqrt(-eigenvalues[:k])
            negative = np.dot(half, half.T)
            positive = middle + negative
        else:
            half = vectors[:, k:] * np.sqrt(eigenvalues[k:])
            positive = np.dot(half, half.T)
            negative = positive - middle
        for i in range(n):
            for j in range(n):
                dual[i, j] = penalty * negative[i, j]
        before[:] = z
        e = 0
        for i in range(n):
            for j in range(i + 1, n):
                z[e] = positive[i, j] + negative[i, j] + 0.5 * weights[e] / penalty + push[e]
                e += 1
        for r in range(len(t)):
            if t[r] > 0.0:
                for q in range(begin[r], begin[r + 1]):
                    z[edges[q]] -= t[r] * values[q]
        for _ in range(SWEEPS):
            for r in range(len(t)):
                above = -right[r]
                for q in range(begin[r], begin[r + 1]):
                    above += values[q] * z[edges[q]]
                d = max(above / (begin[r + 1] - begin[r]), -t[r])
                if d != 0.0:
                    t[r] += d
                    for q in range(begin[r], begin[r + 1]):
                        z[edges[q]] -= d * values[q]
            for e in range(m):
                free = z[e] - push[e]
                z[e] = min(most[e], max(least, free))
                push[e] = z[e] - free
        if step == count - 1:
            differ, moved = 0.0, 0.0
            e = 0
            for i in range(n):
                differ += (positive[i, i] - 1.0) ** 2
                for j in range(i + 1, n):
                    differ += 2.0 * (positive[i, j] - z[e]) ** 2
                    moved += 2.0 * (z[e] - before[e]) ** 2
                    y[e] = positive[i, j]
                    e += 1
            differ, moved = np.sqrt(differ), penalty * np.sqrt(moved) / scale
            if differ > UNEVEN * moved:
                change = STEP
            elif moved > UNEVEN * differ:
                change = 1.0 / STEP
            factor = vectors[:, :k] * np.sqrt(-penalty * eigenvalues[:k])
    return factor, y, change
