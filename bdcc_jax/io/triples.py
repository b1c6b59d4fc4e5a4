"""Plain triples: one edge a line, ``i j weight`` with 0-based node ids.

::

    0 1 2.5
    1 2 -1.0
    # nodes 5

Read: ``#`` comments anywhere, lines that start with the word ``c``, blank lines, and commas in
place of spaces. Written: none of these, but one. The format has no node count, so where the last
nodes are isolated a final comment ``# nodes N`` keeps them. It comes last because some readers stop
at the first line that is not an edge.
"""

import re
import reprlib

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.validation import MAX_NODES
from ..instance.graph import Graph
from .files import FormatError, refuse_names
from .text import Opening, content, is_integer, node_id, table, text_of, weight

Edges = tuple[IntArray, IntArray, FloatArray]

_EDGE = np.dtype([("u", np.int64), ("v", np.int64), ("w", np.float64)])
_NODES = re.compile(r"^[ \t]*#[ \t]*nodes[ \t]+(\d+)[ \t]*$", re.MULTILINE | re.ASCII)


def recognises(opening: Opening) -> bool:
    """Whether the first line that is not a comment is a triple whose first two are node ids."""
    words = opening.words
    return len(words) == 3 and all(is_integer(word) and int(word) >= 0 for word in words[:2])


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    return graph_of(text_of(data, name, "lines 'i j weight'"), name)


def encode(graph: Graph) -> bytes:
    """Write a graph; weights survive exactly."""
    refuse_names(graph, "a file of plain triples")
    return "".join(f"{line}\n" for line in edge_lines(graph)).encode()


def graph_of(text: str, name: str, number: int = 1) -> Graph:
    """Read a graph from text whose first line has this number in its file."""
    u, v, w = edges_of(text, name, number)
    return Graph(node_count(text, u, v, name), np.column_stack([u, v]), w)


def edges_of(text: str, name: str, number: int) -> Edges:
    """Read edges from text whose first line has this number in its file."""
    return _parse_clean(text) or _parse_lines(text, name, number)


def lines_of(edges: IntArray, weights: FloatArray) -> list[str]:
    """One edge a line."""
    pairs = zip(edges.tolist(), weights.tolist(), strict=True)
    return [f"{u} {v} {w!r}" for (u, v), w in pairs]


def edge_lines(graph: Graph) -> list[str]:
    """The edges, and the number of nodes where they do not tell."""
    lines = lines_of(graph.edges, graph.weights)
    if graph.n != graph.edges.max(initial=-1) + 1:
        lines.append(f"# nodes {graph.n}")
    return lines


def _parse_clean(text: str) -> Edges | None:
    """Parse the common form fast; None if there is anything to look at line by line."""
    parsed = table(text, _EDGE, comments="#")
    if parsed is None:
        return None
    u, v, w = parsed["u"], parsed["v"], parsed["w"]
    ids = np.concatenate([u, v])
    if ids.min(initial=0) < 0 or ids.max(initial=0) >= MAX_NODES or not np.isfinite(w).all():
        return None
    return u, v, w


def _parse_lines(text: str, name: str, number: int) -> Edges:
    """Parse everything that is understood, and say what and where the rest is."""
    rows = [_edge(fields, f"{name}:{at}") for at, fields in content(text, number)]
    parsed = np.array(rows, dtype=_EDGE)
    return parsed["u"], parsed["v"], parsed["w"]


def _edge(fields: list[str], where: str) -> tuple[int, int, float]:
    if len(fields) != 3:
        raise FormatError(
            f"{where}: expected 'i j weight', not {len(fields)} field(s): {reprlib.repr(fields)}"
        )
    return node_id(fields[0], where), node_id(fields[1], where), weight(fields[2], where)


def node_count(text: str, u: IntArray, v: IntArray, name: str) -> int:
    """The number of nodes that a comment gives, or that these edges need."""
    needed = int(max(u.max(initial=-1), v.max(initial=-1))) + 1
    declared = {count[:20] for count in _NODES.findall(text)}
    if len(declared) > 1:
        raise FormatError(f"{name}: contradicting comments '# nodes N': {sorted(declared)[:5]}")
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
