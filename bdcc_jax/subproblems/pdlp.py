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
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import NDArray

from ..options import PDLPOptions
from .flow_batch import FlowProblems, Layout, Padded, layouts

STEP = 0.998
SUFFICIENT_DECAY, NECESSARY_DECAY, ARTIFICIAL_RESTART = 0.2, 0.5, 0.36
WEIGHT_GAIN = 0.3
WEIGHT_GUARD = {"float32": 1e-3, "float64": 1e-8}
"""The weight is left alone unless both moves exceed this part of their scale: below it, the ratio
of the moves is rounding noise, and a weight that follows noise never converges."""
INNER_STEPS = 32
CHECKS_PER_CHUNK = 4
SMALLEST_STEP = 1e-3
BLOCK_ENTRIES = {True: 2**19, False: 2**28}
"""Entries of all preconditioners of one call: what a CPU's cache holds, else 1 GB in float32."""


@dataclass(frozen=True)
class Solution:
    """What came out, in the ragged layout of the problems.

    Attributes
    ----------
    flow : (edges,) floats
        Signed, from tail to head.
    supply, potential : (nodes,) floats
    multiplier : (problems,) floats
        Of the activity row.
    objective, bound : (problems,) floats
        Of the returned flow, and a valid lower bound on the optimum.
    weight : (problems,) floats
        The primal weight, for warm starts.
    iterations : (problems,) ints
    converged : (problems,) bools
    """

    flow: NDArray[np.float64]
    supply: NDArray[np.float64]
    potential: NDArray[np.float64]
    multiplier: NDArray[np.float64]
    objective: NDArray[np.float64]
    bound: NDArray[np.float64]
    weight: NDArray[np.float64]
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]


class Problem(NamedTuple):
    """Padded problems on the device; fields as in `Padded`.  ``active_* = None``: no such row."""

    neighbor: Array
    owner: Array
    cost: Array
    capacity: Array
    reward: Array
    supply: Array
    active_cost: Array | None
    active_reward: Array | None
    level: Array
    edge_step: Array
    supply_step: Array
    inverse: Array


class Point(NamedTuple):
    """A primal-dual point: flows (B, R, W), supplies and potentials (B, R), multipliers (B,)."""

    f: Array
    g: Array
    y: Array
    mu: Array


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
    index: Array


def _column(per_problem: Array, like: Array) -> Array:
    return per_problem.reshape(per_problem.shape + (1,) * (like.ndim - 1))


def _select(chosen: Array, yes, no):
    return jax.tree.map(lambda a, b: jnp.where(_column(chosen, a), a, b), yes, no)


def _total(values: Array) -> Array:
    return jnp.sum(values, axis=tuple(range(1, values.ndim)))


def _edges_once(problem: Problem) -> Array:
    """1 for slots at the root's neighbours, else 1/2: every edge counts once in a sum over slots."""
    dtype = problem.cost.dtype
    return jnp.where(problem.neighbor == 0, jnp.ones((), dtype), jnp.full((), 0.5, dtype))


def _flat_neighbor(problem: Problem) -> Array:
    batch, rows, _ = problem.neighbor.shape
    return problem.neighbor + (jnp.arange(batch, dtype=jnp.int32) * rows)[:, None, None]


def _difference(flat_neighbor: Array, y: Array) -> Array:
    """A'y on slots.  One gather on a flat index: batched gathers are slow on the CPU."""
    there = y.reshape(-1).at[flat_neighbor].get(mode="promise_in_bounds")
    return y[:, :, None] - there


def _activity(problem: Problem, once: Array, f: Array, g: Array) -> Array:
    """h(f, g) = c'|f| - r'g."""
    return _total(once * problem.active_cost * jnp.abs(f)) - _total(problem.active_reward * g)


def _coupling(problem: Problem) -> float:
    return 1.0 if problem.active_cost is None else 2.0


def _prices(problem: Problem, mu: Array) -> tuple[Array, Array]:
    """Cost + mu c and reward + mu r."""
    if problem.active_cost is None:
        return problem.cost, problem.reward
    return (
        problem.cost + mu[:, None, None] * problem.active_cost,
        problem.reward + mu[:, None] * problem.active_reward,
    )


