"""A batched first-order solver for flow LPs: restarted reflected-Halpern PDHG in pure JAX.

With A f the net flow out of every node but the root, the saddle point of a problem is

    min_{f, g}  max_{y, mu >= 0}   sum_e (cost_e + mu c_e) |f_e| - sum_v (reward_v + mu r_v) g_v
                                   + y'(A f - g) + mu level

over the boxes |f| <= capacity, 0 <= g <= supply.  One step T of the primal-dual hybrid gradient
method, with step eta < 1, primal weight w and primal step sizes S:

    f+ = clip(soft(f - eta/w S A'y, eta/w S (cost + mu c)))       g+ likewise
    y+ = y + eta w M (A (2 f+ - f) - (2 g+ - g)),                 M = (A S A' + S_g)^-1 / kappa
    mu+ = max(0, mu + eta w (level + 2 h(f+, g+) - h(f, g)) / (kappa s)),   h = c'|f| - r'g

M is exact: the graphs are small, so that one dense inverse of a grounded Laplacian per problem
is affordable, and it saves two thirds of the iterations and nearly the whole tail that a diagonal
has.  S = capacity makes every variable's step proportional to its box.  kappa is 1 without the
activity row and 2 with it (the two dual blocks then share the operator's norm).

The iterates are averaged with the anchor v0 of the last restart (reflected Halpern),

    v <- (k + 1)/(k + 2) (2 T(v) - v) + 1/(k + 2) v0,

and restarts go by the fixed-point error |v - T(v)| in the metric of the method.  All variables
have bounds, so every dual point is feasible once the reduced costs are charged to those bounds: the
dual residual is zero by construction, and any y and mu >= 0 give a valid bound on the optimum.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from .flow_batch import Padded, batch_bucket

STEP = 0.998
SUFFICIENT_DECAY, NECESSARY_DECAY, ARTIFICIAL_RESTART = 0.2, 0.5, 0.36
WEIGHT_GAIN = 0.3
WEIGHT_GUARD = {"float32": 1e-3, "float64": 1e-8}
"""The weight is left alone unless both moves exceed this part of their scale: below it, the ratio
of the moves is rounding noise, and a weight that follows noise never converges."""
INNER_STEPS = 16
CHECKS_PER_CHUNK = 16
SMALLEST_STEP = 1e-3
SWEEP_BLOCK = 8


class Problem(NamedTuple):
    """Padded problems on the device; fields as in `Padded`.  ``active_* = None``: no such row.

    Problems on one graph share `neighbor`, `owner`, `edge_step`, `diagonal` and `inverse`: the
    first axis of these has length 1.
    """

    neighbor: Array
    owner: Array
    cost: Array
    capacity: Array
    reward: Array
    supply: Array
    active_cost: Any
    active_reward: Any
    level: Array
    root: Any
    edge_step: Array
    supply_step: Array
    diagonal: Array
    inverse: Array


class Point(NamedTuple):
    """A primal-dual point: flows (B, R, W), supplies and potentials (B, R), multipliers (B,)."""

    f: Any
    g: Any
    y: Any
    mu: Any


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


def _column(per_problem: Array, like: Array) -> Array:
    return per_problem.reshape(per_problem.shape + (1,) * (like.ndim - 1))


def _select(chosen: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(_column(chosen, a), a, b), yes, no)


def _dot(a: Array, b: Array) -> Array:
    """One inner product per problem; a dot, unlike a sum, is vectorised on the CPU."""
    a, b = (x.reshape(x.shape[0], -1) for x in (a, b))
    if a.shape[0] < b.shape[0]:
        return jnp.einsum("i,bi->b", a[0], b, precision=lax.Precision.HIGHEST)
    return jnp.einsum("bi,bi->b", a, b, precision=lax.Precision.HIGHEST)


def _pick(tree: Any, order: Array) -> Any:
    """The chosen problems of a batch, with what they share."""
    return jax.tree.map(lambda a: a if a.shape[0] == 1 else jnp.take(a, order, axis=0), tree)


def sweep(matrix: Array, block: int) -> Array:
    """Invert symmetric positive definite matrices by Gauss-Jordan elimination in place.

    With E_K the columns K of the identity, every block K of rows and columns does

        X <- X - (X[:, K] - E_K) X[K, K]^-1 (X[K, :] + E_K').

    Such matrices need no pivoting.  (LAPACK, one call per matrix, is far slower on small ones.)
    """
    size = matrix.shape[-1]

    def eliminate(i: Array, x: Array) -> Array:
        k = i * block
        columns = lax.dynamic_slice_in_dim(x, k, block, 2)
        rows = lax.dynamic_slice_in_dim(x, k, block, 1)
        pivot = lax.dynamic_slice_in_dim(rows, k, block, 2)
        unit = lax.dynamic_slice_in_dim(jnp.eye(size, dtype=x.dtype), k, block, 1)
        if block == 1:
            return x - (columns - unit[None]) * ((rows + unit.T[None]) / pivot)
        rows = jnp.matmul(sweep(pivot, 1), rows + unit.T[None], precision=lax.Precision.HIGHEST)
        return x - jnp.matmul(columns - unit[None], rows, precision=lax.Precision.HIGHEST)

    inverse: Array = lax.fori_loop(0, size // block, eliminate, matrix)
    return inverse


def precondition(padded: Padded, dtype: str, with_activity: bool) -> Problem:
    """Add the step sizes S and the dense inverse M, one column to a row, and cast to `dtype`.

    The inverse is computed in float64: with one of float32 the iterations doubled on 128 nodes.
    Problems on one graph share S, the mean of what each would choose, and M = (A S A' + D)^-1 with
    D the largest of their supply steps: any larger S_g only shortens the step.
    """
    capacity, supply = jnp.asarray(padded.capacity), jnp.asarray(padded.supply)
    edge_step = jnp.where(capacity > 0.0, jnp.clip(capacity, SMALLEST_STEP, 1.0), 0.0)
    supply_step = jnp.where(supply > 0.0, jnp.clip(supply, SMALLEST_STEP, 1.0), 0.0)
    added = supply_step
    if padded.root is not None:
        users = jnp.sum((capacity > 0.0).astype(capacity.dtype), 0, keepdims=True)
        edge_step = jnp.sum(edge_step, 0, keepdims=True) / jnp.maximum(users, 1.0)
        added = jnp.max(supply_step, 0, keepdims=True)
    batch, nodes = added.shape
    number = jnp.broadcast_to(jnp.arange(nodes, dtype=jnp.int32), added.shape)
    owner = jnp.concatenate([number, padded.owner], 1)
    each = jnp.arange(batch, dtype=jnp.int32)[:, None]
    adjacency = jnp.zeros((batch, nodes, nodes), capacity.dtype)
    adjacency = adjacency.at[each[:, :, None], owner[:, :, None], padded.neighbor].add(edge_step)
    degree = jnp.zeros_like(added).at[each, owner].add(jnp.sum(edge_step, -1))
    if padded.root is not None:
        # No root is grounded here, so that a part of the graph without supplies needs a hold.
        added = jnp.maximum(added, SMALLEST_STEP * degree)
    # The root is grounded, and nodes without edges get a 1 that touches nothing.
    free = (number > 0) & (degree + added > 0.0)
    inner = free[:, :, None] & free[:, None, :]
    diagonal = jnp.where(free, degree + added, 1.0)
    unit = jnp.eye(nodes, dtype=capacity.dtype)[None]
    inverse = sweep(unit * diagonal[:, :, None] - jnp.where(inner, adjacency, 0.0), SWEEP_BLOCK)
    inverse = jnp.where(inner, inverse, 0.0)
    inverse = jnp.concatenate(
        [inverse, jnp.take_along_axis(inverse, padded.owner[:, None, :], 2)], 2
    )
    fields = padded._asdict()
    if not with_activity:
        fields |= {"active_cost": None, "active_reward": None}
    problem = Problem(
        **fields, edge_step=edge_step, supply_step=supply_step, diagonal=added, inverse=inverse
    )
    cast: Problem = jax.tree.map(
        lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, problem
    )
    return cast


class Operator:
    """T, its metric and its measures on one batch, with what they share computed once."""

    def __init__(self, problem: Problem) -> None:
        self.problem = p = problem
        batch, self.nodes = p.supply.shape
        offset = jnp.arange(batch, dtype=jnp.int32) * self.nodes
        number = jnp.arange(self.nodes, dtype=jnp.int32)
        self.flat_neighbor = p.neighbor + offset[:, None, None]
        self.flat_owner = p.owner + offset[:, None]
        self.owned = (number[None, :, None] == p.owner[:, None, :]).astype(p.cost.dtype)
        conserved = jnp.broadcast_to((number > 0)[None], p.supply.shape)
        if p.root is not None:
            conserved = conserved & (number[None] != p.root[:, None])
        self.conserved = conserved.astype(p.cost.dtype)
        # Every edge counts once in a sum over slots: those at the root have one slot, the rest two.
        self.once = jnp.where(p.neighbor == 0, 1.0, 0.5).astype(p.cost.dtype)
        self.edge_metric = self.once * _reciprocal(p.edge_step)
        self.supply_metric = _reciprocal(p.supply_step)
        self.prices = jnp.sqrt(self.objective_norm(p.cost, p.reward))
        self.boxes = jnp.sqrt(_dot(self.once, p.edge_step) + jnp.sum(p.supply_step, 1))
        self.active = p.active_cost is not None
        self.kappa = 2.0 if self.active else 1.0
        if self.active:
            self.active_norm = self.objective_norm(p.active_cost, p.active_reward)

    def objective_norm(self, cost: Array, reward: Array) -> Array:
        """The squared norm of an objective that is dual to the primal metric."""
        p = self.problem
        return _dot(self.once * p.edge_step, cost**2) + _dot(p.supply_step, reward**2)

    def activity(self, f: Array, g: Array) -> Array:
        """h(f, g) = c'|f| - r'g."""
        p = self.problem
        return _dot(self.once * p.active_cost, jnp.abs(f)) - _dot(p.active_reward, g)

    def difference(self, y: Array) -> Array:
        """A'y on slots.  Gathers on a flat index: batched gathers are slow on the CPU."""
        if self.problem.root is not None:
            here = jnp.concatenate([y, jnp.take(y, self.problem.owner[0], axis=1)], 1)
            return here[:, :, None] - jnp.take(y, self.problem.neighbor[0], axis=1)
        flat = y.reshape(-1)
        here = jnp.concatenate([y, flat.at[self.flat_owner].get(mode="promise_in_bounds")], 1)
        return here[:, :, None] - flat.at[self.flat_neighbor].get(mode="promise_in_bounds")

    def residual(self, f: Array, g: Array) -> Array:
        """A f - g, with the share of every row of a node apart."""
        return jnp.sum(f, -1) - jnp.pad(g, ((0, 0), (0, f.shape[1] - self.nodes)))

    def precondition(self, residual: Array) -> Array:
        """M times a residual.

        With a shared M the row and the column of the root s are taken out of its inverse, which
        is a change of rank one: M r - m_s (m_s' r) / M_ss for r_s = 0.
        """
        p, exact = self.problem, lax.Precision.HIGHEST
        if p.root is None:
            return jnp.einsum("bnr,br->bn", p.inverse, residual, precision=exact)
        by_row = jnp.concatenate(
            [self.conserved, jnp.take(self.conserved, p.owner[0], axis=1)], axis=1
        )
        residual = residual * by_row
        column = jnp.take(p.inverse[0], p.root, axis=0)  # rows of the symmetric M, one to a row
        pivot = jnp.take_along_axis(column, p.root[:, None], 1)
        share = _dot(column, residual)[:, None] / jnp.where(pivot > 0.0, pivot, 1.0)
        product = jnp.einsum("nr,br->bn", p.inverse[0], residual, precision=exact)
        return (product - column[:, : self.nodes] * share) * self.conserved

    def iterate(self, weight: Array) -> Callable[[Point], Point]:
        """T for given primal weights."""
        p = self.problem
        primal, dual = STEP / weight, STEP * weight / self.kappa
        edge_step, supply_step = (
            primal[:, None, None] * p.edge_step,
            primal[:, None] * p.supply_step,
        )
        cost_step = edge_step * p.cost

        def operator(v: Point) -> Point:
            reward, threshold = p.reward, cost_step
            if self.active:
                reward = reward + v.mu[:, None] * p.active_reward
                threshold = threshold + edge_step * (v.mu[:, None, None] * p.active_cost)
            t = v.f - edge_step * self.difference(v.y)
            f = jnp.clip(t - jnp.clip(t, -threshold, threshold), -p.capacity, p.capacity)
            g = jnp.clip(v.g + supply_step * (reward + v.y), 0.0, p.supply)
            residual = self.residual(2.0 * f - v.f, 2.0 * g - v.g)
            y = v.y + dual[:, None] * self.precondition(residual)
            mu = v.mu
            if self.active:
                ahead = 2.0 * self.activity(f, g) - self.activity(v.f, v.g)
                mu = jnp.maximum(mu + dual / self.active_norm * (p.level + ahead), 0.0)
            return Point(f, g, y, mu)

        return operator

    def norms(self, d: Point) -> tuple[Array, Array]:
        """Squared primal and dual norms |.|_{S^-1} and |.|_{M^-1} of a difference."""
        p = self.problem
        primal = _dot(self.edge_metric, d.f**2) + _dot(self.supply_metric, d.g**2)
        dual = _dot(self.once * p.edge_step, self.difference(d.y) ** 2)
        dual = dual + _dot(p.diagonal, d.y**2)
        if self.active:
            dual = dual + self.active_norm * d.mu**2
        return primal, self.kappa * dual

    def fixed_point_error(self, v: Point, t: Point, weight: Array) -> Array:
        """|v - T(v)| in the metric  [w S^-1, -eta A'; -eta A, M^-1 / w]."""
        d = jax.tree.map(jnp.subtract, v, t)
        primal, dual = self.norms(d)
        cross = _dot(self.once * self.difference(d.y), d.f) - _dot(d.y, d.g)
        if self.active:
            cross = cross + d.mu * (self.activity(v.f, v.g) - self.activity(t.f, t.g))
        return jnp.sqrt(jnp.maximum(weight * primal + dual / weight - 2.0 * STEP * cross, 0.0))

    def quality(self, v: Point) -> tuple[Array, Array, Array]:
        """Objective, a valid bound on the optimum, and the total violation of the rows."""
        p = self.problem
        objective = _dot(self.once * p.cost, jnp.abs(v.f)) - _dot(p.reward, v.g)
        cost, reward = p.cost, p.reward
        if self.active:
            cost = cost + v.mu[:, None, None] * p.active_cost
            reward = reward + v.mu[:, None] * p.active_reward
        excess = jnp.maximum(jnp.abs(self.difference(v.y)) - cost, 0.0)
        bound = -_dot(self.once * p.capacity, excess) - _dot(p.supply, jnp.maximum(reward + v.y, 0))
        rows = self.residual(v.f, v.g)
        if p.root is None:
            extra = jnp.einsum("bnx,bx->bn", self.owned, rows[:, self.nodes :])
        else:
            extra = jnp.einsum("nx,bx->bn", self.owned[0], rows[:, self.nodes :])
        violation = _dot(jnp.abs(rows[:, : self.nodes] + extra), self.conserved)
        if self.active:
            bound = bound + v.mu * p.level
            violation = violation + jnp.maximum(p.level + self.activity(v.f, v.g), 0.0)
        return objective, bound, violation


def _reciprocal(a: Array) -> Array:
    return jnp.where(a > 0.0, 1.0 / jnp.where(a > 0.0, a, 1.0), 0.0)


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


@jax.jit
def advance(problem: Problem, state: State, tolerance: Array, limit: Array) -> tuple[State, Array]:
    """A few checks' worth of steps; and how many problems run on, how many have not converged."""
    operator = Operator(problem)

    def proceed(carry: tuple[Array, State]) -> tuple[Array, State]:
        return carry[0] + 1, step(operator, carry[1], tolerance, limit)

    def worthwhile(carry: tuple[Array, State]) -> Array:
        running = jnp.sum(~carry[1].stopped, dtype=jnp.int32)
        return (carry[0] < CHECKS_PER_CHUNK) & (running > few)

    # Come back early when most problems have stopped, so that the rest can be gathered.
    batch = len(state.number)
    few = batch // 4 if batch > batch_bucket(1) else 0
    _, state = lax.while_loop(worthwhile, proceed, (jnp.zeros((), jnp.int32), state))
    running, unconverged = ~state.stopped, ~state.converged
    return state, jnp.stack([jnp.sum(a, dtype=jnp.int32) for a in (running, unconverged)])


@functools.partial(jax.jit, static_argnames="size")
def compact(problem: Problem, state: State, size: int) -> tuple[Problem, State]:
    """Gather `size` problems, the running ones first."""
    order = jnp.argsort(state.stopped, stable=True)[:size]
    chosen: tuple[Problem, State] = _pick((problem, state), order)
    return chosen


@functools.partial(jax.jit, static_argnames=("dtype", "with_activity"))
def prepare(
    padded: Padded, start: Point, weight: Array, dtype: str, with_activity: bool
) -> tuple[Problem, State]:
    """Precondition and start."""
    problem = precondition(padded, dtype, with_activity)
    start, weight = jax.tree.map(lambda a: a.astype(dtype), (start, weight))
    return problem, init(problem, start, weight)


@functools.partial(jax.jit, static_argnames=("size", "with_activity"))
def promote(padded: Padded, state: State, size: int, with_activity: bool) -> tuple[Problem, State]:
    """Go on in float64 with `size` problems, those that have not converged first."""
    order = jnp.argsort(state.converged, stable=True)[:size]
    state = _pick(state, order)
    padded = _pick(padded, state.number)
    problem, fresh = prepare(padded, state.point, state.weight, "float64", with_activity)
    state = jax.tree.map(lambda old, new: old.astype(new.dtype), state, fresh)
    return problem, fresh._replace(
        iterations=state.iterations,
        objective=state.objective,
        bound=state.bound,
        converged=state.converged,
        stopped=state.converged,
        number=state.number,
    )
