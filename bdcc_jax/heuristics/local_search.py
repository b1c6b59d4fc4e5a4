"""Upper bounds from the weights alone, and from a solution of the relaxation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, IntArray
from ..clock import Clock
from ..graph import Graph
from .fusion import fuse
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin

NOISE = 0.3
"""Weights are multiplied by exp(NOISE z), z standard normal, for a different greedy clustering."""

TRUST = 0.1
"""How much the weights count next to a solution of the relaxation."""


def local_search(
    graph: Graph,
    labels: ArrayLike | None = None,
    *,
    rounds: int = 4,
    seed: int = 0,
    clock: Clock | None = None,
) -> IntArray:
    """Find a good clustering: greedy, Kernighan-Lin, then fusion with perturbed ones.

    Parameters
    ----------
    graph : Graph
        The instance.
    labels : array_like of int, shape (n,), optional
        Where to start; at a greedy clustering if not given. The result is never worse.
    rounds : int
        Number of perturbed clusterings to fuse with; 0 for Kernighan-Lin alone.
    seed : int
        For the perturbations.
    clock : Clock, optional
        When its time is up, the clustering so far is returned.

    Returns
    -------
    ndarray of int, shape (n,)
        A cluster a node, numbered by first appearance.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [3.0, 2.0, -1.5, -1.0])
    >>> local_search(graph).tolist()
    [0, 0, 0, 1]
    """
    start = greedy_additive(graph) if labels is None else labels
    best = kernighan_lin(graph, start, clock=clock)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        if clock is not None and clock.remaining == 0.0:
            break
        weights = graph.weights * np.exp(NOISE * rng.standard_normal(graph.m))
        other = kernighan_lin(graph, greedy_additive(graph, weights), clock=clock)
        best = kernighan_lin(graph, fuse(graph, best, other, clock=clock), clock=clock)
    return best


def lp_guided(
    graph: Graph, x: FloatArray, labels: ArrayLike | None = None, *, clock: Clock | None = None
) -> IntArray:
    """Round a solution of the relaxation: greedy on what it would rather keep, then local search.

    Parameters
    ----------
    graph : Graph
        The instance.
    x : ndarray, shape (m,)
        A value in [0, 1] an edge, 1 for cut; it need not satisfy any cycle inequality.
    labels : array_like of int, shape (n,), optional
        The best clustering so far. It is fused with the rounded one: the result is never worse.
    clock : Clock, optional
        When its time is up, the clustering so far is returned.

    Returns
    -------
    ndarray of int, shape (n,)
        A cluster a node, numbered by first appearance.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [3.0, 2.0, -1.5, -1.0])
    >>> lp_guided(graph, graph.cut([0, 0, 0, 1]).astype(float)).tolist()
    [0, 0, 0, 1]
    """
    if x.shape != (graph.m,):
        raise ValueError(f"x must have shape ({graph.m},), not {x.shape}")
    if graph.m == 0:
        return greedy_additive(graph)
    # Where x is undecided, or equal on many edges, the weights decide and break the ties.
    guide = 1.0 - 2.0 * x + TRUST / np.abs(graph.weights).mean() * graph.weights
    rounded = kernighan_lin(graph, greedy_additive(graph, guide), clock=clock)
    if labels is None:
        return rounded
    return kernighan_lin(graph, fuse(graph, labels, rounded, clock=clock), clock=clock)
