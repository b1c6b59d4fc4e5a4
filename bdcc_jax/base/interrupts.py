"""Ctrl-C, wherever it hits and in whatever shape it comes out."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .compiled import load_compiler

LATER = 0.01
"""Seconds after which a signal whose exception got lost is sent again."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside the block, in the main thread, no KeyboardInterrupt gets lost.

    Where Python's own handler for SIGINT is in place, that is: another one is the caller's
    business. In any case no signal comes between numba and the tables that it loads first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if not load_compiler.cache_info().currsize:  # once: handlers are better left alone
        with deferred():
            load_compiler()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    with none_lost(lambda: come_again(signal.SIGINT)):
        yield


@contextmanager
def deferred() -> Iterator[None]:
    """Signals inside the block come at its end: for what must not be done by halves."""
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in before.items() if callable(handler)}
    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


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
