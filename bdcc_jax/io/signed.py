"""Signed edge lists, as SNAP and KONECT publish them: ``u v weight``, nodes called anything.

::

    # FromNodeId ToNodeId Sign
    anna  bert  1
    bert  carl  -1

Lines that start with ``#`` or ``%`` are comments. The first edge tells what separates the fields of
all lines: tabs if it has one (and is not all numbers, between which KONECT has tabs and spaces),
else commas, else any space; so in a list with tabs names may have spaces and commas. A fourth field
(a time, as in SNAP's bitcoin networks) must be a number and is not used. Both directions of an edge
are summed. Where all nodes are called by integers the names are integers, else text; nodes are
sorted by name. Written: tabs, one line an edge. The list has no place for nodes without edges, so
these are refused, and the order of the nodes is not kept.
"""

import itertools
import re
import reprlib
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ..instance.graph import Graph
from .files import FormatError
from .text import Opening, is_integer, is_real, table, text_of, weight

_COMMENTS = ("#", "%")
_SNAP = re.compile(rb"^#.*FromNodeId", re.MULTILINE)
_UNFIT = re.compile(r"[\t\n\r\0\ufeff\ud800-\udfff]|^[#%]|^\s|\s$|^$")

_EDGE = np.dtype([("u", np.int64), ("v", np.int64), ("w", np.float64)])
_TIMED = np.dtype([*_EDGE.descr, ("time", np.float64)])

Row = tuple[str, str, float]


def recognises(opening: Opening) -> bool:
    """Whether the first line that is not a comment has three or four fields, the third a number."""
    try:
        return bool(_row(_split(opening.edge, _separator(opening.edge)), ""))
    except FormatError:
        return False


def is_snap(data: bytes) -> bool:
    """Whether a comment names the columns as SNAP does: ids are names then, even if integers."""
    return _SNAP.search(data) is not None


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    text = text_of(data, name, "lines 'u v weight'")
    lines = [(i, line) for i, line in enumerate(map(str.strip, text.split("\n")), 1) if line]
    lines = [(i, line) for i, line in lines if not line.startswith(_COMMENTS)]
    if not lines:
        raise FormatError(f"{name}: no edges; expected at least one line 'u v weight'")
    separator = _separator(lines[0][1])
    try:
        _row(_split(lines[0][1], separator), f"{name}:{lines[0][0]}")
    except FormatError as error:
        hint = "column titles start with #; tables with a header are for bdcc-jax cluster"
        raise FormatError(f"{error} ({hint})") from None
    return _parse_clean([line for _, line in lines], separator) or _graph(
        [_row(_split(line, separator), f"{name}:{i}") for i, line in lines]
    )


def encode(graph: Graph) -> bytes:
    """Write a graph; weights and names survive exactly."""
    names = _written_names(graph)
    bare = np.ones(graph.n, dtype=bool)
    bare[graph.edges] = False
    if bare.any():
        first = names[int(np.flatnonzero(bare)[0])]
        raise ValueError(
            f"an edge list has no place for nodes without edges: there are {int(bare.sum())} "
            f"(the first is {first!r}); write .npz, or MULTICUT text if the nodes have no names"
        )
    edges, weights = graph.edges.tolist(), graph.weights.tolist()
    lines = [f"{names[u]}\t{names[v]}\t{w!r}\n" for (u, v), w in zip(edges, weights, strict=True)]
    if _separator(lines[0]) != "\t":
        _refuse([x for x in names if len(str(x).split()) > 1])
    return "".join(lines).encode()


def _separator(line: str) -> str | None:
    if "\t" in line:
        return None if all(map(is_real, line.split())) else "\t"
    return "," if "," in line else None


def _split(line: str, separator: str | None) -> list[str]:
    return [field.strip() for field in line.split(separator)]


def _row(fields: list[str], where: str) -> Row:
    if len(fields) not in (3, 4) or "" in fields[:2]:
        raise FormatError(
            f"{where}: expected 'u v weight', and a time if you like, "
            f"not {len(fields)} field(s): {reprlib.repr(fields)}"
        )
    if len(fields) == 4:
        weight(fields[3], f"{where}: the time")
    return fields[0], fields[1], weight(fields[2], where)


def _parse_clean(lines: list[str], separator: str | None) -> Graph | None:
    """Parse integer ids fast; None if there is anything to look at line by line."""
    timed = len(_split(lines[0], separator)) == 4
    dtype = _TIMED if timed else _EDGE
    parsed = table("\n".join(lines), dtype, comments=None, delimiter=separator)
    if parsed is None or not np.isfinite(parsed["w"]).all():
        return None
    if timed and not np.isfinite(parsed["time"]).all():
        return None
    ids, index = np.unique(np.stack([parsed["u"], parsed["v"]]), return_inverse=True)
    return _named(ids.tolist(), index.reshape(2, -1).T, parsed["w"])


def _graph(rows: list[Row]) -> Graph:
    texts = set(itertools.chain.from_iterable(row[:2] for row in rows))
    key: Callable[[str], Any] = int if all(map(is_integer, texts)) else str
    names = sorted({key(text) for text in texts})
    index = {name: i for i, name in enumerate(names)}
    pairs = np.array([(index[key(u)], index[key(v)]) for u, v, _ in rows])
    return _named(names, pairs, np.array([w for *_, w in rows]))


def _named(names: list[Hashable], pairs: np.ndarray, weights: np.ndarray) -> Graph:
    called = None if names == list(range(len(names))) else names
    return Graph(len(names), pairs, weights, called)


def _written_names(graph: Graph) -> list[Hashable]:
    names: list[Hashable] = list(range(graph.n) if graph.names is None else graph.names)
    if all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in names):
        _refuse([x for x in names if not is_integer(str(x))])
    else:
        _refuse([x for x in names if not isinstance(x, str) or _UNFIT.search(x)])
        if all(is_integer(str(x)) for x in names):
            _refuse(names)
    return names


def _refuse(unfit: list[Hashable]) -> None:
    if unfit:
        raise ValueError(
            f"an edge list cannot hold the node name {unfit[0]!r}: names must be all integers, or "
            "all text (not all of it integers) without tabs, line ends, spaces at the ends or "
            "between numbers, and # or % at the front; write .npz"
        )
