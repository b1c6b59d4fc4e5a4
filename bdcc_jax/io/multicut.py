"""MULTICUT text: a header line, then one edge a line.

::

    MULTICUT
    0 1 2.5
    1 2 -1.0
    # nodes 5

The first line is the word ``MULTICUT``, every other one ``i j weight`` with 0-based node ids. Read:
``#`` comments anywhere, lines that start with the word ``c``, blank lines, and commas in place of
spaces. Written: none of these, but one. The format has no node count, so where the last nodes are
isolated a final comment ``# nodes N`` keeps them. It comes last because some readers stop at the
first line that is not an edge.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator

import numpy as np

from ..arrays import FloatArray, IntArray
from ..graph import Graph
from ..validation import MAX_NODES
from .errors import FormatError

HEADER = "MULTICUT"

_EDGE = np.dtype([("u", np.int64), ("v", np.int64), ("w", np.float64)])
_NODES = re.compile(r"^[ \t]*#[ \t]*nodes[ \t]+(\d+)[ \t]*$", re.MULTILINE | re.ASCII)
_SEPARATOR = re.compile(r"\s*,\s*|\s+")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def recognises(data: bytes) -> bool:
    """Whether the first line that is neither blank nor a comment is the header."""
    for line in io.BytesIO(data.removeprefix(b"\xef\xbb\xbf")):
        words = line.partition(b"#")[0].split()
        if words and words[0] != b"c":
            return words == [HEADER.encode()]
    return False


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    if b"\0" in data:
        raise FormatError(f"{name}: binary content; expected MULTICUT text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: not UTF-8 at byte {error.start}; expected text") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    u, v, w = _parse_clean(text) or _parse_lines(text, name)
    return Graph(_node_count(text, u, v, name), np.column_stack([u, v]), w)


def encode(graph: Graph) -> bytes:
    """Write a graph in the strict form; weights survive exactly."""
    if graph.names is not None:
        raise ValueError(
            "MULTICUT text has no place for node names: write .npz, "
            "or drop them with Graph(graph.n, graph.edges, graph.weights)"
        )
    edges, weights = graph.edges.tolist(), graph.weights.tolist()
    lines = [HEADER, *(f"{u} {v} {w!r}" for (u, v), w in zip(edges, weights, strict=True))]
    if graph.n != graph.edges.max(initial=-1) + 1:
        lines.append(f"# nodes {graph.n}")
    return ("\n".join(lines) + "\n").encode()


def _parse_clean(text: str) -> tuple[IntArray, IntArray, FloatArray] | None:
    """Parse the common form fast; None if there is anything to look at line by line."""
    header, _, body = text.partition("\n")
    if header.strip() != HEADER or not body.strip():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(body.split("\n"), dtype=_EDGE, comments="#", ndmin=1)
    except (ValueError, Warning):
        return None
    u, v, w = table["u"], table["v"], table["w"]
    ids = np.concatenate([u, v])
    if ids.min() < 0 or ids.max() >= MAX_NODES or not np.isfinite(w).all():
        return None
    return u, v, w


def _parse_lines(text: str, name: str) -> tuple[IntArray, IntArray, FloatArray]:
    """Parse everything that is understood, and say what and where the rest is."""
    lines = _content(text)
    number, fields = next(lines, (1, []))
    if fields != [HEADER]:
        found = repr(" ".join(fields)[:40]) if fields else "nothing"
        raise FormatError(f"{name}:{number}: expected the header {HEADER!r}, not {found}")
    rows = [_edge(fields, f"{name}:{number}") for number, fields in lines]
    table = np.array(rows, dtype=_EDGE)
    return table["u"], table["v"], table["w"]


def _content(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.partition("#")[0].strip()
        if content and content.split()[0] != "c":
            yield number, _SEPARATOR.split(content)


def _edge(fields: list[str], where: str) -> tuple[int, int, float]:
    if len(fields) != 3:
        raise FormatError(f"{where}: expected 'i j weight', not {len(fields)} field(s): {fields}")
    u, v = (_node_id(field, where) for field in fields[:2])
    if not _REAL.fullmatch(fields[2]):
        raise FormatError(f"{where}: expected a finite number as weight, not {fields[2]!r}")
    weight = float(fields[2])
    if not np.isfinite(weight):
        raise FormatError(f"{where}: the weight {fields[2]} is more than a float64 can hold")
    return u, v, weight


def _node_id(field: str, where: str) -> int:
    # The length is checked first: Python refuses to convert thousands of digits.
    if not _INTEGER.fullmatch(field) or len(field) > 20 or not 0 <= int(field) < MAX_NODES:
        raise FormatError(
            f"{where}: expected a node id from 0 to {MAX_NODES - 1}, not {field[:40]!r}"
        )
    return int(field)


def _node_count(text: str, u: IntArray, v: IntArray, name: str) -> int:
    needed = int(max(u.max(initial=-1), v.max(initial=-1))) + 1
    declared = {count[:20] for count in _NODES.findall(text)}
    if len(declared) > 1:
        raise FormatError(f"{name}: contradicting comments '# nodes N': {sorted(declared)}")
    if not declared:
        if needed == 0:
            raise FormatError(f"{name}: no edges; expected at least one, or a comment '# nodes N'")
        return needed
    count = int(declared.pop())
    if not max(needed, 1) <= count <= MAX_NODES:
        raise FormatError(
            f"{name}: the comment '# nodes {count}' must give at least {max(needed, 1)} "
            f"(the largest node id plus 1) and at most {MAX_NODES}"
        )
    return count
