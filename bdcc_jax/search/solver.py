"""A solve from beginning to end: Algorithm 1, and the reductions around it.

A reduction replaces the instance by a smaller one, which is solved in the same way, and lifts back
what is found: presolve before the LP; reduced-cost fixing and independent pieces after it.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from ..base.arrays import IntArray
from ..base.clock import TimeLimitReached
from ..base.interrupts import is_interrupt
from ..base.records import Progress, Status
from ..base.sums import sum_down, sum_up
from ..instance.enumeration import MOST_NODES, best_of_all
from ..lp import fixing
from ..lp.master import MasterFailed
from ..lp.rows import Rows
from ..presolve import Presolved, presolve
from ..primal import local_search
from ..proofs.branching_proof import Branching
from ..proofs.certificate import Enumeration, LowerBound, Relaxation, relaxed_bound
from ..proofs.certificate import PresolveProof as Reduction
from ..proofs.decomposition import Decomposition as Parts
from ..proofs.decomposition import FixingProof as Decision
from ..proofs.decomposition import end_nodes as ends
from ..proofs.decomposition import open_region
from ..proofs.decomposition import split_into_components as pieces
from ..proofs.decomposition import split_region as spots
from .benders import Benders
from .bounds import allowed_excess
from .checkpoint import SavedLP
from .delegation import Delegation, Ended, Lift, LiftProof

logger = logging.getLogger(__name__)


FUSED_EDGES = 1_500_000
"""Local search before the LP tries a fusion on instances with at most so many edges."""

SMALLER = 0.8
"""A reduction that leaves more than this share of the edges is not worth a new start."""

FIXED_SIZE, FIXED_WORK = 0.5, 2e7
"""Fix-and-solve is tried where it leaves at most this share of the edges; it may do as much work as
the solve so far, and at least so much: about a second's."""

SPOT_SIZE = 0.5
"""Spots with more than this share of the edges are not worth solving by themselves."""

RINGS, DECIDED = 6, 0.4
"""The regions around the spots are widened so often at most, and no more once the bounds decide
this share of the edges."""


