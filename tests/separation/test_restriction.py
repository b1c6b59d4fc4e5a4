"""Magnanti-Wong problems keep the known flow and the cheapest paths, and little else."""

from dataclasses import replace

import numpy as np
import pytest
from flow_lps import batch, exact, optimum

from bdcc_jax.separation.device.restriction import restrict


def priced(seed):
    problems = batch(seed, free=False)
    return replace(
        problems, cost=problems.cost + np.random.default_rng(seed).random(len(problems.cost)) / 8
    )


@pytest.mark.parametrize("seed", range(4))
def test_known_flows_stay_and_nothing_gets_better(seed):
    problems = priced(seed)
    flow = exact(batch(seed, free=False)).flow
    restricted = restrict(problems, flow)
    assert np.all((restricted.capacity == 0) | (restricted.capacity == problems.capacity))
    assert np.all(np.abs(flow) <= restricted.capacity + 1e-8 * problems.capacity)
    assert restricted.capacity.astype(bool).sum() < problems.capacity.astype(bool).sum()
    for b in range(len(problems)):
        assert optimum(restricted, b) >= optimum(problems, b) - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_cheapest_paths_are_all_that_wide_edges_need(seed):
    problems = priced(seed)
    wide = replace(problems, capacity=np.full(len(problems.cost), problems.supply.sum()))
    restricted = restrict(wide, np.zeros(len(problems.cost)))
    for b in range(len(problems)):
        used = restricted.capacity[problems.edges[b] : problems.edges[b + 1]] > 0
        assert used.sum() < problems.nodes[b + 1] - problems.nodes[b]  # a tree
        assert optimum(restricted, b) == pytest.approx(optimum(wide, b), abs=1e-9)
