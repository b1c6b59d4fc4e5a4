"""Edges from files, chunk by chunk: Parquet and Arrow, ``.npz``, ``.npy``, zarr; or all at once."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.environment import install_hint
from ..base.validation import node_ids, real_weights
from ..instance.graph import Graph
from ..io import read
from ..io.arrow import require_pyarrow
from ..io.files import FormatError, suffix_of
from ..io.npz import CONSTRAINTS, NUMBERS

NAMES = (("u", "v", "w"), ("source", "target", "weight"))
"""Columns and arrays that are recognised: the two ends and the weight of every edge."""

PAIRS = ("edges", "weights")
"""The same with both ends in one array of two columns."""

Chunk = tuple[IntArray, IntArray, FloatArray]
"""Ends and weights of some edges."""


@dataclass(frozen=True, eq=False)
class Source:
    """Edges that can be read again and again, a chunk at a time.

    Attributes
    ----------
    name : str
        For messages.
    state : str
        Changes when the files do.
    read : callable
        Given a number of edges, yields chunks of at most so many, not yet checked.
    """

    name: str
    state: Callable[[], str]
    read: Callable[[int], Iterator[tuple[Any, Any, Any]]]

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield chunks of at most so many edges; ids and weights have been checked."""
        first = 0
        for u, v, w in self.read(size):
            what = f"{self.name}, edges from {first} on: "
            ends = node_ids(u, f"{what}u"), node_ids(v, f"{what}v")
            if len(ends[0]) != len(ends[1]):
                raise FormatError(f"{self.name}: u and v are not of one length")
            weights = real_weights(w, len(ends[0]), f"{what}w")
            if not np.isfinite(weights).all():
                at = int(np.flatnonzero(~np.isfinite(weights))[0])
                raise ValueError(
                    f"{self.name}: weights must be finite: that of edge {first + at} is "
                    f"{weights[at]}"
                )
            yield *ends, weights
            first += len(weights)


def source_of(path: str | PathLike[str], columns: Sequence[str] | None = None) -> Source:
    """The edges of a file or folder, by what it is called and holds.

    Parameters
    ----------
    path : path
        ``.parquet``, ``.arrow`` or ``.feather``, or a folder of Parquet files; ``.npz`` with
        arrays u, v, w or edges, weights; ``.npy`` of shape (m, 3), or a folder with u.npy, v.npy,
        w.npy or edges.npy, weights.npy; ``.zarr`` with such arrays; anything that
        :func:`bdcc_jax.read` reads, which is read into memory.
    columns : three str, optional
        How the columns or arrays are called.
    """
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"{place}: there is no such file or folder")
    if columns is not None and not _are_names(columns):
        raise ValueError(f"columns must be three names, of both ends and the weight: {columns!r}")
    suffix = suffix_of(place)
    kind: Callable[[int], Iterator[tuple[Any, Any, Any]]]
    if suffix == ".zarr":
        kind = _zarr(place, columns)
    elif suffix in (".parquet", ".pq", ".arrow", ".feather"):
        kind = _table(place, "parquet" if suffix in (".parquet", ".pq") else "ipc", columns)
    elif place.is_dir():
        kind = _folder(place, columns)
    elif suffix == ".npz":
        kind = _npz(place, columns)
    elif suffix == ".npy":
        kind = _triples(place)
    else:
        return source_of_graph(read(place), str(place), lambda: _state(place))
    return Source(str(place), lambda: _state(place), kind)


def _are_names(columns: object) -> bool:
    return (
        isinstance(columns, list | tuple)
        and len(columns) == 3
        and all(isinstance(each, str) for each in columns)
    )


def source_of_graph(graph: Graph, name: str, state: Callable[[], str]) -> Source:
    """The edges of a graph in memory; its nodes without edges come from an edge of weight 0."""
    if graph.features or graph.names is not None:
        what = graph.features[0] if graph.features else "names"
        raise ValueError(f"{name}: large graphs have edges and weights only, not {what}")

    def chunks(size: int) -> Iterator[tuple[Any, Any, Any]]:
        yield from _slices(graph.edges[:, 0], graph.edges[:, 1], graph.weights, size)
        yield np.array([0]), np.array([graph.n - 1]), np.zeros(1)

    return Source(name, state, chunks)


