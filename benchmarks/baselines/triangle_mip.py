"""HiGHS' own branch and cut on the standard formulation: all triangles over all pairs."""

from __future__ import annotations

from itertools import combinations

import highspy
import numpy as np

from bdcc_jax import Graph
from bdcc_jax.instance.completion import completed, pair_ids


def solve(graph: Graph, time_limit: float) -> tuple[float, float]:
    """The value and the bound that HiGHS returns by then: its word, without a proof.

    Examples
    --------
    >>> solve(Graph(3, [(0, 1), (0, 2), (1, 2)], [1.0, 2.0, -1.0]), 10.0)
    (0.0, 0.0)
    """
    pairs, ids = completed(graph)[0], pair_ids(graph.n)
    nodes = np.array(list(combinations(range(graph.n), 3))).reshape(-1, 3)
    sides = np.column_stack([ids[nodes[:, i], nodes[:, j]] for i, j in ((0, 1), (0, 2), (1, 2))])
    indices = sides[:, [[0, 1, 2], [1, 0, 2], [2, 0, 1]]].astype(np.int32).ravel()
    k, m, highs = len(indices) // 3, pairs.m, highspy.Highs()
    highs.silent()
    for option, value in {"threads": 1, "mip_rel_gap": 0.0, "time_limit": time_limit}.items():
        highs.setOptionValue(option, value)
    columns = np.arange(m, dtype=np.int32)
    highs.addVars(m, np.zeros(m), np.ones(m))
    highs.changeColsCost(m, columns, pairs.weights)
    highs.changeColsIntegrality(m, columns, np.full(m, highspy.HighsVarType.kInteger))
    starts, values = np.arange(0, 3 * k, 3, dtype=np.int32), np.tile([1.0, -1.0, -1.0], k)
    highs.addRows(k, np.full(k, -highspy.kHighsInf), np.zeros(k), 3 * k, starts, indices, values)
    highs.run()
    info = highs.getInfo()
    return float(info.objective_function_value), float(info.mip_dual_bound)
