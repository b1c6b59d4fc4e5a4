"""HDF5 as the library andres/graph has it: a graph, and one value an edge.

The group ``graph`` has ``graph-type-id``: 10000 for a general graph (``number-of-vertices``,
``number-of-edges`` and ``edges`` (m, 2), absent without edges), 10002 for the complete graph of
``number-of-vertices``, 10003 for the grid of ``shape``. The values are in ``edge-values``, in the
order of the edges: lexicographic in a complete graph; in a grid axis by axis, the first coordinate
running fastest, of the nodes too. Written: the general graph.

With lifted edges there is a second group, ``graph-lifted``, a general graph with all edges,
ordinary ones too, and the values are of its edges. Where they are ``edge-cut-probabilities``, as
the tools of the library have them, weights are log-odds, with probabilities clipped as there, at
1/255.
"""

import math
from typing import Any

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.validation import MAX_NODES
from ..instance.graph import Graph
from . import hdf5
from .files import FormatError, refuse_names
from .text import Opening

GENERAL, COMPLETE, GRID = 10000, 10002, 10003


def recognises(opening: Opening) -> bool:
    """Whether this is HDF5; OpenGM's is to be asked first."""
    return opening.data.startswith(hdf5.MAGIC)


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    with hdf5.opened(data, name) as file:
        if "graph" not in file:
            raise FormatError(f"{name}: expected a group 'graph' (andres) or 'gm' (OpenGM)")
        kind = file.integer("graph/graph-type-id")
        if "graph-lifted" in file:
            return _with_lifted(file, kind, name)
        weights = np.zeros(0)
        if "edge-values" in file:
            weights = file.array("edge-values", "iuf")
        elif kind != GENERAL or "graph/edges" in file:
            raise FormatError(f"{name}: expected a dataset 'edge-values'; there is none")
        if kind == GENERAL:
            return _general(file, weights, name)
        if kind == COMPLETE:
            n = file.integer("graph/number-of-vertices")
            _check_count(n * (n - 1) // 2, len(weights), f"the complete graph of {n} nodes", name)
            return Graph(n, np.column_stack(np.triu_indices(n, 1)), weights)
        if kind == GRID:
            shape = _grid_shape(file, name)
            _check_count(_grid_size(shape), len(weights), f"the grid of shape {shape}", name)
            return Graph(math.prod(shape), _grid_edges(shape), weights)
    raise FormatError(
        f"{name}: expected the graph-type-id {GENERAL}, {COMPLETE} or {GRID}, not {kind}"
    )


def encode(graph: Graph) -> bytes:
    """Write a graph; weights survive exactly."""
    refuse_names(graph, "an HDF5 file")
    ordinary = graph.edges if graph.lifted is None else graph.edges[~graph.lifted]

    def fill(file: Any) -> None:
        _fill(file, "graph", graph.n, ordinary)
        if graph.lifted is not None:
            _fill(file, "graph-lifted", graph.n, graph.edges)
        file["edge-values"] = graph.weights

    return hdf5.built(fill)


def _fill(file: Any, name: str, n: int, edges: IntArray) -> None:
    group = file.create_group(name)
    group["graph-type-id"] = np.int32(GENERAL)
    group["multiple-edges-enabled"] = np.uint8(0)
    group["number-of-vertices"] = np.uint64(n)
    group["number-of-edges"] = np.uint64(len(edges))
    if len(edges):
        group["edges"] = edges.astype(np.uint64)


def _general(file: hdf5.Reader, weights: np.ndarray, name: str) -> Graph:
    n, edges = _general_edges(file, "graph", name)
    _check_count(len(edges), len(weights), "the graph", name)
    return Graph(n, edges, weights)


def _general_edges(file: hdf5.Reader, group: str, name: str) -> tuple[int, np.ndarray]:
    n, m = (file.integer(f"{group}/number-of-{what}") for what in ("vertices", "edges"))
    edges = file.array(f"{group}/edges", ndim=2) if m else np.zeros((0, 2), dtype=np.int64)
    if edges.shape != (m, 2):
        raise FormatError(f"{name}: expected 'edges' of shape ({m}, 2), not {edges.shape}")
    return n, edges


def _with_lifted(file: hdf5.Reader, kind: int, name: str) -> Graph:
    """All edges and their values are those of ``graph-lifted``; ``graph`` has the ordinary ones."""
    if kind not in (GENERAL, GRID) or file.integer("graph-lifted/graph-type-id") != GENERAL:
        raise FormatError(
            f"{name}: with lifted edges, expected a general graph or a grid as 'graph' and a "
            f"general one as 'graph-lifted' (graph-type-id {GENERAL})"
        )
    n, edges = _general_edges(file, "graph-lifted", name)
    if "edge-values" in file:
        weights = file.array("edge-values", "iuf")
    else:
        weights = _log_odds(file.array("edge-cut-probabilities", "iuf"), name)
    _check_count(len(edges), len(weights), "the graph with lifted edges", name)
    if kind == GENERAL:
        nodes, ordinary = _general_edges(file, "graph", name)
    else:
        shape = _grid_shape(file, name)
        # Before a grid is made, whose shape costs nothing to write: its edges are among these.
        _check_count(max(_grid_size(shape), len(edges)), len(edges), f"the grid {shape}", name)
        nodes, ordinary = math.prod(shape), _grid_edges(shape)
    if nodes != n:
        raise FormatError(f"{name}: 'graph' has {nodes} nodes, but 'graph-lifted' has {n}")
    (u, v), (a, b) = ordinary.T, edges.T
    return Graph.from_edges(u, v, np.zeros(len(u)), n, lifted=(a, b, weights))


def _log_odds(p: np.ndarray, name: str) -> FloatArray:
    if not ((p >= 0) & (p <= 1)).all():
        raise FormatError(f"{name}: 'edge-cut-probabilities' must lie between 0 and 1")
    p = np.clip(p.astype(np.float64), 1 / 255, 1 - 1 / 255)
    odds: FloatArray = np.log((1 - p) / p)
    return odds


def _grid_shape(file: hdf5.Reader, name: str) -> list[int]:
    shape = [int(length) for length in file.array("graph/shape")]
    if not 1 <= len(shape) <= 8 or not 1 <= math.prod(shape) <= MAX_NODES or min(shape) < 1:
        raise FormatError(
            f"{name}: the grid of shape {shape[:8]} must have 1 to 8 axes and 1 to {MAX_NODES} "
            "nodes"
        )
    return shape


def _grid_size(shape: list[int]) -> int:
    """How many edges a grid has."""
    return sum(math.prod(shape) // length * (length - 1) for length in shape)


def _grid_edges(shape: list[int]) -> IntArray:
    nodes = np.arange(math.prod(shape)).reshape(shape, order="F")
    return np.concatenate([_along(nodes, axis) for axis in range(len(shape))])


def _along(nodes: IntArray, axis: int) -> IntArray:
    """The edges of a grid in the direction of one axis."""
    moved = np.moveaxis(nodes, axis, 0)
    ends = [np.moveaxis(part, 0, axis).ravel(order="F") for part in (moved[:-1], moved[1:])]
    return np.column_stack(ends)


def _check_count(edges: int, values: int, what: str, name: str) -> None:
    # Before anything is made for the edges: a number costs nothing to write into a file.
    if edges != values:
        raise FormatError(f"{name}: {what} has {edges} edges, but 'edge-values' holds {values}")
