"""Cluster labels from a file: what :func:`bdcc_jax.io.write_labels` wrote, or somebody else."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np

from ..base.arrays import IntArray
from ..instance.graph import canonical_labels
from . import hdf5
from .errors import FormatError
from .files import inflation_limit, read_bytes
from .labels import shown
from .npz import read_array


def read_labels(
    path: str | os.PathLike[str], *, names: Sequence[Hashable] | None = None
) -> IntArray:
    r"""Read one label a node.

    Parameters
    ----------
    path : path
        ``.npy``, ``.npz`` (array ``labels``), HDF5 (dataset ``labels``), or text with one label a
        line, after a name and a tab if nodes have names. Labels in text may be any words. gzip is
        recognised.
    names : sequence of hashable, optional
        The names of the nodes. A text file that has names may list them in any order.

    Returns
    -------
    ndarray of int
        The labels in the order of the nodes, numbered by first appearance.

    Raises
    ------
    FormatError
        The content is not understood; says where and what was expected.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "labels.txt"
    ...     _ = file.write_text("b\tred\na\tblue\n")
    ...     read_labels(file, names=["a", "b"]).tolist()
    [0, 1]
    """
    path = Path(path)
    data, name = read_bytes(path), str(path)
    if data.startswith(hdf5.MAGIC):
        with hdf5.opened(data, name) as reader:
            return canonical_labels(reader.array("labels"))
    if data.startswith(b"PK"):
        return canonical_labels(_whole(_array_of_archive(data, name), name))
    if data.startswith(b"\x93NUMPY"):
        return canonical_labels(_whole(_array(data, name), name))
    return canonical_labels(np.array(_words(data, name, names)))


def _array_of_archive(data: bytes, name: str) -> np.ndarray:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            member = archive.getinfo("labels.npy")
            if member.file_size > inflation_limit(len(data)):
                raise FormatError(f"{name}: the labels declare more than the file can hold")
            return read_array(archive, member, name)
    except KeyError:
        raise FormatError(f"{name}: expected an array 'labels'; there is none") from None
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise FormatError(f"{name}: truncated or corrupt .npz file ({error})") from error


def _array(data: bytes, name: str) -> np.ndarray:
    try:
        array: np.ndarray = np.load(io.BytesIO(data), allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:  # numpy parses the header as Python
        raise FormatError(f"{name}: not a numpy array ({error})") from error
    return array


def _whole(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise FormatError(
            f"{name}: expected a list of whole numbers, not {array.dtype} of shape {array.shape}"
        )
    return array


def _words(data: bytes, name: str, names: Sequence[Hashable] | None) -> list[str]:
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: expected labels, one a line ({error})") from None
    if not any("\t" in line for line in lines):
        for number, line in enumerate(lines, 1):
            if len(line.split()) != 1:
                raise FormatError(f"{name}, line {number}: expected one label, not {line[:80]!r}")
        return [line.strip() for line in lines]
    label_of: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        node, tab, label = line.rpartition("\t")
        if not tab or not label.strip() or node in label_of:
            raise FormatError(
                f"{name}, line {number}: expected a name that is new, a tab and a label, "
                f"not {line[:80]!r}"
            )
        label_of[node] = label.strip()
    wanted = list(label_of) if names is None else [shown(node) for node in names]
    if missing := [node for node in wanted if node not in label_of]:
        raise FormatError(f"{name}: there is no label for node {missing[0]!r}")
    if len(label_of) > len(wanted):
        unknown = next(iter(label_of.keys() - set(wanted)))
        raise FormatError(
            f"{name}: {len(label_of)} names for {len(wanted)} nodes; one is {unknown!r}"
        )
    return [label_of[node] for node in wanted]
