"""Flows taken apart into paths from the targets to the root, all lanes at once, in pure JAX.

In a pass every node points along the slot that carries most of its flow, so that a target's path
is a chain of pointers. Targets share a slot in proportion to what they send; then the paths are
taken out of the flow and the next pass begins. Chains that end at a node without flow out of it, or
run in a circle, carry nothing: the slot into such a node is emptied, the circulation taken out.

Amounts are whole numbers, small enough for their sums to be exact in float32.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from .balls import NODES, ROWS, WIDTH
from .flow_lps import Point, Problems

PASSES = 6
"""Paths that a target may have."""

UNITS = 2.0**15
"""The largest supply of a lane. What all of its targets send, times KEYS, is less than 2^31."""

KEYS = 1024
"""More than there are slots: the amount of a slot times KEYS and its number make one integer."""

DOUBLINGS = 6
"""Paths have less than 2^6 = NODES edges."""


class Chains(NamedTuple):
    """Paths: of each pass the slots that the nodes point along, and what the targets send.

    Attributes
    ----------
    slot : (lanes, PASSES, NODES) int16
        A flat position in the slots of the lane.
    amount : (lanes, PASSES, NODES) float32
        0 for no path.
    """

    slot: Any
    amount: Any


def decompose(problems: Problems, point: Point) -> Chains:
    """Take the flows of all lanes apart."""
    lanes = len(problems.supply)
    number = jnp.arange(NODES, dtype=jnp.int32)
    mine = problems.owner[:, None, :] == number[:, None]
    own = jnp.concatenate([jnp.broadcast_to(number, (lanes, NODES)), problems.owner], 1)
    slots = jnp.arange(WIDTH * ROWS, dtype=jnp.int32).reshape(WIDTH, ROWS)
    neighbor = problems.neighbor.reshape(lanes, -1)
    # Sets of nodes are bits of two words.
    bit = jnp.uint32(1) << (number % 32).astype(jnp.uint32)
    words = jnp.where(number // 32 == jnp.arange(2)[:, None], bit, jnp.uint32(0))
    alone = tuple(jnp.broadcast_to(word, (lanes, NODES)) for word in words)

    def one(state: tuple[Array, Array], no_input: None) -> tuple[tuple[Array, Array], Chains]:
        units, rest = state
        # The widest slot of every row, then of the rows of every node; of two the first.
        of_row = jnp.max(units * KEYS + (KEYS - 1 - slots), 1)
        further = jnp.max(jnp.where(mine, of_row[:, None, NODES:], 0), 2)
        best = jnp.maximum(of_row[:, :NODES], further)
        width, slot = best // KEYS, KEYS - 1 - best % KEYS
        points = (width > 0) & (number > 0)
        there = jnp.where(points, at(neighbor, slot), number)

        # By doubling: the nodes that a chain visits, its narrowest slot, where it ends.
        (low, high), narrow, jump, jumps = alone, width, there, []
        for _ in range(DOUBLINGS):
            low, high = low | at(low, jump), high | at(high, jump)
            narrow = jnp.minimum(narrow, at(narrow, jump))
            jumps.append(jump)
            jump = at(jump, jump)
        visited = jnp.where(number < 32, low[:, :, None], high[:, :, None]) & bit
        visits = (visited > 0).astype(jnp.float32)

        sends = jnp.where((jump == 0) & (number > 0), rest, 0).astype(jnp.float32)
        share = jnp.minimum(1.0, width / jnp.maximum(through(visits, sends), 1.0))
        least = jnp.where(number > 0, share, 1.0)
        for jump in jumps:
            least = jnp.minimum(least, at(least, jump))
        amount = jnp.floor(sends * least)

        next_visits = jnp.where(number < 32, at(low, there), at(high, there))
        circles = points & ((next_visits & bit) > 0)
        dead_end = points & (there != 0) & ~at(points, there)
        used = through(visits, amount).astype(jnp.int32)
        used = jnp.where(circles, narrow, jnp.where(dead_end, width, used))
        taken = jnp.where(slots == at(slot, own)[:, None, :], at(used, own)[:, None, :], 0)
        state = jnp.maximum(units - taken, 0), rest - amount.astype(jnp.int32)
        return state, Chains(slot.astype(jnp.int16), amount)

    f, g = (jnp.floor(jnp.maximum(a, 0.0) * UNITS).astype(jnp.int32) for a in (point.f, point.g))
    _, chains = lax.scan(one, (f, g), None, length=PASSES)
    return Chains(jnp.swapaxes(chains.slot, 0, 1), jnp.swapaxes(chains.amount, 0, 1))


def at(array: Array, places: Array) -> Array:
    """Of every lane the entries at the given places."""
    lanes, size = array.shape
    flat = places + size * jnp.arange(lanes, dtype=jnp.int32)[:, None]
    return array.reshape(-1).at[flat].get(mode="promise_in_bounds")


def through(visits: Array, sends: Array) -> Array:
    """What goes through every node."""
    return jnp.einsum("bvu,bv->bu", visits, sends, precision=lax.Precision.HIGHEST)
