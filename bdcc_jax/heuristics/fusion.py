"""Fusion of two clusterings (Beier et al., 2015): at least as good as the better one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import IntArray
from ..clock import Clock
from ..graph import Graph, canonical_labels
from .greedy_additive import greedy_additive
from .kernighan_lin import kernighan_lin


def fuse(graph: Graph, first: ArrayLike, second: ArrayLike, clock: Clock | None = None) -> IntArray:
    a, b = canonical_labels(first), canonical_labels(second)
    blocks = canonical_labels(a * (int(b.max(initial=0)) + 1) + b)
    k = int(blocks.max(initial=-1)) + 1
    u, v = blocks[graph.edges].T
    cut = u != v
    small = Graph.from_edges(u[cut], v[cut], graph.weights[cut], k)
    starts = [np.empty(k, dtype=np.int64) for _ in range(2)]
    for start, labels in zip(starts, (a, b), strict=True):
        start[blocks] = labels
    starts.append(greedy_additive(small))
    better = min(starts, key=small.objective)
    return canonical_labels(kernighan_lin(small, better, clock=clock)[blocks])
