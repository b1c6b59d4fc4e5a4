"""HDF5 as the library andres/graph has it: a graph, and one value an edge.

The group ``graph`` has ``graph-type-id``: 10000 for a general graph (``number-of-vertices``,
``number-of-edges`` and ``edges`` (m, 2), absent without edges), 10002 for the complete graph of
``number-of-vertices``, 10003 for the grid of ``shape``. The values are in ``edge-values``, in the
order of the edges: lexicographic in a complete graph; in a grid axis by axis, the first coordinate
running fastest, of the nodes too. Written: the general graph.
"""

import math
from typing import Any

import numpy as np

from ..base.arrays import IntArray
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
            shape = [int(length) for length in file.array("graph/shape")]
            return _grid(shape, weights, name)
    raise FormatError(
        f"{name}: expected the graph-type-id {GENERAL}, {COMPLETE} or {GRID}, not {kind}"
    )


def encode(graph: Graph) -> bytes:
    """Write a graph; weights survive exactly."""
    refuse_names(graph, "an HDF5 file")

    def fill(file: Any) -> None:
        group = file.create_group("graph")
        group["graph-type-id"] = np.int32(GENERAL)
        group["multiple-edges-enabled"] = np.uint8(0)
        group["number-of-vertices"] = np.uint64(graph.n)
        group["number-of-edges"] = np.uint64(graph.m)
        if graph.m:
            group["edges"] = graph.edges.astype(np.uint64)
        file["edge-values"] = graph.weights

    return hdf5.built(fill)


def _general(file: hdf5.Reader, weights: np.ndarray, name: str) -> Graph:
    n, m = file.integer("graph/number-of-vertices"), file.integer("graph/number-of-edges")
    edges = file.array("graph/edges", ndim=2) if m else np.zeros((0, 2), dtype=np.int64)
    if edges.shape != (m, 2):
        raise FormatError(f"{name}: expected 'edges' of shape ({m}, 2), not {edges.shape}")
    _check_count(m, len(weights), "the graph", name)
    return Graph(n, edges, weights)


def _grid(shape: list[int], weights: np.ndarray, name: str) -> Graph:
    what = f"the grid of shape {shape[:8]}"
    if not 1 <= len(shape) <= 8 or not 1 <= math.prod(shape) <= MAX_NODES or min(shape) < 1:
        raise FormatError(f"{name}: {what} must have 1 to 8 axes and 1 to {MAX_NODES} nodes")
    n = math.prod(shape)
    _check_count(sum(n // length * (length - 1) for length in shape), len(weights), what, name)
    nodes = np.arange(n).reshape(shape, order="F")
    edges = [_along(nodes, axis) for axis in range(len(shape))]
    return Graph(n, np.concatenate(edges), weights)


def _along(nodes: IntArray, axis: int) -> IntArray:
    """The edges of a grid in the direction of one axis."""
    moved = np.moveaxis(nodes, axis, 0)
    ends = [np.moveaxis(part, 0, axis).ravel(order="F") for part in (moved[:-1], moved[1:])]
    return np.column_stack(ends)


def _check_count(edges: int, values: int, what: str, name: str) -> None:
    # Before anything is made for the edges: a number costs nothing to write into a file.
    if edges != values:
        raise FormatError(f"{name}: {what} has {edges} edges, but 'edge-values' holds {values}")
