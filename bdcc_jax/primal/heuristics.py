"""What finds clusterings of an instance without a proof: one object that a search is handed."""

from collections.abc import Callable
from typing import Protocol

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.clock import Clock
from ..instance.graph import Graph
from .evolution import Evolution
from .fusion import fuse
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin
from .local_search import fusions, local_search
from .lp_guided import lp_guided
from .rounding import threshold


class Search(Protocol):
    """A search that goes on and on, step by step; ``work`` counts the arcs that it has read."""

    labels: IntArray
    work: int

    def step(self, stop: BoolArray) -> None:
        """The smallest amount of work; ends soon once another thread has set ``stop[0]``."""

    def run(self, work: float, stop: BoolArray | None = None) -> None:
        """Go on until so much has been done in all."""

    def offer(self, labels: IntArray) -> None:
        """Take a clustering for the best if it is better."""


class Heuristics:
    """Of an instance of which all clusterings count.

    Subclasses are for instances of which only some do. What these return need not count: whoever
    takes it repairs it; but a heuristic that knows better finds better ones.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

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
        """A clustering from the weights alone; with polish also what takes a little longer.

        ``keep`` is given the search, to go on with, if the graph is one where that pays.
        """
        search = local_search if polish else fusions
        return search(self.graph, rounds=rounds, seed=seed, clock=clock, tell=tell, keep=keep)

    def contracted(self, weights: FloatArray, clock: Clock) -> IntArray:
        """A greedy clustering that is guided by other weights of the same edges."""
        return greedy_additive(self.graph, weights, clock=clock)

    def rounded(self, x: FloatArray) -> IntArray:
        """The clustering that x is, if it is one that counts; else any."""
        return threshold(self.graph, x)

    def guided(self, x: FloatArray, known: IntArray, clock: Clock) -> IntArray:
        """A clustering that a solution of the LP suggests, fused with a known one."""
        return lp_guided(self.graph, x, known, clock=clock)

    def fused(self, first: IntArray, second: IntArray, clock: Clock) -> IntArray:
        """A clustering that is at least as good as either."""
        return fuse(self.graph, first, second, clock=clock)

    def search(self, labels: IntArray, seed: int) -> Search:
        """A search that starts from a clustering and goes on."""
        return Evolution(self.graph, labels, seed=seed)


class LiftedHeuristics(Heuristics):
    """Of an instance with lifted edges, in which clusters have to be connected.

    What the others are made of, contraction, Kernighan-Lin and fusion, knows of that.
    """

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
        """Greedy, Kernighan-Lin, and then fusions: greedy clusterings alone are poor here."""
        labels = greedy_additive(self.graph, clock=clock)
        tell(labels)
        labels = kernighan_lin(self.graph, labels, clock=clock)
        tell(labels)
        return local_search(
            self.graph, labels, rounds=rounds, seed=seed, clock=clock, tell=tell, keep=keep
        )
