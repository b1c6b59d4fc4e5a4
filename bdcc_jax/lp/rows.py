"""Rows of the master: sparse inequalities ``sum_e omega_e x_e <= b``; b is 0 in Benders rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import BoolArray, FloatArray
from ..base.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in compressed form: row i is ``values[k] * x[indices[k]]`` over its slice of k.

    The slice is ``starts[i] : starts[i + 1]``, ``indices`` are edges, ``values`` the paper's omega
    (at most 0 on E+, at least 0 on E-), and ``upper`` the right-hand sides b.
    """

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: FloatArray
    upper: FloatArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @staticmethod
    def empty() -> Rows:
        """No rows at all."""
        return Rows(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0))

    @staticmethod
    def concatenate(parts: Iterable[Rows]) -> Rows:
        """All rows of several sets, in order."""
        parts = [Rows.empty(), *parts]
        offsets = np.cumsum([0] + [part.starts[-1] for part in parts[:-1]])
        starts = [part.starts[1:] + offset for part, offset in zip(parts, offsets, strict=True)]
        return Rows(
            np.concatenate([np.zeros(1, np.int64), *starts]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.upper for part in parts]),
        )

    @staticmethod
    def from_cycles(cycles: list[NDArray[np.int64]]) -> Rows:
        """Cycle inequalities ``x_first <= sum of the others``; the first edge is the one in E-."""
        lengths = np.array([len(cycle) for cycle in cycles], dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        edges = np.concatenate([np.empty(0, np.int64), *cycles]).astype(np.int32)
        return Rows.of_cycles(starts, edges)

    @staticmethod
    def of_cycles(starts: NDArray[np.int64], edges: NDArray[np.int32]) -> Rows:
        """The same from cycles one after another, the i-th of which begins at ``starts[i]``."""
        values = np.full(len(edges), -1.0)
        values[starts[:-1]] = 1.0
        return Rows(starts, edges, values, np.zeros(len(starts) - 1))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """By the names of the attributes."""
        return {name: getattr(self, name) for name in ("starts", "indices", "values", "upper")}

    @staticmethod
    def from_arrays(arrays: Mapping[str, Any]) -> Rows:
        """The rows as they were written."""
        return Rows(arrays["starts"], arrays["indices"], arrays["values"], arrays["upper"])

    def take(self, chosen: BoolArray) -> Rows:
        """Some of the rows."""
        lengths = np.diff(self.starts)
        entries = np.repeat(chosen, lengths)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[chosen])])
        return Rows(starts, self.indices[entries], self.values[entries], self.upper[chosen])

    def gather(self, chosen: NDArray[np.int64]) -> Rows:
        """The rows with these numbers, in this order."""
        lengths = np.diff(self.starts)[chosen]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entries = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
        return Rows(starts, self.indices[entries], self.values[entries], self.upper[chosen])

    def renamed(self, names: NDArray[np.int64]) -> Rows:
        """The same rows over other columns: ``names[e]`` in place of e."""
        return Rows(self.starts, names[self.indices].astype(np.int32), self.values, self.upper)

    def keys(self) -> NDArray[np.uint64]:
        """A number for every row: the same for the same row, in whatever order its entries come."""
        return _keys(self.starts, self.indices, self.values.view(np.uint64), self.upper)

    def violation(self, x: FloatArray) -> FloatArray:
        """By how much x violates each row."""
        return self.activity(x) - self.upper

    def activity(self, x: FloatArray) -> FloatArray:
        """``sum_e omega_e x_e`` of every row."""
        terms = self.values * x[self.indices]
        return np.bincount(self.row_of_entry(), terms, len(self)).astype(np.float64)

    def row_of_entry(self) -> NDArray[np.int64]:
        """The row that each entry belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


class GrowingRows:
    """Rows to which others are appended, time and again, without a copy of all of them each time.

    Examples
    --------
    >>> growing = GrowingRows()
    >>> growing.append(Rows.from_cycles([np.array([4, 2, 7])]))
    >>> before = growing.rows
    >>> growing.append(Rows.from_cycles([np.array([1, 0, 3, 5])]))
    >>> growing.rows.starts.tolist(), growing.rows.indices.tolist(), len(before)
    ([0, 3, 7], [4, 2, 7, 1, 0, 3, 5], 1)
    """

    def __init__(self) -> None:
        self._arrays = Rows.empty().to_arrays()  # with room behind the rows
        self.rows = Rows.empty()

    def append(self, more: Rows) -> None:
        """Put rows behind the others; what was read from ``rows`` before stays as it was."""
        old, first, entry = self.rows, len(self.rows), int(self.rows.starts[-1])
        views = {}
        for name, part in more.to_arrays().items():
            begin = entry if name in ("indices", "values") else first
            if name == "starts":
                begin, part = first + 1, part[1:] + entry
            end = begin + len(part)
            if end > len(self._arrays[name]):
                larger = np.empty(2 * end, dtype=part.dtype)
                larger[:begin] = getattr(old, name)
                self._arrays[name] = larger
            self._arrays[name][begin:end] = part
            views[name] = self._arrays[name][:end]
        self.rows = Rows.from_arrays(views)


@compiled
def _keys(
    starts: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.uint64],
    upper: NDArray[np.float64],
) -> NDArray[np.uint64]:
    """Sums of 64 bits that wrap, in which the order does not count; the steps are splitmix64's."""
    keys = upper.view(np.uint64) * _GOLDEN
    for i in range(len(keys)):
        for k in range(starts[i], starts[i + 1]):
            code = np.uint64(indices[k]) * _GOLDEN + values[k]
            code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            keys[i] += code ^ (code >> np.uint64(31))
    return keys
