"""The smoothed relaxation over given rows as a cone program of cvxpylayers, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from ..base.arrays import FloatArray
from ..base.environment import install_hint
from ..lp.rows import Rows

PRECISION = 1e-10
"""Relative tolerance of the cone solver: small enough to tell which inequalities are tight."""

FEASIBILITY = 1e-9
"""A point that violates no inequality by more than this counts as feasible."""

FAILURE = 1e-3
"""Optimality conditions that are off by more raise an error; usually they are off by 1e-6."""

TIGHT = 1e-5
"""An inequality with less slack than this counts as tight."""


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """The relaxation over given rows as a cone program of cvxpylayers.

    cvxpylayers' own JAX layer does the same steps in JAX, which must not be called from a callback
    (see :mod:`.callbacks`) and would be compiled anew for every set of rows.
    """

    rows: Rows
    smoothing: float
    context: Any = field(repr=False)

    @staticmethod
    def of(m: int, rows: Rows, smoothing: float) -> ConeProgram:
        """Let cvxpylayers bring the problem into its standard form."""
        cp, parse_args = _cvxpylayers()
        x, w = cp.Variable(m), cp.Parameter(m)
        constraints = [x >= 0, x <= 1]
        if len(rows) > 0:
            matrix = sp.csr_array((rows.values, rows.indices, rows.starts), shape=(len(rows), m))
            constraints.append(matrix @ x <= rows.upper)
        smooth = smoothing / 2 * cp.sum_squares(x - 0.5)
        problem = cp.Problem(cp.Minimize(w @ x + smooth), constraints)
        return ConeProgram(rows, smoothing, parse_args(problem, [x], [w], "DIFFCP"))

    def solve(self, weights: FloatArray) -> FloatArray:
        """The minimisers for weights of shape (B, m).

        The quadratic term has become a cone, which costs half the digits of the solution. So the
        solver only says which inequalities are tight; the rest is a projection.
        """
        import diffcp

        problems, scale = self._problems(weights)
        solutions, duals, slacks = diffcp.solve_only_batch(*problems, **_ACCURATELY)
        x = np.array(solutions)[:, self._where]
        for i, (matrix, upper, _, cones) in enumerate(zip(*problems, strict=True)):
            k = cones["l"]
            rows = matrix.tocsr()[:k, self._where]
            tight = duals[i][:k] > slacks[i][:k]
            wish = 0.5 - weights[i] / self.smoothing - x[i]
            slack = upper[:k] - rows @ x[i]
            polished = x[i] + _to_face(rows[tight], slack[tight], wish)
            if np.all(rows @ polished <= upper[:k] + FEASIBILITY):
                x[i] = polished
            # The gradient of the objective has to be a sum of the rows, or this is no minimum.
            gradient = (weights[i] + self.smoothing * (x[i] - 0.5)) / scale[i]
            _check(np.abs(gradient + rows.T @ duals[i][:k]), rows @ x[i] - upper[:k])
        return np.asarray(np.clip(x, 0.0, 1.0))

    def pull_back(self, weights: FloatArray, g: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The minimisers, and the gradient in the weights by implicit differentiation."""
        import diffcp

        x = self.solve(weights)
        problems, scale = self._problems(weights)
        tight = [self._tight(*problem) for problem in zip(x, *problems, strict=True)]
        solutions, duals, slacks, _, adjoint = diffcp.solve_and_derivative_batch(
            *zip(*tight, strict=True), mode="lsqr", **_ACCURATELY
        )
        _check(np.abs(np.array(solutions)[:, self._where] - x))
        dx = np.zeros((len(weights), solutions[0].size))
        dx[:, self._where] = g
        zeros = [np.zeros_like(dual) for dual in duals], [np.zeros_like(slack) for slack in slacks]
        _, _, costs = adjoint(list(dx), *zeros)
        # The last row of q is the constant of the objective, its last column is no parameter.
        gradient = np.array(costs) @ self.context.q[:-1, :-1]
        return x, gradient / scale[:, None]

    def _tight(
        self, x: FloatArray, matrix: Any, upper: FloatArray, costs: FloatArray, cones: Any
    ) -> tuple[Any, ...]:
        """The problem without inequalities that are slack: they only slow the derivative down."""
        kept = np.ones(len(upper), dtype=bool)
        rows = matrix.tocsr()
        kept[: cones["l"]] = (upper - rows[:, self._where] @ x)[: cones["l"]] < TIGHT
        k = int(kept[: cones["l"]].sum())
        return rows[kept].tocsc(), upper[kept], costs, {**cones, "l": k}

    @property
    def _where(self) -> Any:
        return self.context.var_recover[0].primal

    def _problems(self, weights: FloatArray) -> tuple[tuple[Any, ...], FloatArray]:
        """The matrices, right-hand sides, costs and cones, and by what the costs were divided."""
        values = np.column_stack([weights, np.ones(len(weights))]).T
        quadratic = None  # it has become a cone
        data = self.context.solver_ctx.jax_to_data(
            quadratic, self.context.q @ values, self.context.reduced_A.reduced_mat @ values
        )
        # The solver's tolerances suit costs of about 1.
        scale = np.array([np.abs(costs).max() for costs in data.cs])
        costs = [c / s for c, s in zip(data.cs, scale, strict=True)]
        return (data.As, data.bs, costs, [data.cone_dict] * len(weights)), scale


def _check(*errors: FloatArray) -> None:
    """Raise RuntimeError if an error is large: diffcp does not say when its solver has failed."""
    worst = max(error.max(initial=0.0) for error in errors)
    if not worst <= FAILURE:
        raise RuntimeError(
            f"the cone solver failed (it is off by {worst:.1g}): weights and smoothing are of too "
            "different a size"
        )


def _to_face(normals: Any, missing: FloatArray, wish: FloatArray) -> FloatArray:
    """The step nearest to ``wish`` among those with ``normals @ step == missing``."""
    if len(missing) == 0:
        return wish
    step = lsmr(normals, missing, atol=1e-14, btol=1e-14)[0]
    transposed = normals.T.tocsr()
    along = wish - transposed @ lsmr(transposed, wish, atol=1e-14, btol=1e-14)[0]
    return np.asarray(step + along)


_ACCURATELY = {
    "solve_method": "Clarabel",
    **dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), PRECISION),
}


def _cvxpylayers() -> Any:
    try:
        import cvxpy
        from cvxpylayers.utils.parse_args import parse_args
    except ImportError as error:
        raise ImportError(
            f"MulticutLayer needs cvxpylayers: {install_hint('layers')}; "
            "PerturbedMulticut and StructuredHinge do without"
        ) from error
    return cvxpy, parse_args
