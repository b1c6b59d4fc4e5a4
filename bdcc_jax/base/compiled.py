"""Compilation of the few loops over graphs that NumPy cannot express."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import register_jitable

from .interpreted import interpret_meanwhile


def _stamp(folder: Path) -> str:
    """Another one for every state of the sources with compiled functions in a folder and below."""
    sources = (path.read_bytes() for path in sorted(folder.rglob("*.py")))
    marks = b"@compiled", b"@inlined", b"@borrowing"
    marked = (source for source in sources if any(mark in source for mark in marks))
    return hashlib.sha256(b"".join(marked)).hexdigest()


_SOURCES = _stamp(Path(__file__).parents[1])

Function = TypeVar("Function", bound=Callable[..., Any])

_all: list[Callable[..., Any]] = []


def compiled(function: Function) -> Function:
    """Compile with numba on first use, keep the machine code on disk, release the GIL."""
    decorated: Function = numba.njit(cache=True, nogil=True)(function)
    # The machine code has that of all functions it calls in it, but numba asks only whether the
    # file of the outermost one was written since: with another layout of what is passed between
    # them old code would write where it must not. So all these sources are part of what it asks.
    file = getattr(getattr(decorated, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_version"):
        file._version = f"{file._version}, bdcc-jax {_SOURCES}"
        interpret_meanwhile(decorated)
        _all.append(decorated)
    return decorated


def is_missing(function: Callable[..., Any]) -> bool:
    """Whether the machine code of a compiled function is to be kept on disk, and is not there."""
    file = getattr(getattr(function, "_cache", None), "_cache_file", None)
    return file is not None and not file._load_index()


def kept() -> int:
    """How many compiled functions have machine code on disk."""
    return sum(not is_missing(function) for function in _all)


def inlined(function: Function) -> Function:
    """For what compiled functions call, and nobody else: compiled with them, and much sooner.

    Python sees the function as it is written.
    """
    decorated: Function = register_jitable(function)
    return decorated


def borrowing(function: Function) -> Function:
    """As ``inlined``, for what makes no arrays and returns none: those that it is given are lent.

    Else numba would count, whenever one is named, who holds it: on small graphs half of the time.
    """
    decorated: Function = register_jitable(_nrt=False)(function)
    return decorated
