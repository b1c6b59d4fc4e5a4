"""Path packing on a device: all roots search at once, each in a cell of its own, in pure JAX.

A column of an array [node, column] serves many roots: every node of a column belongs to the root
that is nearest, and a root finds the paths to those of its targets that lie in its cell. With C
columns the cells of R roots have C / R of the nodes each, so a sweep of Bellman-Ford costs as much
as C searches and not R. The fewer the roots, the larger the cells; with a column for each root the
search is exact, but for paths of more than HOPS edges.

The paths of a pass then compete for the edges. On every edge the path with the fewest edges goes
first; a path that is first on all of its edges becomes a row and takes its bottleneck out of the
capacities, as one path after another does on a CPU. As an edge has one winner at a time, nothing
is summed up by scatters; those that there are take minima of integers or write to different
places, and so do not depend on an order.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from .bellman_ford import FAR, ArcGroups, minimum

HOPS = 16
"""Edges that a path may have. Twice as many cost twice as much, and hardly find more rows."""

UNIT = 2**29
"""Lengths are integers: multiples of 1 / UNIT. As small as float32, but finer where it matters."""

PER_HOP = UNIT // 10**6
"""What an edge counts besides its x, so that of equally short paths the shortest wins."""

CLOSED = 2**30 - 1
"""Length of an edge that no path may use; the sum of two is still an int32."""

PASSES = 32
"""Searches of a round, at most."""

MATCHES = 16
"""How often, at most, the paths of one pass compete."""

THIN_PASS = 1 / 32
"""After a pass that adds less than this share of the rows the capacities are filled up again, for
the targets without a row; where they were filled up just before, the round ends."""

NARROW = 1e-6
"""What is left of a capacity, or of a demand, counts as nothing below this share of it."""


Match = tuple[Array, Array, Array, Array, Array]
"""State of a competition: paths that won, width, left, whether to go on, matches so far."""


class Targets(NamedTuple):
    """The violated edges of E-, one an entry; those that only fill up have no demand.

    Attributes
    ----------
    root, far : int32 [T]
        The ends of an edge: the root that serves it, and the other one.
    reach : int32 [T]
        Its x: paths have to be shorter than this.
    demand : float32 [T]
        Its capacity.
    """

    root: Array
    far: Array
    reach: Array
    demand: Array


class Packing(NamedTuple):
    """The rows found so far, and what the packing has left.

    Attributes
    ----------
    paths : int32 [2 T, HOPS]
        Edges of every row from the far end to the root, then the position after the last edge.
    target : int32 [2 T]
        The entry of the targets that a row belongs to.
    found : int32
        Number of rows found; those that did not fit in are lost.
    width : float32 [m + 1 or more]
        What is left of the capacities.
    left : float32 [T]
        What is left of the demands.
    served : bool [T]
        Targets that have a row.
    period : int32
        Value of ``found`` when the capacities were last filled up.
    passes, sweeps : int32
        Searches so far, and sweeps of Bellman-Ford in all of them.
    """

    paths: Array
    target: Array
    found: Array
    width: Array
    left: Array
    served: Array
    period: Array
    passes: Array
    sweeps: Array


@partial(jax.jit, static_argnames="columns")
def pack(
    arcs: ArcGroups, lengths: Array, capacity: Array, targets: Targets, columns: int
) -> Packing:
    """Pack paths from the targets to their roots, several passes in one call.

    Parameters
    ----------
    arcs : ArcGroups
        E+.
    lengths : int32 [m + 1 or more]
        x of every edge, in units of 1 / UNIT.
    capacity : float32 [m + 1 or more]
        w of every edge; from position m on 0.
    targets : Targets
        What to search.
    columns : int
        How many searches may pass a node.
    """
    size, missing = len(targets.root), len(lengths) - 1
    start = Packing(
        paths=jnp.full((2 * size, HOPS), missing, jnp.int32),
        target=jnp.zeros(2 * size, jnp.int32),
        found=jnp.int32(0),
        width=capacity,
        left=targets.demand,
        served=jnp.zeros(size, bool),
        period=jnp.int32(0),
        passes=jnp.int32(0),
        sweeps=jnp.int32(0),
    )

    def one_pass(state: tuple[Packing, Array]) -> tuple[Packing, Array]:
        old, _ = state
        length = jnp.where(old.width > NARROW * capacity, lengths, CLOSED)
        waits = old.left > NARROW * targets.demand
        reach = jnp.zeros(arcs.n_nodes, jnp.int32)
        reach = reach.at[targets.root].max(jnp.where(waits, targets.reach, 0))
        column = assign_columns(reach, columns, old.passes)
        near, sweeps = search(arcs, length, reach, column, columns)
        paths, hops = trace(arcs, parents(arcs, length, near), targets, column, missing)
        distance = near[targets.far, column[targets.root]] - PER_HOP * hops
        found = waits & (hops > 0) & (distance < targets.reach)
        won, width, left = compete(paths, hops, found, old.width, old.left)
        new = _record(old, paths, won)._replace(
            width=width, left=left, passes=old.passes + 1, sweeps=old.sweeps + sweeps
        )
        few = THIN_PASS * new.found
        thin = new.found - old.found <= few
        ends = thin & (new.found - new.period <= few)
        return _refill(new, capacity, targets, thin), ~ends & (new.passes < PASSES)

    return lax.while_loop(lambda state: state[1], one_pass, (start, jnp.array(True)))[0]


def assign_columns(reach: Array, columns: int, shift: Array) -> Array:
    """Deal the roots, which are the nodes that reach anywhere, out to the columns; -1 for others.

    Round-robin, and sheared by ``shift``: another pass puts other roots in one column.
    """
    active = reach > 0
    rank = jnp.cumsum(active, dtype=jnp.int32) - 1
    return jnp.where(active, (rank + rank // columns * shift) % columns, -1)


def search(
    arcs: ArcGroups, length: Array, reach: Array, column: Array, columns: int
) -> tuple[Array, Array]:
    """Distance of every node to the nearest root of every column, CLOSED for none; and sweeps."""
    start = jnp.where(column[:, None] == jnp.arange(columns, dtype=jnp.int32), 0, CLOSED)
    furthest = jnp.max(jnp.where(start == 0, reach[:, None], 0), axis=0) + HOPS * PER_HOP
    along = _along(arcs, length)

    def sweep(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        old, _, sweeps = state
        reached = minimum(arcs, lambda k: old[arcs.neighbour[:, k]] + along[:, k, None])
        new = jnp.where(reached < furthest, jnp.minimum(old, reached), old)
        return new, jnp.any(new < old), sweeps + 1

    near, _, sweeps = lax.while_loop(
        lambda state: state[1] & (state[2] < HOPS), sweep, (start, jnp.array(True), jnp.int32(0))
    )
    return near, sweeps


def parents(arcs: ArcGroups, length: Array, near: Array) -> Array:
    """The arc to a nearer node, as a flat position in ``arcs.neighbour``; FAR for none.

    All edges have a positive length, so that the arcs lead to a root and never round in a circle.
    """
    along = _along(arcs, length)
    best = minimum(arcs, lambda k: near[arcs.neighbour[:, k]] + along[:, k, None])
    best = jnp.minimum(best, near)[arcs.owner]
    arc = jnp.arange(arcs.neighbour.size, dtype=jnp.int32).reshape(arcs.neighbour.shape)

    def to_parent(k: int) -> Array:
        tight = (near[arcs.neighbour[:, k]] + along[:, k, None] == best) & (best < CLOSED)
        return jnp.where(tight, arc[:, k, None], jnp.int32(FAR))

    return minimum(arcs, to_parent)


def _along(arcs: ArcGroups, length: Array) -> Array:
    return jnp.minimum(length[arcs.edge] + PER_HOP, CLOSED)


def trace(
    arcs: ArcGroups, parent: Array, targets: Targets, column: Array, missing: int
) -> tuple[Array, Array]:
    """Edges [HOPS, T] from every far end to its root, and how many; 0 if it is in another cell."""
    column = column[targets.root]
    neighbour, edge = arcs.neighbour.ravel(), arcs.edge.ravel()

    def step(at: Array, _: None) -> tuple[Array, Array]:
        arc = parent[at, column]
        ends = (at == targets.root) | (arc == FAR)
        arc = jnp.where(ends, 0, arc)
        return jnp.where(ends, at, neighbour[arc]), jnp.where(ends, missing, edge[arc])

    at, edges = lax.scan(step, targets.far, None, length=HOPS)
    hops = jnp.sum(edges != missing, axis=0, dtype=jnp.int32)
    return edges, jnp.where(at == targets.root, hops, 0)


def compete(
    paths: Array, hops: Array, found: Array, width: Array, left: Array
) -> tuple[Array, Array, Array]:
    """Which paths win, and what they leave of the capacities and of the demands."""
    size, missing = len(found), len(width) - 1
    priority = hops * size + jnp.arange(size, dtype=jnp.int32)
    nobody = jnp.int32(HOPS * size + size)
    real = paths != missing

    def match(state: Match) -> Match:
        won, width, left, _, matches = state
        amount = jnp.minimum(left, jnp.min(jnp.where(real, width[paths], jnp.inf), axis=0))
        claim = jnp.where(found & ~won & (amount > 0.0), priority, nobody)
        first = jnp.full(width.shape, nobody).at[paths].min(claim[None, :])
        wins = (claim < nobody) & jnp.all(~real | (first[paths] == claim), axis=0)
        taken = jnp.where(wins, amount, 0.0)
        width = jnp.where(first < nobody, width - taken[first % size], width)
        return won | wins, width, left - taken, jnp.any(wins), matches + 1

    start: Match = jnp.zeros(size, bool), width, left, jnp.array(True), jnp.int32(0)
    won, width, left, _, _ = lax.while_loop(
        lambda state: state[3] & (state[4] < MATCHES), match, start
    )
    return won, width, left


def _record(packing: Packing, paths: Array, won: Array) -> Packing:
    """Append the paths that won to the rows."""
    place = packing.found + jnp.cumsum(won, dtype=jnp.int32) - 1
    place = jnp.where(won, place, len(packing.target))
    return packing._replace(
        paths=packing.paths.at[place].set(paths.T, mode="drop"),
        target=packing.target.at[place].set(jnp.arange(len(won), dtype=jnp.int32), mode="drop"),
        found=packing.found + jnp.sum(won, dtype=jnp.int32),
        served=packing.served | won,
    )


def _refill(packing: Packing, capacity: Array, targets: Targets, due: Array) -> Packing:
    """Start afresh for the targets without a row, if that is due."""
    waiting = jnp.where(packing.served, 0.0, targets.demand)
    return packing._replace(
        width=jnp.where(due, capacity, packing.width),
        left=jnp.where(due, waiting, packing.left),
        period=jnp.where(due, packing.found, packing.period),
    )
