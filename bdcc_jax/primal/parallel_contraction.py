"""A clustering from weights by contraction in parallel rounds: an array program for any device.

Greedy additive contraction joins one pair of clusters at a time. Here, in every round, a cluster
points at the neighbour that it is pulled to the most, and

- two clusters that point at each other are joined;
- so is one that is pulled there by at least half of all the weight that it has at other clusters:
  nothing that the others do could make it regret that, and the leaves of a hub join it at once.

Pointers by (weight, number of the edge) have no cycles but those of two, so what is joined is a
forest, whose roots are found by halving paths. Parallel edges are then summed up.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import IntArray
from ..base.clock import Clock
from ..base.labels import canonical_labels
from ..instance.graph import Graph

SMALLEST = 1024
"""Smaller instances are padded to so many nodes and edges."""

ROUNDS = 4
"""Rounds between two looks at the clock, and at how many edges are left."""


class _Round(NamedTuple):
    labels: jax.Array  # the cluster of every node
    u: jax.Array  # of every edge between clusters; of those that are gone, the last node
    v: jax.Array
    w: jax.Array
    joined: jax.Array  # whether the last round has joined anything


def parallel_contraction(
    graph: Graph,
    weights: ArrayLike | None = None,
    *,
    device: jax.Device | None = None,
    clock: Clock | None = None,
) -> IntArray:
    """Join clusters that attract each other the most, many at once, until none do.

    Parameters
    ----------
    graph : Graph
        The instance.
    weights : array_like, shape (m,), optional
        Other weights of the same edges to be guided by, for example the reduced costs of a dual
        ascent; those of the graph if not given.
    device : jax.Device, optional
        JAX' default if not given.
    clock : Clock, optional
        When its time is up, what has been joined by then is returned.

    Returns
    -------
    ndarray of int, shape (n,)
        A cluster a node, numbered by first appearance.

    Examples
    --------
    >>> graph = Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [3.0, 2.0, -1.5, -1.0])
    >>> parallel_contraction(graph).tolist()
    [0, 0, 0, 1]
    """
    chosen = graph.weights if weights is None else np.asarray(weights, dtype=np.float64)
    if chosen.shape != (graph.m,):
        raise ValueError(f"weights must have shape ({graph.m},), not {chosen.shape}")
    clock = clock or Clock(None)
    n, m = _room(graph.n + 1), _room(graph.m)
    ends = np.full((2, m), n - 1, np.int32)
    ends[:, : graph.m] = graph.edges.T
    w = np.zeros(m, np.float32)
    w[: graph.m] = chosen / (np.abs(chosen).max(initial=0.0) or 1.0)
    labels = np.arange(n, dtype=np.int32)
    now = _Round(*(jax.device_put(each, device) for each in (labels, *ends, w, True)))
    while clock.remaining > 0.0:
        with clock.device_call():
            now, left = _some_rounds(now)
            left.block_until_ready()
        if not now.joined:
            break
        size = _room(int(left))
        now = now._replace(u=now.u[:size], v=now.v[:size], w=now.w[:size])
    return canonical_labels(np.asarray(now.labels)[: graph.n].astype(np.int64))


@jax.jit
def _some_rounds(now: _Round) -> tuple[_Round, jax.Array]:
    """At most ``ROUNDS`` more, and how many edges are left; these are the first ones."""

    def turn(_: int, now: _Round) -> _Round:
        after: _Round = jax.lax.cond(now.joined, _join, lambda same: same, now)
        return after

    now = jax.lax.fori_loop(0, ROUNDS, turn, now)
    return now, (now.u < len(now.labels) - 1).sum()


def _join(now: _Round) -> _Round:
    """One round."""
    n, m = len(now.labels), len(now.u)
    nodes, edges = jnp.arange(n, dtype=jnp.int32), jnp.arange(m, dtype=jnp.int32)
    pull = jnp.maximum(now.w, 0.0)

    none = jnp.zeros(n, now.w.dtype)
    most = none.at[now.u].max(pull).at[now.v].max(pull)
    weight = none.at[now.u].add(jnp.abs(now.w)).at[now.v].add(jnp.abs(now.w))

    def chosen_at(ends: jax.Array) -> jax.Array:
        return jnp.where((pull > 0.0) & (pull == most[ends]), edges, -1)

    nothing = jnp.full(n, -1, jnp.int32)
    best = nothing.at[now.u].max(chosen_at(now.u)).at[now.v].max(chosen_at(now.v))
    other = jnp.where(best >= 0, now.u[best] + now.v[best] - nodes, nodes)
    mutual = (best >= 0) & (best[other] == best)
    sure = (best >= 0) & (2.0 * most >= weight)
    # Of two that point at each other the smaller one is the root.
    goes = jnp.where(mutual, other < nodes, sure)
    parent = jnp.where(goes, other, nodes)
    root: jax.Array = jax.lax.while_loop(lambda p: (p != p[p]).any(), lambda p: p[p], parent)
    a, b = root[now.u], root[now.v]
    inside = a == b
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    last = jnp.int32(n - 1)
    a, b, w = jax.lax.sort(
        (jnp.where(inside, last, a), jnp.where(inside, last, b), jnp.where(inside, 0.0, now.w)),
        num_keys=2,
    )
    first = jnp.append(True, (a[1:] != a[:-1]) | (b[1:] != b[:-1]))
    place = jnp.cumsum(first) - 1
    summed = jax.ops.segment_sum(w, place, m, indices_are_sorted=True)
    empty = jnp.full(m, last)
    return _Round(
        root[now.labels],
        empty.at[place].set(a),
        empty.at[place].set(b),
        jnp.where(empty.at[place].set(a) == last, 0.0, summed),
        (parent != nodes).any(),
    )


def _room(count: int) -> int:
    """The next power of two, so that few programs are compiled."""
    return max(SMALLEST, 1 << (count - 1).bit_length())
