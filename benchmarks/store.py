"""Runs as JSON lines in one file: appended, never overwritten, found again after a kill."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bdcc_jax.cli.common import finite

Record = dict[str, Any]
"""One run: what was asked for (with its ``key``) and what came out."""


class Store:
    """The runs of one file.

    Parameters
    ----------
    path : Path
        Need not exist yet. A last line that a kill cut short is left alone and not read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "runs.jsonl"
    ...     Store(path).append({"key": "a", "seconds": 1.5})
    ...     "a" in Store(path), "b" in Store(path)
    (True, False)
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.records: list[Record] = []
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue
                if isinstance(record, dict) and "key" in record:
                    self.records.append(record)
        self._keys = {record["key"] for record in self.records}

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def append(self, record: Record) -> None:
        """Write a run to the end of the file, in one piece and through to the disk."""
        line = json.dumps(finite(record), allow_nan=False).encode() + b"\n"
        with self._path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)
        self._keys.add(record["key"])


def key(asked: Record) -> str:
    """The name of what was asked for: the same for the same instance, options and machine."""
    text = json.dumps(asked, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def newest(records: Iterable[Record]) -> list[Record]:
    """Of several runs of a method on an instance the last one."""
    last = {(record["instance"], record["method"]): record for record in records}
    return list(last.values())
