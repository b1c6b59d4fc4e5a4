"""A batched first-order solver for flow LPs: restarted reflected-Halpern PDHG in pure JAX.

The step T is that of :mod:`.pdhg`. Its iterates are averaged with the anchor v0 of the last restart
(reflected Halpern),

    v <- (k + 1)/(k + 2) (2 T(v) - v) + 1/(k + 2) v0,

and restarts go by the fixed-point error |v - T(v)| in the metric of the method.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from .flow_batch import Padded
from .pdhg import Operator, Point
from .preconditioner import Problem, block_of, eliminate, laplacian, precondition

SUFFICIENT_DECAY, NECESSARY_DECAY, ARTIFICIAL_RESTART = 0.2, 0.5, 0.36
WEIGHT_GAIN = 0.3
WEIGHT_GUARD = {"float32": 1e-3, "float64": 1e-8}
"""The weight is left alone unless both moves exceed this part of their scale: below it, the ratio
of the moves is rounding noise, and a weight that follows noise never converges."""
INNER_STEPS = 16
CHECKS_PER_CALL, ENTRIES_PER_CALL = 16, 2**29
"""A call ends after so many checks, or after so many entries of preconditioners have been read:
some tenths of a second on a CPU, which has to be waited for."""
CHUNK = 8
"""Problems that are solved at a time on CPUs; all batches are multiples of it."""


class State(NamedTuple):
    """Everything that one problem carries from step to step; the batch is the first axis."""

    point: Point
    anchor: Point
    weight: Array
    since_restart: Array
    restart_error: Array
    last_error: Array
    iterations: Array
    objective: Array
    bound: Array
    converged: Array
    stopped: Array
    number: Array


def init(problem: Problem, start: Point, weight: Array) -> State:
    """The state before the first step; a `weight` that is not positive means: choose one."""
    operator = Operator(problem)
    ratio = 2.0 * operator.prices / jnp.where(operator.boxes > 0.0, operator.boxes, 1.0)
    weight = jnp.where(weight > 0.0, weight, jnp.where(ratio > 0.0, ratio, 1.0))
    zero = jnp.zeros_like(weight)
    nothing = jnp.sum(problem.supply, 1) <= 0.0
    return State(
        point=start,
        anchor=start,
        weight=weight,
        since_restart=zero,
        restart_error=jnp.full_like(zero, jnp.inf),
        last_error=jnp.full_like(zero, jnp.inf),
        iterations=jnp.zeros(zero.shape, jnp.int32),
        objective=zero,
        bound=zero,
        converged=nothing,
        stopped=nothing,
        number=jnp.arange(len(weight), dtype=jnp.int32),
    )


def halpern(v: Point, t: Point, anchor: Point, k: Array) -> Point:
    """(k + 1)/(k + 2) (2 T(v) - v) + 1/(k + 2) v0."""
    share = 1.0 / (k + 2.0)

    def average(v_: Array, t_: Array, a: Array) -> Array:
        s = _column(share, v_)
        return (1.0 - s) * (2.0 * t_ - v_) + s * a

    averaged: Point = jax.tree.map(average, v, t, anchor)
    return averaged


def step(operator: Operator, state: State, tolerance: Array, limit: Array) -> State:
    """`INNER_STEPS` iterations of all problems, then one check and perhaps a restart of each."""
    weight, anchor = state.weight, state.anchor
    iterate = operator.iterate(weight)

    def inner(_: int, carry: tuple[Point, Array]) -> tuple[Point, Array]:
        v, k = carry
        return halpern(v, iterate(v), anchor, k), k + 1.0

    v, k = lax.fori_loop(0, INNER_STEPS - 1, inner, (state.point, state.since_restart))
    t = iterate(v)
    error = operator.fixed_point_error(v, t, weight)
    iterations = state.iterations + INNER_STEPS

    objective, bound, violation = operator.quality(t)
    size = 0.5 * (jnp.abs(objective) + jnp.abs(bound))
    tolerance = tolerance.astype(size.dtype)
    gap = jnp.abs(objective - bound)
    # Amounts and prices have unit scale, so that 1 bounds what a violation may be worth.
    allowed = tolerance * jnp.minimum(size, 1.0)
    converged = (gap <= tolerance * size) & (violation <= allowed)
    stopped = converged | (iterations >= limit)

    restart = (
        (error <= SUFFICIENT_DECAY * state.restart_error)
        | ((error <= NECESSARY_DECAY * state.restart_error) & (error > state.last_error))
        | (k + 1.0 >= ARTIFICIAL_RESTART * iterations.astype(k.dtype))
        | stopped
    )
    moved = operator.norms(jax.tree.map(jnp.subtract, t, anchor))
    primal, dual = jnp.sqrt(moved[0]), jnp.sqrt(moved[1])
    guard = WEIGHT_GUARD[primal.dtype.name]
    trusted = restart & (primal > guard * operator.boxes) & (dual > guard * operator.prices)
    ratio = jnp.where(trusted, dual, 1.0) / jnp.where(trusted, primal * weight, 1.0)

    after = State(
        point=_select(restart, t, halpern(v, t, anchor, k)),
        anchor=_select(restart, t, anchor),
        weight=weight * ratio**WEIGHT_GAIN,
        since_restart=jnp.where(restart, 0.0, k + 1.0),
        restart_error=jnp.where(restart, error, state.restart_error),
        last_error=jnp.where(restart, jnp.inf, error),
        iterations=iterations,
        objective=objective,
        bound=bound,
        converged=converged,
        stopped=stopped,
        number=state.number,
    )
    frozen: State = _select(state.stopped, state, after)
    return frozen


def done(state: State) -> Array:
    """Whether every problem of the batch has stopped."""
    return jnp.all(state.stopped)


@functools.partial(jax.jit, static_argnames="chunked")
def advance(
    problem: Problem, state: State, tolerance: Array, limit: Array, chunked: bool = False
) -> tuple[State, Array]:
    """A few checks' worth of steps, and how many problems run on."""
    if chunked:
        state = _in_chunks(lambda p, s: _advance(p, s, tolerance, limit, 0), problem, state)
    else:
        # Come back early when most have stopped, so that the rest can be gathered: into 8 at least.
        few = len(state.number) // 4 if len(state.number) > CHUNK else 0
        state = _advance(problem, state, tolerance, limit, few)
    return state, jnp.sum(~state.stopped, dtype=jnp.int32, keepdims=True)


