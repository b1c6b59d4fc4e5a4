"""The array program: sweeps of message passing, and first-order steps where these are stuck.

A triangle of the pairs i, j, k has three rows, ``x_i <= x_j + x_k`` and so on, with multipliers
``y >= 0``, of which the reduced costs ``r = w + omega^T y`` are made. The bound is

    sum over pairs of min(0, r)

for any y. Both programs read r at the pairs of every triangle, change its y on the spot, and sum
up what that does to r: four or five kernels a turn on a GPU, and nothing leaves the device.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

STEP = 0.99
"""Of the largest step for which the method converges."""

Triple = tuple[jax.Array, jax.Array, jax.Array]
"""Something of the three pairs of every triangle; XLA is five times slower with one array."""

Point = tuple[jax.Array, Triple]
"""x and y."""


class State(NamedTuple):
    """All that is on the device, padded to sizes of a small set.

    Attributes
    ----------
    triangles : three arrays of int32, shape (T,)
        The pairs of every triangle; those of the padding are all the last pair, of weight 0.
    y : three arrays of float32, shape (T,)
        Multipliers: ``y[i]`` of the row that has pair i on its left-hand side.
    x : float32, shape (P,)
        A solution of the LP, which first-order steps need.
    weights : float32, shape (P,)
        In a unit in which the mean size of a weight is about 1.
    degrees : float32, shape (P,)
        In how many triangles a pair is, at least 1.
    """

    triangles: Triple
    y: Triple
    x: jax.Array
    weights: jax.Array
    degrees: jax.Array


def reduced_costs(state: State, y: Triple) -> jax.Array:
    """``w + omega^T y``: a row adds y to its first pair and takes it from the two others."""
    together = y[0] + y[1] + y[2]
    changes = jnp.concatenate([2.0 * of_pair - together for of_pair in y])
    return state.weights.at[jnp.concatenate(state.triangles)].add(changes)


def _each(function: Callable[[int], jax.Array]) -> Triple:
    return function(0), function(1), function(2)


@partial(jax.jit, static_argnames="sweeps")
def sweep(state: State, sweeps: int) -> Triple:
    """Let every triangle choose its multipliers anew, all at once; the bound never falls.

    Every triangle gets an equal share of r of each of its pairs, and back what its own multipliers
    had added: together v. With ``p = -v_i > 0`` and ``q <= s`` for the two others, any
    y between q and ``min(p, s)`` is best for ``min(0, y - p) + min(0, q - y) + min(0, s - y)``.
    The middle leaves something to all neighbours. At most one of the three y is positive.
    Returns the new y.
    """
    pairs = state.triangles

    def turn(y: Triple, _: None) -> tuple[Triple, None]:
        share, together = reduced_costs(state, y) / state.degrees, y[0] + y[1] + y[2]
        v = _each(lambda i: share[pairs[i]] + together - 2.0 * y[i])

        def choose(i: int) -> jax.Array:
            q, s = v[i - 1], v[i - 2]
            middle = 0.5 * (jnp.minimum(q, s) + jnp.minimum(-v[i], jnp.maximum(q, s)))
            return jnp.where(v[i] < 0.0, jnp.maximum(middle, 0.0), 0.0)

        return _each(choose), None

    y, _ = jax.lax.scan(turn, state.y, None, length=sweeps)
    return y


@partial(jax.jit, static_argnames="steps")
def polish(
    state: State, anchor: Point, done: jax.Array, weight: jax.Array, steps: int
) -> tuple[Point, Point]:
    """Steps of reflected Halpern PDHG on the LP over the triangles, where ``0 <= x <= 1``.

    With T for a step of PDHG and k steps since the last restart, at v_0, the next v is
    ``(k + 1) / (k + 2) (2 T(v) - v) + 1 / (k + 2) v_0``. The sizes of the steps are those of Pock
    and Chambolle: a column has ``3 degree`` entries, a row three.

    Parameters
    ----------
    state : State
        Its x and y are the v to go on from.
    anchor : Point
        v_0.
    done : float array
        k.
    weight : float array
        Of the steps in y; x takes the inverse.
    steps : int
        How many.

    Returns
    -------
    usable : Point
        ``T(v)`` for the last v.
    v : Point
        To go on from without a restart.
    """
    x_step, y_step = STEP / (3.0 * weight * state.degrees), STEP * weight / 3.0

    def once(x: jax.Array, y: Triple) -> Point:
        new = jnp.clip(x - x_step * reduced_costs(state, y), 0.0, 1.0)
        ahead = 2.0 * new - x
        at = _each(lambda i: ahead[state.triangles[i]])
        together = at[0] + at[1] + at[2]
        return new, _each(lambda i: jnp.maximum(0.0, y[i] + y_step * (2.0 * at[i] - together)))

    def turn(v: Point, k: jax.Array) -> tuple[Point, None]:
        share = (k + 1.0) / (k + 2.0)
        mixed: Point = jax.tree.map(
            lambda moved, old, start: share * (2.0 * moved - old) + (1.0 - share) * start,
            once(*v),
            v,
            anchor,
        )
        return mixed, None

    counts = done + jnp.arange(steps, dtype=jnp.float32)
    v, _ = jax.lax.scan(turn, (state.x, state.y), counts)
    return once(*v), v
