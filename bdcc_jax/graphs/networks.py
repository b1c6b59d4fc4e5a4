"""Signed networks, cluster editing and similarities as instances."""

import os
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.validation import unless_ids
from ..instance.graph import Graph
from ..io import attributed
from ..io.unsigned_graph import (
    MAX_PAIRS,
    all_pairs,
    check_pairs,
    is_networkx,
    off_diagonal,
    pair_index,
    unsigned_graph,
)


def signed_graph(edges: Any, *, sign: str = "sign", weight: str | None = None) -> Graph:
    """Build the instance of a signed network: friends attract, foes repel.

    The ``disagreement`` of an optimal clustering is the least weight of edges that contradict a
    division into any number of groups (friends apart, foes together).

    Parameters
    ----------
    edges : networkx graph, path to a GraphML or GML file, or iterable of (node, node, sign)
        Both directions of a directed graph, and parallel edges, are summed. Nodes may be named by
        anything hashable.
    sign : str
        The edge attribute of a graph or file that holds the sign: '+' or '-', or a number of which
        only the sign counts. 0 is neutral, and gives no edge.
    weight : str, optional
        The edge attribute that holds the strength, a number that is not negative. None: all 1.

    Examples
    --------
    >>> graph = signed_graph([("Ann", "Bob", "+"), ("Bob", "Cid", "-"), ("Ann", "Cid", "-")])
    >>> graph.names, graph.weights.tolist()
    (('Ann', 'Bob', 'Cid'), [1.0, -1.0, -1.0])
    """
    index: dict[Hashable, int] = {}
    rows: list[tuple[Hashable, Hashable, float]] = []
    if isinstance(edges, str | os.PathLike):
        path, edges = edges, attributed(edges)
        if edges is None:
            raise ValueError(f"{path} is neither GraphML nor GML: solve and read take it as it is")
    if is_networkx(edges):
        index = {node: i for i, node in enumerate(edges.nodes)}
        for a, b, data in edges.edges(data=True):
            for name in (sign, weight):
                if name is not None and name not in data:
                    raise ValueError(f"edge ({a!r}, {b!r}) has no attribute {name!r}")
            strength = 1.0 if weight is None else _strength(data[weight], (a, b))
            rows.append((a, b, strength * _sign(data[sign], (a, b))))
    else:
        if weight is not None:
            raise ValueError("weight is for networkx graphs and files; for triples it must be None")
        for row in edges:
            if not isinstance(row, Iterable) or len(row := tuple(row)) != 3:
                raise ValueError(f"edges must be triples (node, node, sign), not {row!r}")
            rows.append((row[0], row[1], _sign(row[2], (row[0], row[1]))))
            for node in row[:2]:
                index.setdefault(node, len(index))
    pairs = [(index[a], index[b]) for a, b, _ in rows]
    return Graph(len(index), pairs, [w for *_, w in rows], unless_ids(list(index)))


def cluster_editing_graph(
    G: Any, *, weight: str | None = None, absent: float = 1.0, max_pairs: int = MAX_PAIRS
) -> Graph:
    """Build the instance of cluster editing: the fewest edges to add and delete to get cliques.

    An edge attracts by 1 (or its weight), any other pair of nodes repels by ``absent``. The
    ``disagreement`` of an optimal clustering is the least cost of such edits.

    Parameters
    ----------
    G : networkx graph, symmetric sparse or dense matrix, Graph, or anything that `solve` takes
        Undirected. Self-loops do not matter.
    weight : str, optional
        The edge attribute of a networkx graph with the cost of deleting the edge, which must
        be positive. None: 1. Matrices and other graphs bring their weights: 1 for an edge if
        nothing else is wanted.
    absent : float
        The cost of adding an edge.
    max_pairs : int
        Refuse graphs with more pairs of nodes than this.

    Examples
    --------
    >>> import bdcc_jax, networkx as nx
    >>> result = bdcc_jax.solve(cluster_editing_graph(nx.path_graph(4)))
    >>> result.disagreement, result.n_clusters
    (1.0, 2)
    """
    found = unsigned_graph(G, weight)
    if found.directed:
        raise ValueError("cluster editing is for undirected graphs: pass G.to_undirected()")
    if not 0 < absent < np.inf:
        raise ValueError(f"absent must be a positive number, not {absent}")
    n = found.n
    u, v = all_pairs(n, max_pairs)
    weights = np.full(len(u), -float(absent))
    present = sp.coo_array(sp.triu(found.A, k=1))
    weights[pair_index(present, n)] = present.data
    return Graph(n, np.column_stack([u, v]), weights, found.names)


def similarity_graph(S: Any, threshold: float, *, max_pairs: int = MAX_PAIRS) -> Graph:
    """Build the instance of pairwise similarities: ``w_uv = S_uv - threshold``.

    Parameters
    ----------
    S : array_like or scipy sparse, shape (n, n)
        Symmetric. In a dense matrix all pairs count; in a sparse one only those that are stored,
        since nothing is known of the others. The diagonal does not matter.
    threshold : float
        What is more similar than this attracts.
    max_pairs : int
        Refuse dense matrices with more pairs of nodes than this.

    Examples
    --------
    >>> similarity_graph([[1, 0.75, 0.25], [0.75, 1, 0], [0.25, 0, 1]], 0.5).weights.tolist()
    [0.25, -0.25, -0.5]
    """
    if not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number, not {threshold}")
    A: Any = sp.coo_array(S) if sp.issparse(S) else np.asarray(S)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"the matrix must be square, not of shape {A.shape}")
    if A.dtype.kind not in "biuf":
        raise ValueError(f"the matrix must hold real numbers, not {A.dtype}")
    if not sp.issparse(S):
        check_pairs(len(A), max_pairs)
        W = A - float(threshold)
        np.fill_diagonal(W, 0.0)
        return Graph.from_dense(W)
    A.sum_duplicates()
    return Graph.from_scipy(off_diagonal(A, -float(threshold)))


def _sign(value: Any, edge: tuple[Hashable, Hashable]) -> float:
    if isinstance(value, str) and value.strip() in ("+", "-"):
        return 1.0 if value.strip() == "+" else -1.0
    if isinstance(value, int | float | np.number) and not np.isnan(value):
        return float(np.sign(value))
    raise ValueError(f"the sign of edge {edge!r} must be '+', '-' or a number, not {value!r}")


def _strength(value: Any, edge: tuple[Hashable, Hashable]) -> float:
    if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise ValueError(f"the weight of edge {edge!r} must be at least 0, not {value!r}")
    return float(value)
