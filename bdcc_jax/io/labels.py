"""Cluster labels to and from files."""

import csv
import io
import json
import os
import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import IntArray
from ..base.labels import canonical_labels
from . import hdf5, npz
from .files import FormatError, check_target, read_bytes, suffix_of, write_bytes

_HDF5 = (".h5", ".hdf5")
_HEADER = ["node", "cluster"]
_REFUSED = (".parquet", ".pq", ".arrow", ".feather", ".json", ".xlsx")
"""Text in a file with such a name would be read by nobody."""
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
        ``labels``) are read by andres/graph, ``.csv`` is a table with the columns
        ``node`` (its name, or its id) and ``cluster``; any other name is text with one label a
        line. A final ``.gz`` compresses.
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
    _check_suffix(path)
    written = None if names is None else [shown(name) for name in names]
    if written is not None and len(written) != len(array):
        raise ValueError(f"names must have one entry a label ({len(array)}), not {len(written)}")
    write_bytes(path, _encoded(array, suffix_of(path), written), force=force)


def check_labels_target(path: Path, *, force: bool) -> None:
    """Refuse what labels cannot be written to, before there are any."""
    check_target(path, force=force)
    _check_suffix(path)
    if suffix_of(path) in _HDF5:
        hdf5.require_h5py()


def _check_suffix(path: Path) -> None:
    if suffix_of(path) in _REFUSED:
        raise ValueError(
            f"{path}: labels are written as .npy, .npz, .h5, .csv or plain text, not as "
            f"{suffix_of(path)}; clusters of tables of pairs are (bdcc-jax cluster)"
        )


def read_labels(
    path: str | os.PathLike[str], *, names: Sequence[Hashable] | None = None
) -> IntArray:
    r"""Read one label a node.

    Parameters
    ----------
    path : path
        ``.npy``, ``.npz`` (array ``labels``), HDF5 (dataset ``labels``), ``.csv`` as
        :func:`write_labels` writes it, or text with one label a line, after a name and a tab if
        nodes have names. Labels in text may be any words. gzip is recognised.
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
        return canonical_labels(_whole(npz.read_arrays(data, name, ["labels"])["labels"], name))
    if data.startswith(b"\x93NUMPY"):
        return canonical_labels(_whole(npz.read_npy(data, name), name))
    if suffix_of(path) == ".csv":
        return canonical_labels(np.array(_rows(data, name, names)))
    return canonical_labels(np.array(_words(data, name, names)))


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
    elif suffix == ".csv":
        called = map(str, range(len(labels))) if names is None else names
        table = io.StringIO(newline="")
        writer = csv.writer(table, lineterminator="\n")
        writer.writerows([_HEADER, *zip(called, labels.tolist(), strict=True)])
        buffer.write(table.getvalue().encode())
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


def _whole(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise FormatError(
            f"{name}: expected a list of whole numbers, not {array.dtype} of shape {array.shape}"
        )
    return array


def _rows(data: bytes, name: str, names: Sequence[Hashable] | None) -> list[str]:
    """Labels of a table with the columns node and cluster."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{name}: expected a table of labels ({error})") from None
    if not rows or [cell.strip() for cell in rows[0]] != _HEADER:
        raise FormatError(f"{name}: expected the header {','.join(_HEADER)!r}")
    label_of: dict[str, str] = {}
    for number, row in enumerate(rows[1:], 2):
        if len(row) != 2 or not row[1].strip() or row[0] in label_of:
            raise FormatError(f"{name}, row {number}: expected a node that is new, and its cluster")
        label_of[row[0]] = row[1].strip()
    return _in_order(label_of, range(len(label_of)) if names is None else names, name)


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
    return _in_order(label_of, list(label_of) if names is None else names, name)


def _in_order(label_of: dict[str, str], names: Sequence[Hashable], name: str) -> list[str]:
    wanted = [shown(node) for node in names]
    if missing := [node for node in wanted if node not in label_of]:
        raise FormatError(f"{name}: there is no label for node {missing[0]!r}")
    if len(label_of) > len(wanted):
        unknown = next(iter(label_of.keys() - set(wanted)))
        raise FormatError(
            f"{name}: {len(label_of)} names for {len(wanted)} nodes; one is {unknown!r}"
        )
    return [label_of[node] for node in wanted]
