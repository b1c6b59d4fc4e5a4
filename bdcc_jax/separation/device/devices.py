"""Where the batched work runs: 'auto', 'cpu', 'gpu', 'gpu:1', 'all', a jax.Device or several."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TypeAlias

import jax

from ...base.environment import install_hint
from .batched import Settings, solve_batch
from .flow_lps import Problems
from .limits import Check
from .paths_of_flow import Chains

DeviceChoice: TypeAlias = str | jax.Device | Sequence[str | jax.Device]
"""What a caller may ask for; see :func:`bdcc_jax.solve`."""

INSTALL_HINT = f"{install_hint('cuda13')} (or [cuda12]), on a machine with an NVIDIA GPU"

SHARE_OF_FREE = 0.5
"""Of the memory that a device has free when a solve starts, batched work takes this share."""

UNKNOWN_MEMORY = 2**32
"""Bytes that are taken to be free where neither JAX nor the system says how many are."""

FORKED = (
    "JAX was in use before this process was forked, and does not survive that: start workers with "
    "the method 'spawn' or 'forkserver' of multiprocessing, or use engine='packing' and "
    "dual_ascent='auto'"
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


@dataclass(frozen=True)
class Devices:
    """The devices of one solve, and how much memory its batched calls may take there.

    Attributes
    ----------
    devices : tuple of jax.Device
        Of one platform; LPs are divided among all of them, other work is the first one's.
    memory : int, optional
        Bytes on each device. None: half of what is free.

    Examples
    --------
    >>> Devices((resolve("cpu"),), memory=2**20).platform
    'cpu'
    """

    devices: tuple[jax.Device, ...]
    memory: int | None = None

    @property
    def platform(self) -> str:
        """'cpu', 'gpu', ..."""
        return str(self.devices[0].platform)

    @property
    def budget(self) -> int:
        """Bytes that batched calls may take on each device."""
        if self.memory is not None:
            return self.memory
        return int(SHARE_OF_FREE * min(free_memory(device) for device in self.devices))

    def solve_balls(self, problems: Problems, settings: Settings, check: Check) -> Chains:
        """Solve the LPs of balls on all devices, and take their flows apart."""
        return solve_batch(problems, settings, self.devices, self.budget // 2, check)

    def __str__(self) -> str:
        return ", ".join(map(str, self.devices))


def place(device: DeviceChoice, engine: str, memory: int | None = None) -> Devices | Host:
    """Find the devices that are meant for an engine, and start JAX only where that takes it.

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
    refuse_fork()
    return Devices(resolve_all(device), memory)


def jax_is_usable() -> bool:
    """Whether JAX may run here: not in a process that was forked while it ran."""
    return not _forked_with_jax


def refuse_fork() -> None:
    """Raise RuntimeError where JAX must not run."""
    if not jax_is_usable():
        raise RuntimeError(FORKED)


def resolve_all(device: DeviceChoice) -> tuple[jax.Device, ...]:
    """Find the devices that are meant: 'all' are those of this process, GPUs if there are any.

    Examples
    --------
    >>> [device.platform for device in resolve_all(["cpu"])]
    ['cpu']
    """
    if isinstance(device, str) and device == "all":
        return tuple(_devices("gpu") or _devices("cpu"))
    if not isinstance(device, list | tuple):
        return (resolve(device),)
    found = tuple(resolve(one) for one in device)
    if not found:
        raise ValueError("device must name at least one device, not an empty list")
    if len({one.platform for one in found}) > 1:
        raise ValueError(f"device must be of one kind, not a mix: {', '.join(map(str, found))}")
    if len(set(found)) < len(found):
        raise ValueError(f"device must not name a device twice: {', '.join(map(str, found))}")
    return found


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
            f"device must be 'auto', 'cpu', 'gpu', 'gpu:1' (any number), 'all', a jax.Device or "
            f"a list of these, not {device!r}"
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


def free_memory(device: jax.Device) -> int:
    """Bytes that are free on a device, or in the machine if its memory is the device's.

    Examples
    --------
    >>> free_memory(resolve("cpu")) > 0
    True
    """
    stats = device.memory_stats() or {}
    if "bytes_limit" in stats:
        return max(0, int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0)))
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not a system that says
        return UNKNOWN_MEMORY


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
