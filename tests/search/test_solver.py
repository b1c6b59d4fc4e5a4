"""The whole solver: every combination of its parts against independent optima."""

import numpy as np
import pytest
from checks import COMBINATIONS, cases, check_optimal
from families import optimum
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import random_graph

from bdcc_jax import Graph, Options, solve


def label(combination):
    return " ".join(
        name if value is True else value
        for name, value in combination.items()
        if value is not False
    )


@pytest.mark.parametrize("combination", COMBINATIONS, ids=label)
def test_every_combination_of_options_finds_the_optimum(combination):
    for seed in range(3):
        for graph, best in cases(seed).values():
            check_optimal(graph, solve(graph, options=Options(**combination), seed=seed), best)


@pytest.mark.slow
@pytest.mark.parametrize("combination", COMBINATIONS, ids=label)
def test_every_combination_of_options_on_many_instances(combination):
    for seed in range(3, 25):
        for graph, best in cases(seed).values():
            check_optimal(graph, solve(graph, options=Options(**combination), seed=seed), best)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.sampled_from(COMBINATIONS))
def test_any_random_graph_with_any_options(seed, n, combination):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, float(rng.uniform(0.3, 1.0)), ("normal", "ties")[seed % 2])
    scaled = Graph(n, graph.edges, graph.weights * 10.0 ** rng.integers(-6, 7))
    check_optimal(scaled, solve(scaled, options=Options(**combination)), optimum(scaled))


@pytest.mark.parametrize("changes", [{"tau": 0.5}, {"rows": "aggregated"}])
def test_packing_has_split_rows_only(changes):
    with pytest.raises(ValueError, match=r"engine 'packing' has split rows .* use 'reference'"):
        Options(engine="packing", **changes)
