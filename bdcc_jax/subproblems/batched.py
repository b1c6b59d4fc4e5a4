"""The subproblems of a round as one batch of flow LPs for the first-order solver."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import numpy as np

from ..arrays import FloatArray, IntArray
from ..clock import Clock
from ..graph import Graph
from ..options import ActivityKind, PDLPOptions
from .ball import Ball
from .flow_problems import FlowProblems, magnanti_wong, magnanti_wong_by_price
from .flows import Solution, solve_flows
from .magnanti_wong import MagnantiWong
from .paths import Flow
from .reference import ReferenceSolver

SHARING_GAIN = 8.0
"""How much faster an entry of a shared preconditioner is applied than one of a problem's own."""

MAGNANTI_WONG_SLACK = 10.0
"""Magnanti-Wong problems are solved to this many times the tolerance: which of the active rows is
taken is a matter of chance anyway, and it halves the time."""


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
    device : jax.Device
        Where to solve.
    """

    def __init__(
        self,
        graph: Graph,
        variant: MagnantiWong | None,
        options: PDLPOptions,
        device: jax.Device,
    ) -> None:
        self._graph, self._variant = graph, variant
        self._options, self._device = options, device
        self._exact = ReferenceSolver(graph)

    def solve(self, balls: list[Ball], x: FloatArray, clock: Clock) -> list[Flow]:
        """Solutions of the dual subproblem of every ball, then of the Magnanti-Wong variants."""
        if not balls:
            return []
        batch = Batch(self._graph, balls, x)
        solve = partial(solve_flows, device=self._device, check=clock.check)
        solution = solve(batch.problems, self._options)
        base = [
            flow or self._exactly(ball, x, None, clock)
            for ball, flow in zip(balls, batch.flows(solution), strict=True)
        ]
        if self._variant is None:
            return base
        penalties = [self._variant.penalty(self._graph, ball) for ball in balls]
        problems = batch.magnanti_wong(
            self._variant.tau, solution, penalties, self._options.activity
        )
        looser = replace(
            self._options, tolerance=min(0.5, MAGNANTI_WONG_SLACK * self._options.tolerance)
        )
        solution = solve(problems, looser)
        return base + [
            flow or self._exactly(ball, x, self._variant, clock)
            for ball, flow in zip(balls, batch.flows(solution), strict=True)
        ]

    def _exactly(
        self, ball: Ball, x: FloatArray, variant: MagnantiWong | None, clock: Clock
    ) -> Flow:
        clock.check()
        flow = self._exact.solve_base(ball, x)
        if variant is not None:
            flow = self._exact.solve_magnanti_wong(ball, x, variant)
        return replace(flow, fallback=True)


class Batch:
    """Balls as flow LPs, each on its own graph or all on the union of their graphs.

    Parameters
    ----------
    graph : Graph
        The instance.
    balls : list of Ball
        At least one.
    x : ndarray
        The solution of the master.
    """

    def __init__(self, graph: Graph, balls: list[Ball], x: FloatArray) -> None:
        self._counts = np.array([(len(b.nodes), len(b.edges), len(b.targets)) for b in balls])
        nodes = np.concatenate([ball.nodes for ball in balls])
        union = np.unique(nodes)
        edges = np.concatenate([ball.edges for ball in balls])
        targets = np.concatenate([ball.targets for ball in balls])
        target_edges = np.concatenate([ball.target_edges for ball in balls])
        tail = np.concatenate([ball.tail for ball in balls])
        head = np.concatenate([ball.head for ball in balls])
        starts = _starts(self._counts[:, 0])
        owner = np.repeat(np.arange(len(balls)), self._counts[:, 2])
        roots = None
        if shares_a_graph(self._counts[:, 0], len(union)):
            # One graph for all, with node 0 isolated: a ball is where it has capacities.
            inside = np.unique(edges)
            n, m, count = len(union) + 1, len(inside), len(balls)
            position = np.searchsorted(union, nodes) + 1
            edge_owner = np.repeat(np.arange(count), self._counts[:, 1])
            ends = np.searchsorted(union, graph.edges[inside]) + 1
            reversed_ = nodes[starts[edge_owner] + tail] > nodes[starts[edge_owner] + head]
            self._edge_at = np.searchsorted(inside, edges) + edge_owner * m
            self._sign = np.where(reversed_, -1.0, 1.0)
            self._target_at = position[starts[owner] + targets] + owner * n
            tail, head = (np.tile(end, count) for end in ends.T)
            roots = position[starts[:-1]]
            starts, edge_starts = np.arange(count + 1) * n, np.arange(count + 1) * m
        else:
            edge_starts = _starts(self._counts[:, 1])
            self._edge_at, self._sign = np.arange(len(edges)), np.ones(len(edges))
            self._target_at = starts[owner] + targets
        self._sizes = int(edge_starts[-1]), int(starts[-1])
        self.problems = FlowProblems(
            nodes=starts,
            edges=edge_starts,
            tail=tail,
            head=head,
            cost=self._on_edges(x[edges]),
            capacity=self._on_edges(graph.weights[edges]),
            reward=self._on_nodes(x[target_edges]),
            supply=self._on_nodes(-graph.weights[target_edges]),
            roots=roots,
        )

    def magnanti_wong(
        self, tau: float, solution: Solution, penalties: list[FloatArray], activity: ActivityKind
    ) -> FlowProblems:
        """The Magnanti-Wong variants, given the solutions and the penalties of each ball."""
        split = [np.split(p, [m]) for p, m in zip(penalties, self._counts[:, 1], strict=True)]
        cost = self._on_edges(np.concatenate([on_edges for on_edges, _ in split]))
        charge = self._on_nodes(np.concatenate([on_targets for _, on_targets in split]))
        starts = self.problems.edges[:-1], self.problems.nodes[:-1]
        spent = np.add.reduceat(cost * np.abs(solution.flow), starts[0])
        spent += np.add.reduceat(charge * solution.supply, starts[1])
        variant = magnanti_wong if activity == "row" else magnanti_wong_by_price
        return variant(self.problems, -solution.objective, spent, cost, charge, tau)

    def flows(self, solution: Solution) -> list[Flow | None]:
        """The flow of every ball; None where the solver has not converged."""
        along = np.split(solution.flow[self._edge_at] * self._sign, np.cumsum(self._counts[:-1, 1]))
        sent = np.split(solution.supply[self._target_at], np.cumsum(self._counts[:-1, 2]))
        return [
            Flow(edges, targets) if converged else None
            for edges, targets, converged in zip(along, sent, solution.converged, strict=True)
        ]

    def _on_edges(self, values: FloatArray) -> FloatArray:
        array = np.zeros(self._sizes[0])
        array[self._edge_at] = values
        return array

    def _on_nodes(self, values: FloatArray) -> FloatArray:
        array = np.zeros(self._sizes[1])
        array[self._target_at] = values
        return array


def shares_a_graph(sizes: IntArray, union: int) -> bool:
    """Whether one preconditioner for all balls is cheaper than one for each.

    Per iteration a ball of n_b nodes reads its own inverse of n_b^2 entries; a shared one of n^2
    entries is a product of two matrices, and SHARING_GAIN times faster an entry.

    Examples
    --------
    >>> shares_a_graph(np.full(100, 64), 1000), shares_a_graph(np.full(100, 600), 1000)
    (False, True)
    """
    return len(sizes) >= 8 and bool(np.mean(sizes**2) * SHARING_GAIN > union**2)


def _starts(lengths: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
