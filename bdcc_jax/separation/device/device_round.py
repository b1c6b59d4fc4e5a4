"""The engine 'pdlp': a round of Algorithm 1 on a device, x in and rows out.

Detection is exact. Then the balls of all violated roots, in one shape, are solved in one batch,
Magnanti-Wong variants included, and the flows taken apart into paths; the host makes rows of them.
"""

import numpy as np

from ...base.arrays import BoolArray, FloatArray, IntArray
from ...base.clock import Clock
from ...instance.cover import Cover
from ...instance.graph import Graph
from ...lp.rows import Rows
from ...options import Options
from ..packing import PackingEngine
from ..separation import Separation
from .balls import NODES, Balls, gather_balls
from .batched import Settings
from .detection import Detector
from .devices import Devices
from .flow_lps import INNER, Problems
from .rows_of_chains import rows_of_chains

HOP = 0.005
"""What an edge counts in the subproblems besides its x, as a share of the largest violation."""

ROOTS = 1024
"""Roots whose balls the host holds at a time."""


class DeviceRound:
    """Lines 6 to 13 of Algorithm 1 on a device.

    Parameters
    ----------
    graph : Graph
        The instance.
    cover : Cover
        The roots and their shares of E-.
    options : Options
        What kind of rows, which Magnanti-Wong variants, how many iterations.
    rng : numpy.random.Generator
        For random Magnanti-Wong directions.
    devices : Devices
        Where to solve the LPs; detection is done on the first.
    """

    def __init__(
        self,
        graph: Graph,
        cover: Cover,
        options: Options,
        rng: np.random.Generator,
        devices: Devices,
    ) -> None:
        self._graph, self._cover, self._options, self._rng = graph, cover, options, rng
        self._devices = devices
        self._detector = Detector(graph, cover, devices.devices[0], devices.budget // 2)
        self._root_of = np.repeat(np.arange(len(cover)), np.diff(cover.starts))
        self._packing = PackingEngine(graph, cover)
        self._settings = Settings(
            kinds=1 if options.tau is None else 2,
            tau=options.tau or 0.0,
            by_row=options.pdlp.activity == "row",
            checks=-(-options.pdlp.iterations // INNER),
        )

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """Rows that cut off x, at least one for every violated root."""
        with clock.measure("detection"):
            violated = self._detector.violated(x, clock)
        if not violated.any():
            return Separation.nothing_violated()
        with clock.measure("subproblems"):
            roots = np.unique(self._root_of[violated])
            chunks = np.array_split(roots, -(-len(roots) // ROOTS))
            parts = [self._rows(x, violated, chunk, clock) for chunk in chunks]
        rows = Rows.concatenate([part for part, _ in parts])
        return Separation(rows, len(roots), sum(poor for _, poor in parts), satisfied=False)

    def _rows(
        self, x: FloatArray, violated: BoolArray, roots: IntArray, clock: Clock
    ) -> tuple[Rows, int]:
        """The rows of some violated roots, and for how many only shortest cycles were found."""
        cover = self._cover
        chosen = np.flatnonzero(violated & np.isin(self._root_of, roots))
        starts = np.searchsorted(self._root_of[chosen], np.append(roots, len(cover)))
        balls = gather_balls(
            self._graph.positive_adjacency,
            x,
            cover.roots[roots],
            starts,
            cover.far_ends[chosen],
            cover.edges[chosen],
            self._options.ball_size or NODES,
            clock,
        )
        parts, served = [], np.zeros(len(cover), bool)
        problems = self._problems(balls, x)
        with clock.device_call():
            slot, amount = self._devices.solve_balls(problems, self._settings, clock.check)
        for kind in range(len(slot)):
            some, lane = rows_of_chains(
                self._graph, balls, slot[kind], amount[kind], x, self._options.rows
            )
            served[roots[lane]] = True
            parts.append(some)
        # Of a root whose LPs gave nothing that x violates, the shortest violated cycles.
        poor = chosen[~served[self._root_of[chosen]]]
        if len(poor) > 0:
            left = np.zeros(len(violated), bool)
            left[poor] = True
            parts.append(self._packing.shortest(x, left, clock))
        return Rows.concatenate(parts), len(np.unique(self._root_of[poor]))

    def _problems(self, balls: Balls, x: FloatArray) -> Problems:
        """The LPs on the balls, amounts in units of the largest supply of each."""
        size = np.abs(self._graph.weights)
        is_edge, is_target = balls.edge >= 0, balls.target >= 0
        capacity = np.where(is_edge, size[balls.edge], 0.0)
        by_row = capacity.sum(1)
        out_of = by_row[:, :NODES].copy()
        np.add.at(out_of, (np.arange(len(balls))[:, None], balls.owner), by_row[:, NODES:])
        # No target sends more than its edges take, and no edge takes more than all targets send.
        supply = np.minimum(np.where(is_target, size[balls.target], 0.0), out_of)
        unit = np.where(is_target.any(1), supply.max(1), 1.0)
        capacity = np.minimum(capacity, supply.sum(1)[:, None, None]) / unit[:, None, None]
        price, charge = self._direction(balls)
        return Problems(
            neighbor=balls.neighbor,
            owner=balls.owner,
            cost=np.where(is_edge, x[balls.edge], 0.0).astype(np.float32),
            capacity=capacity.astype(np.float32),
            price=np.where(is_edge, price, 0.0).astype(np.float32),
            reward=np.where(is_target, x[balls.target], 0.0).astype(np.float32),
            supply=(supply / unit[:, None]).astype(np.float32),
            charge=np.where(is_target, charge, 0.0).astype(np.float32),
            hop=(HOP * balls.margin).astype(np.float32),
        )

    def _direction(self, balls: Balls) -> tuple[FloatArray, FloatArray]:
        """Minus the Magnanti-Wong objective of every lane, on slots and nodes; its scale is free.

        Random: independent in every lane, and the same for both slots of an edge.
        """
        if self._options.tau is None:
            return np.zeros(1), np.zeros(1)
        if self._options.direction == "inverse_weight":
            inverse = 1.0 / (1e-4 + np.abs(self._graph.weights))
            return inverse[balls.edge], inverse[balls.target]
        lanes, number = len(balls), np.arange(NODES)
        between = self._rng.random((lanes, NODES, NODES))
        own = np.concatenate([np.tile(number, (lanes, 1)), balls.owner], 1)[:, None, :]
        lane = np.arange(lanes)
        low, high = np.minimum(own, balls.neighbor), np.maximum(own, balls.neighbor)
        return between[lane[:, None, None], low, high], between[lane[:, None], number, number]
