"""MULTICUT text: a header line, then plain triples.

::

    MULTICUT
    0 1 2.5
    1 2 -1.0
    # nodes 5

The first line is the word ``MULTICUT``; all others, comments included, are as
:mod:`bdcc_jax.io.triples` has them. With lifted edges it is what LPMP reads: the number of nodes in
a line of its own, the ordinary edges, a line ``LIFTED``, the lifted edges::

    MULTICUT
    3
    0 1 2.5
    1 2 -1.0
    LIFTED
    0 2 0.5

Read: the same also without the number of nodes.
"""

import re
import reprlib

import numpy as np

from ..instance.graph import Graph
from . import triples
from .files import FormatError, refuse_names
from .text import Opening, content, text_of

HEADER, LIFTED = "MULTICUT", "LIFTED"
_LIFTED = re.compile(rf"^[ \t]*{LIFTED}[ \t]*(?:#.*)?$", re.MULTILINE)
_COUNT = re.compile(r"^[ \t]*(\d+)[ \t]*(?:#.*)?$", re.ASCII)


def recognises(opening: Opening) -> bool:
    """Whether the first line that is neither blank nor a comment is the header."""
    return opening.words == [HEADER]


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    text = text_of(data, name, "MULTICUT text")
    number, fields = next(content(text), (1, []))
    if fields != [HEADER]:
        found = reprlib.repr(" ".join(fields)) if fields else "nothing"
        raise FormatError(f"{name}:{number}: expected the header {HEADER!r}, not {found}")
    *head, body = f"{text}\n".split("\n", number)
    # A comment before the header may give the number of nodes too.
    comments = [line if line.lstrip().startswith("#") else "" for line in head]
    text = "\n".join([*comments, body])
    if (mark := _LIFTED.search(text)) is None:
        return triples.graph_of(text, name)
    return _lifted(text[: mark.start()], text[mark.end() :], name)


def _lifted(ordinary: str, lifted: str, name: str) -> Graph:
    """A graph from what is before the line ``LIFTED``, and what is behind it."""
    number = ordinary.count("\n") + 1
    lines = ordinary.split("\n")
    first = next((at - 1 for at, _ in content(ordinary)), 0)
    if count := _COUNT.match(lines[first]):
        lines[first] = f"# nodes {count[1]}"
        ordinary = "\n".join(lines)
    parts = triples.edges_of(ordinary, name, 1), triples.edges_of(lifted, name, number)
    u, v = (np.concatenate([part[end] for part in parts]) for end in range(2))
    n = triples.node_count(f"{ordinary}\n{lifted}", u, v, name)
    return Graph.from_edges(*parts[0], n, lifted=parts[1])


def encode(graph: Graph) -> bytes:
    """Write a graph in the strict form; weights survive exactly."""
    refuse_names(graph, "MULTICUT text")
    if graph.lifted is not None:
        ordinary, lifted = (
            triples.lines_of(graph.edges[chosen], graph.weights[chosen])
            for chosen in (~graph.lifted, graph.lifted)
        )
        lines = [HEADER, str(graph.n), *ordinary, LIFTED, *lifted]
        return "".join(f"{line}\n" for line in lines).encode()
    return "".join(f"{line}\n" for line in [HEADER, *triples.edge_lines(graph)]).encode()
