"""Instance files: :func:`read` and :func:`write`; one module a format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from ..graph import Graph
from . import multicut, npz
from .errors import FormatError
from .files import check_target, read_bytes, write_bytes
from .labels import write_labels

__all__ = ["FormatError", "read", "write", "write_labels"]


class Codec(Protocol):
    """What the module of a format offers."""

    def recognises(self, data: bytes, /) -> bool:
        """Whether content is surely of this format."""

    def decode(self, data: bytes, name: str, /) -> Graph:
        """Read content; ``name`` is for error messages."""

    def encode(self, graph: Graph, /) -> bytes:
        """Write content."""


CODECS: tuple[Codec, ...] = (npz, multicut)
SUFFIXES: dict[str, Codec] = {".npz": npz, ".txt": multicut, ".multicut": multicut}


def read(path: str | os.PathLike[str]) -> Graph:
    r"""Read an instance; the format is recognised by content, gzip included.

    Parameters
    ----------
    path : path
        MULTICUT text (see :mod:`bdcc_jax.io.multicut`) or ``.npz``.

    Raises
    ------
    FormatError
        The content is not understood; says where and what was expected.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "triangle.txt"
    ...     _ = file.write_text("MULTICUT\n0 1 1.0\n1 2 2.0\n0 2 -1.5\n")
    ...     read(file)
    Graph(n=3, m=3, positive=2, negative=1)
    """
    path = Path(path)
    data = read_bytes(path)
    if not data.strip():
        raise FormatError(f"{path}: the file is empty; expected MULTICUT text or .npz")
    for codec in CODECS:
        if codec.recognises(data):
            return codec.decode(data, str(path))
    # Not what it should be: what the name promises makes for the better message.
    return SUFFIXES.get(_suffix(path), multicut).decode(data, str(path))


def write(graph: Graph, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write an instance without any loss; the file is complete or absent, never partial.

    Parameters
    ----------
    graph : Graph
        The instance.
    path : path
        Ends in ``.npz`` (everything), or ``.txt`` or ``.multicut`` (MULTICUT text, no node names);
        a final ``.gz`` compresses.
    force : bool
        Overwrite an existing file instead of raising FileExistsError.

    Examples
    --------
    >>> import tempfile
    >>> graph = Graph.from_edges([0, 1], [1, 2], [0.1, -0.2], n=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(graph, Path(folder) / "path.txt.gz")
    ...     read(Path(folder) / "path.txt.gz")
    Graph(n=5, m=2, positive=1, negative=1)
    """
    path = Path(path)
    if _suffix(path) not in SUFFIXES:
        accepted = ", ".join(SUFFIXES)
        raise ValueError(f"{path}: the name must end in one of {accepted} (and .gz if you like)")
    check_target(path, force=force)
    write_bytes(path, SUFFIXES[_suffix(path)].encode(graph), force=force)


def _suffix(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix
