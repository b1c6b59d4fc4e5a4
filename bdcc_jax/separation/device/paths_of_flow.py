"""Flows taken apart into paths from the targets to the root, all lanes at once, in pure JAX.

In a pass every node points along the slot that carries most of its flow, so that a target's path
is a chain of pointers. Targets share a slot in proportion to what they send; then the paths are
taken out of the flow and the next pass begins. Chains that end at a node without flow out of it, or
run in a circle, carry nothing: the slot into such a node is emptied, the circulation taken out.

Amounts are whole numbers in float32, small enough for their sums to be exact.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from .balls import NODES, ROWS, WIDTH
from .flow_lps import Point, Problems

PASSES = 6
"""Paths that a target may have."""

UNITS = 2.0**16
"""The largest supply of a lane; the sum over a ball is less than 2^24."""

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
    slots = jnp.arange(ROWS * WIDTH, dtype=jnp.int32).reshape(ROWS, WIDTH)
    neighbor = problems.neighbor.reshape(lanes, -1)

    def one(state: tuple[Array, Array], no_input: None) -> tuple[tuple[Array, Array], Chains]:
        units, rest = state
        # The widest slot of every row, then of the rows of every node.
        in_row = jnp.argmax(units, 2)
        width = jnp.max(units, 2)
        further = jnp.where(mine, width[:, None, NODES:], 0.0)
        best = jnp.argmax(further, 2)
        other = jnp.max(further, 2)
        row = jnp.where(other > width[:, :NODES], NODES + best, number).astype(jnp.int32)
        width = jnp.maximum(width[:, :NODES], other)
        slot = row * WIDTH + jnp.take_along_axis(in_row, row, 1).astype(jnp.int32)
        points = (width > 0.0) & (number > 0)
        there = jnp.where(points, jnp.take_along_axis(neighbor, slot, 1), number)

        reach, jump = jnp.broadcast_to(number[:, None] == number, (lanes, NODES, NODES)), there
        for _ in range(DOUBLINGS):
            reach = reach | jnp.take_along_axis(reach, jump[:, :, None], 1)
            jump = jnp.take_along_axis(jump, jump, 1)
        arrives = (jump == 0) & (number > 0)
        on_way = reach & arrives[:, :, None] & (number > 0)

        sends = jnp.where(arrives, rest, 0.0)
        load = jnp.sum(jnp.where(on_way, sends[:, :, None], 0.0), 1)
        share = jnp.minimum(1.0, width / jnp.maximum(load, 1.0))
        least = jnp.min(jnp.where(on_way, share[:, None, :], 1.0), 2)
        amount = jnp.floor(sends * least)
        used = jnp.sum(jnp.where(on_way, amount[:, :, None], 0.0), 1)

        circles = (
            points
            & jnp.take_along_axis(
                jnp.take_along_axis(reach, there[:, :, None], 1), number[None, :, None], 2
            )[:, :, 0]
        )
        circulating = jnp.min(jnp.where(reach, width[:, None, :], jnp.inf), 2)
        dead_end = points & (there != 0) & ~jnp.take_along_axis(points, there, 1)
        used = jnp.where(circles, circulating, jnp.where(dead_end, width, used))
        of_row = jnp.concatenate([used, jnp.take_along_axis(used, problems.owner, 1)], 1)
        chosen = jnp.concatenate([slot, jnp.take_along_axis(slot, problems.owner, 1)], 1)
        units = units - jnp.where(slots == chosen[:, :, None], of_row[:, :, None], 0.0)
        return (jnp.maximum(units, 0.0), rest - amount), Chains(slot.astype(jnp.int16), amount)

    start = jnp.floor(jnp.maximum(point.f, 0.0) * UNITS), jnp.floor(point.g * UNITS)
    _, chains = lax.scan(one, start, None, length=PASSES)
    return Chains(jnp.swapaxes(chains.slot, 0, 1), jnp.swapaxes(chains.amount, 0, 1))
