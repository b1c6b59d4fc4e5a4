"""What a figure was measured with."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jax

from bdcc_jax.base.environment import environment


@cache
def machine() -> dict[str, Any]:
    """Processor, cores and devices."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "devices": [f"{device} ({device.device_kind})" for device in jax.devices()],
    }


@cache
def versions() -> dict[str, str]:
    """Python and the packages that matter."""
    return {
        name: version
        for name, version in environment().items()
        if name not in ("platform", "JAX devices")
    }


@cache
def commit() -> str | None:
    """The commit of this clone, with '+' if files differ from it; None outside of a clone."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        found = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD"], capture_output=True)
    except OSError:
        return None
    if found.returncode:
        return None
    return found.stdout.strip()[:12] + ("+" if changed.returncode else "")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
