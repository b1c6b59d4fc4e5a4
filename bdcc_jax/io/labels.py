"""Cluster labels to a file."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import hdf5
from .files import check_target, suffix_of, write_bytes

_HDF5 = (".h5", ".hdf5")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]|^\"")


def write_labels(
    labels: ArrayLike,
    path: str | os.PathLike[str],
    *,
    names: Sequence[Hashable] | None = None,
    force: bool = False,
) -> None:
    r"""Write one label a node, in the order of the nodes.

    Parameters
    ----------
    labels : array_like of int, shape (n,)
        The clusters.
    path : path
        ``.npy`` and ``.npz`` (array ``labels``) are numpy's, ``.h5`` and ``.hdf5`` (dataset
        ``labels``) are read by andres/graph, any other name is text with one label a line. A final
        ``.gz`` compresses.
    names : sequence of hashable, shape (n,), optional
        Names of the nodes. Text has them before the labels, with a tab between (as JSON text where
        they have control characters or start with a quote); ``.npz`` and HDF5 have an array
        ``names`` of text; ``.npy`` has no place for them.
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
    written = None if names is None else [shown(name) for name in names]
    if written is not None and len(written) != len(array):
        raise ValueError(f"names must have one entry a label ({len(array)}), not {len(written)}")
    write_bytes(path, _encoded(array, suffix_of(path), written), force=force)


def check_labels_target(path: Path, *, force: bool) -> None:
    """Refuse what labels cannot be written to, before there are any."""
    check_target(path, force=force)
    if suffix_of(path) in _HDF5:
        hdf5.require_h5py()


def _encoded(labels: np.ndarray, suffix: str, names: list[str] | None) -> bytes:
    if suffix in _HDF5:

        def fill(file: Any) -> None:
            file["labels"] = labels.astype(np.uint64)
            if names is not None:
                file["names"] = [name.encode() for name in names]

        return hdf5.built(fill)
    buffer = io.BytesIO()
    if suffix == ".npy":
        np.save(buffer, labels)
    elif suffix == ".npz":
        arrays = {"labels": labels} if names is None else {"labels": labels, "names": names}
        np.savez_compressed(buffer, **arrays)
    else:
        lines = [f"{label}\n" for label in labels.tolist()]
        if names is not None:
            lines = [f"{name}\t{line}" for name, line in zip(names, lines, strict=True)]
        buffer.write("".join(lines).encode())
    return buffer.getvalue()


def shown(name: Hashable) -> str:
    """A name as it stands in a file of text."""
    text = str(name)
    if _UNPRINTABLE.search(text):
        return json.dumps(text)
    return text.encode("utf-8", "backslashreplace").decode()  # lone surrogates have no bytes
