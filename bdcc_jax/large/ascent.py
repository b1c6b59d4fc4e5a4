"""Both bounds of one block: dual ascent, and clusterings that its reduced costs guide."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base import compilation_cache
from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..base.sums import sum_down
from ..instance.graph import Graph
from ..lp.dual_ascent import DualAscent
from ..primal.fusion import fuse
from ..primal.greedy_additive import greedy_additive
from ..primal.kernighan_lin import kernighan_lin
from ..search.first_bound import WEIGHTS
from ..separation.device import devices

LEAST_ROUNDS, MOST_ROUNDS = 4, 16
"""Of dual ascent: longer cycles are not looked for before; later ones gain little."""

GUIDED = (4,)
"""After these rounds, and the last, reduced costs guide a clustering."""


@dataclass(frozen=True)
class Effort:
    """How far to go with a block: a property of the run, in no way of the machine.

    Attributes
    ----------
    rise : float
        The ascent ends once a round raises the bound by less than this share of it.
    rings : int
        Nodes so many edges away from a face are left open, to be decided with what is beyond it.
    share : float
        Of the nodes of a block, how many may be open at most, those at the face itself aside.
    """

    rise: float
    rings: int = 4
    share: float = 0.4


class Relaxed(NamedTuple):
    """Where the ascent has got to.

    Attributes
    ----------
    bound : float
        No clustering costs less.
    reduced : ndarray, shape (m,)
        Of the weights, what the bound does not need: what is taken from an edge, up to this, does
        not change the rest of the bound.
    chords : float
        What pairs of nodes that are no edges add to the bound.
    """

    bound: float
    reduced: FloatArray
    chords: float

    def bound_without(self, given: BoolArray) -> float:
        """What the bound is once these edges have given away all that they do not need."""
        mine = self.reduced[~given]
        return sum_down(np.append(mine[mine < 0.0], self.chords))


def relax(graph: Graph, effort: Effort, clock: Clock) -> Relaxed:
    """Lower bound of a block."""
    return _climb(graph, effort, clock, None)[0]


def relax_and_cluster(graph: Graph, effort: Effort, clock: Clock) -> tuple[Relaxed, IntArray]:
    """Both bounds of a block."""
    return _climb(graph, effort, clock, greedy_additive(graph, clock=clock))


def _climb(
    graph: Graph, effort: Effort, clock: Clock, labels: IntArray | None
) -> tuple[Relaxed, IntArray]:
    relaxed = Relaxed(graph.negative_sum, graph.weights, 0.0)
    if graph.m == 0 or not graph.negative.any() or not graph.positive.any():
        sign = not graph.negative.any()
        return relaxed, graph.components(np.full(graph.m, sign))
    compilation_cache.enable()
    devices.refuse_fork()
    ascent = DualAscent(graph, device=devices.resolve("cpu"), batched=False, clock=clock)
    before = relaxed.bound
    for number, state in enumerate(ascent.run(), start=1):
        reduced, chords = state.reduced[: graph.m], state.reduced[graph.m :]
        relaxed = Relaxed(state.bound, reduced, sum_down(chords[chords < 0.0]))
        over = number >= LEAST_ROUNDS and state.bound - before <= effort.rise * abs(state.bound)
        over = over or number == MOST_ROUNDS
        if labels is not None and (over or number in GUIDED):
            guide = reduced + WEIGHTS * graph.weights
            labels = fuse(graph, labels, greedy_additive(graph, guide, clock=clock), clock=clock)
        if over:
            break
        before = state.bound
    if labels is None:
        return relaxed, np.empty(0, np.int64)
    better = kernighan_lin(graph, labels, clock=clock)
    clock.check()  # or it would depend on the machine how good it is
    return relaxed, canonical_labels(graph.refined(better)[0])