def _state(path: Path) -> str:
    """Names, sizes and times of the files."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    stats = [(str(file.relative_to(path)), file.stat()) for file in files]
    return ";".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)


def _chosen(there: Sequence[str], columns: Sequence[str] | None, name: str) -> tuple[str, ...]:
    """Which columns or arrays to read: three, or two of which one holds both ends."""
    for names in NAMES if columns is None else (tuple(columns),):
        if all(each in there for each in names):
            return names
    if columns is None and all(each in there for each in PAIRS):
        return PAIRS
    expected = " or ".join(", ".join(names) for names in NAMES) if columns is None else columns
    raise FormatError(f"{name}: it has {sorted(there)}; expected {expected} (columns= says others)")


def _slices(u: Any, v: Any, w: Any, size: int) -> Iterator[tuple[Any, Any, Any]]:
    for start in range(0, w.shape[0], size):
        part = slice(start, start + size)
        yield np.asarray(u[part]), np.asarray(v[part]), np.asarray(w[part])


def _check_shapes(shapes: Sequence[tuple[int, ...]], name: str) -> None:
    """Of edges and weights, or of u, v and w: one entry, or row, an edge."""
    if len(shapes) == 2:
        edges, w = shapes
        if len(edges) != 2 or edges[1] != 2 or w != edges[:1]:
            raise FormatError(f"{name}: edges must be (m, 2) and weights (m,), not {edges} and {w}")
    elif any(len(each) != 1 or each != shapes[0] for each in shapes):
        said = ", ".join(map(str, shapes))
        raise FormatError(f"{name}: u, v and w must have one entry an edge, not {said}")


def _of_arrays(arrays: Sequence[Any], name: str) -> Callable[[int], Iterator[tuple[Any, Any, Any]]]:
    """Chunks of arrays that are read where they are indexed."""
    _check_shapes([each.shape for each in arrays], name)
    if len(arrays) == 2:
        edges, w = arrays

        def pairs(size: int) -> Iterator[tuple[Any, Any, Any]]:
            for start in range(0, w.shape[0], size):
                both = np.asarray(edges[start : start + size])
                yield both[:, 0], both[:, 1], np.asarray(w[start : start + size])

        return pairs
    u, v, w = arrays
    return lambda size: _slices(u, v, w, size)


def _folder(
    place: Path, columns: Sequence[str] | None
) -> Callable[[int], Iterator[tuple[Any, Any, Any]]]:
    arrays = {file.stem: file for file in place.glob("*.npy")}
    if arrays:
        chosen = _chosen(list(arrays), columns, str(place))
        return _of_arrays([_mapped(arrays[name]) for name in chosen], str(place))
    if any(place.glob("**/*.parquet")):
        return _table(place, "parquet", columns)
    raise FormatError(
        f"{place}: a folder must be a block store (store.json), or have .npy or .parquet files"
    )


def _mapped(file: Path) -> Any:
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FormatError(f"{file}: not a numpy array ({error})") from error


def _triples(place: Path) -> Callable[[int], Iterator[tuple[Any, Any, Any]]]:
    array = _mapped(place)
    if array.ndim != 2 or array.shape[1] != 3:
        raise FormatError(f"{place}: expected (m, 3), both ends and the weight, not {array.shape}")
    return lambda size: _slices(array[:, 0], array[:, 1], array[:, 2], size)


def _npz(
    place: Path, columns: Sequence[str] | None
) -> Callable[[int], Iterator[tuple[Any, Any, Any]]]:
    """Arrays of an archive are read as streams: never whole, compressed or not."""
    try:
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(place))
            there = [name.removesuffix(".npy") for name in archive.namelist()]
            chosen = _chosen(there, columns, str(place))
            streams = [_Stream(stack, archive, name, str(place)) for name in chosen]
            _check_shapes([stream.shape for stream in streams], str(place))
    except zipfile.BadZipFile as error:
        raise FormatError(f"{place}: truncated or corrupt npz archive ({error})") from error
    features = ("names", "lifted", "unaries", *CONSTRAINTS, *NUMBERS)
    if extra := [name for name in features if name in there]:
        raise ValueError(f"{place}: large graphs have edges and weights only, not {extra[0]}")

    def chunks(size: int) -> Iterator[tuple[Any, Any, Any]]:
        with ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(place))
            streams = [_Stream(stack, archive, name, str(place)) for name in chosen]
            while len(parts := [stream.take(size) for stream in streams]) and len(parts[-1]):
                if len(parts) == 2:
                    parts = [parts[0][:, 0], parts[0][:, 1], parts[1]]
                u, v, w = parts
                yield u, v, w
        if "n" in there and chosen == PAIRS:  # of our own format: nodes without edges count
            with np.load(place) as whole:
                n = int(whole["n"])
            yield np.array([0]), np.array([n - 1]), np.zeros(1)

    return chunks


class _Stream:
    """An array of an archive, read from its beginning to its end."""

    def __init__(self, stack: ExitStack, archive: zipfile.ZipFile, key: str, name: str) -> None:
        self._file, self._what = stack.enter_context(archive.open(f"{key}.npy")), f"{name}: {key}"
        try:
            version = np.lib.format.read_magic(self._file)
            header = getattr(np.lib.format, f"read_array_header_{version[0]}_{version[1]}")
            self.shape, fortran, self._dtype = header(self._file)
        except (ValueError, AttributeError) as error:
            raise FormatError(f"{self._what} is not a numpy array ({error})") from error
        if self._dtype.hasobject or (fortran and len(self.shape) > 1) or not self.shape:
            raise FormatError(f"{self._what} must be numbers, row by row (C order)")
        self._row = int(np.prod(self.shape[1:])) * self._dtype.itemsize
        self._left = self.shape[0]

    def take(self, rows: int) -> np.ndarray:
        try:
            data = self._file.read(min(rows, self._left) * self._row)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise FormatError(f"{self._what} is truncated or corrupt ({error})") from error
        if len(data) < min(rows, self._left) * self._row:
            raise FormatError(f"{self._what} is truncated")
        self._left -= len(data) // self._row
        return np.frombuffer(data, self._dtype).reshape(-1, *self.shape[1:])


def _table(
    place: Path, kind: str, columns: Sequence[str] | None
) -> Callable[[int], Iterator[tuple[Any, Any, Any]]]:
    pa = require_pyarrow()
    import pyarrow.dataset as ds

    try:
        dataset = ds.dataset(place, format=kind)
    except (pa.ArrowInvalid, OSError) as error:
        raise FormatError(f"{place}: not a readable {kind} file ({error})") from error
    chosen = _chosen(dataset.schema.names, columns, str(place))
    if len(chosen) != 3:
        raise FormatError(f"{place}: expected columns {NAMES[0]}, not {PAIRS}")

    def chunks(size: int) -> Iterator[tuple[Any, Any, Any]]:
        try:
            # Without read-ahead, which would hold many chunks at once.
            batches = dataset.to_batches(
                columns=list(chosen), batch_size=size, batch_readahead=1, fragment_readahead=1
            )
            for batch in batches:
                columns_ = [batch.column(name) for name in chosen]
                for name, column in zip(chosen, columns_, strict=True):
                    if column.null_count:
                        raise ValueError(f"{place}: column {name!r} must have no missing entries")
                u, v, w = (column.to_numpy(zero_copy_only=False) for column in columns_)
                yield u, v, w
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            raise FormatError(f"{place}: {error}") from error

    return chunks


def _zarr(
    place: Path, columns: Sequence[str] | None
) -> Callable[[int], Iterator[tuple[Any, Any, Any]]]:
    try:
        import zarr
    except ImportError as error:
        raise ImportError(f"zarr files need zarr: {install_hint('volume')}") from error
    try:
        group = zarr.open_group(str(place), mode="r")
        there = list(group.array_keys())
    except Exception as error:  # of many kinds, by version and what is damaged
        raise FormatError(f"{place}: not a readable group of zarr ({error})") from error
    chosen = _chosen(there, columns, str(place))
    return _of_arrays([group[name] for name in chosen], str(place))
