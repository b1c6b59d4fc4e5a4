"""Algorithm 1 of the paper: Benders decomposition for correlation clustering.

Around it stand the reductions. Each replaces the instance by a smaller one, on which the algorithm
starts anew, and lifts back what it finds: presolve before the LP, reduced-cost fixing and the
independent pieces after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

import jax
import numpy as np

from . import fixing, rounding
from .arrays import FloatArray, IntArray
from .bounds import Bounds
from .clock import Clock, TimeLimitReached
from .cover import Cover, vertex_cover
from .graph import Graph
from .heuristics import local_search
from .master import Master, MasterFailed
from .options import Options
from .pieces import Pieces
from .presolve import Presolved, Removed, presolve
from .result import Progress, Round, Status
from .subproblems.engine import make_engine
from .subproblems.separation import Separation

Callback = Callable[[Progress], bool | None]

SMALLER = 0.8
"""A reduction that leaves more than this share of the edges is not worth a new start."""

ROUNDING_SHARE = 0.2
"""Rounding may take this share of the time until the LP has converged."""

GUESS_SHARE = 0.5
"""Fix-and-solve may take this share of the time so far, and at least GUESS_SECONDS."""

GUESS_SECONDS = 1.0

ROUNDING_ERROR = 1e-3
"""In units of the tolerance: far more than sums of weights in double precision are off."""


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
        For everything random.
    clock : Clock
        Holds the deadline; collects the timings.
    device : jax.Device
        Where batched work runs.
    callback : callable, optional
        Sees every round; stops the run by returning True.
    start : ndarray of int, optional
        A clustering to start from.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        gap: float = 0.0,
        seed: int,
        clock: Clock,
        device: jax.Device,
        callback: Callback | None = None,
        start: IntArray | None = None,
    ) -> None:
        self._graph, self._options, self._clock, self._device = graph, options, clock, device
        self._gap, self._seed, self._callback = gap, seed, callback
        self.bounds = Bounds(graph, gap=gap, absolute_gap=options.absolute_gap)
        if start is not None:
            self.bounds.offer(start)
        self.history: list[Round] = []
        self.removed: Removed | None = None
        self._ended: Status | None = None

    def run(self) -> Status:
        """Solve, and say why it ended; the answer is in ``bounds`` and ``history``."""
        if verdict := self.bounds.verdict:
            return verdict
        try:
            if self._options.presolve:
                with self._clock.measure("presolve"):
                    presolved = presolve(self._graph, self._clock)
                self.removed = presolved.removed
                if presolved.graph.m < self._graph.m:
                    return self._solve_instead(
                        presolved.graph,
                        replace(self._options, presolve=False),
                        presolved.constant,
                        presolved.lift,
                    )
            return self._algorithm_1()
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        except TimeLimitReached:
            return self.bounds.verdict or Status.TIME_LIMIT
        except MasterFailed:
            return self.bounds.verdict or Status.NUMERICAL

    def _algorithm_1(self) -> Status:
        graph, options = self._graph, self._options
        if options.heuristics:
            with self._clock.measure("rounding"):
                self.bounds.offer(local_search(graph, seed=self._seed, clock=self._clock))
        with self._clock.measure("cover"):
            limit = min(options.cover_time_limit, self._clock.remaining)
            cover = vertex_cover(graph, options.cover, limit)
        with self._clock.measure("master"):
            master = Master(
                graph.weights,
                gap=self._gap,
                absolute_gap=max(options.absolute_gap, self.bounds.tolerance / 2),
            )
        rng = np.random.default_rng(self._seed)
        engine = make_engine(graph, cover, options, rng, self._device)
        while True:
            spent = dict(self._clock.spent)
            x = self._solve_master(master)
            separation = engine.separate(x, self._clock)
            converged = separation.violated_roots == 0
            improved = self._round(x, cover, converged)
            master.add(separation.rows)
            self._record(self._describe(master, separation, spent))
            if status := self._stop(improved):
                return status
            if converged:
                if master.integral:
                    # x is the optimal clustering of a master that HiGHS could not close.
                    return Status.NUMERICAL
                if options.integer == "pieces" and (status := self._divide(master, x)):
                    return status
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

    def _round(self, x: FloatArray, cover: Cover, converged: bool) -> bool:
        with self._clock.measure("rounding"):
            improved = self.bounds.offer(rounding.threshold(self._graph, x))
            for name in self._options.rounding:
                if name == "local" and not converged and not self._has_time_to_round():
                    continue
                method = rounding.METHODS[name]
                improved |= self.bounds.offer(
                    method(self._graph, x, cover, self.bounds.labels, self._clock)
                )
            return improved

    def _has_time_to_round(self) -> bool:
        return self._clock.spent.get("rounding", 0.0) <= ROUNDING_SHARE * self._clock.elapsed

    def _divide(self, master: Master, x: FloatArray) -> Status | None:
        """Replace the ILP by smaller ones; None if there is nothing to gain."""
        self._guess(x)
        if verdict := self.bounds.verdict:
            return verdict
        cutoff = self.bounds.cutoff
        left = fixing.apply(self._graph, fixing.by_reduced_cost(master.reduced, cutoff))
        if left is None:
            # Nothing is better than the best clustering: the bounds meet.
            self.bounds.raise_lower(cutoff)
            return self.bounds.verdict or Status.NUMERICAL
        with self._clock.measure("presolve"):
            rest = presolve(left.graph, self._clock)
        if rest.graph.m <= SMALLER * self._graph.m:
            return self._solve_instead(
                rest.graph,
                replace(self._options, presolve=False),
                left.constant + rest.constant,
                lambda labels: left.lift(rest.lift(labels)),
                ceiling=cutoff,
            )
        pieces = Pieces(self._graph, master.reduced)
        if len(pieces) == 1:
            return None
        for i in pieces.by_gap(self.bounds.labels):
            if self.bounds.verdict:
                break
            status = self._solve_instead(
                pieces.graph(i),
                replace(self._options, integer="whole"),
                pieces.bound_of_others(i),
                pieces.lifter(i, self.bounds.labels),
                raised=lambda bound, i=i: pieces.raise_bound(i, bound),
            )
        return self.bounds.verdict or Status.NUMERICAL
