"""Ctrl-C, wherever it hits and in whatever shape it comes out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

IGNORING = ("_xla_gc_callback", "__del__")
"""Functions that Python calls by itself, and whose exceptions it ignores: those of finalizers, and
the one of JAX that runs with every garbage collection."""

LATER = 0.01
"""Seconds until a signal that came at a bad moment comes again."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside the block no KeyboardInterrupt gets lost in a finalizer.

    Only in the main thread, and only where Python's own handler for SIGINT is in place: another one
    is the caller's business.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def comes_again(number: int, frame: FrameType | None) -> bool:
    """Whether an exception raised in this frame would be lost; then the signal comes again."""
    while frame is not None:
        if frame.f_code.co_name in IGNORING:
            again = threading.Timer(LATER, signal.raise_signal, (number,))
            again.daemon = True
            again.start()
            return True
        frame = frame.f_back
    return False


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an exception goes back to Ctrl-C.

    A compiled function that was running when Ctrl-C was pressed ends with a SystemError.

    Examples
    --------
    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(SystemError("a bug"))
    (True, False)
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _interrupt(number: int, frame: FrameType | None) -> None:
    if not comes_again(number, frame):
        raise KeyboardInterrupt
