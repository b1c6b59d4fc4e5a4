"""Solve ragged batches of flow LPs on a device: float32 first, float64 for the stragglers.

The host reads a count between compiled calls, to decide whether the problems that still run are
gathered into a smaller batch. Those that float32 leaves over are laid out again, in fewer shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ...base.arrays import IntArray as Ints
from ...options import PDLPOptions
from .flow_batch import Layout, Padded, batch_bucket, layouts
from .flow_problems import FlowProblems
from .halving import halving
from .kernels import Kernels
from .pdhg import Point
from .pdlp import State
from .preconditioner import Problem
from .reduction import Reduction, reduce_flows

BLOCK_ENTRIES = {True: 2**20, False: 2**28}
"""Entries of all preconditioners of one call: what a CPU's cache holds, else 1 GB in float32."""

IN_FLIGHT = 4
"""Groups that are on a device at a time: the host waits for all of them before it looks at the
clock, and more overlap no better."""

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

    def split(self, parts: Sequence[FlowProblems]) -> list[Solution]:
        """The solutions of batches that were laid end to end."""
        names = [field.name for field in fields(self)]
        of_nodes, of_edges = {"supply", "potential"}, {"flow"}

        def pieces(name: str) -> list[NDArray[Any]]:
            lengths = [
                len(p.supply) if name in of_nodes else len(p.cost) if name in of_edges else len(p)
                for p in parts
            ]
            return np.split(getattr(self, name), np.cumsum(lengths)[:-1])

        return [Solution(*part) for part in zip(*map(pieces, names), strict=True)]


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
    devices: tuple[jax.Device, ...] = (),
    memory: float = np.inf,
    check: Callable[[], None] = lambda: None,
) -> Solution:
    """Solve all problems, in float32 first and in float64 where that does not suffice.

    Parameters
    ----------
    problems : FlowProblems
    options : PDLPOptions
    start : Solution, optional
        A point to start from, of problems with the same graphs.
    devices : tuple of jax.Device, optional
        The problems are divided among these. Default: the default device of JAX.
    memory : float
        Bytes that may be taken on each device; what does not fit waits.
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
    devices = devices or (jax.local_devices()[0],)
    on_cpu = devices[0].platform == "cpu"
    # Problems on one graph are all of one instance: always the same batches. They share a
    # preconditioner, which is not worth a copy on every device.
    alone = problems.roots is None
    kernels = Kernels.on(devices if alone else devices[:1], uniform=on_cpu and alone)
    run = _Run(problems, kernels, BLOCK_ENTRIES[on_cpu], options.tolerance, memory, check)
    out, members = unsolved(problems), np.arange(len(problems))
    single = min(options.single_iterations, options.iteration_limit)
    with jax.enable_x64(True):
        if single > 0:
            run(members, out, "float32", single, start)
            members, start = np.flatnonzero(~out.converged), out
        if len(members) and options.iteration_limit > single:
            run(members, out, "float64", options.iteration_limit - single, start)
    return out


@dataclass(frozen=True)
class _Run:
    """What is the same for both precisions."""

    problems: FlowProblems
    kernels: Kernels
    entries: int
    tolerance: float
    memory: float
    check: Callable[[], None]

    def __call__(
        self, members: Ints, out: Solution, dtype: str, limit: int, start: Solution | None
    ) -> None:
        """Iterate with some of the problems, and write down how far they have come."""
        kernels, active = self.kernels, self.problems.activity is not None
        # Half of the memory for a group, so that the next one is there when it is done.
        waiting = layouts(
            self.problems,
            self.entries,
            members=members,
            uniform=kernels.uniform,
            coarse=dtype == "float64",
            memory=self.memory / 2,
            shards=kernels.shards,
        )
        stop = kernels.put_everywhere((np.float64(self.tolerance), np.int32(limit)))
        running: list[tuple[_Group, Problem, State]] = []
        room, upcoming = self.memory, next(waiting, None)
        while running or upcoming is not None:
            self.check()
            while upcoming is not None and (
                not running or (upcoming.bytes <= room and len(running) < IN_FLIGHT)
            ):
                group = _Group(upcoming, kernels)
                room -= group.bytes
                placed = group.place(start)
                running.append((group, *kernels.prepare(placed, dtype, active, self.check)))
                self.check()
                upcoming = next(waiting, None)
            # Everything is dispatched before anything is read, so that the groups overlap.
            advanced = []
            for group, p, s in running:
                self.check()  # each may have to be compiled first
                advanced.append((group, p, *kernels.advance(p, s, *stop)))
            running = []
            for group, problem, state, counts in advanced:
                alive = kernels.most(counts)
                size = group.batch if kernels.uniform else batch_bucket(alive)
                if alive and size * kernels.shards == len(state.number):
                    running.append((group, problem, state))
                    continue
                group.take(jax.device_get(state))
                if alive:
                    running.append((group, *kernels.compact(problem, state, size)))
                else:
                    group.collect(out)
                    room += group.bytes
            del advanced, group, problem, state  # nothing that is done is kept on the device


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


class _Group:
    """Problems of one shape on their way through the device."""

    def __init__(self, layout: Layout, kernels: Kernels) -> None:
        self._layout, self._kernels, self._shards = layout, kernels, kernels.shards
        self.bytes, self.batch = layout.bytes, layout.batch
        self._size = layout.batch * kernels.shards
        self._point = _start(layout, None, self._size)[0]
        self._per_problem = np.zeros((6, self._size))

    def place(self, start: Solution | None) -> tuple[Padded, Point, jax.Array]:
        """Bring the problems to the device."""
        layout, size = self._layout, self._size
        placed: tuple[Padded, Point, jax.Array] = self._kernels.put(
            (_fill(layout.padded, size), *_start(layout, start, size))
        )
        return placed

    def take(self, state: State) -> None:
        """Note how far problems have come."""
        # Numbers count from 0 in every shard.
        local, each = len(self._per_problem[0]) // self._shards, len(state.number) // self._shards
        number = state.number + np.repeat(np.arange(self._shards) * local, each)
        for mine, new in zip(self._point, state.point, strict=True):
            mine[number] = new
        self._per_problem[:, number] = (
            state.point.mu, state.objective, state.bound,
            state.weight, state.iterations, state.converged,
        )  # fmt: skip

    def collect(self, out: Solution) -> None:
        """Put the padded answers back into the ragged layout."""
        layout, point = self._layout, self._point
        (batch, rows, width), nodes = layout.padded.cost.shape, layout.padded.supply.shape[1]
        price, flow = layout.price_unit, layout.flow_unit
        out.flow[layout.edge] = (
            point.f.reshape(-1)[layout.slot] * layout.sign * flow[layout.slot // (rows * width)]
        )
        out.supply[layout.node] = point.g.reshape(-1)[layout.row] * flow[layout.row // nodes]
        out.potential[layout.node] = point.y.reshape(-1)[layout.row] * price[layout.row // nodes]
        mu, objective, bound, weight, iterations, converged = self._per_problem[:, :batch]
        out.multiplier[layout.members] = mu * price / layout.active_unit
        out.objective[layout.members] = objective * price * flow
        out.bound[layout.members] = bound * price * flow
        out.weight[layout.members] = weight
        out.iterations[layout.members] += iterations.astype(np.int64)
        out.converged[layout.members] = converged > 0


def _fill(padded: Padded, size: int) -> Padded:
    """Empty problems up to the batch size (all capacities zero: they stop at once)."""
    missing = size - len(padded.level)
    filled: Padded = jax.tree.map(
        lambda a: np.concatenate([a, np.zeros((missing, *a.shape[1:]), a.dtype)]), padded
    )
    if padded.root is not None:
        return filled._replace(neighbor=padded.neighbor, owner=padded.owner)
    return filled


def _start(group: Layout, start: Solution | None, size: int) -> tuple[Point, NDArray[np.float64]]:
    """The warm start of a group in its own units, or zeros."""
    (batch, rows, width), nodes = group.padded.cost.shape, group.padded.supply.shape[1]
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
