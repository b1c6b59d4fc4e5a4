"""The optimum in rational arithmetic: dynamic programming over sets of nodes."""

from __future__ import annotations

from fractions import Fraction

from bdcc_jax import Graph


def exact_cost(graph: Graph, labels) -> Fraction:
    """What a clustering costs, exactly."""
    return sum(map(Fraction, graph.weights[graph.cut(labels)].tolist()), Fraction(0))


def exact_optimum(graph: Graph) -> Fraction:
    """What the best clustering costs, exactly; for up to 13 nodes or so."""
    weights = list(map(Fraction, graph.weights.tolist()))
    unit = max((w.denominator for w in weights), default=1)
    pull = [[0] * graph.n for _ in range(graph.n)]
    for (u, v), w in zip(graph.edges.tolist(), weights, strict=True):
        pull[u][v] = pull[v][u] = int(w * unit)
    kept, best = [0] * (1 << graph.n), [0] * (1 << graph.n)  # in one cluster; in the best ones
    for s in range(1, 1 << graph.n):
        others = rest = s & (s - 1)
        first = pull[(s ^ rest).bit_length() - 1]
        kept[s] = kept[rest] + sum(w for v, w in enumerate(first) if rest >> v & 1)
        best[s] = kept[s]
        while rest:
            best[s] = max(best[s], kept[s ^ rest] + best[rest])
            rest = (rest - 1) & others
    return Fraction(kept[-1] - best[-1], unit)