def _advance(problem: Problem, state: State, tolerance: Array, limit: Array, few: int) -> State:
    """Steps until few problems run on, or for a while."""
    operator = Operator(problem)
    entries = INNER_STEPS * len(state.number) * math.prod(problem.inverse.shape[1:])
    checks = max(1, min(CHECKS_PER_CALL, ENTRIES_PER_CALL // entries))

    def proceed(carry: tuple[Array, State]) -> tuple[Array, State]:
        return carry[0] + 1, step(operator, carry[1], tolerance, limit)

    def worthwhile(carry: tuple[Array, State]) -> Array:
        running = jnp.sum(~carry[1].stopped, dtype=jnp.int32)
        return (carry[0] < checks) & (running > few)

    _, state = lax.while_loop(worthwhile, proceed, (jnp.zeros((), jnp.int32), state))
    return state


@functools.partial(jax.jit, static_argnames="size")
def compact(problem: Problem, state: State, size: int) -> tuple[Problem, State]:
    """Gather `size` problems, the running ones first."""
    order = jnp.argsort(state.stopped, stable=True)[:size]
    chosen: tuple[Problem, State] = _pick((problem, state), order)
    return chosen


@functools.partial(jax.jit, static_argnames=("dtype", "with_activity", "chunked"))
def prepare(
    padded: Padded,
    start: Point,
    weight: Array,
    dtype: str,
    with_activity: bool,
    chunked: bool = False,
    inverse: Array | None = None,
) -> tuple[Problem, State]:
    """Precondition, unless the inverse is given, and start."""

    def begin(
        padded: Padded, start: Point, weight: Array, inverse: Array | None
    ) -> tuple[Problem, State]:
        problem = precondition(padded, dtype, with_activity, inverse)
        start, weight = jax.tree.map(lambda a: a.astype(dtype), (start, weight))
        return problem, init(problem, start, weight)

    if not chunked:
        return begin(padded, start, weight, inverse)
    problem, state = _in_chunks(begin, padded, start, weight, inverse)
    return problem, state._replace(number=jnp.arange(len(weight), dtype=jnp.int32))


@jax.jit
def to_invert(padded: Padded) -> Array:
    """The matrices that :func:`prepare` inverts; those of large problems are inverted in pieces."""
    return laplacian(padded).matrix


@jax.jit
def invert_some(matrix: Array, first: Array, end: Array) -> Array:
    """Eliminate some of the blocks of rows; all of them make the inverse."""
    return eliminate(matrix, first, end, block_of(matrix.shape[-1]))


def _in_chunks(function: Callable[..., Any], *batch: Any) -> Any:
    """Apply a function to CHUNK problems at a time, one chunk after another.

    XLA's code for CPUs adds in another order for another number of problems: in chunks of one size
    a problem has one answer, in any company. Besides, a chunk stays in the cache, and stops with
    its own last problem.
    """
    chunks = jax.tree.map(lambda a: a.reshape(len(a) // CHUNK, CHUNK, *a.shape[1:]), batch)
    done = lax.map(lambda chunk: function(*chunk), chunks)
    return jax.tree.map(lambda a: a.reshape(len(a) * CHUNK, *a.shape[2:]), done)


def _column(per_problem: Array, like: Array) -> Array:
    return per_problem.reshape(per_problem.shape + (1,) * (like.ndim - 1))


def _select(chosen: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(_column(chosen, a), a, b), yes, no)


def _pick(tree: Any, order: Array) -> Any:
    """The chosen problems of a batch, with what they share."""
    return jax.tree.map(lambda a: a if a.shape[0] == 1 else jnp.take(a, order, axis=0), tree)
