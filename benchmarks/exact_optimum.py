"""The optimum in exact arithmetic: dynamic programming over sets of nodes.

It shares no code with the solver. Tests and ``benchmarks/soak.py`` compare with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from bdcc_jax import Graph


def exact_cost(graph: Graph, labels: np.ndarray) -> Fraction:
    """What a clustering costs, exactly."""
    return sum(map(Fraction, graph.weights[graph.cut(labels)].tolist()), Fraction(0))


def exact_optimum(graph: Graph) -> Fraction:
    """What the best clustering costs, exactly; for up to 13 nodes or so."""
    pairs = map(tuple, graph.edges.tolist())
    weights = map(Fraction, graph.weights.tolist())
    return exact_optimum_of(graph.n, dict(zip(pairs, weights, strict=True)))


def exact_optimum_of(n: int, weights: Mapping[tuple[int, int], Fraction | int]) -> Fraction:
    """The same, with the weights of pairs of nodes.

    Let K(S) be the weight inside a set S of nodes, and B(S) the most that a clustering of S keeps.
    The cluster of the smallest node of S is S without some R: B(S) = max over R of K(S - R) + B(R).
    """
    unit = max((Fraction(w).denominator for w in weights.values()), default=1)  # powers of two
    pull = [[0] * n for _ in range(n)]
    for (u, v), w in weights.items():
        pull[u][v] = pull[v][u] = int(w * unit)
    kept, best = [0] * (1 << n), [0] * (1 << n)
    for s in range(1, 1 << n):
        others = rest = s & (s - 1)
        first = pull[(s ^ rest).bit_length() - 1]
        kept[s] = kept[rest] + sum(w for v, w in enumerate(first) if rest >> v & 1)
        most = kept[s]
        while rest:
            if (value := kept[s ^ rest] + best[rest]) > most:
                most = value
            rest = (rest - 1) & others
        best[s] = most
    return Fraction(kept[-1] - best[-1], unit)
