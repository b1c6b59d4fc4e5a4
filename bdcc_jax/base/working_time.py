"""A time that stands still while loops are compiled, which happens once for a machine.

Limits are meant for the work itself: without this a first solve with a limit of ten seconds would
spend them in the compiler, and return nothing worth having.
"""

import inspect
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Stopwatch:
    def __init__(self) -> None:
        self.lock = Lock()
        self.compiling = 0  # in so many threads
        self.since = 0.0
        self.lost = 0.0  # seconds in which it stood still, before that


_watch = _Stopwatch()
os.register_at_fork(after_in_child=_watch.__init__)  # type: ignore[misc]  # a lock may be held


def working_time() -> float:
    """Seconds since some moment, without those in which any thread of this process compiles.

    Examples
    --------
    >>> with standing_still():
    ...     before = working_time()
    ...     time.sleep(0.01)
    ...     working_time() == before
    True
    """
    with _watch.lock:
        now = _watch.since if _watch.compiling else time.perf_counter()
        return now - _watch.lost


def compiling_time() -> float:
    """Seconds in which the working time has stood still so far."""
    with _watch.lock:
        more = time.perf_counter() - _watch.since if _watch.compiling else 0.0
        return _watch.lost + more


@contextmanager
def standing_still() -> Iterator[None]:
    """Inside the block something is compiled."""
    with _watch.lock:
        if _watch.compiling == 0:
            _watch.since = time.perf_counter()
        _watch.compiling += 1
    try:
        yield
    finally:
        with _watch.lock:
            _watch.compiling -= 1
            if _watch.compiling == 0:
                _watch.lost += time.perf_counter() - _watch.since


COUNTING = inspect.unwrap(standing_still).__code__
"""What must not be interrupted: time would stand still for ever."""
