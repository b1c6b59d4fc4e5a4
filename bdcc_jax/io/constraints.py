"""Constraints in files of text: two nodes a line, or a node and its group, or its costs."""

import os
import re
from collections.abc import Hashable, Iterator
from math import inf
from pathlib import Path

import numpy as np

from ..base.arrays import FloatArray
from ..instance.graph import Graph
from . import npz
from .files import FormatError, read_bytes, suffix_of
from .labels import shown

_COLUMNS = re.compile(r"\s*[,;\t]\s*|\s+")


def read_pairs(path: str | os.PathLike[str], graph: Graph) -> list[tuple[Hashable, Hashable]]:
    r"""Read pairs of nodes of a graph, as :meth:`Graph.constrained` takes them.

    Parameters
    ----------
    path : path
        Text with two nodes a line, ids or names, with blanks, a comma or a tab between; what
        follows a ``#`` is a comment. gzip is recognised.
    graph : Graph
        Whose nodes these are.

    Examples
    --------
    >>> import tempfile
    >>> graph = Graph(2, [(0, 1)], [1.0], names=["left", "right"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "pairs.csv"
    ...     _ = file.write_text("# must be together\nright, left\n")
    ...     read_pairs(file, graph)
    [('right', 'left')]
    """
    nodes = _Nodes(graph)
    return [(nodes.at(where, a), nodes.at(where, b)) for where, a, b in _lines(path, "two nodes")]


def read_groups(path: str | os.PathLike[str], graph: Graph) -> dict[Hashable, str]:
    """Read the groups of some nodes: a node and its group a line, else as :func:`read_pairs`."""
    nodes, groups = _Nodes(graph), dict[Hashable, str]()
    for where, name, group in _lines(path, "a node and its group"):
        node = nodes.at(where, name)
        if groups.setdefault(node, group) != group:
            raise FormatError(f"{where}: node {name!r} is in two groups")
    return groups


def read_unaries(path: str | os.PathLike[str], graph: Graph) -> FloatArray:
    r"""Read what classes cost nodes, as :meth:`Graph.classified` takes it.

    Parameters
    ----------
    path : path
        Text with a node and the cost of every class a line, else as :func:`read_pairs`; ``inf`` is
        a class that the node cannot have. Or an ``.npy`` file with one row a node.
    graph : Graph
        Whose nodes these are.

    Examples
    --------
    >>> import tempfile
    >>> graph = Graph(2, [(0, 1)], [1.0], names=["left", "right"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "costs.csv"
    ...     _ = file.write_text("right, 1, inf\nleft, 0, 2.5\n")
    ...     read_unaries(file, graph).tolist()
    [[0.0, 2.5], [1.0, inf]]
    """
    if suffix_of(Path(path)) == ".npy":
        return npz.read_npy(read_bytes(Path(path)), str(path))
    nodes, rows = _Nodes(graph), dict[Hashable, list[float]]()
    for where, name, *texts in _lines(path, "a node and the cost of every class", most=inf):
        node = nodes.at(where, name)
        if node in rows:
            raise FormatError(f"{where}: node {name!r} has costs already")
        try:
            rows[node] = [float(text) for text in texts]
        except ValueError as error:
            raise FormatError(f"{where}: {error}") from None
        if len(rows[node]) != len(first := next(iter(rows.values()))):
            raise FormatError(f"{where}: expected {len(first)} costs, as before, not {len(texts)}")
    names = graph.names or range(graph.n)
    missing = next((name for name in names if name not in rows), None)
    if missing is not None:
        raise FormatError(f"{path}: there is no line for node {missing!r}")
    return np.array([rows[name] for name in names])


class _Nodes:
    """The nodes of a graph, by what files call them."""

    def __init__(self, graph: Graph) -> None:
        self._named = {shown(name): name for name in graph.names or range(graph.n)}

    def at(self, where: str, name: str) -> Hashable:
        if name not in self._named:
            first = next(iter(self._named))
            raise FormatError(f"{where}: the graph has no node {name!r}; its first is {first!r}")
        return self._named[name]


def _lines(
    path: str | os.PathLike[str], expected: str, most: float = 2
) -> Iterator[tuple[str, ...]]:
    try:
        text = read_bytes(Path(path)).decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: expected text, {expected} a line ({error})") from None
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        columns = _COLUMNS.split(content)
        if not 2 <= len(columns) <= most:
            raise FormatError(f"{path}, line {number}: expected {expected}, not {line[:80]!r}")
        yield f"{path}, line {number}", *columns
