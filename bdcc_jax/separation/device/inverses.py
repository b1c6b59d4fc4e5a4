"""Inverses of many symmetric positive definite matrices at a time, in pure JAX."""

import jax.numpy as jnp
from jax import Array, lax

BLOCK = 8
"""Rows and columns that are eliminated at a time."""


def invert(matrix: Array) -> Array:
    """Gauss-Jordan elimination without pivots, then a step of Newton's against its rounding.

    With B a block on the diagonal, R its rows and C its columns, elimination replaces

        m  by  m - (C - E') B^-1 (R + E),      E: the same rows of the unit matrix,

    in place; B itself is inverted in the same way, a row at a time.

    Examples
    --------
    >>> matrix = 2.0 * jnp.eye(16)[None] + 1.0
    >>> bool(jnp.allclose(matrix @ invert(matrix), jnp.eye(16), atol=1e-6))
    True
    """
    unit = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)

    def eliminate(k: Array, m: Array) -> Array:
        row, here = (lax.dynamic_slice_in_dim(a, k * BLOCK, BLOCK, -2) for a in (m, unit))
        column = lax.dynamic_slice_in_dim(m, k * BLOCK, BLOCK, 2)
        pivot = lax.dynamic_slice_in_dim(row, k * BLOCK, BLOCK, 2)
        for i in range(BLOCK):
            e = unit[i : i + 1, :BLOCK]
            scaled = (pivot[:, i : i + 1] + e) / pivot[:, i : i + 1, i : i + 1]
            pivot = pivot - (pivot[:, :, i : i + 1] - e.T) * scaled
        return m - exact_product(column - here.T, exact_product(pivot, row + here))

    inverse = lax.fori_loop(0, len(unit) // BLOCK, eliminate, matrix)
    return exact_product(inverse, 2.0 * unit - exact_product(matrix, inverse))


def exact_product(a: Array, b: Array) -> Array:
    """The matrix product in float32, no less."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)
