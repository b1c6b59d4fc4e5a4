"""Whatever describes a graph, as a :class:`Graph`."""

import os
import sys
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..base.validation import unless_ids
from ..instance.graph import Graph
from . import arrow, read

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from numpy.typing import ArrayLike

    class SupportsArrow(Protocol):
        """A table of polars, pyarrow or DuckDB."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    GraphLike: TypeAlias = (
        Graph
        | str
        | os.PathLike[str]
        | tuple[ArrayLike, ArrayLike, ArrayLike]
        | list[tuple[Hashable, Hashable, float]]
        | nx.Graph
        | sp.sparray
        | sp.spmatrix
        | pd.DataFrame
        | SupportsArrow
        | ArrayLike
    )
    """What :func:`as_graph` accepts."""
else:  # nobody needs networkx or pandas for a name
    GraphLike = Any

ACCEPTED = (
    "a Graph, a path to a file, a networkx graph, a scipy sparse matrix, a square array or nested "
    "list of weights, a table of pandas, polars, pyarrow or DuckDB with columns source, target and "
    "weight, a tuple (u, v, w) of arrays, or a list of tuples (a, b, weight)"
)

COLUMNS = ("source", "target", "weight")
"""Of a table, unless others are named."""


def as_graph(obj: GraphLike, columns: Sequence[str] | None = None) -> Graph:
    """Turn anything that describes a graph into a :class:`Graph`.

    Parameters
    ----------
    obj : GraphLike
        A Graph (returned as it is), a path to a file (:func:`bdcc_jax.io.read`), a networkx graph
        with edge attribute ``weight``, a scipy sparse matrix, a square array or nested list of
        weights, a table of pandas, polars, pyarrow or DuckDB with columns ``source``, ``target``
        and ``weight``, a tuple ``(u, v, w)`` of the ends and weights of the edges (never taken as a
        matrix), or a list of tuples ``(a, b, weight)``, where whole numbers are node ids and
        anything else names.
    columns : three str, optional
        Which columns of a table hold the two nodes and the weight.

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
    >>> as_graph([("ann", "bob", 1.0), ("bob", "cid", -1.0)]).names
    ('ann', 'bob', 'cid')
    """
    if _is_a(obj, "pandas", "DataFrame") or arrow.is_table(obj):
        return _of_table(obj, columns)
    if columns is not None:
        raise ValueError(f"columns are for tables, not for {type(obj).__name__!r}")
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
    if isinstance(obj, list) and obj and all(isinstance(row, tuple) for row in obj):
        return _of_tuples(obj)
    if isinstance(obj, list) or hasattr(obj, "__array__"):
        return Graph.from_dense(obj)  # type: ignore[arg-type]
    raise TypeError(f"cannot make a graph of {type(obj).__name__!r}; accepted are {ACCEPTED}")


def _of_tuples(rows: list[tuple[Any, ...]]) -> Graph:
    """A graph of edges (a, b, weight)."""
    wrong = next((row for row in rows if len(row) != 3), None)
    if wrong is not None:
        raise ValueError(
            f"a list of tuples must be edges (a, b, weight), not {wrong!r}; "
            "a matrix is a list of lists, or an array"
        )
    if len(rows) == 3 and all(rows[i][j] == rows[j][i] for i in range(3) for j in range(i)):
        raise ValueError(
            f"{rows!r} may be three edges or a matrix: pass a list of lists, or (u, v, w)"
        )
    u, v, w = (list(column) for column in zip(*rows, strict=True))
    if all(isinstance(node, int | np.integer) for node in (*u, *v)):
        return Graph.from_edges(u, v, w)
    index: dict[Hashable, int] = {}
    pairs = [[index.setdefault(node, len(index)) for node in row[:2]] for row in rows]
    return Graph(len(index), pairs, w, list(index))


def _of_table(table: Any, columns: Sequence[str] | None) -> Graph:
    chosen = COLUMNS if columns is None else tuple(columns)
    if isinstance(columns, str) or len(chosen) != 3:
        raise ValueError(f"columns must be three names (node, node, weight), not {columns!r}")
    there = list(table.columns) if hasattr(table, "iloc") else arrow.column_names(table)
    if missing := [name for name in chosen if name not in there]:
        raise ValueError(
            f"the table has no column {missing[0]!r}; it has {there}: say which hold the nodes and "
            "the weight, columns=(a, b, w); scores of pairs are for bdcc_jax.tables.cluster"
        )
    if hasattr(table, "iloc"):
        return Graph.from_pandas(table, *chosen)
    found = arrow.columns(table, chosen)
    ends = [arrow.ids(found[name], name) for name in chosen[:2]]
    codes, names = arrow.numbered(ends)
    weights = found[chosen[2]]
    if weights.null_count:
        raise ValueError(f"column {chosen[2]!r} must have no missing entries")
    called = names.to_pylist()
    order = sorted(range(len(called)), key=called.__getitem__)  # as of other tables
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    pairs = np.column_stack([place[part] for part in codes])
    return Graph(len(order), pairs, weights.to_numpy(), unless_ids([called[i] for i in order]))


def _is_a(obj: Any, module: str, name: str) -> bool:
    # Whoever holds such an object has imported its module already.
    return isinstance(obj, getattr(sys.modules.get(module), name, ()))
