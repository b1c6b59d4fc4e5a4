"""The subproblems of a round as one batch of flow LPs for the first-order solver."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np

from ..arrays import FloatArray, IntArray
from ..clock import Clock
from ..graph import Graph
from ..options import PDLPOptions
from .ball import Ball
from .flow_batch import FlowProblems, magnanti_wong
from .magnanti_wong import MagnantiWong
from .paths import Flow
from .pdlp import Solution, solve_flows
from .reference import ReferenceSolver


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
        clock.check()
        batch = Batch(self._graph, balls, x)
        solution = solve_flows(batch.problems, self._options, device=self._device)
        base = [
            flow or self._exactly(ball, x, None)
            for ball, flow in zip(balls, batch.flows(solution), strict=True)
        ]
        if self._variant is None:
            return base
        clock.check()
        penalties = [self._variant.penalty(self._graph, ball) for ball in balls]
        problems = batch.magnanti_wong(self._variant.tau, -solution.objective, penalties)
        solution = solve_flows(problems, self._options, device=self._device)
        return base + [
            flow or self._exactly(ball, x, self._variant)
            for ball, flow in zip(balls, batch.flows(solution), strict=True)
        ]

    def _exactly(self, ball: Ball, x: FloatArray, variant: MagnantiWong | None) -> Flow:
        flow = self._exact.solve_base(ball, x)
        if variant is not None:
            flow = self._exact.solve_magnanti_wong(ball, x, variant)
        return replace(flow, fallback=True)


class Batch:
    """Balls laid end to end.

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
        nodes = _starts([len(ball.nodes) for ball in balls])
        edges = np.concatenate([ball.edges for ball in balls])
        target_edges = np.concatenate([ball.target_edges for ball in balls])
        self._targets = _starts([len(ball.targets) for ball in balls])
        shift = np.repeat(nodes[:-1], np.diff(self._targets))
        self._target_nodes = np.concatenate([ball.targets for ball in balls]) + shift
        self.problems = FlowProblems(
            nodes=nodes,
            edges=_starts([len(ball.edges) for ball in balls]),
            tail=np.concatenate([ball.tail for ball in balls]),
            head=np.concatenate([ball.head for ball in balls]),
            cost=x[edges],
            capacity=graph.weights[edges],
            reward=self._on_nodes(nodes[-1], x[target_edges]),
            supply=self._on_nodes(nodes[-1], -graph.weights[target_edges]),
        )

    def magnanti_wong(
        self, tau: float, value: FloatArray, penalties: list[FloatArray]
    ) -> FlowProblems:
        """The Magnanti-Wong variants, given the values reached and the penalties of each ball."""
        counts = np.diff(self.problems.edges)
        on_edges = [penalty[:m] for penalty, m in zip(penalties, counts, strict=True)]
        on_targets = [penalty[m:] for penalty, m in zip(penalties, counts, strict=True)]
        charge = self._on_nodes(len(self.problems.supply), np.concatenate(on_targets))
        return magnanti_wong(self.problems, value, np.concatenate(on_edges), charge, tau)

    def flows(self, solution: Solution) -> list[Flow | None]:
        """The flow of every ball; None where the solver has not converged."""
        sent = np.split(solution.supply[self._target_nodes], self._targets[1:-1])
        along = np.split(solution.flow, self.problems.edges[1:-1])
        return [
            Flow(edges, targets) if converged else None
            for edges, targets, converged in zip(along, sent, solution.converged, strict=True)
        ]

    def _on_nodes(self, n: int, values: FloatArray) -> FloatArray:
        array = np.zeros(n)
        array[self._target_nodes] = values
        return array


def _starts(lengths: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
