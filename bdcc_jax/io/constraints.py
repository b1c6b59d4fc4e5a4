"""Constraints in files of text: two nodes a line, or a node and its group."""

import os
import re
from collections.abc import Hashable, Iterator
from pathlib import Path

from ..instance.graph import Graph
from .files import FormatError, read_bytes
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


class _Nodes:
    """The nodes of a graph, by what files call them."""

    def __init__(self, graph: Graph) -> None:
        self._named = {shown(name): name for name in graph.names or range(graph.n)}

    def at(self, where: str, name: str) -> Hashable:
        if name not in self._named:
            first = next(iter(self._named))
            raise FormatError(f"{where}: the graph has no node {name!r}; its first is {first!r}")
        return self._named[name]


def _lines(path: str | os.PathLike[str], expected: str) -> Iterator[tuple[str, str, str]]:
    try:
        text = read_bytes(Path(path)).decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: expected text, {expected} a line ({error})") from None
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        columns = _COLUMNS.split(content)
        if len(columns) != 2:
            raise FormatError(f"{path}, line {number}: expected {expected}, not {line[:80]!r}")
        yield f"{path}, line {number}", columns[0], columns[1]
