"""PACE 2021 ``.gr``: cluster editing, the complete graph of weights 1 and -1.

::

    c a comment
    p cep 4 2
    1 2
    3 4

Nodes are 1-based here and 0-based in the graph. The listed pairs have weight 1, all others -1, so
that the disagreement of a clustering is its number of edits. The graph has a weight for every pair:
files that ask for more than :data:`MOST_PAIRS_IN_A_FILE` are refused before any is made.
"""

import reprlib

import numpy as np

from ..base.validation import MAX_NODES
from ..instance.graph import Graph
from .files import FormatError, refuse_names
from .text import Opening, content, count, text_of

MOST_PAIRS_IN_A_FILE = 2**26
"""Most pairs of nodes that a file may have: those of 11,585 nodes, a graph of 1.6 GB."""


def recognises(opening: Opening) -> bool:
    """Whether the first line that is not a comment is ``p cep`` and two more words."""
    words = opening.words
    return words[:2] == ["p", "cep"] and len(words) == 4


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    lines = content(text_of(data, name, "a PACE .gr file"))
    number, fields = next(lines, (1, []))
    where = f"{name}:{number}"
    if fields[:2] != ["p", "cep"] or len(fields) != 4:
        found = reprlib.repr(" ".join(fields)) if fields else "nothing"
        raise FormatError(f"{where}: expected the header 'p cep n m', not {found}")
    n = count(fields[2], where, "a number of nodes", 1, MAX_NODES)
    if (pairs := n * (n - 1) // 2) > MOST_PAIRS_IN_A_FILE:
        raise FormatError(
            f"{where}: {n} nodes have {pairs} pairs, each of which needs a weight; "
            f"at most {MOST_PAIRS_IN_A_FILE} are read"
        )
    m = count(fields[3], where, "a number of edges", 0, pairs)
    positions: set[int] = set()
    for number, fields in lines:
        positions.add(_position(fields, n, positions, f"{name}:{number}"))
    if len(positions) != m:
        raise FormatError(f"{name}: the header promises {m} edges, but there are {len(positions)}")
    weights = np.full(pairs, -1.0)
    weights[list(positions)] = 1.0
    return Graph._trusted(n, np.column_stack(np.triu_indices(n, 1)), weights)


def encode(graph: Graph) -> bytes:
    """Write a cluster editing instance."""
    refuse_names(graph, "a .gr file")
    what = "a .gr file holds cluster editing only, where every pair has weight 1 or -1"
    if graph.m != (pairs := graph.n * (graph.n - 1) // 2):
        raise ValueError(f"{what}: only {graph.m} of {pairs} pairs have a weight")
    odd = np.flatnonzero(np.abs(graph.weights) != 1)
    if odd.size:
        u, v = graph.edges[odd[0]].tolist()
        raise ValueError(f"{what}: the pair ({u}, {v}) has {graph.weights[odd[0]]}")
    edges = graph.edges[graph.positive] + 1
    lines = [f"p cep {graph.n} {len(edges)}", *(f"{u} {v}" for u, v in edges.tolist())]
    return "".join(f"{line}\n" for line in lines).encode()


def _position(fields: list[str], n: int, taken: set[int], where: str) -> int:
    """Where a pair is in the lexicographic order of all."""
    if len(fields) != 2:
        raise FormatError(
            f"{where}: expected 'u v', not {len(fields)} field(s): {reprlib.repr(fields)}"
        )
    u, v = sorted(count(field, where, "a node", 1, n) - 1 for field in fields)
    if u == v:
        raise FormatError(f"{where}: expected two different nodes, not {u + 1} twice")
    position = u * (2 * n - u - 1) // 2 + v - u - 1
    if position in taken:
        raise FormatError(f"{where}: the edge {u + 1} {v + 1} appears twice")
    return position
