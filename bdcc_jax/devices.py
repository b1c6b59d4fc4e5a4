"""Where the batched work runs: 'auto', 'cpu', 'gpu', 'gpu:1' or a jax.Device."""

from __future__ import annotations

import re

import jax

INSTALL_HINT = 'pip install "bdcc-jax[cuda13]" (or [cuda12]) on a machine with an NVIDIA GPU'


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
