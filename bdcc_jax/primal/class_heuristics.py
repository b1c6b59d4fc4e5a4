"""What finds clusterings with classes: :mod:`~bdcc_jax.primal.classified` for a search."""

from collections.abc import Callable

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..instance.classes import costs_of_clusters
from ..instance.contraction import sum_parallel
from ..instance.graph import Graph
from ..instance.terminals import TerminalGraph
from .classified import classified_search, cost, joined, moved
from .greedy_additive import greedy_additive
from .heuristics import Heuristics, Search

NOISE = 0.6
"""Proposals add noise to weights and costs, of a deviation of up to this many mean values."""

LEAST_STEPS, PAYS = 4, 1e-4
"""Before the LP there are so many proposals, and more as long as one gains this share."""

STEP_WORK = 60
"""A step of the search takes about as long as reading so many arcs for every variable."""


class ClassHeuristics(Heuristics):
    """Of an instance whose clusters have classes; labels are those of all nodes and classes."""

    graph: TerminalGraph

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
        """Greedy contraction, moves, local search within the classes, and fusions with noise."""
        graph = self.graph
        labels = classified_search(graph.ordinary, graph.class_costs, seed=seed, clock=clock)
        tell(graph.extended(labels))
        search = ClassSearch(graph, graph.extended(labels), seed)
        with clock.alarm() as stop:
            for done in range(rounds):
                before = search.cost
                if stop[0] or clock.remaining == 0.0:
                    break
                search.step(stop)
                if done + 1 >= LEAST_STEPS and before - search.cost <= PAYS * abs(search.cost):
                    break
        return search.labels

    def contracted(self, weights: FloatArray, clock: Clock) -> IntArray:
        """Greedy contraction of other weights of the variables."""
        graph, plain = self.graph, self.graph.ordinary
        guide = Graph._trusted(plain.n, plain.edges, weights[: plain.m])
        costs = np.where(graph.column >= 0, weights[graph.column], np.inf)
        return graph.extended(joined(guide, costs, np.arange(plain.n)))

    def rounded(self, x: FloatArray) -> IntArray:
        """Nodes of one class that edges join which x keeps."""
        plain = self.graph.ordinary
        kept = (x[: plain.m] < 0.5) & self._same_class(x)
        return self.graph.extended(plain.components(kept))

    def guided(self, x: FloatArray, known: IntArray, clock: Clock) -> IntArray:
        """Classes as x has them, greedy contraction guided by x within them; fused."""
        graph, plain = self.graph, self.graph.ordinary
        same, cut = self._same_class(x), x[: plain.m]
        inner = Graph._trusted(plain.n, plain.edges[same], plain.weights[same])
        guide = inner.weights * np.where(inner.positive, 1.0 - cut[same], cut[same])
        labels = greedy_additive(inner, guide, clock=clock)
        return self.fused(known, graph.extended(labels), clock)

    def fused(self, first: IntArray, second: IntArray, clock: Clock) -> IntArray:
        """The better of the two on what they leave open, and better still."""
        return self.graph.extended(fuse(self.graph, first, second, clock))

    def search(self, labels: IntArray, seed: int) -> Search:
        """Fusion with greedy clusterings of weights and costs with noise, again and again."""
        return ClassSearch(self.graph, labels, seed)

    def _same_class(self, x: FloatArray) -> BoolArray:
        graph = self.graph
        classes = np.where(graph.column >= 0, x[graph.column], -1.0).argmax(axis=1)
        u, v = graph.ordinary.edges.T
        same: BoolArray = classes[u] == classes[v]
        return same


def fuse(graph: TerminalGraph, first: IntArray, second: IntArray, clock: Clock) -> IntArray:
    """Keep together what two clusterings agree on, and cluster the rest anew; plain labels."""
    plain, costs = graph.ordinary, graph.class_costs
    a, b = (canonical_labels(labels[: plain.n]) for labels in (first, second))
    blocks = plain.components(~plain.cut(a) & ~plain.cut(b))
    u, v = blocks[plain.edges.T]
    small, _ = sum_parallel(int(blocks.max()) + 1, u, v, plain.weights)
    sums = costs_of_clusters(costs, blocks)
    _, member = np.unique(blocks, return_index=True)
    start = min((a[member], b[member]), key=lambda labels: cost(small, sums, labels))
    return canonical_labels(classified_search(small, sums, start, clock=clock)[blocks])


class ClassSearch:
    """A clustering with classes that gets better the longer one works on it."""

    def __init__(self, graph: TerminalGraph, labels: IntArray, seed: int) -> None:
        self._graph, self._random = graph, np.random.default_rng(seed)
        self.labels = graph.extended(canonical_labels(labels[: graph.ordinary.n]))
        self.cost = graph.objective(self.labels)
        self.work = 0

    def step(self, stop: BoolArray) -> None:
        """Fuse the best with a greedy clustering of weights and costs with noise."""
        graph, plain, rng = self._graph, self._graph.ordinary, self._random
        self.work += STEP_WORK * graph.m
        share = NOISE * rng.random()
        weights = plain.weights + rng.normal(0.0, share * _mean(plain.weights), plain.m)
        costs = graph.class_costs
        costs = costs + rng.normal(0.0, share * _mean(costs), costs.shape)
        noisy = Graph._trusted(plain.n, plain.edges, weights)
        proposal = moved(noisy, costs, joined(noisy, costs, np.arange(plain.n)))
        if stop[0]:
            return
        self.offer(graph.extended(fuse(graph, self.labels, proposal, Clock(None))))

    def run(self, work: float, stop: BoolArray | None = None) -> None:
        """Go on until so much has been done in all."""
        stop = np.zeros(1, dtype=np.bool_) if stop is None else stop
        while self.work < work and not stop[0]:
            self.step(stop)

    def offer(self, labels: IntArray) -> None:
        """Take a clustering for the best if it is better."""
        now = self._graph.objective(labels)
        if now < self.cost:
            self.labels, self.cost = labels, now


def _mean(values: FloatArray) -> float:
    sizes = np.abs(values[np.isfinite(values)])
    return float(sizes.mean()) if len(sizes) else 0.0
