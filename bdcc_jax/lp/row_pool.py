"""An LP whose rows come and go, and all the rows that it ever had.

The LPs of branch and bound are small if each has only the rows that were tight in the last LP of
the node above, and those that it finds itself. Proofs name rows by their number in the pool, which
stays.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from .master import Master
from .rough_master import RoughMaster
from .rows import Rows


class Start(NamedTuple):
    """Rows of the pool, in order, and where an LP over them starts: None if from scratch."""

    numbers: IntArray
    where: tuple[NDArray[Any], NDArray[Any]] | None = None


class RowPool:
    """Adds rows to an LP and remembers them all.

    Parameters
    ----------
    master : Master or RoughMaster
        The LP; its rows are the first ones of the pool.
    """

    def __init__(self, master: Master | RoughMaster) -> None:
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

    def refine(self) -> bool:
        """Let the next solution be a more precise one; False if it cannot be."""
        return self._master.refine()

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
        """The rows that matter in the last LP, and where it ended, which needs no others."""
        columns, rows, needed = self._master.state
        chosen = np.flatnonzero(needed)
        chosen = chosen[np.argsort(self._active[chosen], kind="stable")]
        return Start(self._active[chosen], (columns, rows[chosen]))

    def start_from(self, start: Start) -> None:
        """Let the next LP have these rows only, and start from there."""
        chosen = np.zeros(len(self.rows), dtype=bool)
        chosen[start.numbers] = True
        self._master.replace(self.rows.take(chosen))
        self._active = start.numbers
        if start.where is not None:
            self._master.start_from(*start.where)
