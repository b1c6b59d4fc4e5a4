"""Volumes in zarr (format 2 or 3), read window by window."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import BoolArray
from ..base.environment import install_hint
from ..image.evidence import check_probabilities, finite_map
from ..image.region_graph import Offset, Window, checked_offsets
from .grid import Shape

DTYPES = ("uint8", "float16", "float32", "float64")


@dataclass(frozen=True)
class Affinities:
    """Affinities on disk, checked but for their values, which are when they are read."""

    path: str
    shape: Shape
    dtype: str
    offsets: tuple[Offset, ...]
    chunks: Shape
    format: int

    def read(self, window: Window) -> NDArray[Any]:
        """All channels of a window, of the array's own type."""
        part = np.asarray(opened(self.path)[(slice(None), *window)])
        if part.dtype.kind == "f":
            name = f"affinities of {self.path}, from voxel {tuple(w.start for w in window)} on,"
            check_probabilities(finite_map(part, name), name)
        return part


@dataclass(frozen=True)
class Mask:
    """Where the volume counts: what is not 0 in an array on disk; everywhere without one."""

    path: str | None

    def read(self, window: Window) -> BoolArray | None:
        """Which voxels of a window count; None if all do."""
        return None if self.path is None else np.asarray(opened(self.path)[window]) != 0


def affinities_at(path: str | os.PathLike[str], offsets: Any = None) -> Affinities:
    """Look at affinities before any work; offsets are those given, or those in the attributes."""
    array = opened(path)
    if array.ndim != 4 or 0 in array.shape:
        raise ValueError(
            f"affinities must have shape (channels, depth, height, width), not {array.shape}: "
            f"{path}"
        )
    if str(array.dtype) not in DTYPES:
        raise ValueError(f"affinities must be {', '.join(DTYPES)}, not {array.dtype}: {path}")
    if offsets is None and (offsets := array.attrs.get("offsets")) is None:
        raise ValueError(
            f"{path} has no attribute 'offsets': give offsets, one a channel ({array.shape[0]}), "
            "such as [[-1, 0, 0], [0, -1, 0], [0, 0, -1]]"
        )
    steps = checked_offsets(offsets, array.shape[0], 3)
    return Affinities(
        path=str(path),
        shape=tuple(array.shape[1:]),
        dtype=str(array.dtype),
        offsets=tuple(steps),
        chunks=tuple((array.shards or array.chunks)[1:]),
        format=array.metadata.zarr_format,
    )


def mask_at(path: str | os.PathLike[str] | None, shape: Shape) -> Mask:
    """Look at a mask before any work."""
    if path is None:
        return Mask(None)
    array = opened(path)
    if tuple(array.shape) != shape:
        raise ValueError(f"mask must have the volume's shape, {shape}, not {array.shape}: {path}")
    if array.dtype.kind not in "biu":
        raise ValueError(f"mask must hold truth values or integers, not {array.dtype}: {path}")
    return Mask(str(path))


def opened(path: str | os.PathLike[str]) -> Any:
    """Open an array for reading; a group is refused with the names of its arrays."""
    zarr = require_zarr()
    try:
        found = zarr.open(str(path), mode="r")
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{path}: there is no zarr array") from error
    if isinstance(found, zarr.Group):
        names = [f"{path}/{name}" for name, _ in found.arrays()]
        raise ValueError(f"{path} is a group: name an array, {' or '.join(names) or 'it has none'}")
    return found


def create(path: Path, like: Affinities, dtype: str) -> None:
    """Make an array of the shape of one channel, with the same chunks; complete or not there."""
    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    require_zarr().create_array(
        str(part),
        shape=like.shape,
        chunks=tuple(map(min, like.chunks, like.shape)),
        dtype=dtype,
        zarr_format=like.format,
    )
    part.rename(path)


def written(path: str | os.PathLike[str]) -> Any:
    """Open an array of ours for writing."""
    return require_zarr().open_array(str(path), mode="r+")


def require_zarr() -> Any:
    """Import zarr, or say how to install it."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError(f"volumes need zarr: {install_hint('volume')}") from error
    return zarr
