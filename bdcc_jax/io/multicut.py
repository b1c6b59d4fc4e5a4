"""MULTICUT text: a header line, then plain triples.

::

    MULTICUT
    0 1 2.5
    1 2 -1.0
    # nodes 5

The first line is the word ``MULTICUT``; all others, comments included, are as
:mod:`bdcc_jax.io.triples` has them.
"""

import reprlib

from ..instance.graph import Graph
from . import triples
from .files import FormatError, refuse_names
from .text import Opening, content, text_of

HEADER = "MULTICUT"


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
    return triples.graph_of("\n".join([*comments, body]), name)


def encode(graph: Graph) -> bytes:
    """Write a graph in the strict form; weights survive exactly."""
    refuse_names(graph, "MULTICUT text")
    return "".join(f"{line}\n" for line in [HEADER, *triples.edge_lines(graph)]).encode()
