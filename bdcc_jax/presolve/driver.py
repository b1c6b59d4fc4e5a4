"""Make an instance smaller before it is solved, and lift clusterings of the rest back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.components import connected_components
from ..base.sums import sum_parallel_pairs
from ..instance.graph import Graph, canonical_labels
from .biconnected import biconnected_blocks, split_cut_vertices
from .dominance import dominate
from .multigraph import RESIDUE, multigraph, rest
from .steps import ATTRACTED, NAMES, SEPARATED, SPLIT, TRIANGLE, Steps
from .triangles import joined_triangles

COMPARABLE = 2.0**16
"""Pieces are solved together if the heaviest weights of no two differ by more than this factor."""

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
        return not self._steps.kinds and self.graph.n == self.original.n

    @property
    def n_pieces(self) -> int:
        """Number of independent pieces."""
        return len(self.piece_starts) - 1

    @cached_property
    def pieces(self) -> tuple[Graph, ...]:
        """The pieces as graphs; their labels, one after another, are labels of ``graph``."""
        edges, weights = self.graph.edges, self.graph.weights
        first_edge = np.searchsorted(edges[:, 0], self.piece_starts)
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
        sizes = np.abs(self.graph.weights)
        piece = np.repeat(np.arange(self.n_pieces), np.diff(self.piece_starts))
        heaviest = np.zeros(self.n_pieces)
        np.maximum.at(heaviest, piece[self.graph.edges[:, 0]], sizes)
        order = np.argsort(heaviest, kind="stable")
        scale, number, start = np.zeros(self.n_pieces, dtype=np.int64), 0, heaviest[order[0]]
        for i in order.tolist():
            if heaviest[i] > COMPARABLE * start:
                number, start = number + 1, heaviest[i]
            scale[i] = number
        return scale[piece]

    def lift(self, labels: ArrayLike) -> IntArray:
        """Turn labels of ``graph`` into labels of the original that cost no more.

        That is, ``original.objective(lift(labels)) <= constant + graph.objective(labels)``, up to
        rounding, whatever the labels. Equal labels in different pieces do not mean anything.
        """
        labels = np.asarray(labels)
        if labels.shape != (self.graph.n,):
            raise ValueError(f"labels must have shape ({self.graph.n},), not {labels.shape}")
        piece = np.repeat(np.arange(self.n_pieces), np.diff(self.piece_starts))
        clusters = canonical_labels(canonical_labels(labels) + piece * self.graph.n)
        return canonical_labels(self._steps.undo(self._slots, clusters)[: self.original.n])

    def log(self) -> tuple[list[list[Any]], list[int]]:
        """All steps in order, and which slot of theirs each node of ``graph`` is."""
        return self._steps.log(), self._slots.tolist()


class Rest(NamedTuple):
    """What is left while the rules run: edges between local nodes, and the slots of these."""

    u: IntArray
    v: IntArray
    w: FloatArray
    low: FloatArray  # what float64 cannot hold of w
    slots: IntArray
    changed: BoolArray  # nodes whose edges have changed since they were last looked at

    def compressed(self) -> Rest:
        """Drop the nodes without edges: they are decided."""
        used = np.zeros(len(self.slots), dtype=bool)
        used[self.u] = used[self.v] = True
        number = np.cumsum(used) - 1
        u, v = number[self.u], number[self.v]
        return Rest(u, v, self.w, self.low, self.slots[used], self.changed[used])


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
    clock = Clock(None) if clock is None else clock
    with clock.alarm() as stop:
        presolved = _presolve(graph, stop, RESIDUE)
        left = presolved.graph if presolved.graph.m else graph
        if presolved.off > RESIDUES_SHARE * np.abs(left.weights).min(initial=inf):
            # Beside weights this small a residue is a weight like any other.
            presolved = _presolve(graph, stop, 0.0)
    return presolved


def _presolve(graph: Graph, stop: BoolArray, residue: float) -> Presolved:
    steps = Steps(graph.n)
    u, v = graph.edges.T
    new = np.ones(graph.n, dtype=bool)
    left = Rest(u, v, graph.weights, np.zeros(graph.m), np.arange(graph.n), new)
    left = _split(_separate(left, steps), steps)
    while left.changed.any() and not stop[0]:
        left = _split(_separate(_dominate(left, steps, stop, residue), steps), steps)
        if not left.changed.any():
            left = _join_triangles(left, steps, stop)
    return _presolved(graph, left, steps)


def _separate(left: Rest, steps: Steps) -> Rest:
    """Cut the negative edges between components of E+.

    They are in no cycle with exactly one negative edge, so nothing forbids to cut them.
    """
    u, v, w, low, slots, changed = left
    component = connected_components(len(slots), u, v, w > 0)
    apart = component[u] != component[v]
    costs = np.where(low[apart] < 0.0, np.nextafter(w[apart], -inf), w[apart])  # rounded down
    steps.add(SEPARATED, slots[u[apart]], slots[v[apart]], costs)
    changed[u[apart]] = changed[v[apart]] = True
    return Rest(u[~apart], v[~apart], w[~apart], low[~apart], slots, changed).compressed()


def _split(left: Rest, steps: Steps) -> Rest:
    """Make biconnected blocks independent, and join the nodes of those without negative edges.

    Every cycle is inside one block, so any clusterings of the blocks fit together: the clusters
    that hold the copies of a cut vertex become one.
    """
    u, v, w, low, slots, changed = left
    block, by_block, n_blocks = biconnected_blocks(len(slots), u, v)
    mixed = np.bincount(block, w < 0, n_blocks) > 0
    kept = mixed[block]
    steps.add(ATTRACTED, slots[u[~kept]], slots[v[~kept]], None)
    changed[u[~kept]] = changed[v[~kept]] = True
    ends = slots[np.stack([u, v])]
    u, v = u.copy(), v.copy()
    copied = split_cut_vertices(len(slots), u, v, block, by_block, mixed)
    copies = steps.n_slots + np.arange(len(copied))
    steps.n_slots += len(copied)
    steps.add(SPLIT, slots[copied], copies, None)
    changed[copied] = True
    slots = np.concatenate([slots, copies])
    if len(copied):
        ends = np.concatenate([ends, slots[np.stack([u, v])]])
        steps.moved.append(ends[:, (ends[0] != ends[2]) | (ends[1] != ends[3])])
    changed = np.concatenate([changed, np.ones(len(copies), dtype=bool)])
    return Rest(u[kept], v[kept], w[kept], low[kept], slots, changed).compressed()


def _dominate(left: Rest, steps: Steps, stop: BoolArray, residue: float) -> Rest:
    """Weaken negative edges, and contract positive ones; see ``dominance.py``."""
    u, v, w, low, slots, changed = left
    lists = multigraph(u, v, w, low, changed, residue)
    for log in dominate(lists, stop):
        steps.add(log.kind, slots[log.a], slots[log.b], log.cost)
    steps.off += lists.off[0]
    return Rest(*rest(lists), slots, np.zeros_like(changed)).compressed()


def _join_triangles(left: Rest, steps: Steps, stop: BoolArray) -> Rest:
    """Contract triangles (see ``triangles.py``); their edges are added up at the next visit."""
    u, v, w, low, slots, changed = left
    triangles = joined_triangles(len(slots), u, v, w, stop)
    if len(triangles) == 0:
        return left
    a, b, c = triangles.T
    two, third = np.column_stack([b, c]).ravel(), np.repeat(a, 2)
    steps.add(TRIANGLE, slots[two], slots[third], None)
    node = np.arange(len(slots))
    node[b] = node[c] = a
    u, v = node[u], node[v]
    joined = np.zeros(len(slots), dtype=bool)
    joined[a] = True
    changed = changed | joined
    changed[u[joined[v]]] = changed[v[joined[u]]] = True
    return Rest(u, v, w, low, slots, changed)


def _presolved(graph: Graph, left: Rest, steps: Steps) -> Presolved:
    """Number the nodes that are left piece by piece, and build the reduced graph."""
    u, v, w, low, slots, _ = left
    piece = connected_components(len(slots), u, v, np.ones(len(u), dtype=bool))
    order = np.argsort(piece, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    starts = np.concatenate([[0], np.cumsum(np.bincount(piece))])
    slots = slots[order]
    if len(slots) == 0:  # any one will do: it is the only one of its cluster until steps are undone
        starts, slots = np.array([0, 1]), np.array([0])
    edges, weights, low, lost = sum_parallel_pairs(len(slots), number[u], number[v], w, low)
    reduced = Graph._trusted(len(slots), edges, weights)
    counts = dict(zip(NAMES, steps.counts().tolist(), strict=True))
    return Presolved(
        original=graph,
        graph=reduced,
        constant=steps.constant,
        removed=Removed(graph.n - reduced.n, graph.m - reduced.m, **counts),
        nodes=steps.origin(slots),
        piece_starts=starts,
        low=low,
        off=2.0 * (steps.off + lost),
        _steps=steps,
        _slots=slots,
    )
