"""Algorithm 1 of the paper: Benders decomposition for correlation clustering."""

from __future__ import annotations

from collections.abc import Callable

import jax
import numpy as np

from . import rounding
from .arrays import FloatArray
from .bounds import Bounds
from .clock import Clock, TimeLimitReached
from .cover import Cover, vertex_cover
from .graph import Graph
from .heuristics import lp_guided
from .master import Master, MasterFailed
from .options import Options
from .result import Round, Status
from .subproblems.engine import make_engine
from .subproblems.separation import Separation

Observer = Callable[[Round, bool], Status | None]
"""Sees a round and whether it improved the best clustering; a status stops the run."""

ROUNDING_SHARE = 0.2
"""Local search may take this share of the time until the LP has converged."""


class Benders:
    """Algorithm 1 on one instance: the LP first, the ILP if that does not settle it.

    Parameters
    ----------
    graph : Graph
        The instance.
    options : Options
        How to solve.
    bounds : Bounds
        What is known about the instance; kept up to date.
    gap : float
        Relative gap at which the ILP may stop.
    seed : int
        For the random Magnanti-Wong objectives.
    clock : Clock
        Holds the deadline; collects the timings.
    device : jax.Device
        Where batched work runs.
    observe : callable
        Called after every round.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        bounds: Bounds,
        *,
        gap: float,
        seed: int,
        clock: Clock,
        device: jax.Device,
        observe: Observer,
    ) -> None:
        self._graph, self._options, self._bounds = graph, options, bounds
        self._clock, self._observe = clock, observe
        with clock.measure("cover"):
            limit = min(options.cover_time_limit, clock.remaining)
            self._cover: Cover = vertex_cover(graph, options.cover, limit)
        with clock.measure("master"):
            allowance = max(options.absolute_gap, bounds.tolerance / 2)
            self._master = Master(graph.weights, gap=gap, absolute_gap=allowance)
        rng = np.random.default_rng(seed)
        self._engine = make_engine(graph, self._cover, options, rng, device)

    def relax(self) -> Status | None:
        """Solve the LP over all cycle inequalities; None if that does not settle the instance."""
        return self._loop()

    def integrate(self) -> Status:
        """Solve the ILP, starting from the rows of the LP."""
        self._master.enforce_integrality()
        # None: x is the optimal clustering of a master that HiGHS could not close.
        return self._loop() or Status.NUMERICAL

    @property
    def x(self) -> FloatArray:
        """The solution of the last round's master."""
        return self._x

    @property
    def reduced(self) -> FloatArray:
        """The reduced costs of the LP; see :func:`bdcc_jax.master.reduced_costs`."""
        return self._master.reduced

    def _loop(self) -> Status | None:
        while True:
            spent = dict(self._clock.spent)
            x = self._x = self._solve_master()
            separation = self._engine.separate(x, self._clock)
            converged = separation.violated_roots == 0
            improved = self._round(x, converged)
            self._master.add(separation.rows)
            status = self._observe(self._describe(separation, spent), improved)
            if status or converged:
                return status

    def _solve_master(self) -> FloatArray:
        bounds, master = self._bounds, self._master
        with self._clock.measure("master"):
            try:
                x = master.solve(self._clock, bounds.cut)
                if not bounds.raise_lower(master.proven_bound):
                    master.solve_carefully()
                    x = master.solve(self._clock, bounds.cut)
            except (KeyboardInterrupt, TimeLimitReached):
                bounds.raise_lower(master.proven_bound)
                raise
            if not bounds.raise_lower(master.proven_bound):
                raise MasterFailed("a bound that a clustering contradicts, twice")
            return x

    def _round(self, x: FloatArray, converged: bool) -> bool:
        graph, bounds, clock = self._graph, self._bounds, self._clock
        with clock.measure("rounding"):
            improved = bounds.offer(rounding.threshold(graph, x))
            for name in self._options.rounding:
                if name != "local":
                    labels = rounding.METHODS[name](graph, x, self._cover, clock)
                elif converged or clock.spent.get("rounding", 0.0) <= ROUNDING_SHARE * clock.elapsed:
                    labels = lp_guided(graph, x, bounds.labels, clock=clock)
                else:
                    continue
                improved |= bounds.offer(labels)
            return improved

    def _describe(self, separation: Separation, before: dict[str, float]) -> Round:
        seconds = {k: v - before.get(k, 0.0) for k, v in self._clock.spent.items()}
        return Round(
            number=0,
            phase="ilp" if self._master.integral else "lp",
            seconds=self._clock.elapsed,
            lower_bound=self._bounds.lower,
            upper_bound=self._bounds.upper,
            rows=self._master.n_rows,
            new_rows=len(separation.rows),
            violated_roots=separation.violated_roots,
            fallbacks=separation.fallbacks,
            master_seconds=seconds.get("master", 0.0),
            detection_seconds=seconds.get("detection", 0.0),
            subproblem_seconds=seconds.get("subproblems", 0.0),
            rounding_seconds=seconds.get("rounding", 0.0),
        )
