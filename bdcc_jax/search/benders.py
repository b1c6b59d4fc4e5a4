"""Algorithm 1 of the paper: Benders decomposition for correlation clustering.

As published, and who does what here::

     1  Z = {}                                                 lp/master.py, rows in lp/rows.py
     2  done_LP = False                                        Benders.relax, then .integrate
     3  repeat                                                 cutting_planes
     4      x = solve the master over Z, integral iff done_LP      Master, or IntegerMaster
     5      did_add = False
     6      for s in S                                         separation/paper/paper_round.py:
     7          if some (i, j) in E-_s has d(i, j) < x_ij      exact detection, in every engine
     8              z1 = Benders row by Eq. (BendersSub)       separation/paper/reference.py
     9              z2 = Magnanti-Wong row                     separation/paper/magnanti_wong.py
    10              Z = Z + z1 + z2                            Master.add
    11              did_add = True
    15      if not did_add: done_LP = True
    18  until not did_add and x is integral
    19  return x

The default differs: its rows are the cycle inequalities that z1 is the sum of (engine 'packing'),
and branch and bound over the LP, which leaves a proof, is in the place of the integral master.
"""

import logging
from functools import partial

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.clock import Clock
from ..base.records import Status
from ..instance.completion import is_complete, is_dense
from ..instance.cover import Cover, vertex_cover
from ..instance.graph import Graph
from ..lp.integer_master import IntegerMaster
from ..lp.master import Master, MasterFailed
from ..lp.rough_master import RoughMaster
from ..lp.rows import Rows
from ..options import Options
from ..primal.heuristics import Search
from ..proofs.branching_proof import Branching
from ..proofs.certificate import Claim, LowerBound, Proof, Relaxation, relaxed_bound
from ..separation.complete import CompleteGraphRows
from ..separation.device.devices import Devices, Host
from ..separation.engine import make_engine
from ..separation.odd_wheels import OddWheels
from ..separation.packing import PackingEngine
from ..separation.paper.paper_round import PaperRound
from ..separation.separation import Separation
from . import blocks
from .bounds import Bounds
from .branching import BranchAndBound
from .clusterings import Clusterings
from .cutting_planes import Separator, cutting_planes, keep_all
from .dense_tree import DenseTree
from .problem import Problem
from .reporter import Reporter
from .semidefinite_tree import is_due, is_suited

logger = logging.getLogger(__name__)

HARD_LP = 100_000
"""Instances with so many edges and without blocks get a bound before their LP is tried."""

PROGRESS = 0.01
"""Odd wheels have to close this share of the gap, or there will be no more of them."""

PAYS, PATIENCE = 0.05, 10
"""The same share for the rows over pairs of a dense instance, and in how many rounds."""

FEW, MANY_ROOTS = 0.003, 10_000
"""With so many roots, the LP ends when no more than this share of them are violated: what it still
misses is in a few places, and cheaper to find there than by LPs of the whole."""


