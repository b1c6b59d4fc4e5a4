"""What the subcommands share: errors in one line, exit codes, argument types."""

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ..base.records import message_of
from ..base.streams import show
from ..result import Result, Status

BAD_INPUT, INTERRUPTED = 2, 130

NOTICED = 0.1
"""Summaries mention what came before the solve if it took at least so many seconds."""


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Leave with the exit code for bad input."""
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


@contextmanager
def bad_input() -> Iterator[None]:
    """Turn what the user can mend into one line; anything else is a bug and keeps its traceback."""
    try:
        yield
    except (ValueError, OSError, ImportError, MemoryError) as error:
        complain(message_of(error))
        raise SystemExit(BAD_INPUT) from None


@contextmanager
def warnings_as_lines(about: str = "") -> Iterator[None]:
    """Turn warnings into lines on standard error, as they come."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: complain(f"{about}{message}")
        yield


def complain(message: str) -> None:
    """Say in one line on standard error, if there is one, what is wrong."""
    show(f"bdcc-jax: {' '.join(message.split())}", sys.stderr)


def say(text: str) -> None:
    """Print what was asked for to standard output.

    A reader that has gone, such as ``head``, has seen enough; a disk that is full is an error.
    """
    try:
        # Where the process was started without the stream it is None, and print does nothing.
        print(text, flush=True)
    except BrokenPipeError:
        pass
    except OSError as error:
        complain(f"standard output: {error.strerror or error}")
        raise SystemExit(BAD_INPUT) from None


def before_line(loading: float, compiling: float, reading: float = 0.0) -> str:
    """What a summary says of the seconds before the solve, which its time limit does not count."""
    parts = {"loading": loading, "compiling": compiling, "reading": reading}
    noticed = [f"{seconds:.1f} s {part}" for part, seconds in parts.items() if seconds >= NOTICED]
    return f"\n{'before':<13} {', '.join(noticed)}" if noticed else ""


def exit_code(result: Result) -> int:
    """0 with an answer, also one that a limit cut short; 130 after Ctrl-C."""
    return INTERRUPTED if result.status is Status.INTERRUPTED else 0


def at_least_0(kind: type[int] | type[float]) -> Callable[[str], float]:
    """An argument type: a number of this kind that is not negative."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = -1
        if not value >= 0:
            raise argparse.ArgumentTypeError(f"expected {kind.__name__} >= 0, not {text!r}")
        return value

    return parse


def finite(value: Any) -> Any:
    """Replace infinities (an open gap at objective 0), which JSON has no word for, by null."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
