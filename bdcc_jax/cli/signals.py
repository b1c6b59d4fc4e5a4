"""SIGINT and SIGTERM: the first ends the work, so that what was found is written, the second all.

Handlers are of the command line alone: a library must leave those of its caller as they are.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from ..base.interrupts import come_again, none_lost

Outcome = TypeVar("Outcome")

NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """The first signal raises KeyboardInterrupt, once and not where that would do harm."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._shielded = False

    @contextmanager
    def minded(self) -> Iterator[None]:
        """Handle signals inside the block; those that the caller ignores stay ignored."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in NUMBERS}
        self.received, self._shielded = None, False
        try:
            for number, handler in before.items():
                if handler is not signal.SIG_IGN:
                    signal.signal(number, self._handle)
            with none_lost(self._again):
                yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def last(self, work: Callable[[], Outcome]) -> Outcome:
        """Do the last thing that a signal may end: from then on it is only taken note of.

        The work must return what it has when it is interrupted. Results are written next, and a
        signal between these two must not take them away.
        """
        kept: list[Outcome] = []
        try:
            kept.append(work())
            self._shield()
        except KeyboardInterrupt:  # of which there is only one
            if not kept:
                raise
        return kept[0]

    def _shield(self) -> None:
        self._shielded = True

    def stop(self, _: Any = None) -> bool:
        """Whether there was a signal: a callback for a solve, should its exception get lost."""
        return self.received is not None

    @property
    def exit_code(self) -> int | None:
        """As shells have it: 130 after SIGINT, 143 after SIGTERM; None after neither."""
        return None if self.received is None else 128 + self.received

    def _again(self) -> None:
        if self.received is not None:
            number, self.received = self.received, None
            come_again(number)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.received is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.received = number
        if not self._shielded:
            raise KeyboardInterrupt


SIGNALS = Signals()
