"""Graphs without negative weights as matrices, and all pairs of their nodes."""

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.arrays import FloatArray, IntArray
from ..base.validation import unless_ids
from ..instance.graph import Graph
from . import attributed
from .convert import as_graph

MAX_PAIRS = 20_000_000
"""Most pairs of nodes in an instance that has an edge for every pair; more take gigabytes."""

BYTES_A_PAIR = 130
"""Peak memory for each pair of nodes while such an instance is built."""


def check_pairs(n: int, max_pairs: int) -> None:
    """Refuse an instance with an edge for every pair of too many nodes."""
    pairs = n * (n - 1) // 2
    if pairs > max_pairs:
        raise ValueError(
            f"{n} nodes have {pairs} pairs, and each becomes an edge: about "
            f"{pairs * BYTES_A_PAIR / 1e9:.1f} GB of memory. max_pairs={max_pairs} refuses this; "
            "raise it if you have the memory (and the patience), or build a sparse instance"
        )


@dataclass(frozen=True)
class UnsignedGraph:
    """A graph without negative weights; a self-loop of an undirected one counts twice in A."""

    A: sp.csr_array
    names: Sequence[Hashable] | None
    directed: bool

    @property
    def n(self) -> int:
        """Number of nodes."""
        return int(self.A.shape[0])

    @property
    def total(self) -> float:
        """The sum of all degrees."""
        total = float(self.A.sum())
        if total == 0:
            raise ValueError("the graph has no edges, so no modularity")
        return total


def unsigned_graph(G: Any, weight: str | None) -> UnsignedGraph:
    """Read whatever describes a graph; an edge of networkx without the attribute weighs 1."""
    names: Sequence[Hashable] | None
    if isinstance(G, str | os.PathLike):
        found = attributed(G)
        G = G if found is None else found
    if is_networkx(G):
        import networkx as nx

        names, directed = list(G.nodes), G.is_directed()
        if not names:
            raise ValueError("the graph is empty: it has no nodes")
        A = sp.coo_array(nx.to_scipy_sparse_array(G, names, dtype=np.float64, weight=weight))
        if not directed:
            A.data[A.coords[0] == A.coords[1]] *= 2
        A = sp.csr_array(A)
    else:
        graph, loops = _without_loops(G)
        names, directed = graph.names, False
        (u, v), at = graph.edges.T, loops.nonzero()[0]
        ends = np.concatenate([u, v, at]), np.concatenate([v, u, at])
        data = np.concatenate([graph.weights, graph.weights, 2 * loops[at]])
        A = sp.csr_array((data, ends), shape=(graph.n, graph.n))
    bad = ~((A.data >= 0) & (A.data < np.inf))
    if bad.any():
        i, j = (int(c[bad][0]) for c in A.tocoo().coords)
        raise ValueError(
            f"weights must be finite and not negative: that of nodes {i} and {j} is {A[i, j]}"
        )
    return UnsignedGraph(A, unless_ids(names), directed)


def _without_loops(G: Any) -> tuple[Graph, FloatArray]:
    """Return the graph, and the weights of the self-loops: those on the diagonal of a matrix."""
    if isinstance(G, list | np.ndarray):
        G = sp.csr_array(np.asarray(G)) if np.ndim(G) == 2 else G
    if not sp.issparse(G):
        graph = as_graph(G)
        if graph.constraints:
            raise ValueError("weights must be finite, and there can be no constraints")
        if graph.lifted is not None:
            raise ValueError("there can be no lifted edges here: give the ordinary ones alone")
        return graph, np.zeros(graph.n)
    loops = G.diagonal()
    return Graph.from_scipy(off_diagonal(sp.coo_array(G))), loops.astype(np.float64)


def off_diagonal(A: sp.coo_array, shift: float = 0.0) -> sp.coo_array:
    """Return what is stored off the diagonal, shifted."""
    i, j = A.coords
    off = i != j
    return sp.coo_array((A.data[off] + shift, (i[off], j[off])), shape=A.shape)


def is_networkx(G: Any) -> bool:
    """Whether it is a graph of networkx, which need not be imported for that."""
    return hasattr(G, "nodes") and hasattr(G, "is_directed")


def all_pairs(n: int, max_pairs: int) -> tuple[IntArray, IntArray]:
    """Return the ends of all pairs of nodes, in lexicographic order."""
    check_pairs(n, max_pairs)
    u, v = np.triu_indices(n, k=1)
    return u, v


def pair_index(upper: sp.coo_array, n: int) -> IntArray:
    """Where the entries (i, j), i < j, of a matrix stand among all pairs."""
    i, j = (c.astype(np.int64) for c in upper.coords)
    index: IntArray = i * n - i * (i + 1) // 2 + j - i - 1
    return index
