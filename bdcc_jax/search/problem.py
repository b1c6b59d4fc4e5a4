"""Which clusterings of a graph count: all of them, or only some.

Branch and cut is the same for all kinds of problems: an LP over rows that are found as they are
violated, a tree of decisions on the edges, a lower bound with a proof. A :class:`Problem` says what
differs. Its variables are the edges of ``graph``, 1 for cut, and its solutions are labels of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..instance.cover import vertex_cover
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..primal.heuristics import Heuristics
from ..proofs.branching_proof import Contradiction
from ..proofs.rows_in_nodes import a_path
from ..separation.odd_wheels import OddWheels
from ..separation.packing import PackingEngine
from .cutting_planes import Separator


class Problem:
    """Correlation clustering: every clustering counts.

    Problems in which only some clusterings count are subclasses. What they may override:

    - ``refined`` makes a clustering that counts of any labels;
    - ``separators`` find rows: at least one that x violates wherever x is integral and is no
      clustering that counts. Rows are valid for all clusterings that count, and each kind has its
      words in ``proofs/rows_in_nodes.py`` and its check in ``proofs/checker/rows.py``;
    - ``contradiction`` sees that no clustering that counts makes some decisions. It may miss that:
      then the LP becomes infeasible once it has the rows, which proves as much;
    - ``start`` has first rows;
    - ``heuristics`` find clusterings;
    - ``relaxed`` and ``allows`` say that a solve without the restriction comes first.
    """

    restricted: bool = False
    """Whether only some clusterings count: then there is no presolve and no decomposition."""

    multicut: bool = True
    """Whether clusterings satisfy all cycle inequalities of the graph, so that bounds for all
    clusterings (dual ascent, packing) hold."""

    relaxed: Graph | None = None
    """An instance on the same nodes, of which every clustering counts, that is worth a solve of its
    own first: no clustering that counts costs less than its optimum, and that may count here."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.heuristics = Heuristics(graph)

    def refined(self, labels: IntArray) -> tuple[IntArray, BoolArray]:
        """A clustering that counts, no worse than the labels if these count; what it cuts."""
        return self.graph.refined(labels)

    def repaired(self, labels: IntArray) -> IntArray:
        """The labels if they count, else a clustering that does."""
        return self.refined(labels)[0] if self.restricted else labels

    def allows(self, labels: IntArray) -> bool:
        """Whether a clustering of ``relaxed`` counts, or one that cuts the same edges."""
        return True

    def start(self, clock: Clock) -> tuple[Rows, FloatArray]:
        """Rows that the LP begins with, and multipliers which prove a first bound."""
        return Rows.empty(), np.empty(0)

    def separators(
        self,
        weights: FloatArray,
        bounds: Callable[[], tuple[float, float]],
        pays: float,
        clock: Clock,
    ) -> list[Separator]:
        """What finds rows, asked one after another; exact for integral x.

        Parameters
        ----------
        weights : ndarray, shape (m,)
            Of the edges, with other signs where a node of the tree has decided otherwise.
        bounds : callable
            The lower and the upper bound as they are now.
        pays : float
            The share of their gap that rows must close which are not needed for integral x.
        clock : Clock
            Holds the deadline.
        """
        signed = Graph._trusted(self.graph.n, self.graph.edges, weights)
        engine = PackingEngine(signed, vertex_cover(signed, "greedy", clock))
        return [engine.separate, OddWheels(signed, pays, bounds)]

    def contradiction(self, kept: BoolArray, cut: BoolArray) -> Contradiction | None:
        """Why no clustering that counts keeps these edges and cuts those; None if not known."""
        graph = self.graph
        inside = cut & ~graph.cut(graph.components(kept))
        if not inside.any():
            return None
        u, v = graph.edges[np.argmax(inside)].tolist()
        return Contradiction(a_path(graph.edges[kept].tolist(), u, v), price(graph))


def price(graph: Graph) -> float:
    """A multiplier that makes a row which is violated by 1 worth more than any clustering."""
    return 2.0 * fsum(np.abs(graph.weights))
