"""Conflicted cycles of three and four pairs, for all repelling pairs at once on a device.

Of every node, the ``WIDTH`` pairs that attract the most are a row of a table. A path u - a - v is
a node that the rows of u and v share, a path u - a - b - v a node b that v's row shares with that
of a node a of u's row: comparisons of small tables, the same number for every repelling pair.
Longer cycles come by and by, through chords that earlier ones have brought.

On a CPU the search of :mod:`.cycles` takes a third of the time, and finds longer cycles.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, IntArray
from .padding import room

WIDTH = 8
"""Pairs of a node that are looked at."""

BATCH = 4096
"""Repelling pairs whose comparisons are in memory at the same time."""


def widest_cycles(
    n: int,
    ends: NDArray[np.int32],
    reduced: FloatArray,
    *,
    least: float,
    device: jax.Device | None = None,
) -> tuple[IntArray, IntArray]:
    """For every repelling pair the cycles of three and of four pairs that carry the most.

    Parameters
    ----------
    n, ends, reduced, least
        As in :func:`~bdcc_jax.lp.dual_ascent.cycles.conflicted_cycles`.
    device : jax.Device, optional
        JAX' default if not given.

    Returns
    -------
    nodes, starts : ndarray
        As there.

    Examples
    --------
    >>> ends = np.array([(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)], np.int32)
    >>> nodes, starts = widest_cycles(4, ends, np.array([2.0, 1.0, 0.5, 5.0, -3.0]), least=0.1)
    >>> [nodes[a:b].tolist() for a, b in zip(starts, starts[1:])]
    [[0, 2, 3], [0, 1, 2, 3]]
    """
    repel = np.flatnonzero(reduced < -least)
    if len(repel) == 0:
        return np.empty(0, np.int64), np.zeros(1, np.int64)
    scale = np.abs(reduced).max()  # so that nothing overflows in float32
    pairs, asked = room(len(reduced)), BATCH * room(-(-len(repel) // BATCH), least=1)
    u, v = np.zeros((2, pairs), np.int32)
    width = np.zeros(pairs, np.float32)
    u[: len(ends)], v[: len(ends)] = ends.T
    width[: len(ends)] = np.where(reduced > least, reduced / scale, 0.0)
    start, end = np.zeros((2, asked), np.int32)
    start[: len(repel)], end[: len(repel)] = ends[repel].T
    arrays = [jax.device_put(each, device) for each in (u, v, width, start, end)]
    found = jax.device_get(_search(*arrays, room(n)))
    second, third, fourth, triangle, square = (each[: len(repel)] for each in found)
    start, end = start[: len(repel)], end[: len(repel)]
    three, four = triangle > least / scale, square > least / scale
    nodes = [
        np.stack([start, second, end], axis=1)[three].ravel(),
        np.stack([start, third, fourth, end], axis=1)[four].ravel(),
    ]
    lengths = np.repeat([3, 4], [three.sum(), four.sum()])
    return np.concatenate(nodes).astype(np.int64), np.append(0, np.cumsum(lengths))


@partial(jax.jit, static_argnames="n")
def _search(
    u: jax.Array, v: jax.Array, width: jax.Array, start: jax.Array, end: jax.Array, n: int
) -> tuple[jax.Array, ...]:
    """The nodes of the best cycles, and what they carry, 0 where there is none."""
    nodes, widths = _widest_pairs(u, v, width, n)
    found: tuple[jax.Array, ...] = jax.lax.map(
        lambda ends: _best_cycles(nodes, widths, *ends), (start, end), batch_size=BATCH
    )
    return found


def _widest_pairs(
    u: jax.Array, v: jax.Array, width: jax.Array, n: int
) -> tuple[jax.Array, jax.Array]:
    """Of every node the other ends of its widest pairs, -1 where there are fewer, and widths."""
    node = jnp.where(width > 0.0, jnp.stack([u, v]), n).ravel()
    narrow, other = -jnp.tile(width, 2), jnp.concatenate([v, u])
    node, narrow, other = jax.lax.sort((node, narrow, other), num_keys=2)
    first = jnp.searchsorted(node, jnp.arange(n + 1, dtype=jnp.int32)).astype(jnp.int32)
    place = jnp.arange(len(node), dtype=jnp.int32) - first[node]
    slot = jnp.where((node < n) & (place < WIDTH), node * WIDTH + place, n * WIDTH)
    nodes = jnp.full(n * WIDTH + 1, -1, jnp.int32).at[slot].set(other)
    widths = jnp.zeros(n * WIDTH + 1, jnp.float32).at[slot].set(-narrow)
    return nodes[:-1].reshape(n, WIDTH), widths[:-1].reshape(n, WIDTH)


def _best_cycles(
    nodes: jax.Array, widths: jax.Array, u: jax.Array, v: jax.Array
) -> tuple[jax.Array, ...]:
    """Between one pair of ends; a path does not come back to them."""
    a, c = nodes[u], nodes[v]
    from_u, to_v = jnp.where(a == v, 0.0, widths[u]), jnp.where(c == u, 0.0, widths[v])
    carried = jnp.minimum(from_u[:, None], to_v) * (a[:, None] == c)
    triangle = jnp.argmax(carried)
    b = nodes[a]  # of empty places anything: their width is 0
    through = jnp.minimum(from_u[:, None], widths[a])
    longer = jnp.minimum(through[:, :, None], to_v) * (b[:, :, None] == c)
    square = jnp.argmax(longer)
    return (
        a[triangle // WIDTH],
        a[square // WIDTH**2],
        c[square % WIDTH],
        carried.ravel()[triangle],
        longer.ravel()[square],
    )
