"""Lifted multicut: clusters are connected by ordinary edges, lifted ones only have a weight.

All clusterings that count are clusterings of the graph with all edges. So what is valid for those
holds: cycle inequalities over edges of both kinds (the path inequalities of Hornakova et al., 2017,
among them), odd wheels, dual ascent. Their cut inequalities say that clusters are connected.
"""

from collections.abc import Callable

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..base.clock import Clock
from ..instance.graph import Graph
from ..primal.heuristics import LiftedHeuristics
from ..proofs.branching_proof import Contradiction
from ..separation.connecting_cuts import ConnectingCuts
from ..separation.nearly_cut import NearlyCut
from .cutting_planes import Separator
from .problem import Problem, price


class Lifted(Problem):
    """Only clusterings count whose clusters are connected by ordinary edges.

    ``refined``, of the graph, splits clusters that are not.
    """

    restricted = True

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        assert graph.lifted is not None
        self._ordinary = ~graph.lifted
        self.heuristics = LiftedHeuristics(graph)
        self._all_cycles, self._cuts = NearlyCut(graph), ConnectingCuts(graph)

    def separators(
        self,
        weights: FloatArray,
        bounds: Callable[[], tuple[float, float]],
        pays: float,
        clock: Clock,
    ) -> list[Separator]:
        """Cycles as ever, cycles whatever their weights, cuts, and odd wheels."""
        cycles, wheels = super().separators(weights, bounds, pays, clock)
        return [cycles, self._all_cycles, self._cuts, wheels]

    def contradiction(self, kept: BoolArray, cut: BoolArray) -> Contradiction | None:
        """A path of kept edges beside one that is cut, or a cut around an end of a kept one."""
        if (cycle := super().contradiction(kept, cut)) is not None:
            return cycle
        graph = self.graph
        part = graph.components(self._ordinary & ~cut)
        apart = kept & graph.cut(part)
        if not apart.any():
            return None
        v, w = graph.edges[np.argmax(apart)].tolist()
        if (part == part[v]).sum() > (part == part[w]).sum():
            v, w = w, v
        side = np.flatnonzero(part == part[v])
        return Contradiction([v, w, *side[side != v].tolist()], price(graph), "cut")
