"""A smaller instance that is solved in place of another, and the way back: a value."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.sums import sum_down, sum_up
from ..instance.enumeration import MOST_NODES, best_of_all
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..primal.heuristics import Search
from ..proofs.certificate import Enumeration, LowerBound, Proof
from .bounds import Bounds


class Known(NamedTuple):
    """What was found out about an instance: its best clustering, and how good that is at least."""

    labels: IntArray
    bound: LowerBound
    met: bool
    """Whether the clustering is proven to be optimal."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Substitute:
    """An instance S that is solved in place of another one, I.

    Every clustering of I costs at least ``ceiling``, or at least ``constant`` plus the optimum of
    S. Clusterings of S, lifted, cost in I at most ``constant`` plus what they cost in S.

    Attributes
    ----------
    graph : Graph
        S.
    constant, ceiling : float
        See above.
    lift : callable
        Makes a clustering of I of one of S.
    lift_proof : callable
        Makes a proof for I of a proof for S.
    tolerance : float
        By how much an optimal clustering of S may cost more than its optimum.
    off : float
        By how much the two statements above may be wrong, for rounding errors.
    low : ndarray, optional
        What float64 cannot hold of the weights of S.
    beside : float
        By how much a clustering of I may cost too much outside of S.
    rows, labels : Rows, ndarray, optional
        Rows of the LP of S that are known to matter, and a good clustering.
    search : Search, optional
        A search for clusterings of S that has begun.
    piece : bool
        Whether there are others beside it: then S is solved to the end, whatever gap is allowed.
    """

    graph: Graph
    lift: Callable[[IntArray], IntArray]
    lift_proof: Callable[[Proof], Proof]
    tolerance: float
    constant: float = 0.0
    ceiling: float = inf
    off: float = 0.0
    low: FloatArray | None = None
    beside: float = 0.0
    rows: Rows | None = None
    labels: IntArray | None = None
    search: Search | None = None
    piece: bool = False

    @property
    def all_off(self) -> float:
        """What may be wrong if nobody looks at ``low``."""
        return self.off if self.low is None else sum_up(np.append(np.abs(self.low), self.off))

    def enumerate(self) -> Known | None:
        """The optimum of S if it has few nodes; ``low`` is considered."""
        if self.graph.n > MOST_NODES:
            return None
        best, cost = best_of_all(self.graph, self.low)
        return Known(best, LowerBound(cost, Enumeration(), 0.0), met=True)

    def hand_out(
        self, outer: Bounds, labels: IntArray | None, bound: LowerBound, off: float
    ) -> None:
        """Tell the bounds of I what is known of S; no labels if there are no better ones."""
        if labels is not None:
            outer.offer(self.lift(labels))
        value = min(self.ceiling, sum_down([self.constant, bound.value, -off]))
        excess = max(sum_up([bound.excess, off, self.beside]), outer.above(self.ceiling))
        outer.raise_lower(LowerBound(value, self.lift_proof(bound.proof), excess))