class Solver(Delegation):
    """The strategy: presolve, Algorithm 1, and what to do about a gap that its LP leaves."""

    def run(self) -> Status:
        """Solve, and say why it ended; the answer is in ``bounds`` and ``history``."""
        if verdict := self.bounds.verdict:
            return verdict
        if self._out_of_rounds:
            return Status.MAX_ROUNDS
        try:
            return self._presolve() if self._options.presolve else self._solve()
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            return Status.INTERRUPTED
        except Ended as end:
            return end.status
        except TimeLimitReached:
            return self.bounds.verdict or Status.TIME_LIMIT
        except MasterFailed as error:
            logger.warning("HiGHS gave up on the master: %s", error)
            return self.bounds.verdict or Status.NUMERICAL
        finally:
            self._drop_references()

    def _presolve(self) -> Status:
        with self._clock.measure("presolve"):
            rest = presolve(self._graph, self._clock)
        self.removed = rest.removed
        self._log("presolve leaves %d of %d edges", rest.graph.m, self._graph.m)
        scale = rest.scales()
        if scale.max() > 0:
            return self._solve_scales(rest, scale)
        if rest.unchanged and rest.graph.n > MOST_NODES:
            return self._solve()
        if self._given_tolerance is None and rest.graph.m > 0:
            self.bounds.tolerance = allowed_excess(rest.graph.weights)
        status, _ = self._solve_instead(
            rest.graph,
            rest.constant,
            rest.lift,
            lambda proof: Reduction(rest, proof),
            tolerance=self.bounds.tolerance / 2,
            low=rest.low,
            off=rest.off,
            checkpoint=self._checkpoint,
        )
        return status

    def _solve_scales(self, rest: Presolved, scale: IntArray) -> Status:
        """Solve apart what is heavy and what is light, each with a tolerance of its own.

        In one LP the light pieces would drown in the tolerances that the heavy ones need.
        """
        parts = Parts(rest.graph, Rows.empty(), np.empty(0), scale)
        labels = np.arange(rest.graph.n)
        off = [sum_up(np.abs(rest.low[parts.edges(i)])) for i in range(len(parts))]
        excess = parts.gaps(labels)
        share = [allowed_excess(parts.instance(i).weights) for i in range(len(parts))]
        if self._given_tolerance is not None:
            share = [self._given_tolerance / len(parts)] * len(parts)
        self._log("solving instances of %d magnitudes apart", len(parts))
        met = rest.off <= min(share) / 4
        for i in range(len(parts)):
            lift = parts.lift(i, labels)
            status, known = self._solve_instead(
                parts.instance(i),
                sum_down([rest.constant, parts.rest_of_bound(i)]),
                lambda found, lift=lift: rest.lift(lift(found)),  # type: ignore[misc]
                lambda proof, i=i: Reduction(rest, parts.division({i: proof})),  # type: ignore[misc]
                tolerance=share[i] / 2,
                off=sum_up([rest.off, *off]),
                beside=sum_up([*excess[:i], *excess[i + 1 :]]),
                piece=True,
                checkpoint=self._checkpoint,
            )
            if status not in (Status.OPTIMAL, Status.GAP, Status.NUMERICAL):
                return status
            if verdict := self.bounds.verdict:
                return verdict
            labels = lift(known.labels)
            parts.raise_bound(i, known.bound)
            excess[i] = known.bound.excess
            met = met and status is Status.OPTIMAL and off[i] <= share[i] / 4
        if met:
            self.bounds.tolerance = sum_up(share)
        return self.bounds.verdict or Status.NUMERICAL

    def _solve(self) -> Status:
        if self._options.heuristics:
            with self._clock.measure("rounding"):
                rounds = int(self._graph.m <= FUSED_EDGES)
                labels = local_search(
                    self._graph, rounds=rounds, seed=self._seed, clock=self._clock
                )
                self.bounds.offer(labels)
            self._log("local search finds a clustering of cost %.10g", self.bounds.upper)
        rows, multipliers = self._rows, np.zeros(len(self._rows))
        saved = self._checkpoint and self._checkpoint.lp(self._graph)
        if saved:
            rows, multipliers = saved.rows, saved.multipliers
            self.bounds.offer(saved.labels)
            self.bounds.raise_lower(relaxed_bound(self._graph, rows, multipliers))
        benders = Benders(
            self._graph,
            self._options,
            self.bounds,
            gap=self._gap,
            seed=self._seed,
            clock=self._clock,
            device=self._device,
            observe=self._observe,
            rows=rows,
            multipliers=multipliers,
        )
        if self._checkpoint:
            self._checkpoint.watch(lambda: SavedLP(self._graph, self.bounds.labels, *benders.lp))
        tree = self._checkpoint.tree(self._graph) if self._checkpoint else Branching(self._graph)
        if not tree.begun:
            status = benders.relax() or self._beyond_the_lp(benders)
            if status:
                return status
        self._log("branch and bound on %d edges", self._graph.m)
        return benders.branch(tree)

    def _beyond_the_lp(self, benders: Benders) -> Status | None:
        """What is tried before branch and bound."""
        if self._options.integer == "whole":
            self._log("HiGHS' branch and bound on %d edges", self._graph.m)
            return benders.integrate()
        return self._divide(benders)

    def _divide(self, benders: Benders) -> Status | None:
        """Solve what the LP leaves open as smaller instances; None if it leaves too much open."""
        independent = pieces(self._graph, *benders.proof)
        proof = Relaxation(self._graph, *benders.proof)
        excess = independent.excess(self.bounds.labels)
        self.bounds.raise_lower(LowerBound(independent.bound, proof, excess))
        if verdict := self.bounds.verdict:
            return verdict
        self._log("the LP leaves a gap: %.10g to %.10g", self.bounds.lower, self.bounds.upper)
        if independent.largest <= SPOT_SIZE * self._graph.m:
            return self._solve_pieces(independent)
        if self._options.heuristics:
            self._fix_and_solve(fixing.by_rounding(self._graph, benders.x))
        known = self._open_regions(benders)
        if verdict := self.bounds.verdict:
            return verdict
        cutoff = self.bounds.cutoff
        decided = known.decided(cutoff)
        left = fixing.apply(self._graph, decided)
        if left is None:
            # No clustering costs less than the best one.
            contradiction = Decision(self._graph, known.division(), decided, None)
            self.bounds.raise_lower(LowerBound(cutoff, contradiction))
            return self.bounds.verdict or Status.NUMERICAL
        with self._clock.measure("presolve"):
            rest = presolve(left.graph, self._clock)
        if rest.graph.m <= SMALLER * self._graph.m:
            constant = sum_down([left.constant, rest.constant])
            lift: Lift = lambda labels: left.lift(rest.lift(labels))  # noqa: E731
            division = known.division()
            why: LiftProof = lambda proof: Decision(  # noqa: E731
                self._graph, division, decided, Reduction(rest, proof)
            )
            return self._solve_instead(
                rest.graph,
                constant,
                lift,
                why,
                tolerance=self.bounds.tolerance / 2,
                low=rest.low,
                off=sum_up([left.off, rest.off]),
                ceiling=cutoff,
                checkpoint=self._checkpoint,
            )[0]
        return self._solve_pieces(independent) if len(independent) > 1 else None

    def _open_regions(self, benders: Benders) -> Parts:
        """Solve the spots where the gap is, for both bounds, in ever wider regions."""
        graph, bounds = self._graph, self.bounds
        least = max(bounds.tolerance, bounds.noise) / (1 + graph.m)
        region = open_region(graph, *benders.proof, bounds.labels, least)
        known = spots(graph, *benders.proof, np.zeros(graph.n, dtype=bool))
        for _ in range(RINGS):
            parts = spots(graph, *benders.proof, region)
            if parts.largest > SPOT_SIZE * graph.m:
                break
            self._bound_parts(parts)
            known = max(known, parts, key=lambda p: p.bound)
            if self._options.heuristics and not bounds.verdict:
                self._fix_and_solve(fixing.outside(graph, graph.cut(bounds.labels), region))
            if bounds.verdict or known.decided(bounds.cutoff).share >= DECIDED:
                break
            enough = max(bounds.tolerance, bounds.noise) / (1 + len(parts))
            wide = parts.nodes_with_gap(bounds.labels, enough)
            region = region | open_region(graph, *benders.proof, bounds.labels, least)
            region |= ends(graph, wide[graph.edges[:, 0]] | wide[graph.edges[:, 1]])
        return known

    def _bound_parts(self, parts: Parts) -> None:
        """Add to the bound what the LP misses in each part."""
        self._log("solving %d spots of at most %d edges", len(parts), parts.largest)
        for i in parts.smallest_first():
            instance = parts.instance(i)
            if instance.n <= MOST_NODES:
                parts.raise_bound(i, LowerBound(best_of_all(instance)[1], Enumeration()))
                continue
            options = replace(self._options, presolve=True)
            share = self.bounds.tolerance / (4 * len(parts))
            solver = self._solver(instance, options, callback=self._inner_round, tolerance=share)
            status = solver.run()
            parts.raise_bound(i, solver.bounds.lower_bound)
            self._end_with(status)
            if status is Status.TIME_LIMIT:
                break
        excess = parts.excess(self.bounds.labels)
        self.bounds.raise_lower(replace(parts.lower_bound, excess=excess))

    def _solve_pieces(self, independent: Parts) -> Status:
        self._log("solving %d independent pieces", len(independent))
        gaps = independent.gaps(self.bounds.labels)
        still_open = _largest(gaps, self.bounds.tolerance / 4)
        for i in independent.smallest_first():
            if i not in still_open:
                continue
            status, known = self._solve_instead(
                independent.instance(i),
                independent.rest_of_bound(i),
                independent.lift(i, self.bounds.labels),
                lambda proof, i=i: independent.division({i: proof}),  # type: ignore[misc]
                tolerance=self.bounds.tolerance / (2 * len(still_open)),
                beside=sum_up([*gaps[:i], *gaps[i + 1 :]]),
                rows=independent.rows(i),
                labels=independent.restrict(i, self.bounds.labels),
                piece=True,
                checkpoint=self._checkpoint,
            )
            if status not in (Status.OPTIMAL, Status.GAP, Status.NUMERICAL):
                return status
            if verdict := self.bounds.verdict:
                return verdict
            independent.raise_bound(i, known.bound)
            gaps[i] = known.bound.excess
        return self.bounds.verdict or Status.NUMERICAL

    def _fix_and_solve(self, decisions: fixing.Fixing) -> None:
        """Fix and solve: believe some decisions, and solve the rest exactly."""
        left = fixing.apply(self._graph, decisions)
        if left is None or left.graph.m > FIXED_SIZE * self._graph.m:
            return

        def relay(progress: Progress) -> bool:
            if progress.improved:
                self.bounds.offer(left.lift(progress.labels))
            return self._inner_round(progress)

        self._log("fixing all but %d of %d edges", left.graph.m, self._graph.m)
        with self._clock.measure("rounding"):
            clock = self._clock.within(work=max(FIXED_WORK, self._clock.work))
            solver = self._solver(
                left.graph,
                replace(self._options, presolve=True, heuristics=False),
                clock,
                callback=relay,
                tolerance=self.bounds.tolerance,
            )
            status = solver.run()
            self._clock.work += clock.work
            self.bounds.offer(left.lift(solver.bounds.labels))
            self._end_with(status)


def _largest(gaps: list[float], allowed: float) -> set[int]:
    """All but the smallest gaps, which together are at most what is allowed."""
    order = np.argsort(gaps, kind="stable")
    negligible = int((np.cumsum(np.take(gaps, order)) <= allowed).sum())
    return set(order[negligible:].tolist())
