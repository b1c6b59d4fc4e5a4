"""The subproblems of a round and their Magnanti-Wong variants: PDHG on balls, in pure JAX.

With A f the net flow out of every node but the root, the saddle point of a problem is

    min_{f, g}  max_{y, mu >= 0}   sum_e (mu x_e + p_e) |f_e| - sum_v (mu x_sv - p_v) g_v
                                   + y'(A f - g) + (mu - 1) level

over the boxes |f| <= capacity, 0 <= g <= supply. The subproblem itself has p = 0 and mu = 1. The
Magnanti-Wong variant has the prices p of its direction; mu is the multiplier of the paper's row
"activity >= tau Q" (level = tau Q), or stays 1, which is the price at which p enters the
subproblem. With h the activity of a flow and p its price, a maximiser of h - p satisfies

    h >= Q - (spent - p) >= tau Q    if the flow of value Q costs   spent = (1 - tau) Q,

and it is the cheapest flow of its activity: this is how prices are scaled in either case.

One step T of the primal-dual hybrid gradient method, with step eta < 1, primal weight w and primal
step sizes S = capacity:

    f+ = clip(soft(f - eta/w S A'y, eta/w S (mu x + p)))       g+ likewise
    y+ = y + eta w M (A (2 f+ - f) - (2 g+ - g)),              M = (A S A' + S_g)^-1 / kappa
    mu+ = max(0, mu + eta w (level - 2 h(f+, g+) + h(f, g)) / (kappa s))

M is a dense inverse a ball: two thirds fewer iterations than with a diagonal, and no tail. Iterates
are averaged with the anchor v0 of the last restart (reflected Halpern),

    v <- (k + 1)/(k + 2) (2 T(v) - v) + 1/(k + 2) v0,

and restarts go by the fixed-point error |v - T(v)| in the metric of the method. The number of
iterations is bounded: whatever comes out is made into valid rows, better or worse ones.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from .balls import NODES, ROWS, WIDTH
from .inverses import exact_product, invert

STEP = 0.998
SUFFICIENT_DECAY, NECESSARY_DECAY, ARTIFICIAL_RESTART = 0.2, 0.5, 0.36
WEIGHT_GAIN, WEIGHT_GUARD = 0.3, 1e-3
"""The weight is left alone unless both moves exceed this part of their scale: below it, the ratio
of the moves is rounding noise of float32, and a weight that follows noise never converges."""

CONVERGED = 3e-3
"""A lane has converged when a step moves it by less than this, in the metric of the method and in
units of its boxes and prices."""

INNER = 16
"""Iterations between checks for a restart."""

SMALLEST_STEP = 1e-3
"""Step sizes are capacities, but not less than this part of the largest."""


class Problems(NamedTuple):
    """LPs on balls, one a lane; float32 but for the indices.

    Amounts are in units of the largest supply of the lane.

    Attributes
    ----------
    neighbor, owner : ints
        As in :class:`.balls.Balls`.
    cost, capacity, price : (lanes, WIDTH, ROWS)
        x, w and the Magnanti-Wong direction of every slot; 0 in empty ones.
    reward, supply, charge : (lanes, NODES)
        x, |w| and the direction of the violated edges of E-, at their far ends.
    hop : (lanes,)
        A small price of every edge in the subproblem itself, so that of all optimal flows the one
        with the fewest edges is found: a vertex, not a mixture of many.
    """

    neighbor: Any
    owner: Any
    cost: Any
    capacity: Any
    price: Any
    reward: Any
    supply: Any
    charge: Any
    hop: Any


class Point(NamedTuple):
    """A primal-dual point: flows out of the owner of a slot, supplies, potentials, multiplier."""

    f: Array
    g: Array
    y: Array
    mu: Array


class Method(NamedTuple):
    """What stays the same from step to step.

    Attributes
    ----------
    lps : Problems
        With the prices and charges that are in force.
    at, own : ints
        Of every slot the neighbour, of every further row the owner, in all lanes end to end.
    edge_step, supply_step : floats
        The primal step sizes S.
    inverse : (lanes, ROWS, NODES)
        M, a row for every row of slots.
    once : (lanes, WIDTH, ROWS)
        What a slot counts in a sum over edges.
    earning : (lanes,)
        The square of the norm of h as a linear function, with step sizes.
    level, free : (lanes,)
        tau Q, and whether mu is a multiplier or stays 1.
    """

    lps: Problems
    at: Array
    own: Array
    edge_step: Array
    supply_step: Array
    inverse: Array
    once: Array
    earning: Array
    level: Array
    free: Array


def start(problems: Problems) -> Point:
    """The point before the subproblems: nothing flows."""
    supply = jnp.zeros_like(problems.supply)
    return Point(jnp.zeros_like(problems.cost), supply, supply, jnp.ones_like(supply[:, 0]))


def pose(method: Method, before: Point, variant: Array, tau: Array, by_row: Array) -> Method:
    """The subproblem, or its variant if ``before`` is its solution.

    The variant keeps a share ``tau`` of the value, by the multiplier of a row or by a price.
    """
    lps = method.lps
    value = jnp.maximum(activity(method, jnp.abs(before.f), before.g), 0.0)
    spent = dot(method.once * lps.price, jnp.abs(before.f)) + dot(lps.charge, before.g)
    rate = (1.0 - tau) * value / jnp.where(spent > 0.0, spent, 1.0)
    hop = jnp.where(lps.capacity > 0.0, lps.hop[:, None, None], 0.0)
    price = jnp.where(variant, rate[:, None, None] * lps.price, hop)
    charge = jnp.where(variant, rate[:, None] * lps.charge, 0.0)
    free = jnp.broadcast_to(variant & by_row, value.shape)
    return method._replace(
        lps=lps._replace(price=price, charge=charge), level=tau * value, free=free
    )


def prepare(p: Problems) -> Method:
    """Step sizes and the preconditioner M, one row to a row of slots."""
    edge_step = jnp.where(p.capacity > 0.0, jnp.clip(p.capacity, SMALLEST_STEP, 1.0), 0.0)
    supply_step = jnp.where(p.supply > 0.0, jnp.clip(p.supply, SMALLEST_STEP, 1.0), 0.0)
    lanes = len(p.supply)
    number = jnp.arange(NODES, dtype=jnp.int32)
    beside = p.neighbor[..., None] == number
    by_row = over_width(jnp.where(beside, edge_step[..., None], 0.0))
    owned = (p.owner[:, None, :] == number[:, None]).astype(jnp.float32)
    adjacency = by_row[:, :NODES] + exact_product(owned, by_row[:, NODES:])
    degree = jnp.sum(adjacency, 2) + supply_step
    # The root is grounded, and nodes without edges get a 1 that touches nothing.
    inside = (number > 0) & (degree > 0.0)
    both = inside[:, :, None] & inside[:, None, :]
    unit = jnp.eye(NODES, dtype=jnp.float32)
    matrix = unit * jnp.where(inside, degree, 1.0)[:, :, None] - jnp.where(both, adjacency, 0.0)
    inverse = jnp.where(both, invert(matrix), 0.0)
    further = exact_product(jnp.swapaxes(owned, 1, 2), inverse)
    offset = NODES * jnp.arange(lanes, dtype=jnp.int32)
    # Edges at the root have one slot, others two.
    once = jnp.where(p.neighbor == 0, 1.0, 0.5)
    return Method(
        lps=p,
        at=p.neighbor + offset[:, None, None],
        own=p.owner + offset[:, None],
        edge_step=edge_step,
        supply_step=supply_step,
        inverse=jnp.concatenate([inverse, further], 1),
        once=once,
        earning=dot(once * edge_step, p.cost**2) + dot(supply_step, p.reward**2),
        level=jnp.zeros(lanes, jnp.float32),
        free=jnp.zeros(lanes, bool),
    )


def advance(method: Method, start: Point, checks: Array) -> Point:
    """So many times INNER iterations, with restarts, or until all lanes have converged; T(v).

    A lane that has converged stays as it is, so that its company makes no difference to it.
    """
    m = method
    boxes = jnp.sqrt(dot(m.once, m.edge_step) + jnp.sum(m.supply_step, 1))
    prices = jnp.sqrt(
        dot(m.once * m.edge_step, (m.lps.cost + m.lps.price) ** 2)
        + dot(m.supply_step, (m.lps.reward - m.lps.charge) ** 2)
    )
    weight = 2.0 * prices / jnp.where(boxes > 0.0, boxes, 1.0)
    weight = jnp.where(weight > 0.0, weight, 1.0)
    infinite = jnp.full_like(weight, jnp.inf)
    small = CONVERGED * jnp.sqrt(prices * boxes)

    def check(state: Any) -> Any:
        i, done, end, v, anchor, weight, k, restart_error, last_error = state
        step = stepper(m, weight)

        def inner(_: Array, carry: tuple[Point, Array]) -> tuple[Point, Array]:
            v, k = carry
            return halpern(v, step(v), anchor, k), k + 1.0

        v, k = lax.fori_loop(0, INNER - 1, inner, (v, k))
        t = step(v)
        error = fixed_point_error(m, v, t, weight)
        restart = (
            (error <= SUFFICIENT_DECAY * restart_error)
            | ((error <= NECESSARY_DECAY * restart_error) & (error > last_error))
            | (k + 1.0 >= ARTIFICIAL_RESTART * INNER * (i + 1).astype(k.dtype))
        )
        primal, dual = map(jnp.sqrt, norms(m, jax.tree.map(jnp.subtract, t, anchor)))
        trusted = restart & (primal > WEIGHT_GUARD * boxes) & (dual > WEIGHT_GUARD * prices)
        ratio = jnp.where(trusted, dual, 1.0) / jnp.where(trusted, primal * weight, 1.0)
        return (
            i + 1,
            done | (error <= small),
            select(done, end, t),
            select(restart, t, halpern(v, t, anchor, k)),
            select(restart, t, anchor),
            weight * ratio**WEIGHT_GAIN,
            jnp.where(restart, 0.0, k + 1.0),
            jnp.where(restart, error, restart_error),
            jnp.where(restart, jnp.inf, error),
        )

    zero, nobody = jnp.zeros_like(weight), jnp.zeros(weight.shape, bool)
    begin = (jnp.int32(0), nobody, start, start, start, weight, zero, infinite, infinite)

    def goes_on(state: Any) -> Array:
        more: Array = (state[0] < checks) & ~jnp.all(state[1])
        return more

    end: Point = lax.while_loop(goes_on, check, begin)[2]
    return end


def stepper(m: Method, weight: Array) -> Any:
    """T for given primal weights."""
    kappa = jnp.where(m.free, 2.0, 1.0)
    primal, dual = STEP / weight, STEP * weight / kappa
    edge_step = primal[:, None, None] * m.edge_step
    supply_step = primal[:, None] * m.supply_step
    cost_step, price_step = edge_step * m.lps.cost, edge_step * m.lps.price
    inverse = dual[:, None, None] * m.inverse
    mu_step = jnp.where(m.free, dual / jnp.maximum(m.earning, 1e-30), 0.0)

    def step(v: Point) -> Point:
        threshold = price_step + v.mu[:, None, None] * cost_step
        t = v.f - edge_step * difference(m, v.y)
        f = jnp.clip(t - jnp.clip(t, -threshold, threshold), -m.lps.capacity, m.lps.capacity)
        gain = v.mu[:, None] * m.lps.reward - m.lps.charge
        g = jnp.clip(v.g + supply_step * (gain + v.y), 0.0, m.lps.supply)
        sent = 2.0 * g - v.g
        out = over_width(2.0 * f - v.f) - jnp.pad(sent, ((0, 0), (0, ROWS - NODES)))
        y = v.y + jnp.einsum("brn,br->bn", inverse, out, precision=lax.Precision.HIGHEST)
        h = activity(m, 2.0 * jnp.abs(f) - jnp.abs(v.f), sent)
        return Point(f, g, y, jnp.maximum(v.mu + mu_step * (m.level - h), 0.0))

    return step


def halpern(v: Point, t: Point, anchor: Point, k: Array) -> Point:
    """(k + 1)/(k + 2) (2 T(v) - v) + 1/(k + 2) v0."""
    share = 1.0 / (k + 2.0)

    def average(v_: Array, t_: Array, a: Array) -> Array:
        s = column(share, v_)
        return (1.0 - s) * (2.0 * t_ - v_) + s * a

    averaged: Point = jax.tree.map(average, v, t, anchor)
    return averaged


def difference(m: Method, y: Array) -> Array:
    """A'y on slots. Gathers on a flat index: batched ones are slow on the CPU."""
    flat = y.reshape(-1)
    here = jnp.concatenate([y, flat.at[m.own].get(mode="promise_in_bounds")], 1)
    return here[:, None, :] - flat.at[m.at].get(mode="promise_in_bounds")


