"""Better clusterings on the way of Algorithm 1: guided by the LP, and by a search beside it."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.cover import Cover
from ..options import Options
from ..primal import first_turn, is_clustered_poorly, rounding
from ..primal.heuristics import Heuristics, Search
from .alongside import Alongside
from .bounds import Bounds
from .reporter import Reporter

GUIDED_WORK = 50_000
"""Local search is guided by an x whose LP has not converged after so much work an edge."""

LONGER_WORK = 0.02
"""Work of the LP for every arc of a longer search before its turn: both take about as long."""

IN_VAIN, LONGEST_PAUSE = 4.0, 8.0
"""After a turn that finds nothing the LP works for so many times as long before the next one, up to
so many times: the search never has less than a tenth of the time."""

FAR = 0.003
"""Where LPs leave so large a gap on dense graphs, the first turn is at once."""

FAR_SPARSE, VERY_FAR = 0.01, 0.04
"""Where they leave it on sparse graphs, as a share of what the user's instance costs, the first
turn is as soon as the LP has worked for as long as it takes, by when easy ones are solved; or at
once, with so large a gap: easy ones leave no more than half of that after their first LP."""

HARD_EDGES = 500
"""Instances with fewer edges are solved before that pays."""

SPARSE_TURN, SPARSE_WORK = 300, 4.0
"""Arcs for every edge that the first turn reads on sparse graphs, and work of HiGHS' LP for every
arc before it: again both take about as long."""


class Clusterings:
    """Where the upper bounds of one instance come from.

    Parameters
    ----------
    heuristics : Heuristics
        What finds clusterings of the instance.
    options : Options
        Which ways of rounding to use.
    bounds : Bounds
        Told of every clustering.
    cover : Cover
        The roots of the subproblems, which one way of rounding starts from.
    seed : int
        For the searches.
    clock : Clock
        Holds the deadline, and counts the work of the LP.
    reporter : Reporter
        Told of better clusterings while an LP takes long; knows what the user's instance costs.
    search : Search, optional
        A search that has begun, to go on with.
    """

    def __init__(
        self,
        heuristics: Heuristics,
        options: Options,
        bounds: Bounds,
        cover: Cover,
        *,
        seed: int,
        clock: Clock,
        reporter: Reporter,
        search: Search | None = None,
    ) -> None:
        self._heuristics, self._graph = heuristics, (graph := heuristics.graph)
        self._options, self._bounds, self._cover = options, bounds, cover
        self._seed, self._clock, self._reporter = seed, clock, reporter
        self._alongside: Alongside | None = None
        self._began_at = self._guided_at = clock.work
        self._search, self._fresh = search, True
        # Arcs that it reads when it is its turn; 0: not now.
        self._turn = first_turn(graph) if is_clustered_poorly(graph) else 0
        self._pause = LONGER_WORK  # work of the LP before that, for every arc
        self._next = clock.work + self._pause * self._turn

    @contextmanager
    def searching(self, wanted: bool, *, at_once: bool = False) -> Iterator[None]:
        """Inside the block another thread looks for better clusterings, if that is wanted."""
        if not wanted:
            yield
            return
        with Alongside(
            self._heuristics,
            self._bounds,
            self._clock,
            seed=self._seed + 1,  # local search has had its own
            tell=self._reporter.meanwhile,
            at_once=at_once,
        ) as self._alongside:
            yield
        self._alongside = None

    def round(self, x: FloatArray, converged: bool) -> None:
        """Make what can be made of a solution of the LP, and see what the search has found."""
        graph, bounds, clock = self._graph, self._bounds, self._clock
        heuristics = self._heuristics
        with clock.measure("rounding"):
            bounds.offer(heuristics.rounded(x))
            for name in self._options.rounding:
                if bounds.verdict:
                    return
                if name != "local":
                    labels = rounding.METHODS[name](graph, x, self._cover, clock)
                elif converged or self._may_be_guided():
                    self._began_at = self._guided_at = clock.work
                    labels = heuristics.guided(x, bounds.labels, clock)
                else:
                    continue
                bounds.offer(labels)
            if (self._fresh and self._is_hard()) or clock.work >= self._next:
                self._search_longer()
            beside = None if self._alongside is None else self._alongside.better()
            if beside is not None:
                bounds.offer(heuristics.fused(bounds.labels, beside, clock))

    def _is_hard(self) -> bool:
        """Whether the bounds are far apart; then a sparse graph is searched, too."""
        if self._graph.m < HARD_EDGES:
            return False
        gap = self._bounds.upper - self._bounds.lower
        if is_clustered_poorly(self._graph):
            return gap >= FAR * abs(self._bounds.upper)
        # Of all that is left of an easy instance most may be gap.
        share = self._reporter.share(gap)
        if share >= VERY_FAR:
            self._turn = first_turn(self._graph)
            return True
        turn = SPARSE_TURN * self._graph.m
        if share < FAR_SPARSE or self._clock.work - self._began_at < SPARSE_WORK * turn:
            return False
        self._turn = turn
        return True

    def search_longer(self) -> None:
        """The LP is over and leaves a gap: on a dense instance, search for longer."""
        with self._clock.measure("rounding"):
            self._search_longer()

    def search_before_branching(self) -> None:
        """What the LP leaves open is hard: sparse instances are searched for longer, too."""
        if self._fresh:
            self._turn = first_turn(self._graph)
            self.search_longer()

    def _search_longer(self) -> None:
        """A turn of the search; if it finds something, the next is twice as long."""
        bounds = self._bounds
        if self._turn == 0 or self._alongside is None or bounds.verdict:
            return
        if self._search is None:
            self._search = self._heuristics.search(bounds.labels, self._seed)
        search, before, self._fresh = self._search, bounds.upper, False
        search.offer(bounds.labels)
        with self._clock.alarm() as stop:
            end, found = search.work + self._turn, search.labels
            while search.work < end and not stop[0]:
                search.step(stop)
                if search.labels is not found:
                    found = search.labels
                    bounds.offer(found)
                    self._reporter.meanwhile(found)
        if bounds.upper < before:
            self._turn *= 2
        else:
            self._pause = min(IN_VAIN * self._pause, LONGEST_PAUSE * LONGER_WORK)
        self._next = self._clock.work + self._pause * self._turn

    def _may_be_guided(self) -> bool:
        """Whether the LP has worked for long enough that a search takes a small share of it."""
        return self._clock.work - self._guided_at >= GUIDED_WORK * self._graph.m
