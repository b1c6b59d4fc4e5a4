"""Minima over the arcs of every node, for batched searches on a device, in pure JAX.

Arrays are [node, column]: a sweep reads whole rows, which are contiguous, and needs no scatter. The
minimum over the arcs into a node is taken by gathers alone, in groups of WIDTH arcs, then groups of
groups, until one is left a node; a hub of a thousand arcs costs as much as a thousand arcs do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from ...base.arrays import IntArray
from ...instance.graph import Graph
from .limits import ENTRIES, Check, kind_of

WIDTH = 8
"""Arcs in a group."""

FAR = 2**30
"""More arcs than any graph has: stands for 'none'."""


class ArcGroups(NamedTuple):
    """E+ by node: groups of arcs, and which groups make a node; int32, on the host or a device.

    Attributes
    ----------
    neighbour, edge : [groups, width]
        The other end and the edge of every arc. A missing arc has the edge id m, of length inf.
    owner : [groups]
        The node that a group belongs to.
    levels : tuple of [size, width]
        Entry i of a level is the minimum over these entries of the level below. The last level,
        or the groups themselves if there is none, has an entry a node and an empty one.
    """

    neighbour: Any
    edge: Any
    owner: Any
    levels: tuple[Any, ...]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, padding included."""
        return int((self.levels[-1] if self.levels else self.neighbour).shape[0]) - 1


def arc_groups(graph: Graph, least: int = 8) -> ArcGroups:
    """Group the arcs of E+ by node, at least so many, on the host; sizes are rounded to buckets.

    Graphs with fewer nodes have groups of one width, so that they share their kernels.
    """
    starts, neighbours, edges = graph.positive_adjacency
    counts = pad(np.diff(starts), bucket(graph.n, least=least), 0)
    tables, owners, empty = [], [], len(neighbours)
    while True:
        last = int(counts.max()) <= WIDTH
        width = bucket(min(int(counts.max()), WIDTH), least=WIDTH if graph.n < least else 4)
        table, owner, counts = _group(counts, width, empty, one_each=last)
        tables.append(table.astype(np.int32))
        owners.append(owner.astype(np.int32))
        empty = len(table) - 1
        if last:
            break
    return ArcGroups(
        neighbour=np.append(neighbours, 0).astype(np.int32)[tables[0]],
        edge=np.append(edges, graph.m).astype(np.int32)[tables[0]],
        owner=owners[0],
        levels=tuple(tables[1:]),
    )


def _group(
    counts: IntArray, width: int, empty: int, *, one_each: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """Cut consecutive runs of the given lengths into groups of at most `width`.

    Returns the members of every group (``empty`` where there is none; the last group is all empty),
    the run that each group belongs to, and how many groups each run has: exactly one each if so
    asked, which needs all runs to be short enough.
    """
    groups = np.ones_like(counts) if one_each else -(-counts // width)
    owner = np.repeat(np.arange(len(counts)), groups)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(groups) - groups, groups)
    offset = rank[:, None] * width + np.arange(width)
    first = np.cumsum(counts) - counts
    members = np.where(offset < counts[owner, None], first[owner, None] + offset, empty)
    size = len(owner) + 1 if one_each else bucket(len(owner) + 1)
    return pad(members, size, empty), pad(owner, size, 0), groups


def in_pieces(
    sweeps: Callable[[Array, Array], tuple[Array, Array, Array]],
    columns: Array,
    arcs: ArcGroups,
    check: Check,
    most: int = FAR,
) -> tuple[Array, int]:
    """Sweep until nothing changes, ``most`` times at most: a few a call, as no call can be stopped.

    Returns the columns at the end, and the number of sweeps.
    """
    at_once, done, more = per_call(columns, arcs.neighbour.size * columns.shape[1]), 0, True
    while more and done < most:
        check()
        count = min(at_once, most - done)
        allowed = jax.device_put(np.int32(count), columns.device)
        columns, *outcome = sweeps(columns, allowed)
        changed, swept = jax.device_get(outcome)
        more, done = bool(changed), done + int(swept)
    return columns, done


def per_call(on_device: Array, entries: int) -> int:
    """How often a kernel may repeat itself in one call, given the entries that it reads each time.

    Examples
    --------
    >>> per_call(jnp.zeros(1), 2**26), per_call(jnp.zeros(1), 2**30)
    (2, 1)
    """
    (device,) = on_device.devices()
    return max(1, ENTRIES[kind_of(device)] // max(1, entries))


def repeat(
    sweep: Callable[[Array], Array], start: Array, most: Array
) -> tuple[Array, Array, Array]:
    """Sweep until nothing changes, or so often; whether the last changed anything; how many."""

    def once(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        old, _, count = state
        new = sweep(old)
        return new, jnp.any(new < old), count + 1

    end: tuple[Array, Array, Array] = lax.while_loop(
        lambda state: state[1] & (state[2] < most), once, (start, jnp.array(True), jnp.int32(0))
    )
    return end


def minimum(arcs: ArcGroups, value: Callable[[int], Array]) -> Array:
    """Per node the minimum over its arcs of a value, given for the k-th arc of every group."""
    result = value(0)
    for k in range(1, arcs.neighbour.shape[1]):
        result = jnp.minimum(result, value(k))
    for level in arcs.levels:
        below, result = result, result[level[:, 0]]
        for k in range(1, level.shape[1]):
            result = jnp.minimum(result, below[level[:, k]])
    return result[:-1]


def bucket(size: int, *, least: int = 8) -> int:
    """The smallest of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is at least ``size`` and ``least``.

    Examples
    --------
    >>> [bucket(size) for size in (1, 9, 13, 17, 100)]
    [8, 12, 16, 24, 128]
    """
    size = max(size, least, 1)
    power = 1 << (size - 1).bit_length()
    return 3 * power // 4 if power >= 4 and size <= 3 * power // 4 else power


def pad(array: NDArray[Any], size: int, value: float) -> NDArray[Any]:
    """Lengthen the first axis to ``size``, filling up with ``value``.

    Examples
    --------
    >>> pad(np.array([1, 2]), 4, 0).tolist()
    [1, 2, 0, 0]
    """
    widths = [(0, size - len(array))] + [(0, 0)] * (array.ndim - 1)
    return np.pad(array, widths, constant_values=value)
