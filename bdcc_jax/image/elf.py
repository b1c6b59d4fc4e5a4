"""Solvers for elf (python-elf): pass :func:`multicut` wherever elf takes a solver.

elf calls its solvers with a graph, which has ``number_of_nodes`` and ``uv_ids()``, and the costs of
its edges; positive costs attract, as here. Nothing of elf is imported.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..instance.graph import Graph
from ..result import Status
from ..solve import solve


def multicut_from_edges(
    n_nodes: int,
    uv_ids: ArrayLike,
    costs: ArrayLike,
    *,
    time_limit: float | None = None,
    **how: Any,
) -> NDArray[np.uint64]:
    """Solve a multicut problem that is given as arrays.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    uv_ids : array_like of int, shape (m, 2)
        The ends of the edges.
    costs : array_like, shape (m,)
        What it costs to cut an edge; those of less than 0 repel.
    time_limit : float, optional
        Seconds; the best labels by then are returned. None: until they are proven optimal.
    **how
        Passed on to :func:`bdcc_jax.solve`.

    Returns
    -------
    ndarray of uint64, shape (n_nodes,)
        The cluster of every node, numbered from 0.

    Examples
    --------
    >>> multicut_from_edges(3, [(0, 1), (1, 2), (0, 2)], [2.0, -1.0, -3.0]).tolist()
    [0, 0, 1]
    """
    pairs = np.asarray(uv_ids)
    pairs = pairs.astype(np.int64) if pairs.dtype.kind == "u" else pairs
    result = solve(Graph(n_nodes, pairs, costs), time_limit=time_limit, **how)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result.labels.astype(np.uint64)


def multicut(
    graph: Any,
    costs: ArrayLike,
    time_limit: float | None = None,
    n_threads: int | None = None,
    segmentation: Any = None,
    **how: Any,
) -> NDArray[np.uint64]:
    """Solve a multicut problem as elf hands it to a solver, exactly.

    For ``multicut_solver=`` of elf's workflows and ``internal_solver=`` of its blockwise solver.

    Parameters
    ----------
    graph : object
        With ``number_of_nodes`` (or ``numberOfNodes``) and ``uv_ids()`` (or ``uvIds()``), as the
        graphs of bioimage-cpp and nifty have them.
    costs, time_limit, **how
        As for :func:`multicut_from_edges`.
    n_threads, segmentation
        elf passes these to all solvers. They are not used: a solve takes one thread, and one beside
        it for clusterings.

    Returns
    -------
    ndarray of uint64, shape (n_nodes,)
        The cluster of every node, numbered from 0.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> graph = SimpleNamespace(number_of_nodes=3, uv_ids=lambda: np.array([(0, 1), (1, 2)]))
    >>> multicut(graph, [2.0, -1.0]).tolist()
    [0, 0, 1]
    """
    for nodes, ends in (("number_of_nodes", "uv_ids"), ("numberOfNodes", "uvIds")):
        if hasattr(graph, nodes) and hasattr(graph, ends):
            n, uv_ids = getattr(graph, nodes), getattr(graph, ends)()
            return multicut_from_edges(int(n), uv_ids, costs, time_limit=time_limit, **how)
    raise TypeError(
        f"graph must have number_of_nodes and uv_ids(), as elf's have, not {type(graph).__name__!r}"
    )
