"""What a layer is made for: nodes and edges, whose weights come later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import IntArray
from ..base.validation import node_count, node_ids
from ..instance.graph import Graph


@dataclass(frozen=True, eq=False)
class Edges:
    """A graph without weights; the edges stay in the order and the direction they came in."""

    n: int
    pairs: IntArray

    @staticmethod
    def of(graph_or_edges: Graph | ArrayLike, n: int | None = None) -> Edges:
        """The edges of a graph, or of an array of shape (m, 2)."""
        if isinstance(graph_or_edges, Graph):
            if n is not None and n != graph_or_edges.n:
                raise ValueError(f"n is {n}, but the graph has {graph_or_edges.n} nodes")
            if features := graph_or_edges.features:
                raise ValueError(f"layers know of edges only, not of {features[0]}")
            if graph_or_edges.m == 0:
                raise ValueError("the graph has no edges: there is nothing to learn")
            return Edges(graph_or_edges.n, graph_or_edges.edges)
        pairs = np.asarray(graph_or_edges)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
            raise ValueError(f"edges must have shape (m, 2) with m >= 1, not {pairs.shape}")
        u, v = node_ids(pairs[:, 0], "edges"), node_ids(pairs[:, 1], "edges")
        largest = int(max(u.max(), v.max()))
        n = largest + 1 if n is None else node_count(n)
        if largest >= n:
            raise ValueError(f"node id {largest} is out of range: n = {n} allows 0 .. {n - 1}")
        if (loops := u == v).any():
            raise ValueError(f"edge {np.flatnonzero(loops)[0]} is a self-loop at {u[loops][0]}")
        _, first, inverse = np.unique(
            np.minimum(u, v) * n + np.maximum(u, v), return_index=True, return_inverse=True
        )
        if len(first) < len(u):
            again = int(np.flatnonzero(first[inverse] != np.arange(len(u)))[0])
            raise ValueError(
                f"edge {again} joins nodes {u[again]} and {v[again]}, as edge "
                f"{first[inverse][again]} does: give every edge once"
            )
        return Edges(n, np.column_stack([u, v]))

    @property
    def m(self) -> int:
        """Number of edges."""
        return len(self.pairs)

    def weights(self, weights: Any) -> jax.Array:
        """Check the shape (..., m) of weights and make them floats."""
        array = jnp.asarray(weights)
        self.check_weights(array.shape)
        if not jnp.issubdtype(array.dtype, jnp.floating):
            if not jnp.issubdtype(array.dtype, jnp.integer):
                raise ValueError(f"weights must be real numbers, not {array.dtype}")
            array = array.astype(float)
        return array

    def check_weights(self, shape: tuple[int, ...]) -> None:
        """Refuse weights whose last axis is not that of the edges."""
        if len(shape) == 0 or shape[-1] != self.m:
            raise ValueError(f"weights must have shape ({self.m},) or (..., {self.m}), not {shape}")

    def check_labels(self, shape: tuple[int, ...]) -> None:
        """Refuse partitions whose last axis is not that of the nodes."""
        if len(shape) == 0 or shape[-1] != self.n:
            raise ValueError(f"labels must have shape ({self.n},), not {shape}")
