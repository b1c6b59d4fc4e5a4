"""Compilation of the few loops over graphs that NumPy cannot express."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.extending import register_jitable

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


def inlined(function: Function) -> Function:
    """For what compiled functions call, and nobody else: compiled with them, and much sooner.

    Python sees the function as it is written.
    """
    decorated: Function = register_jitable(function)
    return decorated
