"""Lines for people to watch: where nobody can, they are dropped, and the work goes on."""

import io
from contextlib import suppress
from typing import Any, TextIO


def show(line: str, stream: TextIO | None) -> None:
    """Print a line, unless its stream is missing (None), closed, full or read by nobody."""
    if stream is not None:
        with suppress(OSError, ValueError):  # the latter if Python has closed it
            print(line, file=stream, flush=True)


class Lenient:
    """A stream that drops what another one does not take; all else is as there."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = io.StringIO() if stream is None else stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        """Whether the other stream is a terminal."""
        return is_terminal(self._stream)

    def write(self, text: str) -> int:
        """Write, or drop it."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or do nothing."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is there, open and a terminal."""
    return stream is not None and not stream.closed and stream.isatty()