def activity(m: Method, size: Array, g: Array) -> Array:
    """h: what a flow of this size on edges, |f|, earns in the subproblem."""
    return dot(m.lps.reward, g) - dot(m.once * m.lps.cost, size)


def norms(m: Method, d: Point) -> tuple[Array, Array]:
    """Squared primal and dual norms of a difference in the metric of the method."""
    edges, supplies = (jnp.maximum(a, SMALLEST_STEP) for a in (m.edge_step, m.supply_step))
    primal = dot(m.once / edges, d.f**2) + dot(1.0 / supplies, d.g**2)
    dual = dot(m.once * m.edge_step, difference(m, d.y) ** 2) + dot(m.supply_step, d.y**2)
    return primal, jnp.where(m.free, 2.0 * (dual + m.earning * d.mu**2), dual)


def fixed_point_error(m: Method, v: Point, t: Point, weight: Array) -> Array:
    """|v - T(v)| in the metric  [w S^-1, -eta A'; -eta A, M^-1 / w]."""
    d = jax.tree.map(jnp.subtract, v, t)
    primal, dual = norms(m, d)
    cross = dot(m.once * difference(m, d.y), d.f) - dot(d.y, d.g)
    cross = cross - d.mu * activity(m, jnp.abs(v.f) - jnp.abs(t.f), d.g)
    return jnp.sqrt(jnp.maximum(weight * primal + dual / weight - 2.0 * STEP * cross, 0.0))


def over_width(a: Array) -> Array:
    """The sum over the slots of every row; a CPU vectorises this, but no sum over one axis."""
    total = a[:, 0]
    for w in range(1, WIDTH):
        total = total + a[:, w]
    return total


def dot(a: Array, b: Array) -> Array:
    """One inner product a lane. Products with ones, unlike sums, are vectorised on the CPU."""
    by_row = exact_product(a * b, jnp.ones(a.shape[-1], a.dtype))
    return jnp.sum(by_row.reshape(len(a), -1), 1)


def column(per_lane: Array, like: Array) -> Array:
    """A number a lane, ready to be multiplied with arrays of lanes."""
    return per_lane.reshape(per_lane.shape + (1,) * (like.ndim - 1))


def select(chosen: Array, yes: Any, no: Any) -> Any:
    """Lane by lane one or the other."""
    return jax.tree.map(lambda a, b: jnp.where(column(chosen, a), a, b), yes, no)
