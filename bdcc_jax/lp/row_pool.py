"""An LP whose rows come and go, and all the rows that proofs and later LPs need.

The LPs of branch and bound are small if each has only the rows that were tight in the last LP of
the node above, and those that it finds itself. Most of these are dropped before the node is done.
The others are kept, once: proofs name rows by their number in the pool, which stays.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from .master import Master
from .rough_master import RoughMaster
from .rows import GrowingRows, Rows


class Start(NamedTuple):
    """Rows of the pool, in order, and where an LP over them starts: None if from scratch."""

    numbers: IntArray
    where: tuple[NDArray[Any], NDArray[Any]] | None = None


class Proven(NamedTuple):
    """Rows that an LP had, the key of each, and multipliers that prove its bound."""

    rows: Rows
    keys: NDArray[np.uint64]
    multipliers: FloatArray


class RowPool:
    """Adds rows to an LP and remembers those that are needed later.

    Parameters
    ----------
    master : Master or RoughMaster
        The LP; its rows are the first ones of the pool.
    """

    def __init__(self, master: Master | RoughMaster) -> None:
        self._master = master
        self._kept = GrowingRows()
        self._number: dict[int, int] = {}
        self._keys = master.rows.keys()  # of the rows of the LP
        self._keep(master.rows, self._keys)

    @property
    def rows(self) -> Rows:
        """The rows that are remembered; the same ones stay in front."""
        return self._kept.rows

    def solve(self, clock: Clock) -> FloatArray:
        """A minimiser over the rows that are in the LP now."""
        return self._master.solve(clock)

    def has(self, rows: Rows) -> bool:
        """Whether each of these rows is in the LP now."""
        return self._master.has(rows)

    def refine(self) -> bool:
        """Let the next solution be a more precise one; False if it cannot be."""
        return self._master.refine()

    def add(self, rows: Rows) -> None:
        """Add rows that are valid for every clustering, if they are not in the LP."""
        keys = rows.keys()
        missing = np.zeros(len(keys), dtype=bool)
        missing[np.unique(keys, return_index=True)[1]] = True
        missing &= ~np.isin(keys, self._keys)
        self._keys = np.concatenate([self._keys, keys[missing]])
        self._master.add(rows.take(missing))

    def forget(self, x: FloatArray) -> None:
        """Take rows out of the LP that have been slack for a while, x being its solution."""
        self._keys = self._keys[self._master.drop_slack_rows(x)]

    @property
    def proven(self) -> Proven:
        """What proves the bound of the last LP."""
        return Proven(self._master.rows, self._keys, self._master.multipliers)

    def keep(self, proven: Proven) -> tuple[IntArray, FloatArray]:
        """Remember the rows that prove a bound; returns their numbers and multipliers."""
        positive = proven.multipliers > 0
        return self._keep_some(proven.rows, proven.keys, positive), proven.multipliers[positive]

    @property
    def start(self) -> Start:
        """The rows that matter in the last LP, and where it ended, which needs no others."""
        columns, rows, needed = self._master.state
        numbers = self._keep_some(self._master.rows, self._keys, needed)
        order = np.argsort(numbers, kind="stable")
        return Start(numbers[order], (columns, rows[needed][order]))

    def start_from(self, start: Start) -> None:
        """Let the next LP have these rows only, and start from there."""
        chosen = np.zeros(len(self.rows), dtype=bool)
        chosen[start.numbers] = True
        rows = self.rows.take(chosen)
        self._master.replace(rows)
        self._keys = rows.keys()
        if start.where is not None:
            self._master.start_from(*start.where)

    def _keep_some(self, rows: Rows, keys: NDArray[np.uint64], chosen: BoolArray) -> IntArray:
        return self._keep(rows.take(chosen), keys[chosen])

    def _keep(self, rows: Rows, keys: NDArray[np.uint64]) -> IntArray:
        """Remember rows, those that are not known yet behind the others; returns their numbers."""
        size = len(self.rows)
        numbers = np.empty(len(keys), dtype=np.int64)
        unknown = np.zeros(len(keys), dtype=bool)
        for i, key in enumerate(keys.tolist()):
            numbers[i] = number = self._number.setdefault(key, size)
            unknown[i] = number == size
            size += unknown[i]
        self._kept.append(rows.take(unknown))
        return numbers
