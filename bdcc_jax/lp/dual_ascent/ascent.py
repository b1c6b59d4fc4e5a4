"""Dual ascent: find conflicted cycles, pass messages, take first-order steps, and again."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import frexp, ldexp

import jax
import numpy as np
from numpy.typing import NDArray

from ...base.arrays import BoolArray, FloatArray
from ...base.clock import Clock
from ...instance.graph import Graph
from ..lagrangian import Lagrangian
from ..rows import Rows
from . import kernels
from .batched_cycles import widest_cycles
from .chords import without_chords
from .cycles import conflicted_cycles
from .padding import room
from .pair_table import PairTable

FIRST_LENGTH, LAST_LENGTH = 5, 9
"""Edges of a cycle, at most: at first, and when shorter ones become rare."""

FIRST_LEAST, LAST_LEAST = 0.1, 1e-5
"""What a cycle must carry, as a share of the mean |w|: at first, and at last."""

RARE = 0.3
"""Where fewer triangles than this share are new, cycles may be longer, and carry half as much."""

TOO_RARE = 0.05
"""Where the device finds fewer new triangles than this share, the host searches too: it has longer
cycles, but a round of the device takes much less time than its search."""

DEPLETION = 0.3
"""The share of what a cycle carries that no other one of the same round may use."""

SWEEPS_BEFORE, SWEEPS_AFTER = 20, 10
"""Sweeps before the first-order steps, which start well from them, and after, because conflicted
cycles are found where no reduced costs are exactly 0."""

RESTARTS, STEPS = 2, 30
"""First-order steps in a round: between two restarts, and how many times that."""

STEP_WEIGHT = 0.3
"""Steps in multipliers against steps in x, in units of the mean |w|."""

PIECE, LARGE, LARGE_PIECE = 10, 2**20, 2
"""Turns of a kernel between two looks at the clock, also for so many triangles."""

STALLED = 1e-6
"""The bound of a round without new triangles must rise by this share, or the ascent is over."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A snapshot of the ascent.

    Attributes
    ----------
    graph : Graph
        The instance.
    pairs : Graph
        The same with chords, pairs of weight 0, behind its edges.
    triangles : ndarray, shape (3, T)
        The pairs of every triangle.
    y : ndarray, shape (3, T)
        The multipliers of its rows: ``y[i]`` of the one with pair i on its left-hand side.
    bound : float
        No clustering costs less.
    reduced : ndarray, shape (pairs,)
        Reduced costs: at the edges, the weights that the ascent leaves to be decided.
    x : ndarray, shape (pairs,)
        A solution of the LP over the triangles, as far as the first-order steps have got.
    """

    graph: Graph
    pairs: Graph
    triangles: NDArray[np.int32]
    y: FloatArray
    bound: float
    reduced: FloatArray
    x: FloatArray

    @cached_property
    def rows(self) -> tuple[Rows, FloatArray]:
        """Cycle inequalities over edges of the instance, and multipliers that prove the bound.

        What they prove is at least ``bound``, but for rounding errors; see :mod:`.chords`.
        """
        ends = self.pairs.edges.astype(np.int32)
        return without_chords(self.graph.n, self.graph.m, ends, self.triangles, self.y)


class DualAscent:
    """A lower bound that rises round by round, without an LP solver.

    Parameters
    ----------
    graph : Graph
        The instance.
    device : jax.Device, optional
        Where sweeps and first-order steps run; JAX' default if not given.
    batched : bool, optional
        Whether the device also searches for cycles, and the host only where it finds few. If not
        given, it does unless it is a CPU, on which the search of the host is quicker.
    clock : Clock, optional
        Asked between pieces of work that take a fraction of a second.
    lengths : tuple of int
        Edges of a cycle, at most: at first, and when shorter ones become rare. Where most repelling
        edges have no conflict, the search for long cycles takes long, and short ones say much.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [3.0, 2.0, 3.0, -1.0])
    >>> *_, last = DualAscent(graph).run()
    >>> round(last.bound, 4) + 0.0, graph.negative_sum
    (0.0, -1.0)
    >>> rows, y = last.rows
    >>> rows.indices.tolist()  # x_03 <= x_01 + x_12 + x_23
    [1, 0, 2, 3]
    """

    def __init__(
        self,
        graph: Graph,
        *,
        device: jax.Device | None = None,
        batched: bool | None = None,
        clock: Clock | None = None,
        lengths: tuple[int, int] = (FIRST_LENGTH, LAST_LENGTH),
    ) -> None:
        self._graph, self._clock = graph, clock or Clock(None)
        self._device = device or jax.devices()[0]
        self._batched = self._device.platform != "cpu" if batched is None else batched
        self._table = PairTable(graph)
        mean = float(np.abs(graph.weights).mean()) if graph.m else 1.0
        self._unit = ldexp(1.0, frexp(mean)[1])  # a power of two: nothing is rounded by it
        self._mean = mean / self._unit
        (self._length, self._last_length), self._share = lengths, FIRST_LEAST

    def run(self) -> Iterator[Relaxed]:
        """Yield a snapshot after every round, until no conflicted cycle is left to be found.

        A snapshot is no worse than those before. Raises TimeLimitReached at the deadline of the
        clock; what was yielded by then is good.
        """
        now = best = self._start()
        while True:
            before = self._table.count
            new = self._separate(now.reduced)
            now = self._ascend(now)
            risen = now.bound - best.bound
            if risen > 0.0:
                best = now
            yield best
            over = self._length == self._last_length and self._share <= LAST_LEAST
            if new == 0 and over and risen <= STALLED * abs(best.bound):
                return
            if self._scarce(before):
                self._length = min(self._length + 1, self._last_length)
                self._share = max(self._share / 2, LAST_LEAST)

    def _start(self) -> Relaxed:
        pairs, none = self._graph, np.empty((3, 0))
        x = (pairs.weights < 0).astype(np.float64)
        return Relaxed(
            pairs, pairs, none.astype(np.int32), none, pairs.negative_sum, pairs.weights, x
        )

    def _separate(self, reduced: FloatArray) -> int:
        """Find conflicted cycles; returns how many triangles are new."""
        self._clock.check()
        n, table, least = self._graph.n, self._table, self._share * self._mean * self._unit
        before = table.count
        with self._clock.measure("detection"):
            if self._batched:
                with self._clock.device_call():
                    found = widest_cycles(n, table.ends, reduced, least=least, device=self._device)
                table.add_cycles(*found)
                self._clock.check()
            if not self._batched or self._scarce(before, TOO_RARE):
                cycles = conflicted_cycles(
                    n,
                    table.ends,
                    np.append(reduced, np.zeros(len(table.ends) - len(reduced))),
                    least=least,
                    longest=self._length,
                    depletion=DEPLETION,
                    clock=self._clock,
                )
                table.add_cycles(*cycles)
        return table.count - before

    def _scarce(self, before: int, share: float = RARE) -> bool:
        """Whether few triangles have come since there were so many."""
        now = self._table.count
        return now - before <= share * now

    def _ascend(self, before: Relaxed) -> Relaxed:
        """Sweeps, first-order steps and sweeps; every one from where the last one ended."""
        triangles, pairs = self._table.triangles.copy(), self._table.pairs
        x = np.append(before.x, np.full(pairs.m - len(before.x), 0.5))
        used = np.zeros(pairs.m, dtype=bool)
        used[triangles.ravel()] = True
        state = self._upload(pairs.weights[used], _renumbered(triangles, used), before.y, x[used])
        with self._clock.measure("ascent"):
            state = self._sweep(state, SWEEPS_BEFORE)
            state = self._polish(state)
            state = self._sweep(state, SWEEPS_AFTER)
            new_y, new_x = jax.device_get((state.y, state.x))
        x[used] = new_x[: used.sum()]
        y = np.stack(new_y)[:, : triangles.shape[1]].astype(np.float64) * self._unit
        rows, multipliers = _triangle_rows(triangles, y)
        relaxed = Lagrangian.of(pairs.weights, rows, multipliers)
        return Relaxed(self._graph, pairs, triangles, y, relaxed.bound, relaxed.reduced, x)

    def _upload(
        self, weights: FloatArray, triangles: NDArray[np.int32], y: FloatArray, x: FloatArray
    ) -> kernels.State:
        """The state on the device, in a unit in which weights are about 1, and padded."""
        size, last = room(triangles.shape[1]), room(len(weights) + 1) - 1
        sides = np.full((3, size), last, np.int32)
        sides[:, : triangles.shape[1]] = triangles
        multipliers = np.zeros((3, size), np.float32)
        multipliers[:, : y.shape[1]] = y / self._unit
        of_pairs = np.zeros((3, last + 1), np.float32)
        of_pairs[:2, : len(weights)] = x, weights / self._unit
        of_pairs[2] = np.maximum(np.bincount(sides.ravel(), minlength=last + 1), 1)
        arrays = (*sides, *multipliers, *of_pairs)
        a, b, c, y_a, y_b, y_c, *rest = (jax.device_put(each, self._device) for each in arrays)
        return kernels.State((a, b, c), (y_a, y_b, y_c), *rest)

    def _sweep(self, state: kernels.State, sweeps: int) -> kernels.State:
        piece = _piece(state)
        for _ in range(sweeps // piece):
            with self._clock.device_call():
                state = state._replace(y=kernels.sweep(state, piece))
                state.y[0].block_until_ready()
            self._clock.check()
        return state

    def _polish(self, state: kernels.State) -> kernels.State:
        """PDHG with a restart after every ``STEPS`` steps, to the last T(v)."""
        piece = _piece(state)
        weight = np.float32(STEP_WEIGHT * self._mean)
        for _ in range(RESTARTS):
            usable = v = anchor = (state.x, state.y)
            for done in range(0, STEPS, piece):
                now = state._replace(x=v[0], y=v[1])
                with self._clock.device_call():
                    usable, v = kernels.polish(now, anchor, np.float32(done), weight, piece)
                    usable[0].block_until_ready()
                self._clock.check()
            state = state._replace(x=usable[0], y=usable[1])
        return state


def _piece(state: kernels.State) -> int:
    return PIECE if len(state.y[0]) <= LARGE else LARGE_PIECE


def _renumbered(triangles: NDArray[np.int32], used: BoolArray) -> NDArray[np.int32]:
    """The triangles over the pairs that are used alone: others have nothing to do on a device."""
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return number[triangles]


def _triangle_rows(triangles: NDArray[np.int32], y: FloatArray) -> tuple[Rows, FloatArray]:
    """The rows with positive multipliers, over pairs."""
    parts = [np.roll(triangles, -i, axis=0)[:, y[i] > 0.0] for i in range(3)]
    indices = np.concatenate([part.T.ravel() for part in parts])
    starts = np.arange(0, len(indices) + 1, 3)
    return Rows.of_cycles(starts, indices), np.concatenate([y[i][y[i] > 0.0] for i in range(3)])
