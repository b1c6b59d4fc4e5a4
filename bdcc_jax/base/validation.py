"""What a graph may be made of: each check names the offending value and what is accepted."""

import sys
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arrays import BoolArray, FloatArray, IntArray

MAX_NODES = 2**31 - 1
"""Ids at or past this are surely keys, not positions; pass them as names instead."""


def canonical_edges(n: int, u: IntArray, v: IntArray, w: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sum parallel edges, drop zeros and self-loops, sort: edges as u < v, and their weights."""
    proper = _no_loops(u, v)
    if not proper.all():
        u, v, w = u[proper], v[proper], w[proper]
    keys, summed = sum_by_key(np.minimum(u, v) * n + np.maximum(u, v), w)
    kept = summed != 0
    keys = keys[kept]
    return np.column_stack([keys // n, keys % n]), summed[kept]


def canonical_lifted_edges(
    n: int, u: IntArray, v: IntArray, w: FloatArray, lifted: BoolArray
) -> tuple[IntArray, FloatArray, BoolArray | None]:
    """The same with lifted edges; a pair that is an ordinary edge, too, is ordinary.

    Ordinary edges are kept also with weight 0, for they connect. The last array says which edges
    are lifted; None where none is left.
    """
    proper = _no_loops(u, v)
    u, v, w, lifted = u[proper], v[proper], w[proper], lifted[proper]
    pairs = np.minimum(u, v) * n + np.maximum(u, v)
    keys, summed = sum_by_key(pairs, w)
    connects = np.isin(keys, pairs[~lifted])
    some_lifted = bool((~connects & (summed != 0)).any())
    kept = summed != 0
    if some_lifted:
        kept |= connects
    keys = keys[kept]
    edges = np.column_stack([keys // n, keys % n])
    return edges, summed[kept], ~connects[kept] if some_lifted else None


def _no_loops(u: IntArray, v: IntArray) -> BoolArray:
    """Which edges are no self-loops; warns of those that are."""
    loops: BoolArray = u == v
    if loops.any():
        warnings.warn(
            f"{int(loops.sum())} self-loop(s) dropped (the first at node {u[loops][0]}): "
            "no clustering can cut them",
            stacklevel=5,
        )
    return ~loops


def lifted_edges(lifted: Any) -> tuple[IntArray, IntArray, FloatArray]:
    """Check lifted edges: the two ends and the weight of each."""
    try:
        u, v, w = lifted
    except (TypeError, ValueError):
        raise ValueError(
            f"lifted must be three arrays, (u, v, w) of the lifted edges, not {lifted!r:.80}"
        ) from None
    u, v = node_ids(u, "lifted[0]"), node_ids(v, "lifted[1]")
    if len(u) != len(v):
        raise ValueError(f"the lifted u and v must be of one length, not {len(u)} and {len(v)}")
    return u, v, real_weights(w, len(u), "the lifted weights")


def lifted_mask(lifted: ArrayLike, m: int) -> BoolArray:
    """Check which of m edges are lifted."""
    array = plain_array(lifted, "lifted")
    if array.size == 0:
        array = np.zeros(0, dtype=bool)
    if array.shape != (m,) or array.dtype != np.bool_:
        raise ValueError(
            f"lifted must say True or False of every edge, shape ({m},), not {array.dtype} of "
            f"shape {array.shape}; Graph.from_edges takes lifted edges as (u, v, w)"
        )
    return array.copy()


def sum_by_key(keys: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """The different keys in order, and the sum of the values of each: exact, rounded once."""
    # Not of the sums: whether they overflow on the way must not depend on the order of the edges.
    with np.errstate(over="ignore"):
        total = np.abs(values).sum()
    if not np.isfinite(total):
        raise ValueError("the weights add up to more than a float64 can hold; scale them down")
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(first, append=len(keys))
    sums = values[first]
    two, many = counts == 2, counts > 2
    sums[two] += values[first[two] + 1]
    entries = iter(values[np.repeat(many, counts)].tolist())
    sums[many] = [fsum(islice(entries, count)) for count in counts[many].tolist()]
    return keys[first], sums


def plain_array(values: Any, what: str) -> np.ndarray:
    """Make an array, unless a value is missing: masked, or the NA of pandas.

    ``numpy.asarray`` drops masks, and what is behind them is anything.
    """
    rows = values if isinstance(values, list | tuple) else ()
    for part in (values, *rows):
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            raise ValueError(
                f"{what} must have no masked entries; leave these out, or fill them (0: no edge)"
            )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"the rows of {what} must have the same length") from error
    if array.dtype != object:
        return array
    missing = np.fromiter(map(is_missing, array.flat), np.bool_, array.size)
    if missing.any():
        at = np.argwhere(missing.reshape(array.shape))[0].tolist()
        raise ValueError(
            f"{what} must have no missing entries: entry {', '.join(map(str, at))} is "
            f"{array.flat[int(np.flatnonzero(missing)[0])]!r}"
        )
    return np.array(array.tolist())


def is_missing(value: object) -> bool:
    """Whether a value is None, or the NA of pandas."""
    # Whoever holds an NA has imported pandas already.
    return value is None or value is getattr(sys.modules.get("pandas"), "NA", None)


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
    array = plain_array(ids, what)
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


def real_weights(weights: ArrayLike, m: int, what: str = "weights") -> FloatArray:
    """Check m real weights, which may be infinite."""
    array = plain_array(weights, what)
    if array.size == 0:
        array = np.empty(0)
    if array.shape != (m,):
        raise ValueError(f"{what} must have shape ({m},), one an edge, not {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what} must be real numbers, not {array.flat[0]!r}")
    bad = np.isnan(array)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{what} must be numbers: entry {at} is {array[at]}")
    return array.astype(np.float64)


def unless_ids(names: Sequence[Hashable] | None) -> Sequence[Hashable] | None:
    """Return the names of the nodes, or None if they are ``0, 1, ...``, the ids, anyway."""
    return None if names is None or list(names) == list(range(len(names))) else names


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
