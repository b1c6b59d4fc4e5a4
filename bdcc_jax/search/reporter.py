"""The one reporter of a solve: it numbers the rounds, fills in the bounds, and says when to stop.

Rounds happen on instances within instances: what presolve leaves, a piece of that, a region of the
piece. What is known of an inner instance is handed outwards, level by level, before the round is
reported with the bounds of the instance that the user gave.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from types import MappingProxyType
from typing import NamedTuple

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.records import Phase, Progress, Round, Status, Stop
from ..instance.graph import Graph
from ..separation.separation import Separation
from .bounds import Bounds
from .checkpoint import Checkpoint
from .terms import Terms

logger = logging.getLogger(__name__)

Callback = Callable[[Progress], bool | None]


class Reporter:
    """The history of one solve, and everyone who is told of it.

    Parameters
    ----------
    bounds : Bounds
        Of the instance that is solved.
    clock : Clock
        Since when it is.
    terms : Terms
        What its clusterings and bounds mean for the user, who is told of those.
    callback : callable, optional
        Sees every round; stops the solve by returning True.
    checkpoint : Checkpoint, optional
        Written every few seconds, and where the history begins.
    max_rounds : int, optional
        Stop after so many rounds.
    """

    def __init__(
        self,
        bounds: Bounds,
        clock: Clock,
        *,
        terms: Terms,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
        max_rounds: int | None = None,
    ) -> None:
        self._bounds, self._clock, self._terms = bounds, clock, terms
        self._callback, self._checkpoint = callback, checkpoint
        self._most = inf if max_rounds is None else max_rounds
        self.history: list[Round] = [] if checkpoint is None else checkpoint.history
        self._seconds_before = self.history[-1].seconds if self.history else 0.0
        self._phase: Phase = "lp"
        self._rounds = sum(record.phase in ("lp", "ilp") for record in self.history)
        self._shown = self._best_shown = inf  # what the last and the best that were told cost
        self._best = bounds.labels[:0]
        self._on_device = clock.device_calls, clock.device_seconds
        self._inner: list[_Level] = []

    def close(self) -> None:
        """Tell nobody any more; a callback may refer to whoever holds this reporter."""
        self._callback = self._checkpoint = None

    @contextmanager
    def inside(
        self,
        bounds: Bounds,
        hand_out: Callable[[], object],
        lift: Callable[[IntArray], IntArray] | None = None,
    ) -> Iterator[None]:
        """Rounds inside the block are those of an inner instance.

        ``bounds`` are its own, and ``hand_out`` tells the next level what is known of it: after
        every round, and however the block ends. ``lift`` makes a clustering of the next level of
        one of the inner instance, if that is worth anything there.
        """
        self._inner.append(_Level(bounds, hand_out, lift))
        try:
            yield
        finally:
            self._inner.pop()
            hand_out()

    def lp_is_over(self) -> None:
        """From here on rounds are counted as those of the ILP, also LPs of smaller instances."""
        self._phase = "ilp"

    @property
    def relative_gap(self) -> float:
        """Of the user's instance, by what was told."""
        return self.share(self._bounds.upper - self._bounds.lower)

    def share(self, gap: float) -> float:
        """A gap as a share of what the best clustering of the user's instance costs."""
        return gap / abs(self._bounds.upper) if self._bounds.upper else 0.0

    def stop_if_out_of_rounds(self) -> None:
        """Raise Stop if no more rounds are allowed."""
        if self._rounds >= self._most:
            raise Stop(Status.MAX_ROUNDS)

    def round(
        self,
        found: Separation,
        n_rows: int,
        spent: Mapping[str, float],
        slowest_root: float | None = None,
    ) -> None:
        """Report a round; raises Stop if it was the last one, of this instance or of an inner one.

        Parameters
        ----------
        found : Separation
            Which rows were added.
        n_rows : int
            How many rows the LP has with them.
        spent : mapping
            Where the time of this round went.
        slowest_root : float, optional
            Seconds for detection and subproblems with a processor for every root.
        """
        self._rounds += 1
        self._hand_out()
        self._record(
            self._phase,
            self._bounds.labels,
            spent,
            rows=n_rows,
            new_rows=len(found.rows),
            violated_roots=found.violated_roots,
            fallbacks=found.fallbacks,
            slowest_root_seconds=slowest_root,
        )
        self.stop_if_out_of_rounds()
        self._stop_if_met_inside()

    def small(self, spent: Mapping[str, float]) -> None:
        """Report small instances, all of them as one round; raises Stop like ``round``."""
        self._rounds += 1
        self._hand_out()
        self._record(self._phase, self._bounds.labels, spent)
        self.stop_if_out_of_rounds()
        self._stop_if_met_inside()

    def ascent(self, n_triangles: int, new: int, spent: Mapping[str, float]) -> None:
        """Report a round of dual ascent; raises Stop like ``round``, but for rounds."""
        self._hand_out()
        self._record("ascent", self._bounds.labels, spent, rows=n_triangles, new_rows=new)
        self._stop_if_met_inside()

    def start(self) -> None:
        """Report a clustering that was found before any LP, if it is the best so far."""
        if self._rounds == 0:
            self._hand_out()
            if self._bounds.upper < self._best_shown:
                self._record("start", self._bounds.labels)

    def meanwhile(self, labels: IntArray) -> None:
        """Report a clustering of the innermost instance while its LP runs, if it is the best.

        The bounds are not told: what comes next must not depend on how long the LP takes.
        """
        for level in reversed(self._inner):
            if level.lift is None:
                return
            labels = level.lift(labels)
        price = self._bounds.price(labels)
        if price < self._best_shown and price <= self._bounds.upper:
            self._record("search", labels)

    def _hand_out(self) -> None:
        for level in reversed(self._inner):
            level.hand_out()

    def _stop_if_met_inside(self) -> None:
        for level in self._inner:
            level.bounds.stop_if_met()

    def _record(
        self,
        phase: Phase,
        labels: IntArray,
        spent: Mapping[str, float] = MappingProxyType({}),
        *,
        rows: int = 0,
        new_rows: int = 0,
        violated_roots: int = 0,
        fallbacks: int = 0,
        slowest_root_seconds: float | None = None,
    ) -> None:
        """Write a record into the history, and tell everyone; raises Stop if that is the end."""
        bounds, terms = self._bounds, self._terms
        self._shown = bounds.price(labels)
        lifted = terms.lift(labels)
        upper = terms.cost(lifted, self._shown)
        calls, seconds = self._on_device
        self._on_device = self._clock.device_calls, self._clock.device_seconds
        record = Round(
            number=len(self.history) + 1,
            phase=phase,
            seconds=self._seconds_before + self._clock.elapsed,
            lower_bound=min(terms.lower_bound(bounds.lower), upper),
            upper_bound=upper,
            rows=rows,
            new_rows=new_rows,
            violated_roots=violated_roots,
            fallbacks=fallbacks,
            master_seconds=spent.get("master", 0.0) + spent.get("ascent", 0.0),
            detection_seconds=spent.get("detection", 0.0),
            subproblem_seconds=spent.get("subproblems", 0.0),
            rounding_seconds=spent.get("rounding", 0.0),
            slowest_root_seconds=slowest_root_seconds,
            device_calls=self._on_device[0] - calls,
            device_seconds=self._on_device[1] - seconds,
        )
        self.history.append(record)
        logger.debug("%s", record)
        if self._checkpoint is not None:
            self._checkpoint.write_if_due(bounds, self.history)
        progress = self._progress(record, labels, lifted)
        stopped = self._callback is not None and bool(self._callback(progress))
        if verdict := bounds.verdict:
            raise Stop(verdict)
        if stopped:
            raise Stop(Status.STOPPED)

    def _progress(self, record: Round, best: IntArray, lifted: IntArray) -> Progress:
        improved = best is not self._best and self._shown <= self._best_shown
        self._best, self._best_shown = best, min(self._shown, self._best_shown)
        labels = lifted.view()  # nobody changes them, only for better ones
        labels.flags.writeable = False
        return Progress(record, labels, improved)


class Unheard(Reporter):
    """The reporter of an instance that is solved in a thread: it tells nobody, and keeps nothing.

    Parameters
    ----------
    graph : Graph
        The instance.
    bounds, clock
        As for a reporter.
    """

    def __init__(self, graph: Graph, bounds: Bounds, clock: Clock) -> None:
        super().__init__(bounds, clock, terms=Terms(graph, graph, exponent=0, instead=None))

    def share(self, gap: float) -> float:
        """None: the LP of the user's instance has been solved, and left something small."""
        return 0.0

    def meanwhile(self, labels: IntArray) -> None:
        """Nobody is waiting for it."""

    def _record(
        self,
        phase: Phase,
        labels: IntArray,
        spent: Mapping[str, float] = MappingProxyType({}),
        **counts: object,
    ) -> None:
        """Only say when the bounds have met."""
        self._bounds.stop_if_met()


class _Level(NamedTuple):
    """An instance within another one."""

    bounds: Bounds
    hand_out: Callable[[], object]
    lift: Callable[[IntArray], IntArray] | None
