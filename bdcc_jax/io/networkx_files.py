"""Files that networkx parses: what GraphML and GML share. Needs networkx.

Node ids (or labels) are names; where all of them are integers, the names are integers. Nodes are
kept in the order of the file. The weights are the edge attribute ``weight``, which every edge
must have. Both directions of directed edges, and parallel edges, are summed.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ..base.environment import install_hint
from ..instance.graph import Graph
from .files import FormatError
from .text import is_integer


def parsed(parse: Callable[[Any], Any], name: str, kind: str) -> Any:
    """Let networkx parse a file; whatever it stumbles over is a FormatError."""
    module = _networkx()
    try:
        G = parse(module)
    except (FormatError, MemoryError):
        raise
    except Exception as error:  # a stranger's file makes parsers fail in every way there is
        raise FormatError(f"{name}: networkx cannot read it as {kind} ({error!r})") from error
    if len(G) == 0:
        raise FormatError(f"{name}: no nodes")
    if all(isinstance(node, str) and is_integer(node) and str(int(node)) == node for node in G):
        G = module.relabel_nodes(G, {node: int(node) for node in G})
    return G


def written(graph: Graph, generate: str, decode: Callable[[bytes, str], Graph], kind: str) -> bytes:
    """What networkx writes by one of its functions, if it reads the same again."""
    names: list[Hashable] = list(range(graph.n) if graph.names is None else graph.names)
    G = _networkx().Graph()
    G.add_nodes_from(map(str, names))
    for (u, v), w in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
        G.add_edge(str(names[u]), str(names[v]), weight=w)
    try:
        data = "\n".join(getattr(_networkx(), generate)(G)).encode()
        again = decode(data, "what would be written")
        same = again.names == graph.names and np.array_equal(again.edges, graph.edges)
    except ValueError:  # of which FormatError is one
        same = False
    if not same or not np.array_equal(again.weights, graph.weights):
        raise ValueError(
            f"{kind} cannot hold these node names: they must be all integers, or all text (not all "
            "of it integers) of characters that may be in such a file; write .npz"
        )
    return data


def _networkx() -> Any:
    try:
        import networkx
    except ImportError as error:
        raise ImportError(f"GraphML and GML need networkx: {install_hint('networkx')}") from error
    return networkx
