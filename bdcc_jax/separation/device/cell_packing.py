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
import numpy as np
from jax import Array, lax

from .arc_groups import FAR, ArcGroups, in_pieces, minimum, per_call, repeat
from .limits import Check

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

SCATTERING = 4
"""How much longer than a read of an entry of Bellman-Ford it takes to claim an edge of a path."""

THIN_PASS = 1 / 32
"""After a pass that adds less than this share of the rows the capacities are filled up again, for
the targets without a row; where they were filled up just before, the round ends."""

NARROW = 1e-6
"""What is left of a capacity, or of a demand, counts as nothing below this share of it."""


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


class Pass(NamedTuple):
    """One search of all roots, before it begins.

    Attributes
    ----------
    length : int32 [m + 1 or more]
        Of every edge that has some capacity left, CLOSED of the others.
    waits : bool [T]
        Targets that are searched.
    column : int32 [n]
        The column of every root, -1 for other nodes.
    furthest : int32 [C]
        What every column reaches.
    near : int32 [n, C]
        0 at the roots.
    """

    length: Array
    waits: Array
    column: Array
    furthest: Array
    near: Array


class Contest(NamedTuple):
    """Paths that won, what they leave of the capacities and of the demands, whether to go on."""

    won: Array
    width: Array
    left: Array
    more: Array


def pack(
    arcs: ArcGroups,
    lengths: Array,
    capacity: Array,
    targets: Targets,
    columns: int,
    check: Check = lambda: None,
) -> Packing:
    """Pack paths from the targets to their roots, in several passes.

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
    check : callable, optional
        Called between compiled calls; an exception that it raises ends the work.
    """
    packing: Packing = begin(capacity, targets)
    more = True
    while more:
        check()
        this = open_pass(arcs, lengths, capacity, targets, packing, columns)
        sweep = partial(come_nearer, arcs, this.length, this.furthest)
        near, sweeps = in_pieces(sweep, this.near, arcs, check, HOPS)
        check()
        paths, hops, found = find_paths(arcs, this, near, targets)
        contest = compete(paths, hops, found, packing.width, packing.left, check)
        counted = jax.device_put(np.int32(sweeps), near.device)
        packing, goes_on = close_pass(packing, contest, paths, capacity, targets, counted)
        more = bool(jax.device_get(goes_on))
    return packing


@jax.jit
def begin(capacity: Array, targets: Targets) -> Packing:
    """Nothing packed."""
    size = len(targets.root)
    return Packing(
        paths=jnp.full((2 * size, HOPS), len(capacity) - 1, jnp.int32),
        target=jnp.zeros(2 * size, jnp.int32),
        found=jnp.int32(0),
        width=capacity,
        left=targets.demand,
        served=jnp.zeros(size, bool),
        period=jnp.int32(0),
        passes=jnp.int32(0),
        sweeps=jnp.int32(0),
    )


@partial(jax.jit, static_argnames="columns")
def open_pass(
    arcs: ArcGroups,
    lengths: Array,
    capacity: Array,
    targets: Targets,
    packing: Packing,
    columns: int,
) -> Pass:
    """Who searches what, given what is left."""
    waits = packing.left > NARROW * targets.demand
    reach = jnp.zeros(arcs.n_nodes, jnp.int32)
    reach = reach.at[targets.root].max(jnp.where(waits, targets.reach, 0))
    column = assign_columns(reach, columns, packing.passes)
    near = jnp.where(column[:, None] == jnp.arange(columns, dtype=jnp.int32), 0, CLOSED)
    return Pass(
        length=jnp.where(packing.width > NARROW * capacity, lengths, CLOSED),
        waits=waits,
        column=column,
        furthest=jnp.max(jnp.where(near == 0, reach[:, None], 0), axis=0) + HOPS * PER_HOP,
        near=near,
    )


