"""GML, as igraph, Gephi and Newman's collection have it: nodes are called by labels, or by ids.

Ids are used where a node has no label, or two have the same one.
"""

import re
from typing import Any

from ..instance.graph import Graph
from . import networkx_files
from .text import Opening, text_of

KIND = "GML"
_GRAPH = re.compile(rb"^\s*graph\s*\[", re.MULTILINE)


def recognises(opening: Opening) -> bool:
    """Whether ``graph [`` is soon after the start, at the beginning of a line."""
    return _GRAPH.search(opening.data[:4096]) is not None


def networkx_graph(data: bytes, name: str) -> Any:
    """The graph of networkx, with all attributes, in the content of a file."""
    # GML is ASCII: other characters are written as in HTML, which networkx turns back.
    text = text_of(data, name, KIND).encode("ascii", "xmlcharrefreplace").decode()

    def parse(nx: Any) -> Any:
        G = nx.parse_gml(text, label="id")
        labels = {node: str(label) for node, label in G.nodes(data="label") if label is not None}
        return nx.relabel_nodes(G, labels) if len({*labels.values()}) == len(G) else G

    return networkx_files.parsed(parse, name, KIND)


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    return Graph.from_networkx(networkx_graph(data, name))


def encode(graph: Graph) -> bytes:
    """Write a graph; weights and names survive exactly."""
    return networkx_files.written(graph, "generate_gml", decode, KIND)
