"""Violation detection on a device: all roots of a chunk at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, IntArray
from ...base.clock import Clock
from ...instance.cover import Cover
from ...instance.graph import Graph
from ..paper.ball import VIOLATION, Ball, BallMaker
from ..paper.dijkstra import DijkstraFinder
from .bellman_ford import ENTRIES, FAR, arc_groups, distances, shortest_path_trees
from .buckets import bucket, pad
from .halving import is_out_of_memory

MOST_ROOTS = 2048
"""Roots in one call: more make it no faster, and the clock is looked at between calls."""

BYTES_PER_ENTRY = 64
"""Device memory for one node of one root: distances, hops and parents, old, new and in flight."""

LEAST_NODES = 64
"""Smaller graphs are padded to this, and to four times as many edges: all share their kernels."""

LEAST_ROOTS = 8
"""In a chunk; where not even so many fit, the host does it."""


class DeviceFinder:
    """Finds the violated roots at a given x by batched Bellman-Ford.

    Parameters
    ----------
    graph : Graph
        The instance.
    cover : Cover
        The roots and their shares of E-.
    ball_size : int or None
        See :class:`BallMaker`.
    device : jax.Device
        Where to search.
    memory : int
        Bytes that one chunk of roots may take on the device.
    """

    def __init__(
        self,
        graph: Graph,
        cover: Cover,
        ball_size: int | None,
        device: jax.Device,
        memory: int = 2**28,
    ) -> None:
        self._cover, self._device = cover, device
        self._maker = BallMaker(graph, ball_size)
        self._on_host = DijkstraFinder(graph, cover, ball_size)
        self._arcs = arc_groups(graph, LEAST_NODES)
        self._on_device = jax.device_put(self._arcs, device)
        # One sweep over a chunk is one call at least, and no call can be stopped.
        swept = ENTRIES["cpu" if device.platform == "cpu" else "gpu"] // self._arcs.neighbour.size
        fits = min(swept, memory // (BYTES_PER_ENTRY * self._arcs.n_nodes))
        # Columns that are searched at least: four times as many are as fast on small graphs.
        self._least = 4 * LEAST_ROOTS if graph.n <= LEAST_NODES else LEAST_ROOTS
        self._chunk = LEAST_ROOTS
        while 4 * self._chunk <= min(fits, MOST_ROOTS):
            self._chunk *= 4

    def find(self, x: FloatArray, clock: Clock) -> list[Ball]:
        """The balls of all violated roots."""
        cover = self._cover
        open_edges = x[cover.edges] > VIOLATION
        root_of_edge = np.repeat(np.arange(len(cover)), np.diff(cover.starts))
        active = np.unique(root_of_edge[open_edges])
        balls: list[Ball] = []
        with jax.enable_x64(True), jax.default_device(self._device):
            lengths = self._put(pad(x, bucket(len(x) + 1, least=4 * LEAST_NODES), np.inf))
            start = 0
            while start < len(active):
                clock.check()
                chunk = active[start : start + self._chunk]
                mine = open_edges & np.isin(root_of_edge, chunk)
                try:
                    balls += self._find_chunk(
                        lengths,
                        cover.roots[chunk],
                        np.searchsorted(chunk, root_of_edge[mine]),
                        cover.edges[mine],
                        cover.far_ends[mine],
                        x[cover.edges[mine]] - VIOLATION,
                        clock.check,
                    )
                    start += len(chunk)
                except Exception as error:
                    if not is_out_of_memory(error):
                        raise
                    self._chunk //= 2
                if self._chunk < LEAST_ROOTS:
                    self._chunk = LEAST_ROOTS
                    return self._on_host.find(x, clock)
        return balls

    def _find_chunk(
        self,
        lengths: jax.Array,
        roots: IntArray,
        column: IntArray,
        edges: IntArray,
        far_ends: IntArray,
        reach: FloatArray,
        check: Callable[[], None],
    ) -> list[Ball]:
        limits = np.zeros(len(roots))
        np.maximum.at(limits, column, reach)
        least = min(self._least, self._chunk)
        width, targets = _coarse(len(roots), least), _coarse(len(edges), 8 * LEAST_ROOTS)
        on_device = self._put(pad(roots, width, -1).astype(np.int32))
        distance = distances(
            self._on_device, lengths, on_device, self._put(pad(limits, width, 0.0)), check
        )
        violated = np.asarray(
            _violated(
                distance,
                self._put(pad(far_ends, targets, 0).astype(np.int32)),
                self._put(pad(column, targets, 0).astype(np.int32)),
                self._put(pad(reach, targets, -np.inf)),
            )
        )[: len(edges)]
        if not violated.any():
            return []
        edges, far_ends, column = edges[violated], far_ends[violated], column[violated]
        hit, column = np.unique(column, return_inverse=True)
        picked = self._put(pad(hit, _coarse(len(hit), least), hit[0]).astype(np.int32))
        there, near = _pick(on_device, distance, picked)
        trees = shortest_path_trees(self._on_device, lengths, there, near, check)
        near, hops, arc = (np.asarray(a)[:, : len(hit)] for a in (near, *trees))
        by_column = np.split(np.arange(len(edges)), np.searchsorted(column, np.arange(1, len(hit))))
        balls = []
        for c, mine in enumerate(by_column):
            check()
            ball = self._ball(near[:, c], hops[:, c], arc[:, c], far_ends[mine], edges[mine])
            balls.append(ball)
        return balls

    def _ball(
        self, near: FloatArray, hops: IntArray, arc: IntArray, far_ends: IntArray, edges: IntArray
    ) -> Ball:
        reached = np.flatnonzero(np.isfinite(near))
        nodes = reached[np.lexsort((hops[reached], near[reached]))]
        position = np.empty(len(near), dtype=np.int64)
        position[nodes] = np.arange(len(nodes))
        arcs = np.where(arc[nodes] == FAR, 0, arc[nodes])
        parent = position[self._arcs.neighbour.ravel()[arcs]]
        via = self._arcs.edge.ravel()[arcs].astype(np.int64)
        parent[0] = via[0] = -1  # the root comes first: distance 0, no hops
        return self._maker.make(nodes, parent, via, position[far_ends], edges)

    def _put(self, array: NDArray[Any]) -> jax.Array:
        on_device: jax.Array = jax.device_put(array, self._device)
        return on_device


def _coarse(size: int, least: int) -> int:
    """The next of `least`, 4 `least`, 16 `least`, ...: few shapes, so few kernels."""
    coarse = least
    while coarse < size:
        coarse *= 4
    return coarse


@jax.jit
def _violated(
    distance: jax.Array, far_ends: jax.Array, column: jax.Array, reach: jax.Array
) -> jax.Array:
    return distance[far_ends, column] < reach


@jax.jit
def _pick(roots: jax.Array, distance: jax.Array, picked: jax.Array) -> tuple[jax.Array, jax.Array]:
    return roots[picked], distance[:, picked]
