"""Path packing on a device: the idea of the engine 'packing', for all roots at once."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ..arrays import BoolArray, FloatArray, IntArray
from ..clock import Clock
from ..cover import Cover
from ..graph import Graph
from ..rows import Rows
from .ball import VIOLATION
from .bellman_ford import arc_groups
from .buckets import bucket, pad
from .cell_packing import CLOSED, HOPS, UNIT, Targets, pack
from .packing import ZERO, PackingEngine
from .separation import Separation
from .violations import violated_edges

COLUMNS = 64
"""Searches at once that cost hardly more than one: what a GPU reads in one go."""


class DevicePackingEngine:
    """Lines 6 to 13 of Algorithm 1 by path packing on a device.

    Detection is exact and on the host. So is the check of every row, and what the device finds no
    row for: paths of more than HOPS edges.

    Parameters
    ----------
    graph : Graph
        The instance.
    cover : Cover
        The roots and their shares of E-.
    reach : int or None
        Nodes that the cell of a root has on the average, at least. None: all.
    device : jax.Device
        Where to search.
    """

    def __init__(
        self, graph: Graph, cover: Cover, reach: int | None, device: jax.Device
    ) -> None:
        self._graph, self._cover, self._device = graph, cover, device
        self._reach = graph.n if reach is None else reach
        self._size = bucket(graph.m + 1)
        self._arcs = jax.device_put(arc_groups(graph), device)
        widths = np.maximum(graph.weights, 0.0)
        self._capacity = self._put(pad(widths / widths.max(initial=1e-300), self._size, 0.0), np.float32)
        self._root = np.repeat(cover.roots, np.diff(cover.starts))
        self._on_host = PackingEngine(graph, cover, None)
        self.log = []

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Cycle inequalities that x violates: some whenever there are any."""
        x = np.where(x < ZERO, 0.0, x)
        with clock.measure("detection"):
            violated = violated_edges(self._graph, self._cover, x)
        n_violated = int(violated.sum())
        if n_violated == 0:
            return Separation(Rows.empty(), 0, 0)
        with clock.measure("subproblems"):
            rows = self._pack(x, np.flatnonzero(violated))
        if len(rows) > 0:
            return Separation(rows, n_violated, 0)
        separation = self._on_host.separate(x, clock)
        return Separation(separation.rows, separation.violated_roots, n_violated)

    def _pack(self, x: FloatArray, violated: IntArray) -> Rows:
        edges, roots = self._cover.edges[violated], self._root[violated]
        graph = self._graph
        with jax.enable_x64(False), jax.default_device(self._device):
            size = bucket(len(edges))
            lengths = np.where(graph.positive & (x < 1.0), np.rint(UNIT * x), CLOSED)
            scale = np.maximum(graph.weights, 0.0).max()
            targets = Targets(
                root=self._put(pad(roots, size, 0), np.int32),
                far=self._put(pad(self._cover.far_ends[violated], size, 0), np.int32),
                reach=self._put(pad(np.rint(UNIT * (x[edges] - VIOLATION)), size, 0), np.int32),
                demand=self._put(pad(-graph.weights[edges] / scale, size, 0), np.float32),
            )
            n_roots = len(np.unique(roots))
            wanted = max(COLUMNS, n_roots * self._reach // graph.n)
            columns = bucket(min(n_roots, wanted))
            found = pack(
                self._arcs,
                self._put(pad(lengths, self._size, CLOSED), np.int32),
                self._capacity,
                targets,
                columns,
            )
            count = min(int(found.count), 2 * size)
            paths, target = np.asarray(found.paths)[:count], np.asarray(found.target)[:count]
            self.log.append((len(edges), n_roots, columns, int(found.count), int(found.searches), int(found.served.sum())))
        return self._rows(np.concatenate([edges[target, None], paths], axis=1), x)

    def _rows(self, cycles: NDArray[np.int64], x: FloatArray) -> Rows:
        real = cycles < self._size - 1
        length = np.where(real[:, 1:], x[np.minimum(cycles[:, 1:], len(x)-1)], 0.0).sum(axis=1)
        kept = x[cycles[:, 0]] - length > VIOLATION
        cycles, real = cycles[kept], real[kept]
        starts = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
        indices = cycles[real].astype(np.int32)
        values = np.full(len(indices), -1.0)
        values[starts[:-1]] = 1.0
        return Rows(starts, indices, values)

    def _put(self, array: NDArray[Any], kind: type) -> jax.Array:
        return jax.device_put(array.astype(kind), self._device)
