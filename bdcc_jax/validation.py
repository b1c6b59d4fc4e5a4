"""What a graph may be made of: each check names the offending value and what is accepted."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray, IntArray

MAX_NODES = 2**31 - 1
"""Ids at or past this are surely keys, not positions; pass them as names instead."""


def canonical_edges(n: int, u: IntArray, v: IntArray, w: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sum parallel edges, drop zeros and self-loops, sort: edges as u < v, and their weights."""
    loops = u == v
    if loops.any():
        warnings.warn(
            f"{int(loops.sum())} self-loop(s) dropped (the first at node {u[loops][0]}): "
            "no clustering can cut them",
            stacklevel=4,
        )
        u, v, w = u[~loops], v[~loops], w[~loops]
    keys, inverse = np.unique(np.minimum(u, v) * n + np.maximum(u, v), return_inverse=True)
    summed = np.bincount(inverse, w, len(keys)) if len(keys) else np.empty(0)
    with np.errstate(over="ignore"):
        total = np.abs(summed).sum()
    if not np.isfinite(total):
        raise ValueError("the weights add up to more than a float64 can hold; scale them down")
    kept = summed != 0
    keys = keys[kept]
    return np.column_stack([keys // n, keys % n]), summed[kept]


def node_count(n: Any) -> int:
    """Check a number of nodes."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise ValueError(f"n must be an integer, not {n!r}")
    if n < 1:
        raise ValueError(f"n must be at least 1 (a graph needs a node), not {n}")
    if n > MAX_NODES:
        raise ValueError(f"n must be at most {MAX_NODES}, not {n}; pass large keys as node names")
    return int(n)


def node_ids(ids: ArrayLike, what: str) -> IntArray:
    """Check a list of node ids."""
    array = np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, not of shape {array.shape}")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"node ids in {what} must be integers, not {array.flat[0]!r}")
    whole = np.isfinite(array) & (array == np.floor(array))
    if not whole.all():
        at = int(np.flatnonzero(~whole)[0])
        raise ValueError(f"node ids must be integers: {what}[{at}] is {array[at]}")
    for bad, reason in ((array < 0, "at least 0"), (array >= MAX_NODES, f"below {MAX_NODES}")):
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise ValueError(f"node ids must be {reason}: {what}[{at}] is {array[at]}")
    return array.astype(np.int64)


def finite_weights(weights: ArrayLike, m: int) -> FloatArray:
    """Check m real, finite weights."""
    array = np.asarray(weights)
    if array.size == 0:
        array = np.empty(0)
    if array.shape != (m,):
        raise ValueError(f"weights must have shape ({m},), one an edge, not {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"weights must be real numbers, not {array.flat[0]!r}")
    bad = ~np.isfinite(array)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(f"weights must be finite: entry {at} is {array[at]}")
    return array.astype(np.float64)


def node_names(names: Iterable[Hashable] | None, n: int) -> tuple[Hashable, ...] | None:
    """Check the names of n nodes, if there are any."""
    if names is None:
        return None
    names = tuple(names)
    if len(names) != n:
        raise ValueError(f"names must have one entry a node ({n}), not {len(names)}")
    if len(set(names)) != n:
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"names must be different: {twice!r} appears twice")
    return names
