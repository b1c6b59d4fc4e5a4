"""Pairs of nodes and the triangles over them, both of which only ever grow.

The first pairs are the edges of the instance. A cycle of more than three edges is cut into
triangles by chords from its first node; a chord that is no edge is a pair of weight 0, which
changes no clustering's cost.
"""

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import IntArray
from ...base.compiled import compiled
from ...instance.graph import Graph

EMPTY = -1


class PairTable:
    """The pairs and the triangles that a dual ascent knows.

    Examples
    --------
    >>> table = PairTable(Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [1.0, 2.0, 3.0, -1.0]))
    >>> table.add_cycles(np.array([0, 1, 2, 3]), np.array([0, 4]))
    2
    >>> table.pairs.edges.tolist(), table.pairs.weights.tolist()
    ([[0, 1], [0, 3], [1, 2], [2, 3], [0, 2]], [1.0, -1.0, 2.0, 3.0, 0.0])
    >>> table.triangles.tolist()  # a column each: pairs (a, b), (a, c), (b, c) of a < b < c
    [[0, 4], [4, 1], [2, 3]]
    """

    def __init__(self, graph: Graph) -> None:
        self._graph, self._ends = graph, graph.edges.astype(np.int32)
        self._pairs, self._found = graph.m, 0
        self._triangles = np.empty((3, 0), np.int32)
        self._pair_at = _table_of(np.empty(0, np.int64), np.empty(0, np.int32), 2 * graph.m)
        _enter(graph.n, self._ends, *self._pair_at)
        self._triangle_at = _table_of(np.empty(0, np.int64), np.empty(0, np.int32), 0)

    @property
    def pairs(self) -> Graph:
        """The instance with its chords, which have weight 0, behind its edges."""
        weights = np.zeros(self._pairs)
        weights[: self._graph.m] = self._graph.weights
        return Graph._trusted(self._graph.n, self.ends.astype(np.int64), weights)

    @property
    def ends(self) -> NDArray[np.int32]:
        """Both nodes of every pair, the smaller one first."""
        return self._ends[: self._pairs]

    @property
    def triangles(self) -> NDArray[np.int32]:
        """The three pairs of every triangle, one triangle a column."""
        return self._triangles[:, : self._found]

    @property
    def count(self) -> int:
        """How many triangles there are."""
        return self._found

    def add_cycles(self, nodes: IntArray, starts: IntArray) -> int:
        """Cut cycles into triangles; returns how many of these are new.

        Cycle i visits ``nodes[starts[i] : starts[i + 1]]``.
        """
        most = len(nodes) - 2 * (len(starts) - 1)
        if self._pairs + most > len(self._ends):
            self._ends = _longer(self._ends.T, self._pairs + most).T
        if self._found + most > self._triangles.shape[1]:
            self._triangles = _longer(self._triangles, self._found + most)
        self._pair_at = _table_of(*self._pair_at, 2 * (self._pairs + most))
        self._triangle_at = _table_of(*self._triangle_at, 2 * (self._found + most))
        before = self._found
        self._pairs, self._found = _cut_into_triangles(
            self._graph.n,
            nodes,
            starts,
            self._ends,
            self._pairs,
            *self._pair_at,
            self._triangles,
            self._found,
            *self._triangle_at,
        )
        return self._found - before


def _longer(columns: NDArray[np.int32], least: int) -> NDArray[np.int32]:
    """The same columns with room for more, at least twice as many."""
    room = np.empty((len(columns), max(least, 2 * columns.shape[1])), np.int32)
    room[:, : columns.shape[1]] = columns
    return room


def _table_of(
    keys: IntArray, values: NDArray[np.int32], least: int
) -> tuple[IntArray, NDArray[np.int32]]:
    """A hash table with at least so many slots, with everything that is in this one."""
    if len(keys) >= max(least, 8):
        return keys, values
    size = 1 << (2 * max(least, 8) - 1).bit_length()
    return _rehash(keys, values, np.full(size, EMPTY, np.int64), np.empty(size, np.int32))


@compiled
def _rehash(
    keys: IntArray, values: NDArray[np.int32], new: IntArray, new_values: NDArray[np.int32]
) -> tuple[IntArray, NDArray[np.int32]]:
    for i in range(len(keys)):
        if keys[i] != EMPTY:
            slot = _slot(new, keys[i])
            new[slot], new_values[slot] = keys[i], values[i]
    return new, new_values


@compiled
def _slot(keys: IntArray, key: int) -> int:
    """Where a key is, or the empty slot where it belongs."""
    mask = len(keys) - 1
    # Fibonacci hashing: the high bits of the product depend on all bits of the key.
    slot = ((key * 0x9E3779B97F4A7C1) >> 20) & mask
    while keys[slot] != key and keys[slot] != EMPTY:
        slot = (slot + 1) & mask
    return slot


@compiled
def _enter(n: int, ends: NDArray[np.int32], keys: IntArray, values: NDArray[np.int32]) -> None:
    for e in range(len(ends)):
        key = np.int64(ends[e, 0]) * n + ends[e, 1]
        slot = _slot(keys, key)
        keys[slot], values[slot] = key, e


@compiled
def _cut_into_triangles(
    n: int,
    nodes: IntArray,
    starts: IntArray,
    ends: NDArray[np.int32],
    pairs: int,
    pair_keys: IntArray,
    pair_values: NDArray[np.int32],
    triangles: NDArray[np.int32],
    found: int,
    triangle_keys: IntArray,
    triangle_values: NDArray[np.int32],
) -> tuple[int, int]:
    """Enter all triangles of a fan from the first node of each cycle, and their chords."""
    corner, side = np.empty(3, np.int64), np.empty(3, np.int32)
    for cycle in range(len(starts) - 1):
        for i in range(starts[cycle] + 1, starts[cycle + 1] - 1):
            corner[0], corner[1], corner[2] = nodes[starts[cycle]], nodes[i], nodes[i + 1]
            corner.sort()
            for j in range(3):
                a, b = corner[j // 2], corner[1 + (j + 1) // 2]
                slot = _slot(pair_keys, a * n + b)
                if pair_keys[slot] == EMPTY:
                    pair_keys[slot], pair_values[slot] = a * n + b, pairs
                    ends[pairs, 0], ends[pairs, 1] = a, b
                    pairs += 1
                side[j] = pair_values[slot]
            # A pair and the third node are fewer bits than three nodes.
            key = np.int64(side[0]) * n + corner[2]
            slot = _slot(triangle_keys, key)
            if triangle_keys[slot] == EMPTY:
                triangle_keys[slot], triangle_values[slot] = key, found
                triangles[:, found] = side
                found += 1
    return pairs, found
