"""The engine of choice on a GPU: violated paths of all roots, packed in a few batched calls.

The idea is that of the engine 'packing', the kernels are in :mod:`.cell_packing`. Detection, which
alone may declare convergence, is exact and on the host, as is the check of every row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, IntArray
from ...base.clock import Clock
from ...base.compiled import compiled
from ...instance.cover import Cover
from ...instance.graph import Graph
from ...lp.rows import Rows
from ..packing import ZERO, PackingEngine
from ..paper.ball import VIOLATION
from ..separation import Separation
from ..violations import violated_edges
from .arc_groups import arc_groups, bucket, pad
from .cell_packing import CLOSED, UNIT, Packing, Targets, pack
from .limits import Check, is_out_of_memory

COLUMNS = 32
"""Searches that cost about as much as one: a device reads so many numbers in one go."""

FEW = 2048
"""Fewer violated edges are packed on the host: it takes about 7 us for each, and a round of kernels
takes 10 to 20 ms on a GPU, however small (a model: see benchmarks/RESULTS.md)."""

SMALL = 64
"""Smaller graphs are filled up to so many nodes."""

BYTES_PER_ENTRY = 32
"""Device memory for one node of one column: distances and parents, old, new and in flight."""


class DevicePackingEngine:
    """Lines 6 to 13 of Algorithm 1 by path packing on a device.

    Parameters
    ----------
    graph : Graph
        The instance.
    cover : Cover
        The roots and their shares of E-.
    reach : int or None
        Nodes that the cell of a root has, in the mean and at least. None: all.
    device : jax.Device
        Where to search.
    memory : int
        Bytes that distances and parents may take on the device; with less, cells are smaller.

    Examples
    --------
    >>> from bdcc_jax.instance.cover import vertex_cover
    >>> triangle = Graph.from_edges([0, 1, 0], [1, 2, 2], [1.0, 1.0, -1.0])
    >>> cover = vertex_cover(triangle, "greedy")
    >>> engine = DevicePackingEngine(triangle, cover, None, jax.devices("cpu")[0])
    >>> separation = engine.separate(np.array([0.0, 1.0, 0.3]), Clock(None))
    >>> len(separation.rows), separation.rows.values.tolist()
    (1, [1.0, -1.0, -1.0])
    """

    def __init__(
        self,
        graph: Graph,
        cover: Cover,
        reach: int | None,
        device: jax.Device,
        memory: int = 2**31,
    ) -> None:
        self._graph, self._cover, self._device = graph, cover, device
        self._reach = graph.n if reach is None else reach
        self._most_columns = max(COLUMNS, memory // (BYTES_PER_ENTRY * graph.n))
        self._root = np.repeat(cover.roots, np.diff(cover.starts))
        self._size = bucket(graph.m + 1, least=4 * SMALL)
        # Amounts only matter in relation to each other, and float32 has a range.
        self._demand = np.abs(graph.weights) / np.abs(graph.weights).max(initial=1e-300)
        capacity = np.where(graph.positive, self._demand, 0.0)
        self._arcs = jax.device_put(arc_groups(graph, SMALL), device)
        self._capacity = self._put(capacity, np.float32, self._size, 0.0)
        self._on_host = PackingEngine(graph, cover, reach)

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Cycle inequalities that x violates: some whenever there are any."""
        x = np.where(x < ZERO, 0.0, x)
        with clock.measure("detection"):
            violated = np.flatnonzero(violated_edges(self._graph, self._cover, x, clock))
        if len(violated) == 0:
            return Separation.nothing_violated()
        few = len(violated) < FEW
        rows = Rows.empty()
        with clock.measure("subproblems"):
            clock.check()
            if not few:
                rows = self._packed_rows(x, violated, clock)
        if len(rows) > 0:
            return Separation(rows, len(violated), fallbacks=0, satisfied=False)
        rest = self._on_host.separate(x, clock)
        return replace(rest, fallbacks=0 if few else len(violated))

    def _packed_rows(self, x: FloatArray, violated: IntArray, clock: Clock) -> Rows:
        """In as many columns as fit; none at all if not even the fewest do."""
        while True:
            try:
                with clock.device_call():
                    packing = self.pack(x, violated, clock.check)
                return self._rows(packing, violated, x)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            if self._most_columns <= COLUMNS:
                return Rows.empty()
            self._most_columns = max(COLUMNS, self._most_columns // 4)

    def pack(self, x: FloatArray, violated: IntArray, check: Check) -> Packing:
        """Pack paths for the edges at some positions of ``cover.edges``, on the device."""
        edges, roots = self._cover.edges[violated], self._root[violated]
        size = _coarse(len(edges))
        usable = self._graph.positive & (x < 1.0)
        with jax.enable_x64(False), jax.default_device(self._device):
            lengths = np.where(usable, np.rint(UNIT * x), CLOSED)
            reach = np.rint(UNIT * (x[edges] - VIOLATION))
            targets = Targets(
                root=self._put(roots, np.int32, size, 0),
                far=self._put(self._cover.far_ends[violated], np.int32, size, 0),
                reach=self._put(reach, np.int32, size, 0),
                demand=self._put(self._demand[edges], np.float32, size, 0.0),
            )
            return pack(
                self._arcs,
                self._put(lengths, np.int32, self._size, CLOSED),
                self._capacity,
                targets,
                self._columns(len(np.unique(roots))),
                check,
            )

    def _columns(self, n_roots: int) -> int:
        """As many as make the cells large enough, and COLUMNS at least."""
        wanted = max(COLUMNS, n_roots * self._reach // self._graph.n)
        return _coarse(min(n_roots, wanted, self._most_columns))

    def _rows(self, packing: Packing, violated: IntArray, x: FloatArray) -> Rows:
        """The cycle inequalities of the paths that the host finds in order."""
        count = min(int(packing.found), len(packing.target))
        paths = np.asarray(packing.paths)[:count]
        at = violated[np.asarray(packing.target)[:count]]
        edges, roots, far_ends = self._cover.edges[at], self._root[at], self._cover.far_ends[at]
        lengths = _path_lengths(paths, roots, far_ends, self._graph.edges, x)
        kept = x[edges] - lengths > VIOLATION
        cycles = np.concatenate([edges[kept, None], paths[kept]], axis=1)
        present = cycles < self._graph.m
        starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return Rows.of_cycles(starts, cycles[present].astype(np.int32))

    def _put(self, array: NDArray[Any], kind: type, size: int, value: float) -> jax.Array:
        on_device: jax.Array = jax.device_put(pad(array.astype(kind), size, value), self._device)
        return on_device


@compiled
def _path_lengths(
    paths: NDArray[np.int32], roots: IntArray, far_ends: IntArray, ends: IntArray, x: FloatArray
) -> FloatArray:
    """Sum of x over every path; inf for what is no path from a far end to its root.

    A row is valid because it is a cycle: the one thing about it that is not left to the device.
    """
    lengths = np.zeros(len(paths))
    for i in range(len(paths)):
        node = far_ends[i]
        for e in paths[i]:
            if e >= len(x):
                break
            u, v = ends[e]
            if node != u and node != v:
                node = -1
                break
            node = u + v - node
            lengths[i] += x[e]
        if node != roots[i]:
            lengths[i] = np.inf
    return lengths


def _coarse(size: int) -> int:
    """The smallest of 32, 128, 512, ... that is at least ``size``: few shapes, so few kernels."""
    coarse = 32
    while coarse < size:
        coarse *= 4
    return coarse