def precondition(padded: Padded, dtype: str, with_activity: bool) -> Problem:
    """Add the step sizes S and the dense inverse M, computed in float64, and cast to `dtype`."""
    capacity, supply = padded.capacity, padded.supply
    edge_step = jnp.where(capacity > 0.0, jnp.maximum(capacity, SMALLEST_STEP), 0.0)
    supply_step = jnp.where(supply > 0.0, jnp.maximum(supply, SMALLEST_STEP), 0.0)
    batch, rows = padded.owner.shape
    problem = jnp.arange(batch, dtype=jnp.int32)[:, None]
    owner = padded.owner
    empty = jnp.zeros((batch, rows, rows), capacity.dtype)
    adjacency = empty.at[problem[:, :, None], owner[:, :, None], padded.neighbor].add(edge_step)
    diagonal = jnp.zeros_like(supply).at[problem, owner].add(jnp.sum(edge_step, -1) + supply_step)
    # The root is grounded; empty and secondary rows get a 1 that touches nothing.
    free = (jnp.arange(rows, dtype=jnp.int32) > 0)[None, :] & (diagonal > 0.0)
    inner = free[:, :, None] & free[:, None, :]
    unit = jnp.eye(rows, dtype=capacity.dtype)[None]
    laplacian = unit * jnp.where(free, diagonal, 1.0)[:, :, None] - jnp.where(inner, adjacency, 0.0)
    inverse = jnp.where(inner, jnp.linalg.inv(laplacian), 0.0)
    inverse = jnp.take_along_axis(inverse, owner[:, :, None], 1)
    inverse = jnp.take_along_axis(inverse, owner[:, None, :], 2)
    fields = padded._asdict()
    if not with_activity:
        fields |= {"active_cost": None, "active_reward": None}
    problem_ = Problem(**fields, edge_step=edge_step, supply_step=supply_step, inverse=inverse)
    return jax.tree.map(
        lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, problem_
    )


