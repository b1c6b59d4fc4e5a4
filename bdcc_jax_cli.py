"""The command ``bdcc-jax``: outside of the package, whose import takes a second or two.

A signal in that time has nothing to save, and ends the process with one line.
"""

from __future__ import annotations

import os
import signal
from typing import Any


def main() -> int:
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    from bdcc_jax.cli import main as run

    return run()


def _leave(number: int, _: Any) -> None:
    os.write(2, b"bdcc-jax: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    raise SystemExit(main())
