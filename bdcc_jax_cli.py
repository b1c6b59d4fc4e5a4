"""The command ``bdcc-jax``: outside of the package, whose import takes a second or two.

A signal in that time has nothing to save, and ends the process with one line.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

INTERRUPTED = 128
"""As shells have it, exit codes are this plus the number of the signal."""


def main() -> int:
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    from bdcc_jax.cli import main as run

    code = run()
    if code > INTERRUPTED:
        # A computation may still be under way in another thread; taking that down could crash.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _leave(number: int, _: Any) -> None:
    os.write(2, b"bdcc-jax: interrupted\n")
    os._exit(INTERRUPTED + number)


if __name__ == "__main__":
    raise SystemExit(main())
