"""Tables of any kind as columns of Arrow: pandas, polars, pyarrow, DuckDB, splink. Needs pyarrow.

All of these hand their columns over by the Arrow C stream; splink and lazy frames of polars
compute their rows first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arrays import IntArray
from ..base.environment import install_hint

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = "a table of pandas, polars, pyarrow, DuckDB or splink"


def require_pyarrow() -> Any:
    """Import pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"tables need pyarrow: {install_hint('tables')}") from error
    return pyarrow


def pyarrow_tables() -> tuple[type, ...]:
    """The classes of pyarrow that are tables."""
    pa = require_pyarrow()
    return pa.Table, pa.RecordBatch, pa.RecordBatchReader


def is_table(obj: Any) -> bool:
    """Whether an object is a table, that is, has columns with names."""
    if hasattr(obj, "as_pyarrow_table") or _is_lazy(obj):
        return True
    streams = hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__arrow_c_array__")
    return streams and (hasattr(obj, "columns") or hasattr(obj, "schema"))


def _is_lazy(obj: Any) -> bool:
    """Whether this is a lazy frame of polars."""
    return hasattr(obj, "collect_schema") and hasattr(obj, "collect")


def column_names(table: Any) -> list[str]:
    """The names of the columns of a table of any kind."""
    if _is_lazy(table):
        return list(table.collect_schema().names())
    if hasattr(table, "as_pyarrow_table"):
        return [column.unquote().name for column in table.columns]
    if type(table) in pyarrow_tables():  # whose "columns" are the columns themselves
        return list(table.schema.names)
    return [str(name) for name in table.columns]


def columns(table: Any, names: Sequence[str]) -> pa.Table:
    """Some columns of a table of any kind; the others are left alone, whatever they hold."""
    pa, names = require_pyarrow(), list(dict.fromkeys(names))
    try:
        if _is_lazy(table):
            return pa.table(table.select(names).collect())
        if hasattr(table, "as_pyarrow_table"):
            return table.as_pyarrow_table().select(names)
        if hasattr(table, "iloc"):  # pandas would convert all columns first
            return pa.table(table[names]).select(names)
        if isinstance(table, pa.RecordBatch):
            table = pa.table(table)
        reader = pa.RecordBatchReader.from_stream(table)
        schema = pa.schema([reader.schema.field(name) for name in names])
        return pa.Table.from_batches((batch.select(names) for batch in reader), schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"columns {names} are not what a table can hold: {error}") from error


def column(values: Any) -> pa.ChunkedArray:
    """One column, given as a list, an array or a series of any kind."""
    pa = require_pyarrow()
    try:
        if isinstance(values, pa.ChunkedArray):
            return values
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        return pa.chunked_array([pa.array(values)])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"not a column of text or of numbers: {error}") from error


def like(table: pa.Table, kind: Any) -> Any:
    """The same table, of the kind that another one is of; that of Arrow where there is none."""
    import sys

    if hasattr(kind, "iloc"):
        return table.to_pandas()
    polars, duckdb = (sys.modules.get(name) for name in ("polars", "duckdb"))
    if polars is not None and isinstance(kind, polars.DataFrame | polars.LazyFrame):
        frame = polars.from_arrow(table)
        return frame.lazy() if isinstance(kind, polars.LazyFrame) else frame
    if duckdb is not None and isinstance(kind, duckdb.DuckDBPyRelation):
        # In the connection of the other one, or the two could not be joined. DuckDB finds the
        # table by the name of this variable.
        made = table  # noqa: F841
        return kind.query("bdcc_jax_pairs", "SELECT * FROM made")
    return table


def ids(values: pa.ChunkedArray, what: str) -> pa.ChunkedArray:
    """A column that names things: text, or whole numbers; refuses all else, and gaps.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ids(pa.chunked_array([[1.0, 2.0]]), "source").type, ids(column(["a"]), "source").type
    (DataType(int64), DataType(large_string))
    """
    pa = require_pyarrow()
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        values = values.cast(kind)
    if values.null_count:
        row = pc.index(values.is_null(), True).as_py()
        raise ValueError(f"column {what!r} has no id in row {row} (rows are counted from 0)")
    if pa.types.is_floating(kind):
        bad = pc.or_(pc.is_nan(values), pc.not_equal(pc.floor(values), values))
        if (row := pc.index(bad, True).as_py()) >= 0:
            raise ValueError(
                f"column {what!r} must hold text or whole numbers: row {row} is {values[row]}"
            )
        return values.cast(pa.int64())
    if pa.types.is_integer(kind):
        largest = pc.max(values).as_py() if pa.types.is_uint64(kind) and len(values) else 0
        return values.cast(pa.int64() if largest < 2**63 else pa.large_string())
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)) and str(kind) not in (
        "string_view",
        "null",
    ):
        raise ValueError(f"column {what!r} must hold text or whole numbers, not {kind}")
    return values.cast(pa.large_string())


def numbered(parts: Sequence[pa.ChunkedArray]) -> tuple[list[IntArray], pa.Array]:
    """Number what columns of ids name, in the order of first appearance: the numbers, the names.

    Where some columns are text and others are numbers, numbers are compared as text.

    Examples
    --------
    >>> codes, names = numbered([ids(column(["b", "a"]), "l"), ids(column(["a", "c"]), "r")])
    >>> [numbers.tolist() for numbers in codes], names.to_pylist()
    ([[0, 1], [1, 2]], ['b', 'a', 'c'])
    """
    pa = require_pyarrow()
    kinds = {part.type for part in parts if len(part)} or {pa.large_string()}
    kind = kinds.pop() if len(kinds) == 1 else pa.large_string()
    # In one piece: the dictionaries of many pieces would have to be compared with each other.
    chunks = [chunk for part in parts for chunk in part.cast(kind).chunks]
    encoded = pa.concat_arrays(chunks or [pa.array([], kind)]).dictionary_encode()
    stops = np.cumsum([len(part) for part in parts])[:-1]
    return np.split(np.asarray(encoded.indices, dtype=np.int64), stops), encoded.dictionary
