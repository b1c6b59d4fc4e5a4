"""Communities: the partitions of a network whose modularity is largest."""

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..instance.graph import Graph
from ..io.unsigned_graph import MAX_PAIRS, UnsignedGraph, all_pairs, pair_index, unsigned_graph
from ..result import Status
from ..solve import solve


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
    return _instance(unsigned_graph(G, weight), resolution, max_pairs)


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
    return _modularity(unsigned_graph(G, weight), objective, resolution)


def modularity_communities(
    G: Any,
    *,
    weight: str | None = "weight",
    resolution: float = 1.0,
    time_limit: float | None = 60.0,
    max_pairs: int = MAX_PAIRS,
    **how: Any,
) -> list[set[Hashable]]:
    """Find the communities of largest modularity, as the functions of networkx return them.

    They are optimal, or there is a warning that says how far from it they may be: a list of sets
    has no room for bounds. (``bdcc_jax.solve(modularity_graph(G))`` returns these.)

    Parameters
    ----------
    G, weight, resolution, max_pairs
        As for :func:`modularity_graph`. Also a path to a GraphML or GML file, whose edges count 1
        where they have no weight.
    time_limit : float, optional
        Seconds; None: however long it takes.
    **how
        Passed on to :func:`bdcc_jax.solve`: ``gap=0.01``, ``progress=True``, ...

    Returns
    -------
    list of sets
        The nodes of each community, the largest community first. A graph without edges has
        one for each node.

    Examples
    --------
    >>> import networkx as nx
    >>> modularity_communities(nx.barbell_graph(3, 0))
    [{0, 1, 2}, {3, 4, 5}]
    """
    _check_resolution(resolution)
    found = unsigned_graph(G, weight)
    names = list(range(found.n)) if found.names is None else list(found.names)
    if found.A.sum() == 0:
        return [{name} for name in names]
    result = solve(_instance(found, resolution, max_pairs), time_limit=time_limit, **how)
    if result.status not in (Status.OPTIMAL, Status.GAP):
        value, most = (
            _modularity(found, bound, resolution)
            for bound in (result.objective, result.lower_bound)
        )
        warnings.warn(
            f"stopped before the proof ({result.status}): the modularity is {value:.6f}, and that "
            f"of no partition is above {most:.6f}; give it more time_limit",
            stacklevel=2,
        )
    communities: list[set[Hashable]] = [set() for _ in range(result.n_clusters)]
    for name, label in zip(names, result.labels.tolist(), strict=True):
        communities[label].add(name)
    return sorted(communities, key=len, reverse=True)


def _instance(found: UnsignedGraph, resolution: float, max_pairs: int) -> Graph:
    """As :func:`modularity_graph` describes it."""
    A, n, total = found.A, found.n, found.total
    u, v = all_pairs(n, max_pairs)
    leaving, arriving = A.sum(axis=1), A.sum(axis=0)
    weights = -resolution * (leaving[u] * arriving[v] + leaving[v] * arriving[u]) / 2
    joined = sp.coo_array(sp.triu(A + A.T, k=1))
    weights[pair_index(joined, n)] += total * joined.data / 2
    return Graph(n, np.column_stack([u, v]), weights, found.names)


def _modularity(found: UnsignedGraph, objective: float, resolution: float) -> float:
    """As :func:`modularity` describes it."""
    return float(1 - resolution - 2 * objective / found.total**2)


def _check_resolution(resolution: float) -> None:
    if not 0 <= resolution < np.inf:
        raise ValueError(f"resolution must be at least 0, not {resolution}")
