"""The edges of networkx graphs and of tables, whose nodes have names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..base.validation import unless_ids

if TYPE_CHECKING:  # optional at run time
    import networkx as nx
    import pandas as pd

NamedEdges = tuple[int, ArrayLike, ArrayLike, Sequence[Hashable] | None]
"""The number of nodes, pairs of them, their weights, and names unless these are the ids."""


def edges_of_networkx(G: nx.Graph, weight: str) -> NamedEdges:
    """The edges of a graph of networkx; the nodes are in its order.

    Examples
    --------
    >>> import networkx as nx
    >>> edges_of_networkx(nx.Graph([("b", "a", {"w": 2.0})]), "w")
    (2, [(0, 1)], [2.0], ['b', 'a'])
    """
    names = list(G.nodes)
    index = {name: i for i, name in enumerate(names)}
    rows = list(G.edges(data=weight, default=None))
    for a, b, value in rows:
        if value is None:
            signed = any("sign" in data for *_, data in G.edges(data=True))
            raise ValueError(
                f"edge ({a!r}, {b!r}) has no attribute {weight!r}"
                + ("; bdcc_jax.graphs.signed_graph reads the attribute 'sign'" * signed)
            )
    pairs = [(index[a], index[b]) for a, b, _ in rows]
    return len(names), pairs, [value for *_, value in rows], unless_ids(names)


def edges_of_table(df: pd.DataFrame, source: str, target: str, weight: str) -> NamedEdges:
    """The edges of a table with one edge a row; the nodes are sorted by name.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"a": ["y"], "b": ["x"], "w": [1.0]})
    >>> n, pairs, weights, names = edges_of_table(df, "a", "b", "w")
    >>> n, pairs.tolist(), weights.tolist(), names
    (2, [[1, 0]], [1.0], ['x', 'y'])
    """
    import pandas as pd

    for column in (source, target, weight):
        if column not in df.columns:
            raise ValueError(f"the table has no column {column!r}; it has {list(df.columns)}")
    ends = pd.concat([df[source], df[target]], ignore_index=True)
    if ends.isna().any():
        row = int(np.flatnonzero(ends.isna())[0]) % len(df)
        raise ValueError(f"row {row} of the table has no node name")
    codes, names = pd.factorize(ends, sort=True)
    pairs = codes.reshape(2, -1).T
    return len(names), pairs, df[weight].to_numpy(), unless_ids(names.tolist())
