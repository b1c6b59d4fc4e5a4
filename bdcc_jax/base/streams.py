"""Lines for people to watch: where nobody can, they are dropped, and the work goes on."""

import io
from contextlib import suppress
from typing import TextIO


def show(line: str, stream: TextIO | None) -> None:
    """Print a line, unless its stream is missing (None), closed, full or read by nobody."""
    if stream is not None:
        with suppress(OSError, ValueError):  # the latter if Python has closed it
            print(line, file=stream, flush=True)


class Lenient(io.TextIOBase):
    """A stream that drops what another one does not take."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the other stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Whether the other stream is a terminal."""
        return is_terminal(self._stream)

    def fileno(self) -> int:
        """That of the other stream."""
        if self._stream is None:
            raise io.UnsupportedOperation("there is no stream")
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Write, or drop it."""
        if self._stream is not None:
            with suppress(OSError, ValueError):
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or do nothing."""
        if self._stream is not None:
            with suppress(OSError, ValueError):
                self._stream.flush()


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is there, open and a terminal."""
    return stream is not None and not stream.closed and stream.isatty()
