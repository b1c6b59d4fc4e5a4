"""Instance files: :func:`read` and :func:`write`; one module a format."""

import os
from pathlib import Path
from typing import Any

from ..instance.graph import Graph
from . import gml, graphml
from .files import FormatError, check_target, read_bytes, write_bytes
from .formats import EXPECTED, FORMATS, check_format, format_of_name, recognise
from .labels import read_labels, write_labels

__all__ = ["FORMATS", "FormatError", "load", "read", "read_labels", "write", "write_labels"]

ALWAYS_NODES = 2**24
"""Files may have this many nodes, however few edges they have."""

LIFTED = ("npz", "multicut", "andres")
"""Formats that can hold lifted edges."""

NODES_PER_EDGE = 16
"""In larger files with more nodes than this for each edge, ids are surely keys, not positions."""


def read(path: str | os.PathLike[str], format: str | None = None) -> Graph:
    r"""Read an instance; the format is recognised by content and suffix, gzip included.

    Parameters
    ----------
    path : path
        MULTICUT text, plain triples, a signed edge list, PACE ``.gr``, OpenGM or andres HDF5,
        GraphML, GML, or ``.npz``; each is described in its module of :mod:`bdcc_jax.io`.
    format : str, optional
        Its name, a key of :data:`bdcc_jax.io.FORMATS`, in place of recognising it.

    Raises
    ------
    FormatError
        The content is not understood; says where and what was expected.
    OSError
        The file cannot be read.
    MemoryError
        The file is too large for the memory that there is; says how large.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "triangle.txt"
    ...     _ = file.write_text("MULTICUT\n0 1 1.0\n1 2 2.0\n0 2 -1.5\n")
    ...     read(file)
    Graph(n=3, m=3, positive=2, negative=1)
    """
    return load(path, format)[0]


def load(path: str | os.PathLike[str], format: str | None = None) -> tuple[Graph, str]:
    """Like :func:`read`, and say which format it was."""
    if format is not None:
        check_format(format)
    path = Path(path)
    try:
        return decoded(read_bytes(path), str(path), format)
    except MemoryError as error:
        raise MemoryError(
            f"{path}: too little memory to read this file of {path.stat().st_size} bytes; give the "
            "process more (ulimit -v, or the limit of a job), or convert the file to .npz where "
            "there is more: that takes less to read than text"
        ) from error


def decoded(data: bytes, name: str, format: str | None = None) -> tuple[Graph, str]:
    """Read an instance from content that is not gzipped (any more), and say in which format."""
    try:
        if not data.strip():
            raise FormatError(f"{name}: the file is empty; expected {EXPECTED}")
        form = recognise(data, Path(name)) if format is None else format
        graph: Graph = FORMATS[form].decode(data, name)
        _check_nodes(graph)
        return graph, form
    except FormatError:
        raise
    except ValueError as error:  # what Graph refuses
        raise FormatError(f"{name}: {error}") from error


def attributed(path: str | os.PathLike[str]) -> Any:
    """The graph of networkx, with all attributes, in a GraphML or GML file; None if it is neither.

    For what an instance has no place for: signs, and edges without a weight.
    """
    data = read_bytes(Path(path))
    for module in (graphml, gml):
        if FORMATS[recognise(data, Path(path))] is module:
            return module.networkx_graph(data, str(path))
    return None


def write(
    graph: Graph, path: str | os.PathLike[str], *, force: bool = False, format: str | None = None
) -> None:
    """Write an instance without any loss; the file is complete or absent, never partial.

    Parameters
    ----------
    graph : Graph
        The instance.
    path : path
        The suffix says what is written: ``.npz`` (everything), ``.txt`` or ``.multicut`` (MULTICUT
        text), ``.triples``, ``.edges``, ``.edgelist``, ``.csv`` or ``.tsv`` (a signed edge list),
        ``.gr`` (PACE), ``.h5`` or ``.hdf5`` (andres), ``.graphml``, ``.gml``; a final ``.gz``
        compresses.
    force : bool
        Overwrite an existing file instead of raising FileExistsError.
    format : str, optional
        A key of :data:`bdcc_jax.io.FORMATS`, in place of what the suffix says.

    Raises
    ------
    ValueError
        The format cannot hold the graph (names, nodes without edges, weights): nothing is lost
        silently.

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
    name = format_of_name(path) if format is None else check_format(format)
    _check_nodes(graph)
    if graph.constraints and name != "npz":
        raise ValueError(
            f"{path}: format {name!r} cannot hold must-links and cannot-links; .npz can"
        )
    if graph.lifted is not None and name not in LIFTED:
        raise ValueError(
            f"{path}: format {name!r} cannot hold lifted edges; {', '.join(LIFTED)} can"
        )
    check_target(path, force=force)
    write_bytes(path, FORMATS[name].encode(graph), force=force)


def _check_nodes(graph: Graph) -> None:
    """Refuse a node count that a few bytes can ask for, and that would take gigabytes to solve."""
    most = max(ALWAYS_NODES, NODES_PER_EDGE * graph.m)
    if graph.n > most:
        raise ValueError(
            f"{graph.n} nodes are too many for {graph.m} edges (at most {most}): ids are positions "
            "from 0 on, and all ids in between are nodes too; renumber the nodes, or use an edge "
            "list (format 'signed'), where ids are names"
        )
