"""Ctrl-C, wherever it hits and in whatever shape it comes out."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

from .interpreted import AS_PYTHON
from .working_time import COUNTING

LATER = 0.01
"""Seconds after which a signal whose exception got lost is sent again."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside the block, in the main thread, no KeyboardInterrupt gets lost or does harm."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pythons_own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = none_lost(lambda: come_again(signal.SIGINT)) if pythons_own else nullcontext()
    with _outside_numba(signal.SIGINT), _outside_numba(signal.SIGTERM), again:
        yield


@contextmanager
def _outside_numba(number: signal.Signals) -> Iterator[None]:
    """Signals inside the block come a moment later where numba is at work.

    Python runs their handlers where it next runs Python. After compiled code that is a function of
    numba which makes objects of its results: these are then missing, and the caller, which is
    machine code, does not look. A NamedTuple without its class ends the process. Tables that numba
    has loaded by halves end in errors at the next function.
    """
    before = signal.getsignal(number)
    if not callable(before):  # ignored, or the end of the process
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if _in_numba(frame):
            come_again(number)
        else:
            before(number, frame)

    signal.signal(number, handle)
    try:
        yield
    finally:
        if signal.getsignal(number) is handle:
            signal.signal(number, before)


def _in_numba(frame: FrameType | None) -> bool:
    """Whether we wait for a function of numba, for a NamedTuple that it makes, or for a loop.

    Loops that run as Python leave their arrays as half-made as those of machine code would be. Nor
    must the count of those who compile be left half-made.
    """
    nearest = ""
    while frame is not None:
        if frame.f_code is AS_PYTHON or frame.f_code is COUNTING:
            return True
        name = frame.f_globals.get("__name__", "")
        if not nearest and name.startswith(("numba.", "namedtuple_", "bdcc_jax.")):
            nearest = name
        frame = frame.f_back
    return bool(nearest) and not nearest.startswith("bdcc_jax.")


@contextmanager
def none_lost(lost: Callable[[], None]) -> Iterator[None]:
    """Call ``lost`` for every KeyboardInterrupt that Python would print and forget.

    It does so with all exceptions of functions that it calls by itself: finalizers, and callbacks
    of the garbage collector, of which JAX has one.
    """
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            lost()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def come_again(number: int) -> None:
    """Send this process a signal in a moment."""
    again = threading.Timer(LATER, signal.raise_signal, (number,))
    again.daemon = True
    again.start()


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an exception goes back to Ctrl-C.

    A compiled function that was running when Ctrl-C was pressed ends with a SystemError.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