class Operator:
    """T and the norms of one batch, with what they share computed once."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.once = _edges_once(problem)
        self.flat_neighbor = _flat_neighbor(problem)
        self.kappa = _coupling(problem)
        if problem.active_cost is not None:
            self.row_norm = self.primal_scale(problem.active_cost, problem.active_reward)

    def primal_scale(self, cost: Array, reward: Array) -> Array:
        """The squared norm of an objective, S-weighted: the dual of the primal metric."""
        p = self.problem
        return _total(self.once * p.edge_step * cost**2) + _total(p.supply_step * reward**2)

    def step(self, v: Point, weight: Array) -> Point:
        """T(v)."""
        p = self.problem
        primal, dual = STEP / weight, STEP * weight / self.kappa
        cost, reward = _prices(p, v.mu)
        edge_step = primal[:, None, None] * p.edge_step
        threshold = edge_step * cost
        t = v.f - edge_step * _difference(self.flat_neighbor, v.y)
        f = jnp.clip(t - jnp.clip(t, -threshold, threshold), -p.capacity, p.capacity)
        g = jnp.clip(v.g + primal[:, None] * p.supply_step * (reward + v.y), 0.0, p.supply)
        residual = jnp.sum(2.0 * f - v.f, -1) - (2.0 * g - v.g)
        y = v.y + dual[:, None] * jnp.einsum(
            "bij,bj->bi", p.inverse, residual, precision=lax.Precision.HIGHEST
        )
        mu = v.mu
        if p.active_cost is not None:
            now, before = _activity(p, self.once, f, g), _activity(p, self.once, v.f, v.g)
            mu = jnp.maximum(mu + dual * (p.level + 2.0 * now - before) / self.row_norm, 0.0)
        return Point(f, g, y, mu)

    def norms(self, d: Point) -> tuple[Array, Array]:
        """Squared primal and dual norms |.|_{S^-1} and |.|_{M^-1} of a difference."""
        p = self.problem
        over = lambda a, s: jnp.where(s > 0.0, a / jnp.where(s > 0.0, s, 1.0), 0.0)  # noqa: E731
        primal = _total(self.once * over(d.f**2, p.edge_step)) + _total(over(d.g**2, p.supply_step))
        lifted = _difference(self.flat_neighbor, d.y)
        dual = _total(self.once * p.edge_step * lifted**2) + _total(p.supply_step * d.y**2)
        if p.active_cost is not None:
            dual = dual + self.row_norm * d.mu**2
        return primal, self.kappa * dual

    def fixed_point_error(self, v: Point, t: Point, weight: Array) -> Array:
        """|v - T(v)| in the metric  [w S^-1, -eta A'; -eta A, M^-1 / w]."""
        d = jax.tree.map(jnp.subtract, v, t)
        primal, dual = self.norms(d)
        cross = _total(self.once * _difference(self.flat_neighbor, d.y) * d.f) - _total(d.y * d.g)
        if self.problem.active_cost is not None:
            p = self.problem
            before, now = _activity(p, self.once, v.f, v.g), _activity(p, self.once, t.f, t.g)
            cross = cross + d.mu * (before - now)
        return jnp.sqrt(jnp.maximum(weight * primal + dual / weight - 2.0 * STEP * cross, 0.0))

    def quality(self, v: Point) -> tuple[Array, Array, Array]:
        """Objective, a valid bound on the optimum, and the priced violation of the rows."""
        p = self.problem
        objective = _total(self.once * p.cost * jnp.abs(v.f)) - _total(p.reward * v.g)
        cost, reward = _prices(p, v.mu)
        lifted = _difference(self.flat_neighbor, v.y)
        bound = -_total(self.once * p.capacity * jnp.maximum(jnp.abs(lifted) - cost, 0.0))
        bound = bound - _total(p.supply * jnp.maximum(reward + v.y, 0.0))
        # Rows of one node are summed by comparing owners: no scatter, and once per check only.
        same = p.owner[:, :, None] == p.owner[:, None, :]
        per_row = jnp.sum(v.f, -1) - v.g
        per_node = jnp.sum(jnp.where(same, per_row[:, None, :], 0.0), -1)
        first = p.owner == jnp.arange(p.owner.shape[1], dtype=jnp.int32)[None]
        violation = _total(jnp.where(first, jnp.abs(per_node), 0.0).at[:, 0].set(0.0))
        if p.active_cost is not None:
            short = p.level + _activity(p, self.once, v.f, v.g)
            bound = bound + jnp.where(v.mu > 0.0, v.mu * p.level, 0.0)
            violation = violation + jnp.maximum(short, 0.0)
        return objective, bound, violation

    def scale(self) -> tuple[Array, Array]:
        """Norms of the objective and of the boxes."""
        p = self.problem
        boxes = _total(self.once * p.capacity) + _total(p.supply)  # |u|^2 in S^-1 = u^-1
        return jnp.sqrt(self.primal_scale(p.cost, p.reward)), jnp.sqrt(boxes)


def init(problem: Problem, start: Point, weight: Array) -> State:
    """The state before the first step; a `weight` that is not positive means: choose one."""
    prices, boxes = Operator(problem).scale()
    ratio = 2.0 * prices / jnp.where(boxes > 0.0, boxes, 1.0)
    weight = jnp.where(weight > 0.0, weight, jnp.where(ratio > 0.0, ratio, 1.0))
    zero = jnp.zeros_like(weight)
    nothing = boxes <= 0.0
    return State(
        point=start,
        anchor=start,
        weight=weight,
        since_restart=zero,
        restart_error=zero,
        last_error=jnp.full_like(zero, jnp.inf),
        iterations=jnp.zeros(zero.shape, jnp.int32),
        objective=zero,
        bound=zero,
        converged=nothing,
        stopped=nothing,
        index=jnp.arange(len(weight), dtype=jnp.int32),
    )


def halpern(v: Point, t: Point, anchor: Point, k: Array) -> Point:
    """(k + 1)/(k + 2) (2 T(v) - v) + 1/(k + 2) v0."""
    share = 1.0 / (k + 2.0)

    def average(v_: Array, t_: Array, a: Array) -> Array:
        s = _column(share, v_)
        return (1.0 - s) * (2.0 * t_ - v_) + s * a

    return jax.tree.map(average, v, t, anchor)


def step(problem: Problem, state: State, tolerance: Array, limit: Array) -> State:
    """`INNER_STEPS` iterations of all problems, then one check and perhaps a restart of each."""
    op, weight, anchor = Operator(problem), state.weight, state.anchor

    t = op.step(state.point, weight)
    first = state.since_restart == 0.0
    restart_error = jnp.where(
        first, op.fixed_point_error(state.point, t, weight), state.restart_error
    )

    def inner(_: int, carry: tuple[Point, Array]) -> tuple[Point, Array]:
        v, k = carry
        return halpern(v, op.step(v, weight), anchor, k), k + 1.0

    v, k = halpern(state.point, t, anchor, state.since_restart), state.since_restart + 1.0
    v, k = lax.fori_loop(0, INNER_STEPS - 2, inner, (v, k))
    t = op.step(v, weight)
    error = op.fixed_point_error(v, t, weight)
    iterations = state.iterations + INNER_STEPS

    objective, bound, violation = op.quality(t)
    size = 0.5 * (jnp.abs(objective) + jnp.abs(bound))
    tolerance = tolerance.astype(size.dtype)
    gap = jnp.abs(objective - bound)
    converged = (gap <= tolerance * size) & (violation <= tolerance * size)
    stopped = converged | (iterations >= limit)

    restart = (
        (error <= SUFFICIENT_DECAY * restart_error)
        | ((error <= NECESSARY_DECAY * restart_error) & (error > state.last_error))
        | (k + 1.0 >= ARTIFICIAL_RESTART * iterations.astype(k.dtype))
        | stopped
    )
    moved = op.norms(jax.tree.map(jnp.subtract, t, anchor))
    primal, dual = jnp.sqrt(moved[0]), jnp.sqrt(moved[1])
    prices, boxes = op.scale()
    guard = WEIGHT_GUARD[primal.dtype.name]
    trusted = restart & (primal > guard * boxes) & (dual > guard * prices)
    ratio = jnp.where(trusted, dual, 1.0) / jnp.where(trusted, primal * weight, 1.0)

    after = State(
        point=_select(restart, t, halpern(v, t, anchor, k)),
        anchor=_select(restart, t, anchor),
        weight=weight * ratio**WEIGHT_GAIN,
        since_restart=jnp.where(restart, 0.0, k + 1.0),
        restart_error=restart_error,
        last_error=jnp.where(restart, jnp.inf, error),
        iterations=iterations,
        objective=objective,
        bound=bound,
        converged=converged,
        stopped=stopped,
        index=state.index,
    )
    return _select(state.stopped, state, after)


def done(state: State) -> Array:
    """Whether every problem of the batch has stopped."""
    return jnp.all(state.stopped)


@jax.jit
def advance(problem: Problem, state: State, tolerance: Array, limit: Array) -> tuple[State, Array]:
    """A few checks' worth of steps; and how many problems run on, how many have not converged."""

    def proceed(carry: tuple[Array, State]) -> tuple[Array, State]:
        return carry[0] + 1, step(problem, carry[1], tolerance, limit)

    start = (jnp.zeros((), jnp.int32), state)
    _, state = lax.while_loop(
        lambda carry: (carry[0] < CHECKS_PER_CHUNK) & ~done(carry[1]), proceed, start
    )
    running, unconverged = ~state.stopped, ~state.converged
    return state, jnp.stack([jnp.sum(a, dtype=jnp.int32) for a in (running, unconverged)])


@functools.partial(jax.jit, static_argnames="size")
def compact(problem: Problem, state: State, size: int) -> tuple[Problem, State]:
    """Gather `size` problems, the running ones first."""
    order = jnp.argsort(state.stopped, stable=True)[:size]
    return jax.tree.map(lambda a: jnp.take(a, order, axis=0), (problem, state))


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
    state = jax.tree.map(lambda a: jnp.take(a, order, axis=0), state)
    padded = jax.tree.map(lambda a: jnp.take(a, state.index, axis=0), padded)
    problem, fresh = prepare(padded, state.point, state.weight, "float64", with_activity)
    state = jax.tree.map(lambda old, new: old.astype(new.dtype), state, fresh)
    return problem, fresh._replace(
        iterations=state.iterations,
        objective=state.objective,
        bound=state.bound,
        converged=state.converged,
        stopped=state.converged,
        index=state.index,
    )


def solve_flows(
    problems: FlowProblems,
    options: PDLPOptions = PDLPOptions(),
    *,
    start: Solution | None = None,
    device: jax.Device | None = None,
) -> Solution:
    """Solve all problems, in float32 first and in float64 where that does not suffice.

    Parameters
    ----------
    problems : FlowProblems
    options : PDLPOptions
    start : Solution, optional
        A point to start from, of problems with the same graphs.
    device : jax.Device, optional
        Default: the default device of JAX.

    Examples
    --------
    >>> import numpy as np
    >>> problems = FlowProblems(
    ...     nodes=np.array([0, 2]), edges=np.array([0, 1]), tail=np.array([1]), head=np.array([0]),
    ...     cost=np.array([0.25]), capacity=np.array([2.0]),
    ...     reward=np.array([0.0, 1.0]), supply=np.array([0.0, 3.0]))
    >>> solution = solve_flows(problems)
    >>> bool(solution.converged[0]), round(float(solution.objective[0]), 2)
    (True, -1.5)
    """
    device = device or jax.local_devices()[0]
    active = problems.activity is not None
    with jax.enable_x64(True):
        groups = layouts(problems, BLOCK_ENTRIES[device.platform == "cpu"])
        tolerance = jax.device_put(np.float64(options.tolerance), device)
        limits = {
            "float32": min(options.single_iterations, options.iteration_limit),
            "float64": options.iteration_limit,
        }
        limit = {dtype: jax.device_put(np.int32(n), device) for dtype, n in limits.items()}
        dtype = "float32" if limits["float32"] > 0 else "float64"
        placed = [
            jax.device_put((_fill(group.padded), *_start(group, start)), device) for group in groups
        ]
        running = [
            (number, *prepare(*arrays, dtype, active)) for number, arrays in enumerate(placed)
        ]
        finished: list[tuple[int, State]] = []
        while running:
            # Everything is dispatched before anything is read, so that the groups overlap.
            advanced = [
                (
                    number,
                    problem,
                    *advance(problem, state, tolerance, limit[problem.cost.dtype.name]),
                )
                for number, problem, state in running
            ]
            running = []
            for number, problem, state, counts in advanced:
                alive, unconverged = (int(n) for n in jax.device_get(counts))
                single = problem.cost.dtype == jnp.float32
                size = batch_bucket(alive or unconverged)
                if alive and size == len(state.index):
                    running.append((number, problem, state))
                    continue
                finished.append((number, state))
                if alive:
                    running.append((number, *compact(problem, state, size)))
                elif unconverged and single and limits["float32"] < limits["float64"]:
                    running.append((number, *promote(placed[number][0], state, size, active)))
        return _collect(problems, groups, jax.device_get(finished))


def batch_bucket(count: int) -> int:
    """The next batch size of 8, 16, 32, ..."""
    return max(8, 1 << max(count - 1, 0).bit_length())


def _fill(padded: Padded) -> Padded:
    """Empty problems up to the next batch size (all capacities zero: they stop at once)."""
    missing = batch_bucket(len(padded.level)) - len(padded.level)
    filled = jax.tree.map(
        lambda a: np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]), padded
    )
    return filled


