"""Files of tables: CSV with a header, Parquet, Arrow; only the columns that are asked for."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io.arrow import require_pyarrow
from ..io.files import FormatError, check_target, suffix_of, write_bytes

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD_INPUT = "-"
"""As the name of a file: CSV from the standard input."""

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
}
EXPECTED = f"a name that ends in one of {', '.join(SUFFIXES)}"

_HEADER = 2**20
"""Bytes within which a header ends."""

Rows = Callable[[int, int | None], None]
"""Is told how many rows have been read, and of how many if that is known."""


class TableFile:
    """A file, or a folder of Parquet files, whose columns can be read.

    Attributes
    ----------
    columns : list of str
        Their names.
    """

    def __init__(self, path: str | Path) -> None:
        self._name = "standard input" if path == STANDARD_INPUT else str(path)
        pa = require_pyarrow()
        self._path, self._data, self._dataset = Path(path), None, None
        kind = "csv"
        if path == STANDARD_INPUT:
            self._data = pa.py_buffer(sys.stdin.buffer.read())
        else:
            kind = "parquet" if self._path.is_dir() else kind_of(self._path)
            self._path.stat()  # says that there is no such file
        try:
            if kind == "csv":
                self._separator, self.columns = self._header()
            else:
                import pyarrow.dataset as ds

                self._dataset = ds.dataset(self._path, format=kind)
                self.columns = self._dataset.schema.names
        except (pa.ArrowInvalid, OSError) as error:
            raise FormatError(f"{self._name}: not a readable {kind} file ({error})") from error

    def read(self, names: Sequence[str], told: Rows) -> pa.Table:
        """Read some columns; those of a CSV file are text, so that ids stay as they are written."""
        pa, names = require_pyarrow(), list(dict.fromkeys(names))
        batches, read = [], 0
        try:
            rows = None if self._dataset is None else self._dataset.count_rows()
            for batch in self._batches(names):
                batches.append(batch)
                read += len(batch)
                told(read, rows)
            schema = None if batches else pa.schema([(name, pa.large_string()) for name in names])
            return pa.Table.from_batches(batches, schema)
        except (pa.ArrowInvalid, OSError) as error:
            raise FormatError(f"{self._name}: {error}") from error

    def _batches(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        if self._dataset is not None:
            yield from self._dataset.to_batches(columns=names)
            return
        import pyarrow as pa
        import pyarrow.csv as pc

        yield from pc.open_csv(
            self._stream(),
            parse_options=pc.ParseOptions(delimiter=self._separator),
            convert_options=pc.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()),
                include_columns=names,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _stream(self) -> Any:
        pa = require_pyarrow()
        return pa.input_stream(
            str(self._path) if self._data is None else self._data, compression="detect"
        )

    def _header(self) -> tuple[str, list[str]]:
        """What separates the columns of a CSV file, and what they are called."""
        with self._stream() as stream:
            text = stream.read(_HEADER).decode("utf-8-sig", errors="replace")
        line = text.lstrip("\r\n").splitlines()[0] if text.strip() else ""
        if not line:
            raise FormatError(f"{self._name}: the file is empty; expected a header with columns")
        separator = max("\t,;", key=line.count)
        return separator, next(csv.reader([line], delimiter=separator))


def kind_of(path: Path) -> str:
    """The format that the name of a file says: 'csv', 'parquet' or 'ipc'."""
    kind = SUFFIXES.get(suffix_of(path))
    if kind is None or (kind != "csv" and path.suffix.lower() == ".gz"):
        raise ValueError(f"{path}: expected {EXPECTED} (.csv and .tsv may be gzipped)")
    return kind


def check_table_target(path: Path, *, force: bool) -> None:
    """Refuse what a table cannot be written to, before there is one."""
    kind_of(path)
    check_target(path, force=force)


def write_table(table: pa.Table, path: Path, *, force: bool) -> None:
    """Write a table in the format that the suffix says; the file is complete or as it was."""
    pa, kind = require_pyarrow(), kind_of(path)
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, sink)
    elif kind == "ipc":
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    else:
        import pyarrow.csv as pc

        separator = "\t" if suffix_of(path) == ".tsv" else ","
        pc.write_csv(table, sink, pc.WriteOptions(delimiter=separator, quoting_style="needed"))
    write_bytes(path, sink.getvalue().to_pybytes(), force=force)
