"""The best clustering that is found without the relaxation, quickly."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..instance.graph import Graph
from .evolution import Evolution
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin
from .leiden import leiden
from .links import new_links
from .randomness import new_state

SLOW = 10_000
"""Graphs with so many edges take some 10 ms a step."""

DENSE = 20
"""With a mean degree of so much greedy clusterings are poor: a longer search pays beside the LP."""

TURN_PER_EDGE, MOST_TURN = 2_000, 3_000_000
"""Arcs that its first turn reads for every edge, and at most: some 20 ms."""

STEEP = 3
"""Where more fusions than this pay, the next ones gain more than Kernighan-Lin in the same time."""


def is_clustered_poorly(graph: Graph) -> bool:
    """Whether greedy clusterings are poor, so that a longer search pays before the LP is over."""
    return 2 * graph.m >= DENSE * graph.n


def first_turn(graph: Graph) -> int:
    """Arcs that a longer search reads before it is asked whether it pays."""
    return min(TURN_PER_EDGE * graph.m, MOST_TURN)


def moved(graph: Graph, labels: IntArray, *, seed: int, clock: Clock) -> IntArray:
    """A clustering after an iteration of Leiden's method, which takes no longer than greedy ones.

    Examples
    --------
    >>> graph = Graph(3, [(0, 1), (1, 2)], [2.0, -1.0])
    >>> moved(graph, np.zeros(3, dtype=int), seed=0, clock=Clock(None)).tolist()
    [0, 0, 1]
    """
    links = new_links(graph.n, graph.edges.ravel(), graph.weights)
    with clock.alarm() as stop:
        return leiden(links, canonical_labels(labels), new_state(seed), stop)[0]


def _nobody(labels: IntArray) -> None:
    """Is told of nothing."""


def local_search(
    graph: Graph,
    labels: ArrayLike | None = None,
    *,
    rounds: int = 8,
    seed: int = 0,
    clock: Clock | None = None,
    tell: Callable[[IntArray], None] | None = None,
    keep: Callable[[Evolution], None] | None = None,
) -> IntArray:
    """Find a good clustering: greedy, fusion with greedy ones of noisy weights, Kernighan-Lin.

    Parameters
    ----------
    graph : Graph
        The instance.
    labels : array_like of int, shape (n,), optional
        Where to start; at a greedy clustering if not given. The result is never worse.
    rounds : int
        Number of fusions at most: on sparse graphs, where one gains little, it was the last.
    seed : int
        For the noise.
    clock : Clock, optional
        When its time is up, the clustering so far is returned.
    tell : callable, optional
        Told of every better clustering on the way, if the graph is so large that it takes a while.
    keep : callable, optional
        Given the search itself, to go on with, if the graph is one where that pays.

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
    clock = clock or Clock(None)
    found, improvable = _fuse(graph, labels, rounds, seed, clock, tell, keep)
    if not improvable:
        return canonical_labels(found)
    return kernighan_lin(graph, found, clock=clock)


def fusions(
    graph: Graph,
    *,
    rounds: int,
    seed: int,
    clock: Clock,
    tell: Callable[[IntArray], None],
    keep: Callable[[Evolution], None] | None = None,
) -> IntArray:
    """The first part of :func:`local_search`: what is found before Kernighan-Lin."""
    return canonical_labels(_fuse(graph, None, rounds, seed, clock, tell, keep)[0])


def _fuse(
    graph: Graph,
    labels: ArrayLike | None,
    rounds: int,
    seed: int,
    clock: Clock,
    tell: Callable[[IntArray], None] | None,
    keep: Callable[[Evolution], None] | None,
) -> tuple[IntArray, bool]:
    """A clustering after some fusions, and whether it is worth Kernighan-Lin."""
    best = greedy_additive(graph, clock=clock) if labels is None else np.asarray(labels)
    if tell is None or graph.m < SLOW:
        tell = _nobody
    tell(best)
    if rounds == 0:
        return best, True
    search, steps = Evolution(graph, best, seed=seed), 0
    with clock.alarm() as stop:
        while steps < rounds and not search.settled:
            if stop[0] or clock.remaining == 0.0:
                break
            search.step(stop)
            steps += 1
            tell(search.labels)
    if keep is not None and is_clustered_poorly(graph):
        keep(search)
    return search.labels, search.paid <= STEEP
