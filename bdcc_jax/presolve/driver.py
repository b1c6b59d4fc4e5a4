"""Make an instance smaller before it is solved, and lift clusterings of the rest back."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..base.sums import sum_down
from ..instance.graph import Graph
from ..instance.nested_order import nested_order
from .multigraph import RESIDUE
from .reduction import reduced
from .steps import NAMES, Steps

COMPARABLE = 2.0**16
"""Pieces are solved together if the heaviest weights of no two differ by more than this factor."""

MANY, CLOSE = 50_000, 4096
"""So many nodes do not fit into the caches of a processor: they are put in an order in which
neighbours are close, in groups of no more nodes than the second. What is left keeps this order."""

RESIDUES_SHARE = 1e-5
"""All dropped residues together may weigh this share of the smallest weight that is left."""


@dataclass(frozen=True)
class Removed:
    """What a presolve took away, in all and by rule.

    Attributes
    ----------
    nodes, edges : int
        How many fewer the reduced graph has.
    dominant : int
        Nodes joined to another because an edge outweighs the rest of one of its ends.
    similar : int
        Nodes joined to another because their edge outweighs how they differ.
    secluded : int
        Nodes joined to another because their edge outweighs what attracts either elsewhere.
    attracted : int
        Edges in blocks without negative edges, whose nodes are all joined.
    separated : int
        Negative edges whose ends no path of positive edges joins, which are cut.
    weakened : int
        Times that a negative edge was weakened to the positive weight at one end (to nothing, at
        a node without positive edges).
    triangle : int
        Nodes joined to another because a triangle outweighs the rest of its nodes.
    split : int
        Copies made of cut vertices, so that blocks become independent.
    """

    nodes: int
    edges: int
    dominant: int
    similar: int
    secluded: int
    attracted: int
    separated: int
    weakened: int
    triangle: int
    split: int


@dataclass(frozen=True, eq=False)
class Presolved:
    """A reduced instance: ``original optimum = constant + optimum of graph``, but for rounding.

    Attributes
    ----------
    original : Graph
        The instance as it was.
    graph : Graph
        What is left: a disjoint union of pieces, numbered piece by piece. An original node is in
        several pieces if it joins blocks, and in none if it is decided. Where all is decided, one
        piece of one node is left, because a graph needs a node.
    constant : float
        What the decisions cost, rounded down.
    removed : Removed
        What the rules took away.
    nodes : ndarray of int
        For each node of ``graph`` an original node that it stands for.
    piece_starts : ndarray of int
        Piece i is made of the nodes ``piece_starts[i] .. piece_starts[i + 1] - 1`` of ``graph``.
    low : ndarray, shape (graph.m,)
        What float64 cannot hold of the weights of ``graph``.
    off : float
        A clustering of ``graph`` that costs at most d more than an optimum is lifted to one of the
        original that costs at most ``d + off + sum of |low|`` more than an optimum.
    """

    original: Graph
    graph: Graph
    constant: float
    removed: Removed
    nodes: IntArray
    piece_starts: IntArray
    low: FloatArray
    off: float
    _steps: Steps
    _slots: IntArray

    @property
    def unchanged(self) -> bool:
        """Whether no rule applied, and every node has edges."""
        return not self._steps and self.graph.n == self.original.n

    @property
    def n_pieces(self) -> int:
        """Number of independent pieces."""
        return len(self.piece_starts) - 1

    @cached_property
    def pieces(self) -> tuple[Graph, ...]:
        """The pieces as graphs; their labels, one after another, are labels of ``graph``."""
        edges, weights = self.graph.edges, self.graph.weights
        first_edge = self._first_edge
        return tuple(
            Graph._trusted(stop - start, edges[a:b] - start, weights[a:b])
            for start, stop, a, b in zip(
                self.piece_starts[:-1].tolist(),
                self.piece_starts[1:].tolist(),
                first_edge[:-1].tolist(),
                first_edge[1:].tolist(),
                strict=True,
            )
        )

    def scales(self) -> IntArray:
        """Number the nodes of ``graph`` by how heavy their pieces are: 0 for all if comparably."""
        if self.graph.m == 0:
            return np.zeros(self.graph.n, dtype=np.int64)
        sizes, first_edge = np.abs(self.graph.weights), self._first_edge
        filled = np.flatnonzero(np.diff(first_edge))  # a deadline may leave pieces without edges
        heaviest = np.zeros(self.n_pieces)
        heaviest[filled] = np.maximum.reduceat(sizes, first_edge[filled])
        order = filled[np.argsort(heaviest[filled], kind="stable")]
        scale, number, start = np.zeros(self.n_pieces, dtype=np.int64), 0, heaviest[order[0]]
        for i in order.tolist():
            if heaviest[i] > COMPARABLE * start:
                number, start = number + 1, heaviest[i]
            scale[i] = number
        return np.repeat(scale, np.diff(self.piece_starts))

    @property
    def _first_edge(self) -> IntArray:
        """Where the edges of each piece begin, and how many there are."""
        return np.searchsorted(self.graph.edges[:, 0], self.piece_starts)

    def lift(self, labels: ArrayLike) -> IntArray:
        """Turn labels of ``graph`` into labels of the original that cost no more.

        That is, ``original.objective(lift(labels)) <= constant + graph.objective(labels)``, up to
        rounding, whatever the labels. Equal labels in different pieces do not mean anything.
        """
        labels = np.asarray(labels)
        if labels.shape != (self.graph.n,):
            raise ValueError(f"labels must have shape ({self.graph.n},), not {labels.shape}")
        clusters = canonical_labels(labels)
        return self._steps.undo(self._slots, clusters, self.piece_starts)[: self.original.n]

    def log(self) -> tuple[list[list[Any]], list[int]]:
        """All steps in order, and which slot of theirs each node of ``graph`` is."""
        return self._steps.log(), self._slots.tolist()


def presolve(graph: Graph, clock: Clock | None = None) -> Presolved:
    """Reduce an instance by rules that keep its optimum, until none applies.

    Parameters
    ----------
    graph : Graph
        The instance.
    clock : Clock, optional
        At its deadline no further rule is tried; what was reduced by then is as exact.

    Examples
    --------
    A frustrated triangle that hangs on another one by a cut vertex is decided altogether:

    >>> from bdcc_jax import Graph
    >>> from bdcc_jax.presolve import presolve
    >>> graph = Graph(5, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)], [3, 2, -1, 1, 2, -4])
    >>> presolved = presolve(graph)
    >>> presolved.graph.n, presolved.constant, presolved.lift([0]).tolist()
    (1, -3.0, [0, 0, 0, 1, 1])
    """
    if graph.features:
        raise ValueError(
            f"presolve knows of edges only, not of {graph.features[0]}: solve the graph, which does"
        )
    clock = Clock(None) if clock is None else clock
    with clock.alarm() as stop:
        presolved = _presolve(graph, stop, RESIDUE)
        left = presolved.graph if presolved.graph.m else graph
        if presolved.off > RESIDUES_SHARE * np.abs(left.weights).min(initial=inf):
            # Beside weights this small a residue is a weight like any other.
            presolved = _presolve(graph, stop, 0.0)
    return presolved


def _presolve(graph: Graph, stop: BoolArray, residue: float) -> Presolved:
    order = nested_order(graph, CLOSE) if graph.n >= MANY else np.arange(graph.n)
    ordered = graph if graph.n < MANY else _in_order(graph, order)
    left, log = reduced(graph.n, ordered.edges, ordered.weights, residue, stop)
    edges, weights, low, starts, slots, nodes = left
    used, n_moved, n_slots = log.used.tolist()
    # Copies of nodes, which come behind the nodes, are not renumbered.
    name = np.concatenate([order, np.arange(graph.n, n_slots)])
    slots, nodes = name[slots], name[nodes]
    steps = Steps(
        kinds=log.kind[:used].copy(),
        a=name[log.a[:used]],
        b=name[log.b[:used]],
        costs=log.cost[:used].copy(),
        moved=name[log.moved[:n_moved]],
        n_slots=n_slots,
    )
    counts = np.bincount(steps.kinds, minlength=len(NAMES)).tolist()
    rest = Graph._trusted(len(slots), edges, weights)
    removed = Removed(graph.n - rest.n, graph.m - rest.m, **dict(zip(NAMES, counts, strict=True)))
    constant = sum_down(steps.costs)
    off = 2.0 * float(log.off[0])
    return Presolved(graph, rest, constant, removed, nodes, starts, low, off, steps, slots)


def _in_order(graph: Graph, order: IntArray) -> Graph:
    """The same instance, its nodes renumbered in this order."""
    rank = np.empty(graph.n, dtype=np.int64)
    rank[order] = np.arange(graph.n)
    return Graph(graph.n, rank[graph.edges], graph.weights)