def _start(group: Layout, start: Solution | None) -> tuple[Point, NDArray[np.float64]]:
    """The warm start of a group in its own units, or zeros."""
    batch, rows, width = group.padded.cost.shape
    size = batch_bucket(batch)
    point = Point(
        np.zeros((size, rows, width)),
        np.zeros((size, rows)),
        np.zeros((size, rows)),
        np.zeros(size),
    )
    weight = np.zeros(size)
    if start is not None:
        b, s = group.row // rows, group.slot // (rows * width)
        point.f.reshape(-1)[group.slot] = start.flow[group.edge] * group.sign / group.flow_unit[s]
        point.g.reshape(-1)[group.row] = start.supply[group.node] / group.flow_unit[b]
        point.y.reshape(-1)[group.row] = start.potential[group.node] / group.price_unit[b]
        point.mu[:batch] = start.multiplier[group.index] * group.active_unit / group.price_unit
        weight[:batch] = start.weight[group.index]
        owner = group.padded.owner
        point.y[:batch] = np.take_along_axis(point.y[:batch], owner, 1)
    return point, weight


def _collect(
    problems: FlowProblems, groups: list[Layout], finished: list[tuple[int, State]]
) -> Solution:
    """Put the padded answers, in the order in which they came, back into the ragged layout."""
    edges, nodes, count = len(problems.cost), len(problems.supply), len(problems)
    out = Solution(
        np.zeros(edges), np.zeros(nodes), np.zeros(nodes), np.zeros(count), np.zeros(count),
        np.zeros(count), np.zeros(count), np.zeros(count, np.int64), np.zeros(count, bool),
    )  # fmt: skip
    for number, group in enumerate(groups):
        batch, rows, width = group.padded.cost.shape
        point, _ = _start(group, None)
        per_problem = np.zeros((6, batch_bucket(batch)))
        for owner, state in finished:
            if owner == number:
                for mine, new in zip(point, state.point, strict=True):
                    mine[state.index] = new
                per_problem[:, state.index] = (
                    state.point.mu, state.objective, state.bound,
                    state.weight, state.iterations, state.converged,
                )  # fmt: skip
        price, flow = group.price_unit, group.flow_unit
        out.flow[group.edge] = (
            point.f.reshape(-1)[group.slot] * group.sign * flow[group.slot // (rows * width)]
        )
        out.supply[group.node] = point.g.reshape(-1)[group.row] * flow[group.row // rows]
        out.potential[group.node] = point.y.reshape(-1)[group.row] * price[group.row // rows]
        mu, objective, bound, weight, iterations, converged = per_problem[:, :batch]
        out.multiplier[group.index] = mu * price / group.active_unit
        out.objective[group.index] = objective * price * flow
        out.bound[group.index] = bound * price * flow
        out.weight[group.index] = weight
        out.iterations[group.index] = iterations.astype(np.int64)
        out.converged[group.index] = converged > 0
    return out
