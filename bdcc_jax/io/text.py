"""What the text formats share: decoding, comments, and numbers that say where they are wrong."""

import io
import re
import reprlib
import warnings
from codecs import BOM_UTF8
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..base.validation import MAX_NODES
from .files import FormatError

_NOT_BLANK = re.compile(rb"[^\s][^\r\n]*")
_SEPARATOR = re.compile(r"\s*,\s*|\s+")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def text_of(data: bytes, name: str, expected: str) -> str:
    """Decode a file's content; lines end in a newline whatever they ended in."""
    if b"\0" in data:
        raise FormatError(f"{name}: binary content; expected {expected}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{name}: not UTF-8 at byte {error.start}; expected {expected}"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def content(text: str, number: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of every line with its number, without ``#`` and ``c`` comments."""
    for at, line in enumerate(io.StringIO(text), start=number):
        rest = line.partition("#")[0].strip()
        if rest and rest.split(maxsplit=1)[0] != "c":
            yield at, _SEPARATOR.split(rest)


class Opening:
    """How a file begins, whatever it is: every format asks, and it is looked for once."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def words(self) -> list[str]:
        """Of the first line that is neither blank nor a ``#`` or ``c`` comment.

        If they are many, the first ones, and the rest as one.
        """
        return self._found[0]

    @property
    def edge(self) -> str:
        """The first line that is neither blank nor a ``#`` or ``%`` comment."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[list[str], str]:
        words: list[str] = []
        edge = ""
        for line in lines_of(self.data):
            if not words:
                words = line.partition("#")[0].replace(",", " ").split(maxsplit=9)
                words = [] if words[:1] == ["c"] else words
            if not edge and not line.startswith(("#", "%")):
                edge = line
            if words and edge:
                break
        return words, edge


def lines_of(data: bytes) -> Iterator[str]:
    """Yield the lines that are not blank one by one, without the space around them."""
    # Blank lines, of which a file may have millions, are passed by the search for the next one.
    for found in _NOT_BLANK.finditer(data, len(BOM_UTF8) * data.startswith(BOM_UTF8)):
        if line := found[0].decode(errors="replace").strip():
            yield line


def table(text: str, dtype: np.dtype[Any], **settings: Any) -> np.ndarray | None:
    """Parse clean text fast; None if there is anything to look at line by line."""
    # loadtxt looks digits up in a table for single bytes: other characters crash the process.
    if not text.isascii():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.loadtxt(io.StringIO(text), dtype=dtype, ndmin=1, **settings)
    except (ValueError, OverflowError, Warning):
        return None


def is_integer(field: str) -> bool:
    """Whether this is an integer that int64 holds."""
    # The length is checked first: Python refuses to convert thousands of digits.
    return (
        _INTEGER.fullmatch(field) is not None
        and len(field) <= 20
        and -(2**63) <= int(field) < 2**63
    )


def count(field: str, where: str, what: str, least: int, most: int) -> int:
    """Parse an integer within limits."""
    if not is_integer(field) or not least <= int(field) <= most:
        raise FormatError(
            f"{where}: expected {what} from {least} to {most}, not {reprlib.repr(field)}"
        )
    return int(field)


def node_id(field: str, where: str) -> int:
    """Parse a 0-based node id."""
    return count(field, where, "a node id", 0, MAX_NODES - 1)


def is_real(field: str) -> bool:
    """Whether this is a decimal number."""
    return _REAL.fullmatch(field) is not None


def weight(field: str, where: str) -> float:
    """Parse a finite weight."""
    if not is_real(field):
        raise FormatError(f"{where}: expected a finite number as weight, not {reprlib.repr(field)}")
    value = float(field)
    if not np.isfinite(value):
        raise FormatError(
            f"{where}: the weight {reprlib.repr(field)} is more than a float64 can hold"
        )
    return value
