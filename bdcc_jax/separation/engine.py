"""From a solution of the master to new rows: detection, subproblems, rows."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..base import compilation_cache
from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.cover import Cover
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..options import Options, RowKind
from .device.device_packing import DevicePackingEngine
from .device.device_round import DeviceRound
from .device.devices import Devices, Host, resolve
from .packing import PackingEngine
from .paper.ball import VIOLATION, Ball
from .paper.dijkstra import DijkstraFinder
from .paper.magnanti_wong import MagnantiWong
from .paper.paths import Flow, aggregated_row, cycle_rows, decompose, shortest_cycles
from .paper.reference import ReferenceSolver
from .separation import Separation


class Engine(Protocol):
    """Lines 6 to 13 of Algorithm 1."""

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Rows that cut off x, some whenever x violates a cycle inequality."""


class FlowEngine:
    """Lines 6 to 13 of Algorithm 1 by solving one LP after another for every violated root.

    Parameters
    ----------
    finder : DijkstraFinder
        Detects violations.
    solver : ReferenceSolver
        Solves the subproblems of the violated roots.
    rows : {'split', 'aggregated'}
        What a flow is turned into.
    """

    def __init__(self, finder: DijkstraFinder, solver: ReferenceSolver, rows: RowKind) -> None:
        self._finder, self._solver, self._kind = finder, solver, rows

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Rows that cut off x, at least one for every violated root."""
        with clock.measure("detection"):
            balls = self._finder.find(x, clock)
        if not balls:
            return Separation.nothing_violated()
        with clock.measure("subproblems"):
            flows = self._solver.solve(balls, x, clock)
            parts = []
            for i, flow in enumerate(flows):
                clock.check()
                with clock.measure_one("rows"):
                    ball = balls[i % len(balls)]
                    parts.append(self._rows(ball, flow, x, first=i < len(balls)))
        fallbacks = sum(flow.fallback for flow in flows)
        return Separation(Rows.concatenate(parts), len(balls), fallbacks, satisfied=False)

    def _rows(self, ball: Ball, flow: Flow, x: FloatArray, *, first: bool) -> Rows:
        paths = decompose(ball, flow)
        rows = cycle_rows(ball, paths, x) if self._kind == "split" else aggregated_row(ball, paths)
        if len(rows) > 0 and rows.violation(x).max() > VIOLATION:
            return rows
        # A row that x hardly violates would not move the master: the loop could go on for ever.
        return shortest_cycles(ball) if first else Rows.empty()


def make_engine(
    graph: Graph,
    cover: Cover,
    options: Options,
    rng: np.random.Generator,
    device: Devices | Host,
) -> Engine:
    """The engine that the options ask for, on a device; 'auto' is explained in Options."""
    variant = None if options.tau is None else MagnantiWong(options.tau, options.direction, rng)
    packs = options.rows == "split" and variant is None
    choice: str = options.engine
    if choice == "auto" and device.platform == "cpu":
        choice = "packing" if packs else "reference"
    elif choice == "auto":
        choice = "device_packing" if packs else "pdlp"
    if choice == "packing":
        return PackingEngine(graph, cover, options.ball_size)
    if choice == "reference":
        return FlowEngine(
            DijkstraFinder(graph, cover, options.ball_size),
            ReferenceSolver(graph, variant),
            options.rows,
        )
    compilation_cache.enable()
    where = Devices((resolve("cpu"),), options.memory) if isinstance(device, Host) else device
    if choice == "device_packing":
        return DevicePackingEngine(
            graph, cover, options.ball_size, where.devices[0], where.budget // 2
        )
    return DeviceRound(graph, cover, options, rng, where)
