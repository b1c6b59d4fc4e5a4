"""Signals at every moment: whatever function of the package is being entered."""

import _thread
import signal
import sys

import numpy as np

from bdcc_jax.search.arguments import check_arguments


class Pending(int):
    """A signal that is on its way once ``send`` is read.

    Python looks for signals after calls. This is none: what is interrupted is the code that is
    traced, and not the function that traces it.
    """

    send = property(_thread.interrupt_main)


class At:
    """Send a signal when the k-th function of the package is entered, once a solve has begun.

    It begins when its arguments have been checked. ``count`` is how many functions there were.
    """

    def __init__(self, k, number=signal.SIGINT):
        self.k, self.signal, self.count, self.begun = k, Pending(number), 0, False

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def trace(self, frame, event, _):
        if not frame.f_globals.get("__name__", "").startswith("bdcc_jax"):
            return None
        if frame.f_code is check_arguments.__code__:
            return self.wait_for_the_end
        if self.begun:
            self.count += 1
            if self.count == self.k:
                sys.settrace(None)
                self.signal.send  # noqa: B018
        return None

    def wait_for_the_end(self, frame, event, _):
        self.begun = self.begun or event == "return"
        return self.wait_for_the_end


def moments(run, most=60):
    """Numbers of functions to interrupt: the first ones, the last ones, and some in between."""
    run()  # what is loaded at first use calls functions that are called no more
    with At(-1) as every:
        run()
    last = every.count
    spread = np.linspace(1, last, most).astype(int).tolist()
    return sorted({*range(1, min(15, last + 1)), *spread, *range(max(1, last - 15), last + 1)})


AT_THE_END = 5
"""A signal that comes as so many functions are left may come out when all is over."""
