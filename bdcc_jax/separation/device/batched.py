"""The subproblems of a round as one batch of flow LPs for the first-order solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ...base.arrays import FloatArray, IntArray
from ...base.clock import Clock
from ...instance.graph import Graph
from ...options import ActivityKind, PDLPOptions
from ..paper.ball import Ball
from ..paper.magnanti_wong import MagnantiWong
from ..paper.paths import Flow
from ..paper.reference import ReferenceSolver
from .devices import Devices
from .flow_problems import FlowProblems, magnanti_wong, magnanti_wong_by_price
from .flows import Solution, expand
from .reduction import reduce_flows
from .restriction import restrict

SHARING_GAIN = 8.0
"""How much faster an entry of a shared preconditioner is applied than one of a problem's own."""

LEAST_SHARED = 64
"""Nodes of a graph that is shared: below, a preconditioner for each costs nothing."""

MAGNANTI_WONG_SLACK = 10.0
"""Magnanti-Wong problems are solved to this many times the tolerance, or to so small a part of the
1 - tau that they may lose: which of the active rows is taken is a matter of chance anyway."""


BYTES_PER_ENTRY = 400
"""Host memory for a node or an edge of a subproblem: its data, and those of the reduction."""


class BatchedSolver:
    """Solves all subproblems at once; what does not converge goes to the exact solver.

    Parameters
    ----------
    graph : Graph
        The instance.
    variant : MagnantiWong or None
        Solve this variant of every subproblem too.
    options : PDLPOptions
        When a problem has converged.
    devices : Devices
        Where to solve.
    """

    def __init__(
        self,
        graph: Graph,
        variant: MagnantiWong | None,
        options: PDLPOptions,
        devices: Devices,
    ) -> None:
        self._graph, self._variant = graph, variant
        self._options, self._devices = options, devices
        self._exact = ReferenceSolver(graph)

    def solve(self, balls: list[Ball], x: FloatArray, clock: Clock) -> list[Flow]:
        """Solutions of the dual subproblem of every ball, then of the Magnanti-Wong variants."""
        sizes = np.array([len(ball.nodes) + len(ball.edges) for ball in balls], dtype=np.int64)
        room = max(1, self._devices.budget // BYTES_PER_ENTRY)
        chunk = (np.cumsum(sizes) - sizes) // room  # the same for balls that are done together
        ends = np.searchsorted(chunk, np.unique(chunk), side="right")
        parts = [
            self._solve(balls[a:b], x, clock) for a, b in pairwise([0, *ends.tolist()]) if b > a
        ]
        return [flow for part in parts for flow in part[0]] + [
            flow for part in parts for flow in part[1]
        ]

    def _solve(
        self, balls: list[Ball], x: FloatArray, clock: Clock
    ) -> tuple[list[Flow], list[Flow]]:
        clock.check()
        batch = Batch(self._graph, balls, x, clock)
        solve = partial(self._devices.solve_flows, check=clock.check)
        solution = batch.solve(batch.problems, partial(solve, options=self._options))
        base = [
            flow or self._exactly(ball, x, None, clock)
            for ball, flow in zip(balls, batch.flows(solution), strict=True)
        ]
        if self._variant is None:
            return base, []
        penalties = [self._variant.penalty(self._graph, ball) for ball in balls]
        problems = batch.magnanti_wong(
            self._variant.tau, solution, penalties, self._options.activity
        )
        looser = replace(self._options, tolerance=loose(self._options.tolerance, self._variant.tau))
        solution = batch.solve(problems, partial(solve, options=looser))
        return base, [
            flow or self._exactly(ball, x, self._variant, clock)
            for ball, flow in zip(balls, batch.flows(solution), strict=True)
        ]

    def _exactly(
        self, ball: Ball, x: FloatArray, variant: MagnantiWong | None, clock: Clock
    ) -> Flow:
        clock.check()
        flow = self._exact.solve_base(ball, x, clock)
        if variant is not None:
            flow = self._exact.solve_magnanti_wong(ball, x, variant, clock)
        return replace(flow, fallback=True)


class Batch:
    """Balls as flow LPs, each on its own graph.

    Parameters
    ----------
    graph : Graph
        The instance.
    balls : list of Ball
        At least one.
    x : ndarray
        The solution of the master.
    clock : Clock, optional
        Holds the deadline.
    """

    def __init__(
        self, graph: Graph, balls: list[Ball], x: FloatArray, clock: Clock | None = None
    ) -> None:
        self._graph, self._clock = graph, clock or Clock(None)
        self._counts = np.array([(len(b.nodes), len(b.edges), len(b.targets)) for b in balls])
        self._nodes = np.concatenate([ball.nodes for ball in balls])
        self._edges = np.concatenate([ball.edges for ball in balls])
        targets = np.concatenate([ball.targets for ball in balls])
        target_edges = np.concatenate([ball.target_edges for ball in balls])
        starts = _starts(self._counts[:, 0])
        self._target_at = targets + np.repeat(starts[:-1], self._counts[:, 2])
        self.problems = FlowProblems(
            nodes=starts,
            edges=_starts(self._counts[:, 1]),
            tail=np.concatenate([ball.tail for ball in balls]),
            head=np.concatenate([ball.head for ball in balls]),
            cost=x[self._edges],
            capacity=graph.weights[self._edges],
            reward=self._on_targets(x[target_edges]),
            supply=self._on_targets(-graph.weights[target_edges]),
        )

    def magnanti_wong(
        self, tau: float, solution: Solution, penalties: list[FloatArray], activity: ActivityKind
    ) -> FlowProblems:
        """The Magnanti-Wong variants, given the solutions and the penalties of each ball."""
        split = [np.split(p, [m]) for p, m in zip(penalties, self._counts[:, 1], strict=True)]
        cost = np.concatenate([on_edges for on_edges, _ in split])
        charge = self._on_targets(np.concatenate([on_targets for _, on_targets in split]))
        starts = self.problems.edges[:-1], self.problems.nodes[:-1]
        spent = np.add.reduceat(cost * np.abs(solution.flow), starts[0])
        spent += np.add.reduceat(charge * solution.supply, starts[1])
        known = self.problems, -solution.objective, spent, cost, charge, tau
        if activity == "row":
            return magnanti_wong(*known)
        return restrict(magnanti_wong_by_price(*known), solution.flow, self._clock)

    def flows(self, solution: Solution) -> list[Flow | None]:
        """The flow of every ball; None where the solver has not converged."""
        along = np.split(solution.flow, np.cumsum(self._counts[:-1, 1]))
        sent = np.split(solution.supply[self._target_at], np.cumsum(self._counts[:-1, 2]))
        return [
            Flow(edges, targets) if converged else None
            for edges, targets, converged in zip(along, sent, solution.converged, strict=True)
        ]

    def solve(self, problems: FlowProblems, solver: Callable[..., Solution]) -> Solution:
        """Solve the LPs or a variant: what is left of each on its own graph, or all on one."""
        reduction = reduce_flows(problems, self._clock)
        self._clock.check()
        union = len(np.unique(self._nodes))
        if shares_a_graph(np.diff(reduction.problems.nodes), union):
            return self._on_one_graph(problems, solver)
        return expand(reduction, solver(reduction.problems))

    def _on_one_graph(self, problems: FlowProblems, solver: Callable[..., Solution]) -> Solution:
        """Solve on the union of all graphs: a ball is where it has capacities.

        Node 0 of the union is isolated.
        """
        union, inside = np.unique(self._nodes), np.unique(self._edges)
        n, m, count = len(union) + 1, len(inside), len(self._counts)
        of_node, of_edge = (np.repeat(np.arange(count), self._counts[:, k]) for k in (0, 1))
        node_at = np.searchsorted(union, self._nodes) + 1 + of_node * n
        edge_at = np.searchsorted(inside, self._edges) + of_edge * m
        ends = self._nodes[np.stack([problems.tail, problems.head]) + problems.nodes[of_edge]]
        sign = np.where(ends[0] > ends[1], -1.0, 1.0)
        tail, head = np.searchsorted(union, self._graph.edges[inside]).T + 1

        def on_edges(values: FloatArray) -> FloatArray:
            return _scatter(values, edge_at, count * m)

        def on_nodes(values: FloatArray) -> FloatArray:
            return _scatter(values, node_at, count * n)

        activity = problems.activity
        if activity is not None:
            activity = replace(
                activity, cost=on_edges(activity.cost), reward=on_nodes(activity.reward)
            )
        solution = solver(
            FlowProblems(
                nodes=np.arange(count + 1) * n,
                edges=np.arange(count + 1) * m,
                tail=np.tile(tail, count),
                head=np.tile(head, count),
                cost=on_edges(problems.cost),
                capacity=on_edges(problems.capacity),
                reward=on_nodes(problems.reward),
                supply=on_nodes(problems.supply),
                activity=activity,
                roots=node_at[problems.nodes[:-1]] % n,
            )
        )
        return replace(
            solution,
            flow=solution.flow[edge_at] * sign,
            supply=solution.supply[node_at],
            potential=solution.potential[node_at],
        )

    def _on_targets(self, values: FloatArray) -> FloatArray:
        return _scatter(values, self._target_at, len(self._nodes))


def loose(tolerance: float, tau: float) -> float:
    """The tolerance of Magnanti-Wong problems.

    Examples
    --------
    >>> loose(1e-3, 0.5), loose(1e-3, 0.99)
    (0.05, 0.01)
    """
    return max(min(0.5, MAGNANTI_WONG_SLACK * tolerance), (1.0 - tau) / MAGNANTI_WONG_SLACK)


def shares_a_graph(sizes: IntArray, union: int) -> bool:
    """Whether one preconditioner for all balls is cheaper than one for each.

    Per iteration a ball of n_b nodes reads its own inverse of n_b^2 entries; a shared one of n^2
    entries is a product of two matrices, and SHARING_GAIN times faster an entry.

    Examples
    --------
    >>> shares_a_graph(np.full(100, 64), 1000), shares_a_graph(np.full(100, 600), 1000)
    (False, True)
    """
    large = len(sizes) >= 8 and union >= LEAST_SHARED
    return large and bool(np.mean(sizes**2) * SHARING_GAIN > union**2)


def _scatter(values: FloatArray, index: IntArray, size: int) -> FloatArray:
    array = np.zeros(size)
    array[index] = values
    return array


def _starts(lengths: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
