"""Compiled kernels survive the process: JAX' persistent cache, in a folder of the user's."""

import os
import sys
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

VARIABLE = "BDCC_JAX_CACHE"
"""Environment variable that names the folder of the cache; empty for no cache at all."""


def cache_folder() -> Path | None:
    """Where kernels are kept, None for nowhere."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "bdcc_jax"


def enable() -> None:
    """Keep compiled kernels, unless the caller has already told JAX where to keep its own."""
    folder = cache_folder()
    if folder is None or jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home: compile again next time
        return
    compilation_cache.set_cache_dir(str(folder))
    # What JAX may have decided before there was a folder.
    compilation_cache.reset_cache()
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)  # type: ignore[no-untyped-call]
