"""The command ``bdcc-jax``: outside of the package, whose import takes a second or two.

A signal in that time has nothing to save, and ends the process with one line.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

INTERRUPTED = 128
"""As shells have it, exit codes are this plus the number of the signal."""


def main() -> int:
    """Run the command line."""
    _open_streams()
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _leave)
        start = time.perf_counter()
        from bdcc_jax.cli import main as run

        code = run(loading=time.perf_counter() - start)
    finally:  # argparse leaves by an exception
        _close_streams()
    if code > INTERRUPTED:
        # A computation may still be under way in another thread; taking that down could crash.
        os._exit(code)
    return code


def _open_streams() -> None:
    """Give the process the streams that it was started without, or files would get their numbers.

    What the solver itself opens and prints would mix.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _close_streams() -> None:
    """Let nothing be left that Python, when it ends, would fail to write and complain about."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _leave(number: int, _: Any) -> None:
    with suppress(OSError):
        os.write(2, b"bdcc-jax: interrupted\n")
    os._exit(INTERRUPTED + number)


if __name__ == "__main__":
    raise SystemExit(main())
