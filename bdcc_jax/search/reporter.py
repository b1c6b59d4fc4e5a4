"""The one reporter of a solve: it numbers the rounds, fills in the bounds, and says when to stop.

Rounds happen on instances within instances: what presolve leaves, a piece of that, a region of the
piece. What is known of an inner instance is handed outwards, level by level, before the round is
reported with the bounds of the instance that the user gave.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf

from ..base.clock import Clock
from ..base.records import Phase, Progress, Round, Status, Stop
from ..separation.separation import Separation
from .bounds import Bounds
from .checkpoint import Checkpoint
from .scaling import Units

logger = logging.getLogger(__name__)

ONE = Units()
"""What most instances are solved in."""

Callback = Callable[[Progress], bool | None]


class Reporter:
    """The history of one solve, and everyone who is told of it.

    Parameters
    ----------
    bounds : Bounds
        Of the instance that is solved.
    clock : Clock
        Since when it is.
    units : Units
        What its weights are multiples of; rounds are told in units of 1.
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
        units: Units = ONE,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
        max_rounds: int | None = None,
    ) -> None:
        self._bounds, self._clock, self._units = bounds, clock, units
        self._callback, self._checkpoint = callback, checkpoint
        self._most = inf if max_rounds is None else max_rounds
        self.history: list[Round] = [] if checkpoint is None else checkpoint.history
        self._seconds_before = self.history[-1].seconds if self.history else 0.0
        self._phase: Phase = "lp"
        self._n_rounds = sum(record.phase != "ascent" for record in self.history)
        self._best = bounds.labels[:0]
        self._on_device = clock.device_calls, clock.device_seconds
        self._inner: list[tuple[Bounds, Callable[[], object]]] = []

    def close(self) -> None:
        """Tell nobody any more; a callback may refer to whoever holds this reporter."""
        self._callback = self._checkpoint = None

    @contextmanager
    def inside(self, bounds: Bounds, hand_out: Callable[[], object]) -> Iterator[None]:
        """Rounds inside the block are those of an inner instance.

        ``bounds`` are its own, and ``hand_out`` tells the next level what is known of it: after
        every round, and however the block ends.
        """
        self._inner.append((bounds, hand_out))
        try:
            yield
        finally:
            self._inner.pop()
            hand_out()

    def lp_is_over(self) -> None:
        """From here on rounds are counted as those of the ILP, also LPs of smaller instances."""
        self._phase = "ilp"

    def stop_if_out_of_rounds(self) -> None:
        """Raise Stop if no more rounds are allowed."""
        if self._n_rounds >= self._most:
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
        self._n_rounds += 1
        self._report(
            self._phase,
            spent,
            rows=n_rows,
            new_rows=len(found.rows),
            violated_roots=found.violated_roots,
            fallbacks=found.fallbacks,
            slowest_root_seconds=slowest_root,
        )

    def ascent(self, n_triangles: int, new: int, spent: Mapping[str, float]) -> None:
        """Report a round of dual ascent; raises Stop if bounds have met."""
        self._report("ascent", spent, rows=n_triangles, new_rows=new)

    def _report(
        self,
        phase: Phase,
        spent: Mapping[str, float],
        *,
        rows: int,
        new_rows: int,
        violated_roots: int = 0,
        fallbacks: int = 0,
        slowest_root_seconds: float | None = None,
    ) -> None:
        for _, hand_out in reversed(self._inner):
            hand_out()
        bounds, units = self._bounds, self._units
        calls, seconds = self._on_device
        self._on_device = self._clock.device_calls, self._clock.device_seconds
        record = Round(
            number=len(self.history) + 1,
            phase=phase,
            seconds=self._seconds_before + self._clock.elapsed,
            lower_bound=units.below(bounds.lower),
            upper_bound=units.of_cost(bounds.upper),
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
        stopped = self._callback is not None and bool(self._callback(self._progress(record)))
        if verdict := bounds.verdict:
            raise Stop(verdict)
        if stopped:
            raise Stop(Status.STOPPED)
        self.stop_if_out_of_rounds()
        for inner, _ in self._inner:
            if verdict := inner.verdict:
                raise Stop(verdict)

    def _progress(self, record: Round) -> Progress:
        improved, self._best = self._bounds.labels is not self._best, self._bounds.labels
        labels = self._best.view()  # nobody changes them, only for better ones
        labels.flags.writeable = False
        return Progress(record, labels, improved)
