"""Whatever describes a graph, as a :class:`Graph`."""

import os
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import scipy.sparse as sp

from ..instance.graph import Graph
from . import read

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from numpy.typing import ArrayLike

    GraphLike: TypeAlias = (
        Graph
        | str
        | os.PathLike[str]
        | tuple[ArrayLike, ArrayLike, ArrayLike]
        | nx.Graph
        | sp.sparray
        | sp.spmatrix
        | pd.DataFrame
        | ArrayLike
    )
    """What :func:`as_graph` accepts."""
else:  # nobody needs networkx or pandas for a name
    GraphLike = Any

ACCEPTED = (
    "a Graph, a path to a file, a networkx graph, a scipy sparse matrix, a square array or nested "
    "list of weights, a pandas DataFrame with columns source, target and weight, "
    "or a tuple (u, v, w) of arrays"
)


def as_graph(obj: GraphLike) -> Graph:
    """Turn anything that describes a graph into a :class:`Graph`.

    Parameters
    ----------
    obj : GraphLike
        A Graph (returned as it is), a path to a file (:func:`bdcc_jax.io.read`), a networkx graph
        with edge attribute ``weight``, a scipy sparse matrix, a square array or nested list of
        weights, a pandas DataFrame with columns ``source``, ``target`` and ``weight``, or a tuple
        ``(u, v, w)`` of the ends and weights of the edges. A tuple is never taken as a matrix.

    Raises
    ------
    TypeError
        It is none of these.

    Examples
    --------
    >>> as_graph(([0, 1], [1, 2], [1.0, -1.0]))
    Graph(n=3, m=2, positive=1, negative=1)
    >>> as_graph([[0, 1], [1, 0]])
    Graph(n=2, m=1, positive=1, negative=0)
    """
    if isinstance(obj, Graph):
        return obj
    if isinstance(obj, str | os.PathLike):
        return read(obj)
    if isinstance(obj, tuple):
        if len(obj) != 3:
            raise TypeError(f"a tuple must be (u, v, w), not of length {len(obj)}")
        return Graph.from_edges(*obj)
    if sp.issparse(obj):
        return Graph.from_scipy(obj)
    if _is_a(obj, "networkx", "Graph"):
        return Graph.from_networkx(obj)
    if _is_a(obj, "pandas", "DataFrame"):
        return Graph.from_pandas(obj)
    if isinstance(obj, list) or hasattr(obj, "__array__"):
        return Graph.from_dense(obj)
    raise TypeError(f"cannot make a graph of {type(obj).__name__!r}; accepted are {ACCEPTED}")


def _is_a(obj: Any, module: str, name: str) -> bool:
    # Whoever holds such an object has imported its module already.
    return isinstance(obj, getattr(sys.modules.get(module), name, ()))
