"""Loops run as Python, as they are written, where they are small and others compile them meanwhile.

The first use on a machine need not wait for the compiler then: small instances are solved before it
is done. Results are the same: loops keep to what Python, NumPy and numba all do alike, so lists are
made arrays of a named dtype, sums and sorts have one order, and functions such as ``exp`` are those
of ``math``. Rows of some dense graphs differ all the same, so the command line waits with these.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import FunctionType
from typing import Any

import numpy as np
from numba.core.dispatcher import OmittedArg

from .working_time import standing_still

SMALL = 50_000
"""Elements of the arrays that a loop is given, beyond which it waits for the compiler."""

INTERVAL = 0.05
"""Seconds after which it looks whether there is machine code."""


def _nobody() -> bool:
    return False


_others_compile = _nobody


@contextmanager
def interpreted_while(others_compile: Callable[[], bool]) -> Iterator[None]:
    """Inside the block small loops without machine code run as Python while others compile them."""
    global _others_compile
    before, _others_compile = _others_compile, others_compile
    try:
        yield
    finally:
        _others_compile = before


def interpret_meanwhile(dispatcher: Any) -> None:
    """Let a function of numba be one of these loops.

    Whenever there is no machine code in memory for what it is called with, numba asks
    ``_compile_for_args`` for something to call.
    """
    compile_for = dispatcher._compile_for_args

    def choose(*arguments: Any, **named: Any) -> Any:
        while _others_compile() and not _is_kept(dispatcher, arguments):
            if _size(arguments) <= SMALL:
                return partial(_interpret, as_written(dispatcher.py_func))
            with standing_still():
                time.sleep(INTERVAL)
        with standing_still():
            return compile_for(*arguments, **named)

    dispatcher._compile_for_args = choose


def _is_kept(dispatcher: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether machine code for these arguments is on disk."""
    cache = dispatcher._cache
    types = tuple(map(dispatcher.typeof_pyval, arguments))
    key = cache._index_key(types, dispatcher.targetctx.codegen())
    return key in cache._cache_file._load_index()


@cache
def as_written(function: FunctionType) -> FunctionType:
    """A function that calls no machine code, nor do those that it calls."""
    scope = dict(function.__globals__)
    copy = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    for name in function.__code__.co_names:
        called = getattr(scope.get(name), "py_func", scope.get(name))
        if isinstance(called, FunctionType):
            scope[name] = copy if called is function else as_written(called)
    return copy


def _interpret(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function as numba would; interrupts wait until it is done (see ``interrupts.py``)."""
    values = (a.value if isinstance(a, OmittedArg) else a for a in arguments)
    with np.errstate(all="ignore"):  # numbers wrap, as in machine code
        return _as_from_numba(function(*values))


AS_PYTHON = _interpret.__code__
"""What frames of loops that run as Python are called from."""


def _as_from_numba(value: Any) -> Any:
    """Numbers of Python in the place of NumPy's, as compiled functions return them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        items = map(_as_from_numba, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _size(value: Any) -> int:
    """The elements of all arrays in arguments."""
    if isinstance(value, np.ndarray):
        return value.size
    return sum(map(_size, value)) if isinstance(value, tuple) else 0
