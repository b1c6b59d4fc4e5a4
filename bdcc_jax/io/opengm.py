"""OpenGM's HDF5 models: the group ``gm``, pairwise Potts factors.

``header`` is [2, minor, variables, factors, types, (type id, functions) for each type, value type];
old files lack the last. ``function-id-16006`` holds Potts functions: ``indices`` has the two shapes
and ``values`` (equal, not equal) of each. ``function-id-16000`` holds tables: ``indices`` has their
dimension and shape, ``values`` the entries; they must be Potts functions too. ``factors`` has for
each factor the function's number, the position of its type in the header, 2, and the two variables.

An edge's weight is ``not equal - equal``, summed over parallel factors. What a model has beside
that is reported by a warning: the sum of ``equal``, which is a constant in the energy, and a limit
on the number of labels, which a clustering does not have. Written: Potts functions, one a factor.
"""

import math
import warnings
from typing import Any

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from . import hdf5
from .files import FormatError, refuse_names
from .text import Opening

POTTS, EXPLICIT = 16006, 16000
VERSION, DOUBLE = (2, 0), 1


def recognises(opening: Opening) -> bool:
    """Whether this is HDF5 with a group ``gm``."""
    if not opening.data.startswith(hdf5.MAGIC):
        return False
    try:
        with hdf5.opened(opening.data, "") as file:
            return "gm" in file
    except FormatError:
        return False


def decode(data: bytes, name: str) -> Graph:
    """Read a graph from the content of a file; ``name`` is for error messages."""
    with hdf5.opened(data, name) as file:
        n, n_factors, types = _header(file, name)
        states = file.array("gm/numbers-of-states")
        if len(states) != n:
            raise FormatError(f"{name}: {n} variables, but {len(states)} numbers of states")
        factors = _factors(file, n_factors, name)
        equal, differ = np.empty(n_factors), np.empty(n_factors)
        of_type = factors[:, 1]
        if (of_type >= len(types)).any():
            raise FormatError(f"{name}: a factor is of type {of_type.max()} of {len(types)}")
        for position, (kind, size) in enumerate(types):
            mine = of_type == position
            if not mine.any():
                continue
            values = _functions(file, kind, size, name)
            which = factors[mine, 0]
            if which.max() >= len(values):
                raise FormatError(f"{name}: a factor has function {which.max()} of {len(values)}")
            equal[mine], differ[mine] = values[which].T
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite, Graph refuses
        graph = Graph(n, factors[:, 3:], differ - equal)
    _warn(float(equal.sum()), int(states.min(initial=n)), n)
    return graph


def encode(graph: Graph) -> bytes:
    """Write a graph; weights survive exactly."""
    refuse_names(graph, "an HDF5 file")
    n, m = graph.n, graph.m
    factors = np.column_stack(
        [np.arange(m), np.zeros(m, dtype=np.int64), np.full(m, 2), graph.edges]
    )

    def fill(file: Any) -> None:
        group = file.create_group("gm")
        group["header"] = np.array([*VERSION, n, m, 1, POTTS, m, DOUBLE], dtype=np.uint64)
        group["numbers-of-states"] = np.full(n, n, dtype=np.uint64)
        if m:
            group["factors"] = factors.astype(np.uint64).ravel()
            functions = group.create_group(f"function-id-{POTTS}")
            functions["indices"] = np.full(2 * m, n, dtype=np.uint64)
            functions["values"] = np.column_stack([np.zeros(m), graph.weights]).ravel()

    return hdf5.built(fill)


def _header(file: hdf5.Reader, name: str) -> tuple[int, int, list[tuple[int, int]]]:
    header = [int(entry) for entry in file.array("gm/header")[:1000]]
    if len(header) < 5 or header[0] != VERSION[0] or len(header) - 5 - 2 * header[4] not in (0, 1):
        raise FormatError(
            f"{name}: expected a header [2, minor, variables, factors, types, (type id, functions) "
            f"for each type, value type], not {header[:12]}"
        )
    _, _, n, n_factors, n_types = header[:5]
    pairs = header[5 : 5 + 2 * n_types]
    return n, n_factors, list(zip(pairs[::2], pairs[1::2], strict=True))


def _factors(file: hdf5.Reader, n_factors: int, name: str) -> IntArray:
    """One factor a row: function, position of its type, 2, two variables."""
    if n_factors == 0:
        return np.empty((0, 5), dtype=np.int64)
    flat = file.array("gm/factors")
    # As long as all factors have two variables, each takes five entries.
    order = flat[2::5]
    if (order != 2).any():
        first = int(np.flatnonzero(order != 2)[0])
        raise FormatError(f"{name}: factor {first} has {order[first]} variables; expected 2")
    if len(flat) != 5 * n_factors:
        raise FormatError(
            f"{name}: {n_factors} factors of two variables need {5 * n_factors} entries in "
            f"'factors', not {len(flat)}"
        )
    return _int64(flat, name).reshape(-1, 5)


def _functions(file: hdf5.Reader, kind: int, size: int, name: str) -> FloatArray:
    """One function a row: its values where the labels are equal, and where they are not."""
    if kind not in (POTTS, EXPLICIT):
        raise FormatError(f"{name}: functions of type {kind}; expected {POTTS} or {EXPLICIT}")
    folder = f"gm/function-id-{kind}"
    indices = _int64(file.array(f"{folder}/indices"), name)
    values = file.array(f"{folder}/values", "iuf").astype(np.float64)
    if kind == EXPLICIT:
        return _tables(indices, values, size, name)
    if not len(indices) == len(values) == 2 * size:
        raise FormatError(
            f"{name}: {size} Potts functions need {2 * size} indices and values, "
            f"not {len(indices)} and {len(values)}"
        )
    return values.reshape(-1, 2)


def _tables(indices: IntArray, values: FloatArray, size: int, name: str) -> FloatArray:
    """Turn tables into Potts functions."""
    if len(indices) != 3 * size or (indices[::3] != 2).any():
        raise FormatError(f"{name}: expected {size} tables of two variables in 'function-id-16000'")
    rows, start = [], 0
    for number, (height, width) in enumerate(indices.reshape(-1, 3)[:, 1:].tolist()):
        what = f"{name}: table {number} of shape ({height}, {width})"
        if height < 2 or height != width or start + height * width > len(values):
            raise FormatError(f"{what} is not square, or has fewer entries than it says")
        table = values[start : start + height * width].reshape(height, width)
        same = np.eye(height, dtype=bool)
        equal, differ = table[0, 0], table[0, 1]
        if not np.array_equal(table, np.where(same, equal, differ)):
            raise FormatError(f"{what} tells labels apart: expected a Potts function")
        rows.append((equal, differ))
        start += height * width
    return np.array(rows).reshape(-1, 2)


def _int64(array: np.ndarray, name: str) -> IntArray:
    if array.size and (int(array.max()) >= 2**63 or int(array.min()) < 0):
        raise FormatError(f"{name}: expected numbers from 0 to 2**63 - 1")
    return array.astype(np.int64)


def _warn(constant: float, states: int, n: int) -> None:
    if constant != 0 and math.isfinite(constant):
        warnings.warn(
            f"the model's energy is the objective plus {constant:.17g}, which a graph cannot hold",
            stacklevel=4,
        )
    if states < n:
        warnings.warn(
            f"the model has {states} labels for {n} variables; a clustering may use more",
            stacklevel=4,
        )