@jax.jit
def find_paths(
    arcs: ArcGroups, this: Pass, near: Array, targets: Targets
) -> tuple[Array, Array, Array]:
    """Edges [HOPS, T] of the path to every target, how many, and whether it is violated."""
    missing = len(this.length) - 1
    paths, hops = trace(arcs, parents(arcs, this.length, near), targets, this.column, missing)
    distance = near[targets.far, this.column[targets.root]] - PER_HOP * hops
    return paths, hops, this.waits & (hops > 0) & (distance < targets.reach)


@jax.jit
def close_pass(
    old: Packing,
    contest: Contest,
    paths: Array,
    capacity: Array,
    targets: Targets,
    sweeps: Array,
) -> tuple[Packing, Array]:
    """Note the rows of a pass; and whether another one follows."""
    new = _record(old, paths, contest.won)._replace(
        width=contest.width,
        left=contest.left,
        passes=old.passes + 1,
        sweeps=old.sweeps + sweeps,
    )
    few = THIN_PASS * new.found
    thin = new.found - old.found <= few
    ends = thin & (new.found - new.period <= few)
    return _refill(new, capacity, targets, thin), ~ends & (new.passes < PASSES)


def assign_columns(reach: Array, columns: int, shift: Array) -> Array:
    """Deal the roots, which are the nodes that reach anywhere, out to the columns; -1 for others.

    Round-robin, and sheared by ``shift``: another pass puts other roots in one column.
    """
    active = reach > 0
    rank = jnp.cumsum(active, dtype=jnp.int32) - 1
    return jnp.where(active, (rank + rank // columns * shift) % columns, -1)


@jax.jit
def come_nearer(
    arcs: ArcGroups, length: Array, furthest: Array, near: Array, most: Array
) -> tuple[Array, Array, Array]:
    """Distance of every node to the nearest root of every column, after some more sweeps."""
    along = _along(arcs, length)

    def sweep(old: Array) -> Array:
        reached = minimum(arcs, lambda k: old[arcs.neighbour[:, k]] + along[:, k, None])
        return jnp.where(reached < furthest, jnp.minimum(old, reached), old)

    return repeat(sweep, near, most)


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
    paths: Array,
    hops: Array,
    found: Array,
    width: Array,
    left: Array,
    check: Check = lambda: None,
) -> Contest:
    """Which paths win, and what they leave of the capacities and of the demands."""
    contest = Contest(jnp.zeros_like(found), width, left, jnp.ones_like(found[:1]))
    at_once, done, more = min(MATCHES, per_call(paths, SCATTERING * paths.size)), 0, True
    while more and done < MATCHES:
        check()
        count = jax.device_put(np.int32(min(at_once, MATCHES - done)), paths.device)
        contest = match(paths, hops, found, contest, count)
        more, done = bool(jax.device_get(contest.more)[0]), done + at_once
    return contest


@jax.jit
def match(paths: Array, hops: Array, found: Array, contest: Contest, most: Array) -> Contest:
    """Let the paths compete until nobody wins, or so often."""
    size, missing = len(found), len(contest.width) - 1
    priority = hops * size + jnp.arange(size, dtype=jnp.int32)
    nobody = jnp.int32(HOPS * size + size)
    real = paths != missing

    def once(state: tuple[Contest, Array]) -> tuple[Contest, Array]:
        (won, width, left, _), count = state
        amount = jnp.minimum(left, jnp.min(jnp.where(real, width[paths], jnp.inf), axis=0))
        claim = jnp.where(found & ~won & (amount > 0.0), priority, nobody)
        first = jnp.full(width.shape, nobody).at[paths].min(claim[None, :])
        wins = (claim < nobody) & jnp.all(~real | (first[paths] == claim), axis=0)
        taken = jnp.where(wins, amount, 0.0)
        width = jnp.where(first < nobody, width - taken[first % size], width)
        return Contest(won | wins, width, left - taken, jnp.any(wins, keepdims=True)), count + 1

    return lax.while_loop(
        lambda state: state[0].more[0] & (state[1] < most), once, (contest, jnp.int32(0))
    )[0]


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
