"""The records that pairs name, numbered; and the pairs, each once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.validation import canonical_edges, sum_by_key
from ..instance.graph import Graph
from ..io.arrow import ids, numbered, require_pyarrow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Records:
    """Who is in the table.

    Attributes
    ----------
    columns : dict from str to pyarrow.Array
        What names the records: their ids, after their datasets where there are any.
    left, right : ndarray of int
        The records of every pair, as positions in these columns.
    datasets : ndarray of int, or None
        The number of the dataset of every record.
    """

    columns: dict[str, Any]
    left: IntArray
    right: IntArray
    datasets: IntArray | None

    @property
    def n(self) -> int:
        """How many there are."""
        return len(next(iter(self.columns.values())))


def records_of(
    ends: Sequence[Sequence[pa.ChunkedArray]],
    nodes: Sequence[pa.ChunkedArray] | None,
    names: list[str],
) -> Records:
    """Number the records of two columns of ids, each maybe after a column of datasets.

    Those of ``nodes`` come first, in their order, then the others by first appearance.
    """
    given = [] if nodes is None else [nodes]
    codes, keys = [], []
    for level in range(len(names)):
        parts = [ids(each[level], names[level]) for each in (*given, *ends)]
        numbers, found = numbered(parts)
        codes.append(numbers)
        keys.append(found)
    datasets, columns = None, {names[-1]: keys[-1]}
    numbers = codes[-1]
    if len(names) == 2:  # a record is a dataset and an id
        numbers, datasets, columns = _both(codes, keys, names)
    if nodes is not None:
        _check_nodes(numbers, columns)
    return Records(columns, numbers[-2], numbers[-1], datasets)


def _both(
    codes: list[list[IntArray]], keys: list[Any], names: list[str]
) -> tuple[list[IntArray], IntArray, dict[str, Any]]:
    pa = require_pyarrow()
    many = len(keys[1])
    both = [first * many + second for first, second in zip(*codes, strict=True)]
    numbers, found = numbered([pa.chunked_array([part]) for part in both])
    which = np.asarray(found, dtype=np.int64)
    datasets = which // many
    columns = {
        names[0]: keys[0].take(pa.array(datasets)),
        names[1]: keys[1].take(pa.array(which % many)),
    }
    return numbers, datasets, columns


def _check_nodes(numbers: list[IntArray], columns: dict[str, Any]) -> None:
    listed, left, right = numbers
    count = int(listed.max(initial=-1)) + 1
    if len(listed) > count:
        twice = int(np.flatnonzero(np.bincount(listed) > 1)[0])
        raise ValueError(f"nodes: record {_shown(columns, twice)} is listed twice")
    strangers = np.maximum(left, right) >= count
    if strangers.any():
        row = int(np.flatnonzero(strangers)[0])
        who = _shown(columns, int(max(left[row], right[row])))
        raise ValueError(
            f"row {row} (counted from 0) names record {who}, which is not among the {count} of "
            "nodes; nodes must list all records, or be left out"
        )


def _shown(columns: dict[str, Any], record: int) -> str:
    return ", ".join(repr(column[record].as_py()) for column in columns.values())


def graph_of(records: Records, weights: FloatArray, scored: BoolArray) -> Graph:
    """The instance: each pair once, in whatever direction, with the mean of its weights.

    Says in one warning each what was left out.
    """
    n, u, v = records.n, records.left, records.right
    if n == 0:
        raise ValueError("there are no records: the table has no rows, and no nodes are given")
    selfs = u == v
    for left_out, what in (
        (~scored, "have no score, and count 0"),
        (selfs, "are of a record with itself, and say nothing"),
    ):
        if left_out.any():
            first = int(np.flatnonzero(left_out)[0])
            warnings.warn(
                f"{int(left_out.sum())} of {len(u)} pairs {what} (the first is row {first}, "
                "counted from 0)",
                stacklevel=4,
            )
    kept = scored & ~selfs
    u, v, weights = u[kept], v[kept], weights[kept]
    keys = np.minimum(u, v) * n + np.maximum(u, v)
    once = len(keys) == 0 or bool((np.diff(np.sort(keys)) > 0).all())
    if not once:
        distinct, counts = np.unique(keys, return_counts=True)
        weights = sum_by_key(keys, weights)[1] / counts
        u, v = distinct // n, distinct % n
        warnings.warn(
            f"{len(keys) - len(distinct)} rows name a pair again, in this or the other direction: "
            "each pair counts once, with the mean of its log-odds",
            stacklevel=4,
        )
    return Graph._trusted(n, *canonical_edges(n, u, v, weights))
