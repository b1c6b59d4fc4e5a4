"""The preconditioner of a batch of flow LPs: step sizes and dense inverses."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from .flow_batch import Padded

SMALLEST_STEP = 1e-3
SMALL, SMALL_BLOCK, LARGE_BLOCK = 96, 8, 16
"""Rows that are eliminated together in matrices up to this size, and in larger ones (measured)."""


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


def sweep(matrix: Array, block: int) -> Array:
    """Invert symmetric positive definite matrices by Gauss-Jordan elimination in place.

    With E_K the columns K of the identity, every block K of rows and columns does

        X <- X - (X[:, K] - E_K) X[K, K]^-1 (X[K, :] + E_K').

    Such matrices need no pivoting.  (LAPACK, one call per matrix, is far slower on small ones.)
    """
    return eliminate(matrix, 0, matrix.shape[-1] // block, block)


def eliminate(matrix: Array, first: Array | int, end: Array | int, block: int) -> Array:
    """The steps of :func:`sweep` for some of the blocks."""
    size = matrix.shape[-1]

    def one(i: Array, x: Array) -> Array:
        k = i * block
        columns = lax.dynamic_slice_in_dim(x, k, block, 2)
        rows = lax.dynamic_slice_in_dim(x, k, block, 1)
        pivot = lax.dynamic_slice_in_dim(rows, k, block, 2)
        unit = lax.dynamic_slice_in_dim(jnp.eye(size, dtype=x.dtype), k, block, 1)
        if block == 1:
            return x - (columns - unit[None]) * ((rows + unit.T[None]) / pivot)
        rows = jnp.matmul(sweep(pivot, 1), rows + unit.T[None], precision=lax.Precision.HIGHEST)
        return x - jnp.matmul(columns - unit[None], rows, precision=lax.Precision.HIGHEST)

    inverse: Array = lax.fori_loop(first, end, one, matrix)
    return inverse


class Laplacian(NamedTuple):
    """What is to be inverted for some problems, and what it is made of."""

    matrix: Array
    inner: Array
    edge_step: Array
    supply_step: Array
    diagonal: Array


def block_of(nodes: int) -> int:
    """Rows that are eliminated together, in matrices for so many nodes."""
    return min(nodes, SMALL_BLOCK) if nodes <= SMALL else LARGE_BLOCK


def laplacian(padded: Padded) -> Laplacian:
    """A S A' + D of every problem.

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
    matrix = unit * diagonal[:, :, None] - jnp.where(inner, adjacency, 0.0)
    return Laplacian(matrix, inner, edge_step, supply_step, added)


def precondition(
    padded: Padded, dtype: str, with_activity: bool, inverse: Array | None = None
) -> Problem:
    """Add the step sizes S and the dense inverse M, one column to a row, and cast to `dtype`.

    The inverse, unless it is given, is computed in float64: with one of float32 the iterations
    doubled on 128 nodes.
    """
    matrix, inner, edge_step, supply_step, added = laplacian(padded)
    if inverse is None:
        # Of empty problems, which fill a batch up, there is nothing to invert.
        invert = partial(sweep, block=block_of(matrix.shape[-1]))
        some = jnp.any(jnp.asarray(padded.supply) > 0.0)
        inverse = lax.cond(some, invert, lambda m: m, matrix)
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
