"""One step of the primal-dual hybrid gradient method on batches of flow LPs, in pure JAX.

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

All variables have bounds, so every dual point is feasible once the reduced costs are charged to
those bounds: the dual residual is zero by construction, and any y and mu >= 0 give a valid bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from .preconditioner import Problem

STEP = 0.998


class Point(NamedTuple):
    """A primal-dual point: flows (B, R, W), supplies and potentials (B, R), multipliers (B,)."""

    f: Any
    g: Any
    y: Any
    mu: Any


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
        flat, here = y.reshape(-1), y
        if self.flat_owner.shape[1] > 0:
            extra = flat.at[self.flat_owner].get(mode="promise_in_bounds")
            here = jnp.concatenate([y, extra], 1)
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
        total = rows[:, : self.nodes]
        if rows.shape[1] > self.nodes:
            owned, spec = self.owned, "bnx,bx->bn"
            if p.root is not None:
                owned, spec = self.owned[0], "nx,bx->bn"
            total = total + jnp.einsum(spec, owned, rows[:, self.nodes :])
        violation = _dot(jnp.abs(total), self.conserved)
        if self.active:
            bound = bound + v.mu * p.level
            violation = violation + jnp.maximum(p.level + self.activity(v.f, v.g), 0.0)
        return objective, bound, violation


def _dot(a: Array, b: Array) -> Array:
    """One inner product per problem; a dot, unlike a sum, is vectorised on the CPU."""
    a, b = (x.reshape(x.shape[0], -1) for x in (a, b))
    if a.shape[0] < b.shape[0]:
        return jnp.einsum("i,bi->b", a[0], b, precision=lax.Precision.HIGHEST)
    return jnp.einsum("bi,bi->b", a, b, precision=lax.Precision.HIGHEST)


def _reciprocal(a: Array) -> Array:
    return jnp.where(a > 0.0, 1.0 / jnp.where(a > 0.0, a, 1.0), 0.0)
