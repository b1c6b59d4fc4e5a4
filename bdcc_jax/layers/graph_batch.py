"""Different graphs in one batch: a graph of which they are the parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import IntArray
from ..instance.graph import Graph
from .edges import Edges


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Several graphs as one, whose nodes and edges come graph by graph.

    ``MulticutLayer(batch.edges, n=batch.n)`` and the others take the weights of all of them, one
    after another; what comes out for a graph does not depend on those beside it. The structured
    hinge of a batch is the sum of those of its graphs.

    Attributes
    ----------
    edges : ndarray of int, shape (m, 2)
        Of all graphs, in their order.
    n : int
        Number of nodes.
    edge_ends, node_ends : ndarray of int
        Where the edges and the nodes of each graph end.

    Examples
    --------
    >>> batch = GraphBatch.of([[(0, 1), (1, 2)], [(0, 1)]])
    >>> batch.edges.tolist(), batch.n
    ([[0, 1], [1, 2], [3, 4]], 5)
    >>> [part.tolist() for part in batch.by_edge(np.array([0.5, -1.0, 2.0]))]
    [[0.5, -1.0], [2.0]]
    """

    edges: IntArray
    n: int
    edge_ends: IntArray
    node_ends: IntArray

    @staticmethod
    def of(graphs: Iterable[Graph | ArrayLike]) -> GraphBatch:
        """Put graphs, or arrays of edges of shape (m, 2), one after another.

        The nodes of an array are those up to the largest id in it.
        """
        parts = [Edges.of(graph) for graph in graphs]
        if not parts:
            raise ValueError("a batch needs at least one graph")
        node_ends = np.cumsum([part.n for part in parts])
        edges = [part.pairs + end - part.n for part, end in zip(parts, node_ends, strict=True)]
        edge_ends = np.cumsum([part.m for part in parts])
        return GraphBatch(np.concatenate(edges), int(node_ends[-1]), edge_ends, node_ends)

    def by_edge(self, values: Any) -> list[Any]:
        """Divide an array or tensor (..., m) of edges among the graphs."""
        return _divided(values, self.edge_ends)

    def by_node(self, values: Any) -> list[Any]:
        """Divide an array or tensor (..., n) of nodes among the graphs."""
        return _divided(values, self.node_ends)


def _divided(values: Any, ends: IntArray) -> list[Any]:
    if len(values.shape) == 0 or values.shape[-1] != ends[-1]:
        raise ValueError(f"values must have shape (..., {ends[-1]}), not {tuple(values.shape)}")
    starts = [0, *ends[:-1].tolist()]
    return [values[..., a:b] for a, b in zip(starts, ends.tolist(), strict=True)]
