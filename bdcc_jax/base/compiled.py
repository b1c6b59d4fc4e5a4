"""Compilation of the few loops over graphs that NumPy cannot express."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with numba on first use, keep the machine code on disk, release the GIL."""
    decorated: Function = numba.njit(cache=True, nogil=True)(function)
    return decorated
