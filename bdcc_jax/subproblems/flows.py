"""Solve ragged batches of flow LPs on a device: float32 first, float64 for the stragglers.

The host reads two counts between compiled calls, to decide whether the problems that still run
are gathered into a smaller batch, and whether those left over continue in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..options import PDLPOptions
from .flow_batch import Layout, Padded, batch_bucket, layouts
from .flow_problems import FlowProblems
from .halving import halving
from .pdhg import Point
from .pdlp import State, advance, compact, prepare, promote
from .reduction import Reduction, reduce_flows

BLOCK_ENTRIES = {True: 2**20, False: 2**28}
"""Entries of all preconditioners of one call: what a CPU's cache holds, else 1 GB in float32."""


DEFAULT_OPTIONS = PDLPOptions()


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


def unsolved(problems: FlowProblems) -> Solution:
    """No flow at all, which is no solution."""
    on_edges, on_nodes = np.zeros(len(problems.cost)), np.zeros(len(problems.supply))
    each = np.zeros(len(problems))
    return Solution(
        flow=on_edges,
        supply=on_nodes,
        potential=on_nodes.copy(),
        multiplier=each,
        objective=each.copy(),
        bound=np.full(len(problems), -np.inf),
        weight=each.copy(),
        iterations=np.zeros(len(problems), np.int64),
        converged=np.zeros(len(problems), bool),
    )


@halving(unsolved)
def solve_flows(
    problems: FlowProblems,
    options: PDLPOptions = DEFAULT_OPTIONS,
    *,
    start: Solution | None = None,
    device: jax.Device | None = None,
    check: Callable[[], None] | None = None,
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
    check : callable, optional
        Called between compiled calls; an exception that it raises ends the work.

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
            if check is not None:
                check()
            # Everything is dispatched before anything is read, so that the groups overlap.
            advanced = [
                (number, p, *advance(p, state, tolerance, limit[p.cost.dtype.name]))
                for number, p, state in running
            ]
            running = []
            for number, problem, state, counts in advanced:
                alive, unconverged = (int(n) for n in jax.device_get(counts))
                single = problem.cost.dtype == jnp.float32
                size = batch_bucket(alive or unconverged)
                if alive and size == len(state.number):
                    running.append((number, problem, state))
                    continue
                finished.append((number, state))
                if alive:
                    running.append((number, *compact(problem, state, size)))
                elif unconverged and single and limits["float32"] < limits["float64"]:
                    running.append((number, *promote(placed[number][0], state, size, active)))
        return _collect(problems, groups, jax.device_get(finished))


def solve_reduced(problems: FlowProblems, options: PDLPOptions = DEFAULT_OPTIONS) -> Solution:
    """Reduce all problems, and solve what is left."""
    reduction = reduce_flows(problems)
    return expand(reduction, solve_flows(reduction.problems, options))


def expand(reduction: Reduction, left: Solution) -> Solution:
    """The solution of problems, given that of what is left of them; potentials are left out."""
    count, members = len(reduction.value), reduction.members

    def spread(values: NDArray[Any], otherwise: float) -> NDArray[Any]:
        every = np.full(count, otherwise, values.dtype)
        every[members] = values
        return every

    flow, supply = reduction.restore(left.flow, left.supply)
    return Solution(
        flow=flow,
        supply=supply,
        potential=np.zeros(len(supply)),
        multiplier=spread(left.multiplier, 0.0),
        objective=spread(left.objective, 0.0) - reduction.value,
        bound=spread(left.bound, 0.0) - reduction.value,
        weight=spread(left.weight, 0.0),
        iterations=spread(left.iterations, 0),
        converged=spread(left.converged, True),
    )


def _fill(padded: Padded) -> Padded:
    """Empty problems up to the next batch size (all capacities zero: they stop at once)."""
    missing = batch_bucket(len(padded.level)) - len(padded.level)
    filled: Padded = jax.tree.map(
        lambda a: np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]), padded
    )
    if padded.root is not None:
        return filled._replace(neighbor=padded.neighbor, owner=padded.owner)
    return filled


def _start(group: Layout, start: Solution | None) -> tuple[Point, NDArray[np.float64]]:
    """The warm start of a group in its own units, or zeros."""
    (batch, rows, width), nodes = group.padded.cost.shape, group.padded.supply.shape[1]
    size = batch_bucket(batch)
    shapes = (size, rows, width), (size, nodes), (size, nodes), (size,)
    point = Point._make(np.zeros(shape) for shape in shapes)
    weight = np.zeros(size)
    if start is not None:
        b, s = group.row // nodes, group.slot // (rows * width)
        point.f.reshape(-1)[group.slot] = start.flow[group.edge] * group.sign / group.flow_unit[s]
        point.g.reshape(-1)[group.row] = start.supply[group.node] / group.flow_unit[b]
        point.y.reshape(-1)[group.row] = start.potential[group.node] / group.price_unit[b]
        point.mu[:batch] = start.multiplier[group.members] * group.active_unit / group.price_unit
        weight[:batch] = start.weight[group.members]
    return point, weight


def _collect(
    problems: FlowProblems, groups: list[Layout], finished: list[tuple[int, State]]
) -> Solution:
    """Put the padded answers, in the order in which they came, back into the ragged layout."""
    out = unsolved(problems)
    for number, group in enumerate(groups):
        (batch, rows, width), nodes = group.padded.cost.shape, group.padded.supply.shape[1]
        point, _ = _start(group, None)
        per_problem = np.zeros((6, batch_bucket(batch)))
        for owner, state in finished:
            if owner == number:
                for mine, new in zip(point, state.point, strict=True):
                    mine[state.number] = new
                per_problem[:, state.number] = (
                    state.point.mu, state.objective, state.bound,
                    state.weight, state.iterations, state.converged,
                )  # fmt: skip
        price, flow = group.price_unit, group.flow_unit
        out.flow[group.edge] = (
            point.f.reshape(-1)[group.slot] * group.sign * flow[group.slot // (rows * width)]
        )
        out.supply[group.node] = point.g.reshape(-1)[group.row] * flow[group.row // nodes]
        out.potential[group.node] = point.y.reshape(-1)[group.row] * price[group.row // nodes]
        mu, objective, bound, weight, iterations, converged = per_problem[:, :batch]
        out.multiplier[group.members] = mu * price / group.active_unit
        out.objective[group.members] = objective * price * flow
        out.bound[group.members] = bound * price * flow
        out.weight[group.members] = weight
        out.iterations[group.members] = iterations.astype(np.int64)
        out.converged[group.members] = converged > 0
    return out
