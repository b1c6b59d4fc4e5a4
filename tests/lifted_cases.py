"""Small instances with lifted edges, and their optima by enumeration."""

import numpy as np
import scipy.sparse as sp
from oracles import all_cuts, partitions
from scipy.sparse.csgraph import connected_components

from bdcc_jax import Graph


def random_lifted(rng, most=7):
    """A graph of 3 to ``most`` nodes with edges of both kinds; weights whole, or any."""
    while True:
        n = int(rng.integers(3, most + 1))
        pairs = np.column_stack(np.triu_indices(n, 1))
        kind = rng.choice(3, size=len(pairs), p=rng.dirichlet([1, 1, 1]))
        graph = _of_kinds(rng, n, pairs, kind)
        if graph.lifted is not None:
            return graph


def lifted_grid(rng, rows=3, columns=3):
    """Ordinary edges that repel, and lifted ones that attract: to connect is the question."""
    nodes = np.arange(rows * columns).reshape(rows, columns)
    edges = np.concatenate(
        [
            np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()]),
            np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()]),
        ]
    )
    pairs = np.column_stack(np.triu_indices(rows * columns, 1))
    far = ~(pairs[:, None] == edges[None]).all(axis=2).any(axis=1)
    chosen = rng.permutation(np.flatnonzero(far))[: rng.integers(4, 12)]
    weights = -rng.integers(0, 3, len(edges)).astype(float)
    attraction = rng.integers(-4, 6, len(chosen)).astype(float)
    return Graph.from_edges(
        *edges.T, weights, rows * columns, lifted=(*pairs[chosen].T, attraction)
    )


def _of_kinds(rng, n, pairs, kind):
    ordinary, lifted = pairs[kind == 1], pairs[kind == 2]
    if rng.random() < 0.5:
        weights = [rng.integers(-3, 4, len(part)).astype(float) for part in (ordinary, lifted)]
    else:
        size = rng.choice([0.3, 1.0, 3.0])
        weights = [rng.normal(size=len(ordinary)), size * rng.normal(size=len(lifted))]
    return Graph.from_edges(*ordinary.T, weights[0], n, lifted=(*lifted.T, weights[1]))


def is_connected(graph, labels):
    """Whether ordinary edges connect every cluster."""
    labels = np.asarray(labels)
    u, v = graph.edges[~graph.lifted].T
    kept = labels[u] == labels[v]
    links = sp.coo_array((np.ones(kept.sum()), (u[kept], v[kept])), shape=(graph.n, graph.n))
    return connected_components(links, directed=False)[0] == len(set(labels.tolist()))


def lifted_optimum(graph):
    """The cost of the best clustering whose clusters are connected."""
    costs = all_cuts(graph) @ graph.weights
    labels = partitions(graph.n)
    return next(
        float(costs[i]) for i in np.argsort(costs, kind="stable") if is_connected(graph, labels[i])
    )
