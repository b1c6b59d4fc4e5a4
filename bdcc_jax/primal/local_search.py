"""The best clustering that is found without the relaxation, in the time that there is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..instance.graph import Graph
from .fusion import fuse
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin

SPREAD = 0.5
"""Weights are multiplied by exp(SPREAD z), z standard normal, for a different greedy clustering."""


def local_search(
    graph: Graph,
    labels: ArrayLike | None = None,
    *,
    rounds: int = 8,
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
    start = greedy_additive(graph, clock=clock) if labels is None else labels
    best = kernighan_lin(graph, start, clock=clock)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        if clock is not None and clock.remaining == 0.0:
            break
        weights = graph.weights * np.exp(SPREAD * rng.standard_normal(graph.m))
        # More rounds are worth more than Kernighan-Lin in every one of them.
        other = greedy_additive(graph, weights, clock=clock)
        best = fuse(graph, best, other, clock=clock)
    return kernighan_lin(graph, best, clock=clock) if rounds else best
