"""Every program that a device runs in a solve, once, on a planar instance of a given size.

Whoever visits them decides what is done: run and timed here, or compiled for a card elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ..base.clock import Clock
from ..instance.cover import Cover, vertex_cover
from ..instance.graph import Graph
from ..lp.dual_ascent import batched_cycles, kernels
from ..lp.dual_ascent.padding import room
from ..options import Options
from ..primal import parallel_contraction
from ..separation.device import batched, detection
from ..separation.device.batched import Settings
from ..separation.device.device_round import DeviceRound
from ..separation.device.devices import Devices
from ..separation.device.flow_lps import Problems
from ..separation.device.limits import Check, kind_of
from ..separation.device.paths_of_flow import Chains

TURNS = 10
"""Sweeps, steps and so on of a call, where a call says how many."""

HALVINGS = 3
"""How often paths to roots are halved in a round of contraction, about."""


@dataclass(frozen=True)
class Call:
    """A program and what it is called with.

    Attributes
    ----------
    name : str
        What it does.
    function : callable
        The program, jitted.
    arguments : tuple
        Arrays, those of numpy among them.
    statics : mapping
        What is compiled in.
    turns : tuple of int
        Of the loops that end when the data say so, the outermost first: how many turns.
    memory : int, optional
        Bytes on the device that the package reckons with for a call; None where it does not reckon,
        as in the dual ascent and in contraction.
    x64 : bool
        Whether it computes in float64.
    """

    name: str
    function: Any
    arguments: tuple[Any, ...]
    statics: Mapping[str, Any] = field(default_factory=dict)
    turns: tuple[int, ...] = ()
    memory: int | None = None
    x64: bool = False

    def bound(self) -> Any:
        """The call as a function of its arguments alone, for ``jax.eval_shape``."""
        return partial(self.function, **self.statics)


Visit = Callable[[Call], Any]
"""Returns what the program returns, or shapes like that."""


def planar(nodes: int, seed: int = 0) -> Graph:
    """A square grid with one diagonal in every square, about so many nodes, normal weights.

    Examples
    --------
    >>> planar(100).n, planar(100).m
    (100, 261)
    """
    side = max(2, round(nodes**0.5))
    at = np.arange(side * side).reshape(side, side)
    ways = ((at[:, :-1], at[:, 1:]), (at[:-1], at[1:]), (at[:-1, :-1], at[1:, 1:]))
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in ways])
    weights = np.random.default_rng(seed).normal(size=len(edges)) + 0.2
    return Graph(side * side, edges, weights)


def tour(visit: Visit, device: jax.Device, nodes: int) -> None:
    """Visit every program of the package.

    Parameters
    ----------
    visit : callable
        Sees one :class:`Call` after another.
    device : jax.Device
        Where they are to run: some have other sizes on a CPU.
    nodes : int
        Of the instance, about.

    Examples
    --------
    >>> names = []
    >>> def see(call):
    ...     names.append(call.name)
    ...     with jax.enable_x64(call.x64):
    ...         return jax.eval_shape(call.bound(), *call.arguments)
    >>> tour(see, jax.devices("cpu")[0], 100)
    >>> names[:2]
    ['ascent: sweep', 'ascent: first-order step']
    """
    graph = planar(nodes)
    ascent_programs(visit, graph)
    _contraction(visit, graph)
    _subproblems(visit, device)
    _detection(visit, device, graph)


def ascent_programs(visit: Visit, graph: Graph) -> None:
    """Visit those of the dual ascent on an instance of :func:`planar`: all of its triangles."""
    triangles = _triangles(graph)
    size, pairs = room(triangles.shape[1]), room(graph.m + 1)
    a, b, c = _pad(triangles.T, size, pairs - 1).T.astype(np.int32)
    none, ones = np.zeros(size, np.float32), np.ones(pairs, np.float32)
    weights = _pad(graph.weights.astype(np.float32), pairs, 0.0)
    arrays: Any = (a, b, c), (none,) * 3, 0.5 * ones, weights, 2.0 * ones
    state = kernels.State(*arrays)
    visit(Call("ascent: sweep", kernels.sweep, (state,), {"sweeps": TURNS}))
    arguments = state, (state.x, state.y), np.float32(0.0), np.float32(0.3)
    steps = {"steps": TURNS}
    visit(Call("ascent: first-order step", kernels.polish, arguments, steps))
    repel, batch = np.flatnonzero(graph.weights < 0.0), batched_cycles.BATCH
    asked = batch * room(-(-len(repel) // batch), least=1)
    u, v = _pad(graph.edges.astype(np.int32), pairs, 0).T.copy()
    ends = _pad(graph.edges[repel].astype(np.int32), asked, 0).T.copy()
    found = (u, v, np.maximum(weights, 0.0), *ends)
    n = room(graph.n)
    visit(Call("ascent: cycles", batched_cycles._search, found, {"n": n}))


def _contraction(visit: Visit, graph: Graph) -> None:
    n, m = parallel_contraction._room(graph.n + 1), parallel_contraction._room(graph.m)
    u, v = _pad(graph.edges.astype(np.int32), m, n - 1).T.copy()
    weights = _pad(graph.weights.astype(np.float32), m, 0.0)
    arrays: Any = np.arange(n, dtype=np.int32), u, v, weights, np.True_
    start = parallel_contraction._Round(*arrays)
    some = parallel_contraction._some_rounds
    visit(Call("contraction: round", some, (start,), turns=(HALVINGS,)))


def _subproblems(visit: Visit, device: jax.Device) -> None:
    """The LPs of balls, as many as a full batch has; 16 iterations of each."""
    kind, some = kind_of(device), _some_problems()
    lanes, chunk = batched.LANES[kind][-1], batched.CHUNK if kind == "cpu" else 0
    count = np.arange(lanes) % len(some.supply)
    problems = Problems(*(array[count] for array in some))
    settings = Settings(np.int32(1), np.float32(0.5), np.bool_(False), np.int32(1))
    arguments, statics = (problems, np.int32(lanes), settings), {"chunk": chunk}
    turns = (1, 1) if chunk == 0 else (lanes // chunk, 1, 1)
    memory = lanes * batched.LANE_BYTES
    name = "subproblems: 16 iterations"
    visit(Call(name, batched.program, arguments, statics, turns=turns, memory=memory))


def _detection(visit: Visit, device: jax.Device, graph: Graph) -> None:
    """Lengths are negative, so that no sweep is the last one; a row has all of its arcs."""
    rows = detection.LEAST_ROWS
    while rows < graph.n:
        rows *= 4
    columns = detection.COLUMNS[kind_of(device)]
    while columns > 8 and detection.BYTES_PER_ENTRY * rows * columns > 2**34:
        columns //= 2
    width, targets = 3 + detection.ARCS, detection.TARGETS_PER_COLUMN * columns
    table = (np.arange(rows)[:, None] + np.arange(width) - width // 2) % rows
    zeros = np.zeros(targets, np.int32)
    arguments = (
        table.astype(np.int32), np.broadcast_to(-1.0, (rows, width)), np.full(columns, 1.0),
        np.broadcast_to(0.0, (rows, columns)), zeros, zeros, np.zeros(targets), np.int32(TURNS),
    )  # fmt: skip
    memory = detection.BYTES_PER_ENTRY * rows * columns
    visit(
        Call(
            "detection: sweep", detection.sweep, arguments, turns=(TURNS,), memory=memory, x64=True
        )
    )


def _pad(array: NDArray[Any], size: int, value: float) -> NDArray[Any]:
    """Lengthen the first axis to ``size``, filling up with ``value``."""
    widths = [(0, size - len(array))] + [(0, 0)] * (array.ndim - 1)
    return np.pad(array, widths, constant_values=value)


def _triangles(graph: Graph) -> NDArray[np.int64]:
    """The pairs of the triangles of :func:`planar`: shape (3, T)."""
    side = round(graph.n**0.5)
    corner = np.arange(graph.n).reshape(side, side)[:-1, :-1].ravel()
    key = graph.edges[:, 0] * graph.n + graph.edges[:, 1]
    order = np.argsort(key)

    def pairs(u: Any, v: Any) -> Any:
        return order[np.searchsorted(key, u * graph.n + v, sorter=order)]

    opposite, diagonal = corner + side + 1, pairs(corner, corner + side + 1)
    parts = [
        np.stack([pairs(corner, middle), pairs(middle, opposite), diagonal])
        for middle in (corner + 1, corner + side)
    ]
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True)
class _Listening(Devices):
    """Remembers the LPs that it is given."""

    heard: list[Problems] = field(default_factory=list)

    def solve_balls(self, problems: Problems, settings: Settings, check: Check) -> Chains:
        """No flows: nobody wants to know."""
        self.heard.append(problems)
        return batched.no_chains(settings.kinds, len(problems.supply))


def _some_problems() -> Problems:
    """LPs of a small planar instance."""
    graph = planar(400)
    cover: Cover = vertex_cover(graph, "greedy")
    x = np.where(graph.positive, 0.05, 0.9)
    devices = _Listening((jax.devices("cpu")[0],), 2**30)
    options = Options.paper(engine="pdlp")
    engine = DeviceRound(graph, cover, options, np.random.default_rng(0), devices)
    engine.separate(x, Clock(None))
    return devices.heard[0]
