"""Where the batched work runs: 'auto', 'cpu', 'gpu', 'gpu:1' or a jax.Device."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec

import jax

INSTALL_HINT = 'pip install "bdcc-jax[cuda13]" (or [cuda12]) on a machine with an NVIDIA GPU'

FORKED = (
    "JAX was in use before this process was forked, and does not survive that: start workers with "
    "the method 'spawn' or 'forkserver' of multiprocessing, or use engine='packing'"
)


@dataclass(frozen=True)
class Host:
    """The CPU as engines see it that need no JAX: its threads, which no fork survives, never start.

    Examples
    --------
    >>> str(Host()), Host().platform
    ('cpu', 'cpu')
    """

    platform: str = "cpu"

    def __str__(self) -> str:
        return self.platform


def place(device: str | jax.Device, engine: str) -> jax.Device | Host:
    """Find the device that is meant for an engine, and start JAX only where that takes it.

    Examples
    --------
    >>> place("cpu", "packing")
    Host(platform='cpu')
    >>> place("cpu", "pdlp").platform
    'cpu'
    """
    on_cpu = isinstance(device, str) and (
        device == "cpu" or (device == "auto" and (engine != "auto" or not _may_have_gpu()))
    )
    if on_cpu and engine in ("auto", "packing", "reference"):
        return Host()
    if _forked_with_jax:
        raise RuntimeError(FORKED)
    return resolve(device)


def resolve(device: str | jax.Device = "auto") -> jax.Device:
    """Find the device that is meant; never another one instead.

    Parameters
    ----------
    device : str or jax.Device
        'auto' takes a GPU if there is one; 'gpu' is JAX' first GPU, 'gpu:1' the second.

    Examples
    --------
    >>> resolve("cpu").platform
    'cpu'
    """
    if isinstance(device, jax.Device):
        return device
    match = re.fullmatch(r"(auto|cpu|gpu)(?::(\d+))?", device) if isinstance(device, str) else None
    if match is None or (match[1] == "auto" and match[2]):
        raise ValueError(
            f"device must be 'auto', 'cpu', 'gpu', 'gpu:1' (any number) or a jax.Device, "
            f"not {device!r}"
        )
    platform, index = match[1], int(match[2] or 0)
    if platform == "auto":
        return (_devices("gpu") or _devices("cpu"))[0]
    found = _devices(platform)
    if not found:
        raise ValueError(
            f"device {device!r}: JAX sees no GPU here; {INSTALL_HINT}, or device='cpu'"
        )
    if index >= len(found):
        raise ValueError(f"device {device!r}: there is only {platform}:0 to {len(found) - 1}")
    return found[index]


def _devices(platform: str) -> list[jax.Device]:
    try:
        return list(jax.local_devices(backend=platform))
    except RuntimeError:  # how JAX says that the platform is absent
        return []


@cache
def _may_have_gpu() -> bool:
    """False if JAX has nothing installed that could bring it to a GPU."""
    if jax.config.values["jax_platforms"] == "cpu":
        return False
    return bool(entry_points(group="jax_plugins")) or find_spec("jax_plugins") is not None


_forked_with_jax = False


def _look_at_jax() -> None:
    """Find out, in a new child, whether it has inherited JAX, all of whose threads are gone."""
    global _forked_with_jax
    try:
        from jax._src.xla_bridge import backends_are_initialized
    except ImportError:  # not public: JAX itself then has only its warning to offer
        return
    _forked_with_jax = _forked_with_jax or backends_are_initialized()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_look_at_jax)
