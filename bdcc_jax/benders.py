"""Algorithm 1 of the paper: Benders decomposition for correlation clustering."""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import fsum

import jax
import numpy as np

from . import rounding
from .arrays import FloatArray, IntArray
from .clock import Clock, TimeLimitReached
from .cover import Cover, vertex_cover
from .graph import Graph
from .master import Master, MasterFailed
from .options import Options
from .result import Progress, Round, Status, relative_gap
from .subproblems.engine import Separation, make_engine

logger = logging.getLogger(__name__)

Callback = Callable[[Progress], bool | None]

TOLERANCE = 1e-9
"""Bounds that differ by less than this share of the sum of all |w| have met."""


class Bounds:
    """The best clustering and the best lower bound so far; both are valid at any moment.

    Parameters
    ----------
    graph : Graph
        The instance.
    gap, absolute_gap : float
        The relative and the absolute difference that is asked for.
    """

    def __init__(self, graph: Graph, *, gap: float, absolute_gap: float) -> None:
        self._graph = graph
        self._gap, self._absolute_gap = gap, absolute_gap
        self.tolerance = TOLERANCE * fsum(np.abs(graph.weights))
        self._lower = graph.negative_sum
        self.labels = np.arange(graph.n)
        self.upper = graph.objective(self.labels)
        self.offer(graph.components(graph.positive))

    def offer(self, labels: IntArray) -> bool:
        """Take a clustering if it is better than the best; say whether it was."""
        # Splitting a cluster that E+ does not hold together cuts negative edges only.
        graph = self._graph
        labels = graph.components(graph.positive & ~graph.cut(labels))
        objective = graph.objective(labels)
        if objective >= self.upper:
            return False
        self.labels, self.upper = labels, objective
        return True

    def raise_lower(self, bound: float) -> bool:
        """Take a lower bound if it is better; refuse one that a known clustering contradicts."""
        if bound > self.upper + self.tolerance:
            logger.warning("HiGHS proves %g, but a clustering costs %g", bound, self.upper)
            return False
        self._lower = max(self._lower, float(bound))
        return True

    @property
    def lower(self) -> float:
        """The best lower bound; the bound of an ILP may pass the optimum by a rounding error."""
        return min(self._lower, self.upper)

    @property
    def cut(self) -> FloatArray:
        """The best clustering as a solution of the master."""
        return self._graph.cut(self.labels).astype(np.float64)

    @property
    def verdict(self) -> Status | None:
        """OPTIMAL or GAP once the bounds are close enough, else None."""
        difference = self.upper - self.lower
        if difference <= self.tolerance:
            return Status.OPTIMAL
        if difference <= self._absolute_gap or relative_gap(self.upper, self.lower) <= self._gap:
            return Status.GAP
        return None


class Benders:
    """One run of Algorithm 1 on one instance.

    Parameters
    ----------
    graph : Graph
        The instance.
    options : Options
        How to solve.
    gap : float
        Relative gap at which to stop.
    seed : int
        For the random Magnanti-Wong objectives.
    clock : Clock
        Holds the deadline; collects the timings.
    device : jax.Device
        Where batched work runs.
    callback : callable, optional
        Sees every round; stops the run by returning True.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        gap: float,
        seed: int,
        clock: Clock,
        device: jax.Device,
        callback: Callback | None,
    ) -> None:
        self._graph, self._options, self._clock, self._device = graph, options, clock, device
        self._gap, self._seed, self._callback = gap, seed, callback
        self.bounds = Bounds(graph, gap=gap, absolute_gap=options.absolute_gap)
        self.history: list[Round] = []

    def run(self) -> Status:
        """Solve, and say why it ended; the answer is in ``bounds`` and ``history``."""
        if verdict := self.bounds.verdict:
            return verdict
        try:
            return self._algorithm_1()
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except TimeLimitReached:
            return self.bounds.verdict or Status.TIME_LIMIT
        except MasterFailed:
            return self.bounds.verdict or Status.NUMERICAL

    def _algorithm_1(self) -> Status:
        graph, options, bounds = self._graph, self._options, self.bounds
        with self._clock.measure("cover"):
            limit = min(options.cover_time_limit, self._clock.remaining)
            cover = vertex_cover(graph, options.cover, limit)
        with self._clock.measure("master"):
            master = Master(
                graph.weights,
                gap=self._gap,
                absolute_gap=max(options.absolute_gap, bounds.tolerance / 2),
            )
        rng = np.random.default_rng(self._seed)
        engine = make_engine(graph, cover, options, rng, self._device)
        while True:
            spent = dict(self._clock.spent)
            x = self._solve_master(master)
            separation = engine.separate(x, self._clock)
            improved = self._round(x, cover)
            master.add(separation.rows)
            self._record(master, separation, spent)
            if status := self._stop(improved):
                return status
            if separation.violated_roots == 0:
                if master.integral:
                    # x is the optimal clustering of a master that HiGHS could not close.
                    return Status.NUMERICAL
                master.enforce_integrality()

    def _solve_master(self, master: Master) -> FloatArray:
        with self._clock.measure("master"):
            try:
                x = master.solve(self._clock, self.bounds.cut)
                if not self.bounds.raise_lower(master.proven_bound):
                    master.solve_carefully()
                    x = master.solve(self._clock, self.bounds.cut)
            except (KeyboardInterrupt, TimeLimitReached):
                self.bounds.raise_lower(master.proven_bound)
                raise
            if not self.bounds.raise_lower(master.proven_bound):
                raise MasterFailed("a bound that a clustering contradicts, twice")
            return x

    def _round(self, x: FloatArray, cover: Cover) -> bool:
        with self._clock.measure("rounding"):
            improved = self.bounds.offer(rounding.threshold(self._graph, x))
            for name in self._options.rounding:
                labels = rounding.METHODS[name](self._graph, x, cover, self._clock)
                improved |= self.bounds.offer(labels)
            return improved

    def _record(self, master: Master, separation: Separation, before: dict[str, float]) -> None:
        seconds = {k: v - before.get(k, 0.0) for k, v in self._clock.spent.items()}
        self.history.append(
            Round(
                number=len(self.history) + 1,
                phase="ilp" if master.integral else "lp",
                seconds=self._clock.elapsed,
                lower_bound=self.bounds.lower,
                upper_bound=self.bounds.upper,
                rows=master.n_rows,
                new_rows=len(separation.rows),
                violated_roots=separation.violated_roots,
                fallbacks=separation.fallbacks,
                master_seconds=seconds.get("master", 0.0),
                detection_seconds=seconds.get("detection", 0.0),
                subproblem_seconds=seconds.get("subproblems", 0.0),
                rounding_seconds=seconds.get("rounding", 0.0),
            )
        )

    def _stop(self, improved: bool) -> Status | None:
        stopped = False
        if self._callback is not None:
            progress = Progress(self.history[-1], self.bounds.labels.copy(), improved)
            stopped = bool(self._callback(progress))
        if verdict := self.bounds.verdict:
            return verdict
        if stopped:
            return Status.STOPPED
        if len(self.history) == self._options.max_rounds:
            return Status.MAX_ROUNDS
        return None
