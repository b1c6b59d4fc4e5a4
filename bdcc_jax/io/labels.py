"""Cluster labels to a file."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .files import write_bytes


def write_labels(labels: ArrayLike, path: str | os.PathLike[str], *, force: bool = False) -> None:
    r"""Write one label a node, in the order of the nodes.

    Parameters
    ----------
    labels : array_like of int, shape (n,)
        The clusters.
    path : path
        ``.npy`` and ``.npz`` (array ``labels``) are numpy's, any other name is text with one
        label a line. A final ``.gz`` compresses.
    force : bool
        Overwrite an existing file instead of raising FileExistsError.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_labels([0, 0, 1], Path(folder) / "labels.txt")
    ...     (Path(folder) / "labels.txt").read_text()
    '0\n0\n1\n'
    """
    path, array = Path(path), np.asarray(labels)
    buffer = io.BytesIO()
    match Path(path.name.removesuffix(".gz")).suffix:
        case ".npy":
            np.save(buffer, array)
        case ".npz":
            np.savez_compressed(buffer, labels=array)
        case _:
            buffer.write("".join(f"{label}\n" for label in array.tolist()).encode())
    write_bytes(path, buffer.getvalue(), force=force)
