"""Clustering anew what somebody has looked at."""

from collections.abc import Hashable, Iterable
from itertools import combinations, pairwise
from typing import Any

from ..io.convert import GraphLike
from ..result import Result
from ..solve import solve


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
    >>> from bdcc_jax import Graph
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [3.0, 1.0, 2.0])
    >>> split(chain, keep_apart=[(0, 3)]).labels.tolist()
    [0, 0, 1, 1]
    >>> split(chain, keep_together=[(0, 1, 2)], keep_apart=[(0, 3)]).labels.tolist()
    [0, 0, 0, 1]
    """
    together = [pair for nodes in keep_together for pair in pairwise(nodes)]
    apart = [pair for nodes in keep_apart for pair in combinations(nodes, 2)]
    return solve(graph, must_link=together, cannot_link=apart, **how)
