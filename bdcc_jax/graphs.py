"""Well-known problems on graphs: modularity, signed networks, cluster editing, proofreading."""

from collections.abc import Hashable, Iterable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .base.validation import unless_ids
from .instance.graph import Graph
from .io.convert import GraphLike
from .io.unsigned_graph import (
    MAX_PAIRS,
    all_pairs,
    check_pairs,
    is_networkx,
    off_diagonal,
    pair_index,
    unsigned_graph,
)
from .lifting import lift
from .result import Result
from .solve import solve

__all__ = [
    "cluster_editing_graph",
    "lift",
    "modularity",
    "modularity_graph",
    "signed_graph",
    "similarity_graph",
    "split",
]


def modularity_graph(
    G: Any, *, weight: str | None = "weight", resolution: float = 1.0, max_pairs: int = MAX_PAIRS
) -> Graph:
    """Build the instance whose optimal clustering has the largest modularity.

    All pairs of nodes become edges, with ``w_uv = 2 m A_uv - resolution * d_u * d_v``, where m is
    the total weight of the edges and d are the degrees. :func:`modularity` turns the objective
    of a clustering into its modularity, and a lower bound into an upper bound on every modularity.

    Parameters
    ----------
    G : networkx graph, symmetric sparse or dense matrix, Graph, or anything that `solve` takes
        Weights must not be negative. A directed networkx graph gets its directed modularity. A
        diagonal entry of a matrix is a self-loop, as in networkx.
    weight : str, optional
        The edge attribute of a networkx graph that holds the weights; edges without it count 1.
        None: all edges count 1.
    resolution : float
        Above 1 there are more, smaller communities.
    max_pairs : int
        Refuse graphs with more pairs of nodes than this.

    Examples
    --------
    >>> import bdcc_jax, networkx as nx
    >>> G = nx.barbell_graph(4, 0)
    >>> result = bdcc_jax.solve(modularity_graph(G))
    >>> result.labels.tolist(), round(modularity(G, result.objective), 4)
    ([0, 0, 0, 0, 1, 1, 1, 1], 0.4231)
    """
    _check_resolution(resolution)
    found = unsigned_graph(G, weight)
    A, n, total = found.A, found.n, found.total
    u, v = all_pairs(n, max_pairs)
    leaving, arriving = A.sum(axis=1), A.sum(axis=0)
    weights = -resolution * (leaving[u] * arriving[v] + leaving[v] * arriving[u]) / 2
    joined = sp.coo_array(sp.triu(A + A.T, k=1))
    weights[pair_index(joined, n)] += total * joined.data / 2
    return Graph(n, np.column_stack([u, v]), weights, found.names)


def modularity(
    G: Any, objective: float, *, weight: str | None = "weight", resolution: float = 1.0
) -> float:
    """Turn an objective of :func:`modularity_graph` into the modularity of the clustering.

    It is ``1 - resolution - 2 * objective / (2 m)**2`` (for directed graphs ``m**2``). The lower
    bound of a result gives an upper bound on the modularity of every clustering.

    Parameters
    ----------
    G, weight, resolution
        As they were given to :func:`modularity_graph`.
    objective : float
        ``result.objective`` or ``result.lower_bound``.

    Examples
    --------
    >>> import networkx as nx
    >>> G = nx.barbell_graph(4, 0)
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> round(modularity(G, modularity_graph(G).objective(labels)), 4)
    0.4231
    """
    _check_resolution(resolution)
    return float(1 - resolution - 2 * objective / unsigned_graph(G, weight).total ** 2)


def signed_graph(edges: Any, *, sign: str = "sign", weight: str | None = None) -> Graph:
    """Build the instance of a signed network: friends attract, foes repel.

    The ``disagreement`` of an optimal clustering is the least weight of edges that contradict a
    division into any number of groups (friends apart, foes together).

    Parameters
    ----------
    edges : networkx graph, or iterable of (node, node, sign)
        Both directions of a directed graph, and parallel edges, are summed. Nodes may be named by
        anything hashable.
    sign : str
        The edge attribute of a networkx graph that holds the sign: '+' or '-', or a number of which
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
            raise ValueError("weight is for networkx graphs; for triples it must be None")
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


def split(
    graph: GraphLike,
    keep_together: Iterable[Iterable[Hashable]] = (),
    keep_apart: Iterable[Iterable[Hashable]] = (),
    **how: Any,
) -> Result:
    """Cluster anew what somebody has looked at: some nodes are one object, some are not.

    Parameters
    ----------
    graph : Graph or anything that `solve` takes
        The instance, such as the supervoxels of an object that was merged wrongly.
    keep_together : sets of nodes
        All nodes of such a set must be in one cluster.
    keep_apart : sets of nodes
        No two nodes of such a set can be in one cluster: two points on two neurons, for example.
    **how
        Passed on to :func:`bdcc_jax.solve`: ``initial=labels``, ``time_limit=1``, ...

    Returns
    -------
    Result
        An optimal clustering of this kind, with a proof, if time allows.

    Examples
    --------
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [3.0, 1.0, 2.0])
    >>> split(chain, keep_apart=[(0, 3)]).labels.tolist()
    [0, 0, 1, 1]
    >>> split(chain, keep_together=[(0, 1, 2)], keep_apart=[(0, 3)]).labels.tolist()
    [0, 0, 0, 1]
    """
    together = [pair for nodes in keep_together for pair in pairwise(nodes)]
    apart = [pair for nodes in keep_apart for pair in combinations(nodes, 2)]
    return solve(graph, must_link=together, cannot_link=apart, **how)


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


def _check_resolution(resolution: float) -> None:
    if not 0 <= resolution < np.inf:
        raise ValueError(f"resolution must be at least 0, not {resolution}")
