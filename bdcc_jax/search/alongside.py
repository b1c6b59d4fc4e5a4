"""A search for clusterings in a thread of its own, while the LP of the same instance is solved.

The search is a fixed sequence of steps. After every round of the LP, which counts its work, it is
asked what it had found after the share of work that was due in the round before, and is waited for
if it is not there yet: the answer, and all that follows from it, is the same in every run. Where it
is faster and the LP takes long it goes on beyond that. What it finds there is told to the user,
and is kept if time runs out, but it counts only once the LP has done its share of the work.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Thread
from types import TracebackType

import numpy as np

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.records import Status, Stop
from ..primal import is_clustered_poorly
from ..primal.heuristics import Heuristics, Search
from .bounds import Bounds

EASY, EASY_PER_EDGE, EASY_DENSE = 1e7, 400, 2e6
"""Instances whose LPs take no more work than this, some 0.2 s, or this for every edge, need no such
search; dense ones have the third, for there it gains the most."""

LARGE = 5_000_000
"""On instances with so many edges it begins at once: their LPs are out of reach for long."""

SHARE = 0.5
"""Work of the search that is waited for, as a share of what the LP does beyond that."""

MOST_ARCS = 20
"""Arcs for every edge that are waited for in a round, at most: the work of sparse LPs is guessed
far too high, and a round must not take much longer than without the search."""

ARCS = 8
"""Arcs that the search reads in the time of a unit of the clock's work."""

FREE_WAIT, FREE_WORK = 2, 2
"""The search goes on beyond its share once HiGHS has been waited for so many tenths of a second, or
the LP has taken so many times the work of an easy one: before that it would gain too little."""

PATIENCE = 0.05
"""Seconds between two looks at the clock while the search is waited for, or waits itself."""


class Alongside:
    """What the main thread sees of the search: a context in which it may run.

    Parameters
    ----------
    heuristics : Heuristics
        Of the instance; they have the search.
    bounds : Bounds
        What is known about it: where the search starts, and who is told of what it finds.
    clock : Clock
        Holds the deadline, and counts the work of the LP.
    seed : int
        Of the search.
    tell : callable
        Told of better clusterings while HiGHS is waited for.
    at_once : bool
        Begin without waiting for the LP to be hard.
    """

    def __init__(
        self,
        heuristics: Heuristics,
        bounds: Bounds,
        clock: Clock,
        *,
        seed: int,
        tell: Callable[[IntArray], None],
        at_once: bool = False,
    ) -> None:
        self._heuristics, self._graph = heuristics, (graph := heuristics.graph)
        self._bounds, self._clock = bounds, clock
        self._seed, self._tell = seed, tell
        easy = max(EASY, EASY_PER_EDGE * graph.m)
        if is_clustered_poorly(graph):
            easy = EASY_DENSE
        self._long_at = clock.work + FREE_WORK * easy
        self._last = clock.work + easy  # of the LP's work, what has had its share
        self._waited, self._free = 0, False
        self._at_once = at_once or graph.m >= LARGE
        self._due = 0.0  # work of the search that the next round waits for
        self._start = bounds.labels
        self._thread: Thread | None = None
        self._changed = Condition()
        self._stop = np.zeros(1, dtype=np.bool_)
        self._done = 0  # work, by all steps that are finished
        self._found: list[tuple[int, IntArray]] = []  # and the work done before that step
        self._told: IntArray | None = None
        self._error: Exception | None = None

    def __enter__(self) -> Alongside:
        self._before = self._clock.while_waiting
        self._clock.while_waiting = self._while_waiting
        if self._at_once:
            self._set_free()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Stop the search; where time, and not the method, ended the solve, take all it has."""
        self._clock.while_waiting = self._before
        with self._changed:
            self._stop[0] = True
            self._changed.notify_all()
        if self._thread is not None and self._thread.is_alive():  # else Ctrl-C was there first
            self._thread.join()
        cut_short = isinstance(error, KeyboardInterrupt | SystemError) or (
            isinstance(error, Stop) and error.status in (Status.TIME_LIMIT, Status.STOPPED)
        )
        if cut_short and self._found:
            self._bounds.offer(self._found[-1][1])

    def better(self) -> IntArray | None:
        """What the search has to have found by now, if that is new; lets it go on."""
        with self._changed:
            work, self._due = self._due, self._due + self._share()
            self._changed.notify_all()
        if self._due > 0.0:
            self._begin_search()
        if self._clock.work >= self._long_at and not self._free:
            self._set_free()
        if work == 0.0 or self._thread is None:
            return None
        self._tell_newest()
        with self._changed:
            while self._error is None and self._done < work:
                self._changed.wait(PATIENCE)
                self._clock.check()
            if self._error is not None:
                raise self._error
            due = [labels for before, labels in self._found if before < work]
            self._found = [(before, labels) for before, labels in self._found if before >= work]
        return due[-1] if due else None

    def _share(self) -> float:
        """Arcs that the search may read for what the LP has done since the last round."""
        done = max(0.0, self._clock.work - self._last)
        self._last = max(self._last, self._clock.work)
        return min(ARCS * SHARE * done, MOST_ARCS * self._graph.m)

    def _begin_search(self) -> None:
        if self._thread is None and self._graph.m > 0:
            # Not from what is the best now: when the search begins may depend on the machine.
            search = self._heuristics.search(self._start, self._seed)
            self._thread = Thread(target=self._run, args=(search,), daemon=True)
            self._thread.start()

    def _while_waiting(self) -> None:
        """A tenth of a second has passed in which HiGHS was waited for."""
        self._waited += 1
        if self._waited == FREE_WAIT:
            self._set_free()
        self._tell_newest()

    def _set_free(self) -> None:
        """From here on the search does not wait for its share."""
        with self._changed:
            self._free = True
            self._changed.notify_all()
        self._begin_search()

    def _tell_newest(self) -> None:
        if self._found and self._found[-1][1] is not self._told:
            self._told = self._found[-1][1]
            self._tell(self._told)

    def _may_go_on(self) -> bool:
        """Wait until the search is due, or free to go on; False if it is over."""
        with self._changed:
            while not self._stop[0] and not self._done < self._due:
                if self._free and not self._clock.crowded:
                    break
                self._changed.wait(PATIENCE)
        return not self._stop[0]

    def _run(self, search: Search) -> None:
        try:
            while self._may_go_on():
                before, best = search.work, search.labels
                search.step(self._stop)
                with self._changed:
                    self._done = search.work
                    if search.labels is not best:
                        self._found.append((before, search.labels))
                    self._changed.notify_all()
        except Exception as error:  # told to the main thread
            with self._changed:
                self._error = error
                self._changed.notify_all()
