"""What finds clusterings with a given number of clusters: those of any number, then repaired."""

from collections.abc import Callable

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..instance.graph import Graph
from ..separation.counts import shortest_forest
from .counted import counted
from .heuristics import Heuristics, Search

STEP_ROUNDS, STEP_WORK = 5, 100
"""A step of the search begins anew so often, and takes about as long as reading so many arcs for
every edge."""


class CountHeuristics(Heuristics):
    """Of an instance of which only clusterings with ``least`` to ``most`` clusters count."""

    def __init__(self, graph: Graph, least: int, most: int) -> None:
        super().__init__(graph)
        self.least, self.most = least, most

    def first(
        self,
        *,
        rounds: int,
        polish: bool,
        seed: int,
        clock: Clock,
        tell: Callable[[IntArray], None],
        keep: Callable[[Search], None] | None = None,
    ) -> IntArray:
        """The best clustering of any number that is found, made to count."""
        labels = super().first(rounds=rounds, polish=polish, seed=seed, clock=clock, tell=tell)
        return counted(self.graph, labels, self.least, self.most, seed=seed, clock=clock)

    def guided(self, x: FloatArray, known: IntArray, clock: Clock) -> IntArray:
        """What x suggests: apart what a shortest forest has the longest edges between."""
        graph = self.graph
        forest = shortest_forest(graph, x, -graph.weights)
        longest = np.argsort(-x[forest], kind="stable")
        kept = np.zeros(graph.m, dtype=bool)
        cut = max(0, self.least - (graph.n - len(forest)))
        over = int((x[forest] > 0.5).sum())
        kept[forest[longest[max(cut, over) :]]] = True
        labels = counted(graph, graph.components(kept), self.least, self.most, rounds=2)
        return min((known, labels), key=graph.objective)

    def fused(self, first: IntArray, second: IntArray, clock: Clock) -> IntArray:
        """The better one: what two clusterings agree on need not count."""
        return min((first, second), key=self.graph.objective)

    def search(self, labels: IntArray, seed: int) -> Search:
        """Begin anew from a clustering a little off the best, again and again."""
        return CountSearch(self, labels, seed)


class CountSearch:
    """A clustering with a given number of clusters that gets better the longer one works on it."""

    def __init__(self, of: CountHeuristics, labels: IntArray, seed: int) -> None:
        self._graph, self._least, self._most, self._seed = of.graph, of.least, of.most, seed
        self.labels, self.work = canonical_labels(labels), 0
        self._cost = self._graph.objective(self.labels)

    def step(self, stop: BoolArray) -> None:
        """A few beginnings."""
        self.work += STEP_ROUNDS * STEP_WORK * (self._graph.m + 1)
        self._seed += 1
        limits = (self._least, self._most)
        self.offer(counted(self._graph, self.labels, *limits, rounds=STEP_ROUNDS, seed=self._seed))

    def run(self, work: float, stop: BoolArray | None = None) -> None:
        """Go on until so much has been done in all."""
        stop = np.zeros(1, dtype=np.bool_) if stop is None else stop
        while self.work < work and not stop[0]:
            self.step(stop)

    def offer(self, labels: IntArray) -> None:
        """Take a clustering for the best if it is better; it must count."""
        if (now := self._graph.objective(labels)) < self._cost:
            self.labels, self._cost = labels, now
