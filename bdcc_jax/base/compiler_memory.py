"""What the compiler took is handed back to the system: glibc would keep tens of MB a kernel."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import jax

COMPILED = "/jax/core/compile/backend_compile_duration"
"""The event of JAX after every compilation, and after every kernel read from its cache."""


@cache
def hand_back() -> None:
    """Trim the heap after every compilation, where there is glibc to do it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is None:
        return

    def after(event: str, duration_secs: float, **_: str | int) -> None:
        if event == COMPILED:
            trim(ctypes.c_size_t(0))

    jax.monitoring.register_event_duration_secs_listener(after)
