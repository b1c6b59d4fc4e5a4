"""HDF5 files in memory: arrays that are checked before they are read. Needs h5py.

What a file says about itself is not trusted: links and storage that lead out of the file are
refused, and so is a dataset that declares more than :func:`inflation_limit` allows.
"""

import io
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base.environment import install_hint
from .files import FormatError, inflation_limit

MAGIC = b"\x89HDF\r\n\x1a\n"


class Reader:
    """The arrays of one open file; raises nothing but FormatError."""

    def __init__(self, file: Any, name: str, size: int) -> None:
        self._file, self._name = file, name
        self._left = inflation_limit(size)

    def __contains__(self, path: str) -> bool:
        # h5py lets all kinds of exceptions out where a file is damaged.
        try:
            return self._find(path) is not None
        except Exception as error:
            raise self._damaged(error) from error

    def array(self, path: str, kinds: str = "iu", ndim: int | None = 1) -> np.ndarray:
        """Read an array of integers (kinds "iu") or real numbers ("iuf"); ndim None: of any."""
        what = f"{self._name}: dataset {path!r}"
        try:
            dataset = self._find(path)
            if dataset is None or not hasattr(dataset, "dtype"):
                raise FormatError(f"{self._name}: expected a dataset {path!r}; there is none")
            if dataset.is_virtual or dataset.external:
                raise FormatError(f"{what} is stored in another file, which is not followed")
            dtype, shape = dataset.dtype, dataset.shape
            if dtype.kind not in kinds or shape is None or ndim not in (None, len(shape)):
                wanted = f"{ndim or 0}-dimensional {'numbers' if 'f' in kinds else 'integers'}"
                raise FormatError(f"{what}: expected {wanted}, not {dtype} of shape {shape}")
            self._left -= math.prod(shape) * dtype.itemsize
            if self._left < 0:
                raise FormatError(f"{what} declares the shape {shape}: more than the file can hold")
            array: np.ndarray = dataset[()]
        except (FormatError, MemoryError):
            raise
        except Exception as error:
            raise self._damaged(error) from error
        return np.asarray(array)

    def integer(self, path: str) -> int:
        """Read one integer, stored as a scalar or as an array of one."""
        array = self.array(path, ndim=None)
        if array.size != 1:
            raise FormatError(f"{self._name}: dataset {path!r}: expected one integer")
        return int(array.item())

    def _find(self, path: str) -> Any:
        import h5py

        node = self._file
        for part in path.split("/"):
            if not isinstance(node, h5py.Group) or part not in node:
                return None
            if not isinstance(node.get(part, getlink=True), h5py.HardLink):
                raise FormatError(f"{self._name}: {path!r} is a link, which is not followed")
            node = node[part]
        return node

    def _damaged(self, error: Exception) -> FormatError:
        if isinstance(error, FormatError):
            return error
        return FormatError(f"{self._name}: truncated or corrupt HDF5 file ({error})")


@contextmanager
def opened(data: bytes, name: str) -> Iterator[Reader]:
    """Open the content of a file."""
    h5py = require_h5py()
    try:
        file = h5py.File(h5py.h5f.open_file_image(data))
    except Exception as error:
        raise FormatError(f"{name}: truncated or corrupt HDF5 file ({error})") from error
    with file:
        yield Reader(file, name, len(data))


def built(fill: Callable[[Any], None]) -> bytes:
    """Return the content of a file that ``fill`` puts its groups and datasets into."""
    buffer = io.BytesIO()
    with require_h5py().File(buffer, "w") as file:
        fill(file)
    return buffer.getvalue()


def require_h5py() -> Any:
    """Import h5py, or say how to install it."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"HDF5 files need h5py: {install_hint('hdf5')}") from error
    return h5py
