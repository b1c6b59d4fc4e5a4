"""Compilation of the few loops over graphs that NumPy cannot express."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numba
from numba.core.registry import cpu_target

from .environment import package_version

_VERSION = package_version()

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with numba on first use, keep the machine code on disk, release the GIL."""
    decorated: Function = numba.njit(cache=True, nogil=True)(function)
    # What another version of the package has left there may name classes that are gone, and numba
    # fails to read it before it sees that it is old. So the version is part of what it asks first.
    file = getattr(getattr(decorated, "_cache", None), "_cache_file", None)
    if file is not None and hasattr(file, "_version"):
        file._version = f"{file._version}, bdcc-jax {_VERSION}"
    return decorated


@cache
def load_compiler() -> None:
    """Load the tables that numba needs for its first function; half of them would spoil it."""
    cpu_target.target_context.refresh()
    cpu_target.typing_context.refresh()
