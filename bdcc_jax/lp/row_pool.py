"""An LP whose rows come and go, and all the rows that it ever had.

The LPs of branch and bound are small if each has only the rows that were tight in the last LP of
the node above, and those that it finds itself. Proofs name rows by their number in the pool, which
stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from .master import AT_LOWER, BASIC, Master
from .rows import Rows


class Start(NamedTuple):
    """Rows of the pool, in order, and the basis of an LP over them."""

    numbers: IntArray
    columns: IntArray
    rows: IntArray


class RowPool:
    """Adds rows to an LP and remembers them all.

    Parameters
    ----------
    master : Master
        The LP; its rows are the first ones of the pool.
    """

    def __init__(self, master: Master) -> None:
        self._master = master
        self.rows = master.rows
        self._number = {key: i for i, key in enumerate(master.rows.keys().tolist())}
        self._active = np.arange(len(master.rows))

    def solve(self, clock: Clock) -> FloatArray:
        """A minimiser over the rows that are in the LP now."""
        return self._master.solve(clock)

    def has(self, rows: Rows) -> bool:
        """Whether each of these rows is in the LP now."""
        return self._master.has(rows)

    def add(self, rows: Rows) -> None:
        """Add rows that are valid for every clustering."""
        size, active = len(self.rows), set(self._active.tolist())
        unknown, missing = np.zeros((2, len(rows)), dtype=bool)
        numbers = []
        for i, key in enumerate(rows.keys().tolist()):
            number = self._number.setdefault(key, size)
            unknown[i], missing[i] = number == size, number not in active
            size += unknown[i]
            if missing[i]:
                active.add(number)
                numbers.append(number)
        self.rows = Rows.concatenate([self.rows, rows.take(unknown)])
        self._active = np.concatenate([self._active, np.array(numbers, dtype=np.int64)])
        self._master.add(rows.take(missing))

    def forget(self, x: FloatArray) -> None:
        """Take rows out of the LP that have been slack for a while, x being its solution."""
        self._active = self._active[self._master.drop_slack_rows(x)]

    @property
    def used(self) -> tuple[IntArray, FloatArray]:
        """The rows that prove the bound of the last LP, and their multipliers."""
        multipliers = self._master.multipliers
        positive = np.flatnonzero(multipliers > 0)
        return self._active[positive], multipliers[positive]

    @property
    def start(self) -> Start:
        """The rows that are tight in the last LP, and its basis, which needs no others."""
        columns, rows = self._master.basis
        tight = np.flatnonzero(rows != BASIC)
        tight = tight[np.argsort(self._active[tight], kind="stable")]
        return Start(self._active[tight], columns, rows[tight])

    def scratch(self, numbers: IntArray) -> Start:
        """Some rows, and the basis that is there without having solved anything."""
        numbers = np.sort(numbers)
        columns = np.full(len(self._master.columns), AT_LOWER)
        return Start(numbers, columns, np.full(len(numbers), BASIC))

    def start_from(self, start: Start) -> None:
        """Let the next LP have these rows only, and start from this basis."""
        chosen = np.zeros(len(self.rows), dtype=bool)
        chosen[start.numbers] = True
        self._master.replace(self.rows.take(chosen))
        self._active = start.numbers
        self._master.start_from(start.columns, start.rows)
