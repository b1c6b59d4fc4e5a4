"""Lifted edges for a graph that has none: between nodes that a few edges join."""

import numpy as np
from numpy.typing import ArrayLike

from ..base.adjacency import Adjacency, adjacency
from ..base.arrays import FloatArray, IntArray
from ..base.compiled import compiled
from ..instance.graph import Graph
from ..options import as_count

MOST_PAIRS = 50_000_000
"""More lifted edges than this are refused, rather than run out of memory."""


def lift(
    graph: Graph,
    radius: int,
    *,
    features: ArrayLike | None = None,
    threshold: float | None = None,
    scale: float = 1.0,
) -> Graph:
    """Add a lifted edge for all nodes that are 2 to ``radius`` edges apart.

    Parameters
    ----------
    graph : Graph
        The ordinary edges.
    radius : int
        How many edges there may be between the two nodes, at least 2.
    features : array_like, shape (n, d), optional
        A vector a node. The weight is ``scale * (threshold - distance of the two vectors)``: what
        is nearer than ``threshold`` attracts, also across nodes in between that do not.
        Without features, the weights of the graph must be log-odds of being kept, as
        :func:`bdcc_jax.weights_from_probabilities` makes them. Then the weight is the log-odds
        that all edges of the most probable path, of at most ``radius`` edges, are kept
        (Keuper et al., 2015), times ``scale``.
    threshold : float, optional
        The distance at which features neither attract nor repel; needed with features.
    scale : float
        What all lifted weights are multiplied by.

    Returns
    -------
    Graph
        The same nodes and edges, and the lifted ones; see :class:`bdcc_jax.Graph`.

    Examples
    --------
    >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], [1.0, -0.5, 1.0])
    >>> lifted = lift(chain, 2, features=[[0.0], [1.0], [0.1], [5.0]], threshold=1.0)
    >>> lifted.edges[lifted.lifted].tolist(), lifted.weights[lifted.lifted].round(2).tolist()
    ([[0, 2], [1, 3]], [0.9, -3.0])
    >>> lift(chain, 3).weights.round(2).tolist()
    [1.0, -0.96, -1.38, -0.5, -0.96, 1.0]
    """
    radius = as_count("radius", radius, at_least=2)
    if graph.lifted is not None or graph.constraints:
        raise ValueError("the graph must have neither lifted edges nor constraints")
    if not np.isfinite(scale):
        raise ValueError(f"scale must be a finite number, not {scale!r}")
    if (features is None) != (threshold is None):
        raise ValueError("features and threshold belong together: give both, or neither")
    vectors = None if features is None else _vectors(features, graph.n)
    u, v = graph.edges.T
    at = adjacency(graph.n, u, v, np.arange(graph.m))
    # -log of the probability that an edge is kept, 1 / (1 + exp(-w)).
    length = np.logaddexp(0.0, -graph.weights)
    a, b, together = _within(at, length, radius, MOST_PAIRS)
    if len(a) > MOST_PAIRS:
        raise ValueError(f"a radius of {radius} makes more than {MOST_PAIRS} lifted edges")
    if vectors is not None:
        if threshold is None or not np.isfinite(threshold):
            raise ValueError(f"threshold must be a finite number, not {threshold!r}")
        weights = threshold - np.linalg.norm(vectors[a] - vectors[b], axis=1)
    else:
        # log(p / (1 - p)) for p = exp(-together).
        weights = -together - np.log(-np.expm1(-together))
    edges = np.concatenate([graph.edges, np.column_stack([a, b])])
    mask = np.repeat([False, True], [graph.m, len(a)])
    values = np.concatenate([graph.weights, scale * weights])
    return Graph(graph.n, edges, values, graph.names, mask)


def _vectors(features: ArrayLike, n: int) -> FloatArray:
    vectors = np.asarray(features, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != n:
        raise ValueError(f"features must have shape ({n}, d), not {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise ValueError("features must be finite numbers")
    return vectors


@compiled
def _within(
    at: Adjacency, length: FloatArray, radius: int, most: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Pairs u < v that are 2 to ``radius`` edges apart, and the shortest length of such a path."""
    n = len(at.starts) - 1
    best, hops = np.full(n, np.inf), np.zeros(n, np.int64)
    now, seen = np.empty(n, np.int64), np.empty(n, np.int64)
    reach = np.empty(n)
    us, vs = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    lengths = [0.0 for _ in range(0)]
    for root in range(n):
        best[root], seen[0], count, changed = 0.0, root, 1, 1
        now[0] = root
        for step in range(1, radius + 1):
            for i in range(changed):  # as they are before this step: no path has more edges
                reach[i] = best[now[i]]
            sources, changed = now[:changed].copy(), 0
            for i in range(len(sources)):
                a = sources[i]
                for k in range(at.starts[a], at.starts[a + 1]):
                    b, there = at.neighbours[k], reach[i] + length[at.edges[k]]
                    if best[b] == np.inf:
                        hops[b] = step
                        seen[count] = b
                        count += 1
                    if there < best[b]:
                        best[b] = there
            if step == radius:
                break
            for i in range(count):
                now[i] = seen[i]
            changed = count
        for i in range(count):
            v = seen[i]
            if v > root and hops[v] > 1:
                us.append(np.int64(root))
                vs.append(np.int64(v))
                lengths.append(best[v])
            best[v], hops[v] = np.inf, 0
        if len(us) > most:
            break
    return np.array(us, dtype=np.int64), np.array(vs, dtype=np.int64), np.array(lengths)
