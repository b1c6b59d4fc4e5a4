"""What may end or bound a call on a device: the clock, and memory."""

from collections.abc import Callable

import jax

Check = Callable[[], None]
"""Called between calls on a device; an exception that it raises ends the work."""

ENTRIES = {"cpu": 2**27, "gpu": 2**31}
"""Numbers that a sweep may read in one call, which nothing can stop: some tenths of a second."""


def kind_of(device: jax.Device) -> str:
    """'cpu', or 'gpu' for all that is not one."""
    return "cpu" if device.platform == "cpu" else "gpu"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory, of the host or of a device, did not suffice.

    Examples
    --------
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(ValueError())
    (True, False)
    """
    if isinstance(error, jax.errors.JaxRuntimeError):
        return "RESOURCE_EXHAUSTED" in str(error) or "out of memory" in str(error).lower()
    return isinstance(error, MemoryError)
