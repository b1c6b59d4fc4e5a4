"""Sparse instances whose LP leaves a gap are solved with all their pairs: the same optimum."""

import logging

import numpy as np

from bdcc_jax import Graph, Options, solve, verify
from bdcc_jax.instance.completion import LEAST_DENSITY

HIGHS = Options(integer="whole", presolve=False, odd_wheels=False)
"""HiGHS' ILP over the edges as they are."""


def sparse(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    u, v = np.triu_indices(30, 1)
    chosen = rng.permutation(len(u))[: int(0.9 * LEAST_DENSITY * len(u))]
    return Graph.from_edges(u[chosen], v[chosen], rng.choice([-2.0, -1, 1, 2], len(chosen)), 30)


def test_pairs_after_the_lp_keep_the_optimum(caplog):
    completed = 0
    for seed in range(8):
        graph = sparse(seed)
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="bdcc_jax"):
            result = solve(graph, options=Options(presolve=False))
        assert result.status == "optimal"
        verify(graph, result.certificate)
        if "completing" in caplog.text:
            completed += 1
            assert result.objective == solve(graph, options=HIGHS).objective
    assert completed > 0
