"""Batched Bellman-Ford over roots: shortest paths on E+ with lengths x, in pure JAX.

Arrays are [node, root]: a sweep reads whole rows, which are contiguous, and needs no scatter. The
minimum over the arcs into a node is taken by gathers alone, in groups of WIDTH arcs, then groups of
groups, until one is left a node; a hub of a thousand arcs costs as much as a thousand arcs do.

All lengths are float64 and added in the order of the path, root first, as Dijkstra's algorithm adds
them: the distances, and so the verdicts, are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...base.arrays import IntArray
from ...instance.graph import Graph
from .buckets import bucket, pad

Check = Callable[[], None]

WIDTH = 8
"""Arcs in a group."""

FAR = 2**30
"""More hops than any path has, more arcs than any graph: stands for 'none'."""

ENTRIES = {"cpu": 2**27, "gpu": 2**31}
"""Arcs times columns that are swept in one call: some tenths of a second."""


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


def distances(
    arcs: ArcGroups, lengths: Array, roots: Array, limits: Array, check: Check = lambda: None
) -> Array:
    """Distance of every node from every root, inf where it is not below the root's limit.

    Parameters
    ----------
    arcs : ArcGroups
        The graph.
    lengths : float64 [m + 1 or more]
        Length of every edge, at least 0, and inf from position m on.
    roots : int32 [R]
        Nodes; -1 for a root that only fills up the batch.
    limits : float64 [R]
        Paths of this length or longer do not count.
    check : callable, optional
        Called between compiled calls; an exception that it raises ends the work.

    Returns
    -------
    float64 [n, R]
    """
    start = start_at(arcs, roots, jnp.inf)
    return in_pieces(partial(come_nearer, arcs, lengths, limits), start, arcs, check)[0]


@partial(jax.jit, static_argnames="far")
def start_at(arcs: ArcGroups, roots: Array, far: float) -> Array:
    """0 at the root of every column, ``far`` elsewhere."""
    nodes = jnp.arange(arcs.n_nodes, dtype=jnp.int32)
    kind = jnp.int32 if isinstance(far, int) else jnp.float64
    start: Array = jnp.where(nodes[:, None] == roots[None, :], kind(0), kind(far))
    return start


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
    return max(1, ENTRIES["cpu" if device.platform == "cpu" else "gpu"] // max(1, entries))


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


@jax.jit
def come_nearer(
    arcs: ArcGroups, lengths: Array, limits: Array, near: Array, most: Array
) -> tuple[Array, Array, Array]:
    """Sweeps of Bellman-Ford, so many at most; see :func:`repeat`."""
    along = lengths[arcs.edge]

    def sweep(old: Array) -> Array:
        reached = minimum(arcs, lambda k: old[arcs.neighbour[:, k]] + along[:, k, None])
        return jnp.where(reached < limits[None, :], jnp.minimum(old, reached), old)

    return repeat(sweep, near, most)


def shortest_path_trees(
    arcs: ArcGroups, lengths: Array, roots: Array, distance: Array, check: Check = lambda: None
) -> tuple[Array, Array]:
    """Hops to the root on the shortest of the shortest paths, and the arc to the parent on it.

    An arc u -> v is tight if ``d_u + x_e = d_v``. Counting hops along tight arcs makes the parents
    a tree even where lengths are zero. An arc is its flat position in ``arcs.neighbour``; nodes
    without a parent have FAR. ``check`` as in :func:`distances`.
    """
    start = start_at(arcs, roots, FAR)
    hops, _ = in_pieces(partial(count_hops, arcs, lengths, distance), start, arcs, check)
    check()
    return hops, to_parents(arcs, lengths, distance, hops)


def _tight(arcs: ArcGroups, lengths: Array, distance: Array) -> Callable[[int], Array]:
    """Whether the k-th arcs of all groups are tight."""
    along, reached = lengths[arcs.edge], distance[arcs.owner]

    def tight(k: int) -> Array:
        length = distance[arcs.neighbour[:, k]] + along[:, k, None]
        return (length == reached) & jnp.isfinite(reached)

    return tight


@jax.jit
def count_hops(
    arcs: ArcGroups, lengths: Array, distance: Array, hops: Array, most: Array
) -> tuple[Array, Array, Array]:
    """Sweeps along tight arcs, so many at most; see :func:`repeat`."""
    tight = _tight(arcs, lengths, distance)

    def sweep(old: Array) -> Array:
        def one_more(k: int) -> Array:
            return jnp.where(tight(k), old[arcs.neighbour[:, k]] + 1, jnp.int32(FAR))

        return jnp.minimum(old, minimum(arcs, one_more))

    return repeat(sweep, hops, most)


@jax.jit
def to_parents(arcs: ArcGroups, lengths: Array, distance: Array, hops: Array) -> Array:
    """The tight arc of every node that leads to one with a hop less; FAR for none."""
    tight = _tight(arcs, lengths, distance)
    arc = jnp.arange(arcs.neighbour.size, dtype=jnp.int32).reshape(arcs.neighbour.shape)

    def to_parent(k: int) -> Array:
        nearer = tight(k) & (hops[arcs.neighbour[:, k]] + 1 == hops[arcs.owner])
        return jnp.where(nearer, arc[:, k, None], jnp.int32(FAR))

    return minimum(arcs, to_parent)


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