class Benders:
    """Algorithm 1 on one instance: the LP first, branch and bound if that does not settle it.

    Parameters
    ----------
    graph : Graph
        The instance.
    options : Options
        How to solve.
    bounds : Bounds
        What is known about the instance; kept up to date.
    seed : int
        For the random Magnanti-Wong objectives.
    clock : Clock
        Holds the deadline; collects the timings.
    device : Devices or Host
        Where batched work runs.
    reporter : Reporter
        Told of every round; raises Stop after the last one.
    rows, multipliers : Rows, ndarray
        Rows to start from, and what they were multiplied by in the last LP.
    problem : Problem, optional
        Which clusterings count; all of them if not given.
    search : Search, optional
        A search for clusterings that has begun.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        bounds: Bounds,
        *,
        seed: int,
        clock: Clock,
        device: Devices | Host,
        reporter: Reporter,
        rows: Rows,
        multipliers: FloatArray,
        problem: Problem | None = None,
        search: Search | None = None,
    ) -> None:
        self._problem = Problem(graph) if problem is None else problem
        self._graph, self._options, self._bounds = graph, options, bounds
        self._clock, self._reporter = clock, reporter
        self._integral = False
        clock.check()  # what comes now takes its time on large instances
        with clock.measure("cover"):
            self._cover: Cover = vertex_cover(graph, options.cover, clock, options.cover_time_limit)
        self._master: Master | RoughMaster
        with clock.measure("master"):
            self._begin_anew(rows)
        self.lp = rows, multipliers
        self.clusterings = Clusterings(
            self._problem.heuristics,
            options,
            bounds,
            self._cover,
            seed=seed,
            clock=clock,
            reporter=reporter,
            search=search,
        )
        self._nearly_done = False
        self._wheels = OddWheels(graph, PROGRESS, lambda: (bounds.lower, bounds.upper))
        self._engine = make_engine(graph, self._cover, options, seed, device)

    def relax(self) -> None:
        """Solve the LP over all cycle inequalities and odd wheels; returns if that leaves a gap."""
        try:
            self._relax()
            self.clusterings.search_longer()
        except MasterFailed:
            if not self._problem.multicut:
                raise
            # A bound that needs no LP.
            packing = PackingEngine(self._graph, self._cover, self._options.ball_size)
            self._bounds.raise_lower(packing.packed_bound(self._clock))
            raise

    def _relax(self) -> None:
        engine, master, multicut = self._engine, self._master, self._problem.multicut
        if multicut and isinstance(engine, PackingEngine) and isinstance(master, Master):
            if (block := blocks.blocks(self._graph)) is not None:
                self._relax_blocks(block, master.rows)
            elif self._graph.m >= HARD_LP and master.n_rows == 0:
                self._bounds.raise_lower(engine.packed_bound(self._clock))
        self._loop()

    def _relax_blocks(self, block: IntArray, rows: Rows) -> None:
        """Solve the LPs of the blocks of a large instance, and let its LP start from them."""
        spent = self._new_round()
        reach = self._options.ball_size
        bound, state = blocks.solve_blocks(self._graph, block, rows, reach, self._clock)
        self._bounds.raise_lower(bound)
        self.clusterings.round(state.x, converged=True)
        self._master = Master(self._graph.weights)
        with self._clock.measure("master"):
            state.start(self._master)
        unknown = Separation(state.rows, len(self._cover), fallbacks=0, satisfied=False)
        self._report(unknown, spent)

    def integrate(self) -> None:
        """Let HiGHS solve the ILP, starting from the rows of the LP; what it finds is no proof."""
        self._integral, bounds = True, self._bounds
        self._master = IntegerMaster(
            self._graph.weights,
            self._master.rows,
            gap=bounds.gap,
            absolute_gap=max(bounds.absolute_gap, bounds.tolerance / 2),
            start=lambda: bounds.cut,
        )
        try:
            self._loop()
        except MasterFailed as error:
            logger.info("HiGHS gave up on the ILP: %s", error)
        self._begin_anew(self._master.rows)

    def branch(self, proof: Branching) -> None:
        """Divide the clusterings that the LP leaves open, until all is proven or float64 ends."""
        if proof.begun:
            self._begin_anew(proof.rows)
        if isinstance(self._master, Master):
            self._master.sharpen()
        look_around = partial(self.clusterings.round, converged=True)
        tree: BranchAndBound | DenseTree
        if proof.semidefinite or (self.semidefinite and not proof.begun):
            tree = DenseTree(proof, self._bounds, self._clock, look_around)
        else:
            tree = BranchAndBound(
                proof, self._master, self._bounds, self._clock, look_around, self._problem
            )
        self._bounds.raise_lower(tree.lower_bound)  # of a tree that goes on
        while not tree.exhausted:
            spent = dict(self._clock.spent)
            separation = tree.grow()
            self._bounds.raise_lower(tree.lower_bound)
            self._report(separation, spent)

    def _begin_anew(self, rows: Rows) -> None:
        """The LP with these rows, and no others."""
        bounds, weights = self._bounds, self._graph.weights
        by_pairs = self._by_pairs
        self._master = RoughMaster(weights, lambda: bounds.cutoff) if by_pairs else Master(weights)
        self._master.add(rows)

    @property
    def _by_pairs(self) -> bool:
        """Whether the LP gets all kinds of rows over pairs, for which HiGHS takes long."""
        by_pairs = is_complete(self._graph) and is_dense(self._graph)
        by_pairs = by_pairs and not self._problem.restricted
        return by_pairs and self._options.odd_wheels and not self._integral

    @property
    def semidefinite(self) -> bool:
        """Whether what the LP leaves open is bounded by semidefinite programming."""
        return self._by_pairs and is_suited(self._graph, self._bounds)

    @property
    def x(self) -> FloatArray:
        """The solution of the last round's master."""
        return self._x

    @property
    def proof(self) -> tuple[Rows, FloatArray]:
        """The rows of the LP and their multipliers, which prove its bound."""
        return self._master.rows, self._master.multipliers

    def _loop(self) -> None:
        """Lines 4 to 14 of Algorithm 1, and what is reported of them."""
        separators: list[Separator] = [self._engine.separate]
        master = self._master
        if isinstance(master, RoughMaster):
            # The bound itself: that of whole weights is rounded up, and rises in jumps.
            both = lambda: (master.proven_bound, self._bounds.cutoff)  # noqa: E731
            least = lambda: master.blur  # noqa: E731
            first = self._engine.separate
            separators = [CompleteGraphRows(self._graph, PAYS, PATIENCE, both, least, first)]
        elif self._problem.restricted:
            limits = lambda: (self._bounds.lower, self._bounds.upper)  # noqa: E731
            weights = self._graph.weights
            separators = self._problem.separators(weights, limits, PROGRESS, self._clock)
        elif not self._integral and self._options.odd_wheels:
            separators.append(self._wheels)
        turns = cutting_planes(
            self._master,
            separators,
            self._clock,
            enough=self._learn,
            forget=self._master.drop_slack_rows if self._options.rows == "split" else keep_all,
        )
        spent, began_at = self._new_round(), self._clock.work
        for cut in turns:
            self._x = cut.x
            if cut.found.fallbacks:
                logger.info("%d subproblems gave only shortest cycles", cut.found.fallbacks)
            if cut.last and not cut.converged:
                logger.info("HiGHS violates rows that it has: the LP ends before all of them hold")
            self._learn_from_packing(cut.found)
            self._nearly_done = not self._integral and self._few(cut.found.violated_roots)
            if not self._bounds.verdict:
                self.clusterings.round(cut.x, cut.converged or self._nearly_done)
            self._report(cut.found, spent)
            spent = self._new_round()
            work = self._clock.work - began_at
            if self.semidefinite and is_due(self._graph, self._bounds, work):
                break
        if self._bounds.verdict is Status.OPTIMAL:  # which the last LP has proven
            self._report(Separation(Rows.empty(), 0, fallbacks=0, satisfied=False), spent)

    def _few(self, violated_roots: int) -> bool:
        return len(self._cover) >= MANY_ROOTS and violated_roots <= FEW * len(self._cover)

    def _new_round(self) -> dict[str, float]:
        """Begin a round; returns what was spent before it."""
        self._clock.longest.clear()
        return dict(self._clock.spent)

    def _learn(self) -> bool:
        """Take over what the master has proven, finished or not; says whether that is enough."""
        bounds, master = self._bounds, self._master
        if not self._integral and np.isfinite(master.proven_bound):
            self.lp = master.rows, master.multipliers
        if master.proven_bound <= bounds.lower:
            return self._nearly_done or bounds.verdict is Status.OPTIMAL
        proof: Proof
        if self._integral:
            known = bounds.proof
            proof = Claim(master.proven_bound, known.weaker if isinstance(known, Claim) else known)
        else:
            proof = Relaxation(self._graph, master.rows, master.multipliers)
        bounds.raise_lower(LowerBound(master.proven_bound, proof))
        return self._nearly_done or bounds.verdict is Status.OPTIMAL

    def _learn_from_packing(self, found: Separation) -> None:
        """What was packed proves a bound with the first rows: often the optimum of small ones."""
        first = self._master.n_rows == len(found.rows)
        if first and found.multipliers is not None and not self._integral:
            self._bounds.raise_lower(relaxed_bound(self._graph, found.rows, found.multipliers))

    def _report(self, found: Separation, before: dict[str, float]) -> None:
        longest = self._clock.longest
        # Engines that do not look for violations root by root have no slowest root.
        slowest = sum(longest.values()) if isinstance(self._engine, PaperRound) else None
        spent = self._clock.spent_since(before)
        self._reporter.round(found, self._master.n_rows, spent, slowest)
