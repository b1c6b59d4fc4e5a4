"""GraphML, the XML of networkx, igraph, Gephi and yEd; nodes are called by their ids."""

import io
from typing import Any

from ..instance.graph import Graph
from . import networkx_files
from .files import FormatError
from .text import Opening, text_of

KIND = "GraphML"


def recognises(opening: Opening) -> bool:
    """Whether this is XML with an element ``graphml`` soon after its start."""
    start = opening.data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.startswith(b"<") and b"<graphml" in start


def networkx_graph(data: bytes, name: str) -> Any:
    """The graph of networkx, with all attributes, in the content of a file."""
    text = text_of(data, name, KIND)
    if "<!ENTITY" in text:
        raise FormatError(f"{name}: entities in GraphML are not read: a few lines can be gigabytes")

    def parse(nx: Any) -> Any:
        return nx.read_graphml(io.BytesIO(text.encode()))

    return networkx_files.parsed(parse, name, KIND)


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    return Graph.from_networkx(networkx_graph(data, name))


def encode(graph: Graph) -> bytes:
    """Write a graph; weights and names survive exactly."""
    return networkx_files.written(graph, "generate_graphml", decode, KIND)
