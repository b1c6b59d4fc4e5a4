"""A solve that has ended takes no memory: nothing of it waits for the garbage collector."""

import gc
from collections import Counter
from itertools import product

import numpy as np
import pytest
from families import wheels_in_a_mesh
from highspy import Highs
from oracles import random_graph

from bdcc_jax import Options, solve

BARE = Options(presolve=False, heuristics=False, odd_wheels=False)


@pytest.mark.parametrize(
    ("options", "ends"),
    [
        (Options(), "optimal"),
        *product((BARE, Options.paper()), ("optimal", "stopped", "interrupted")),
        (Options(engine="pdlp", presolve=False), "stopped"),
    ],
)
def test_a_solve_leaves_nothing_for_the_garbage_collector(options, ends, tmp_path):
    """LPs are large, and with JAX in the process Python hardly ever looks for circles."""

    def end(_):
        if ends == "interrupted":
            raise KeyboardInterrupt
        return ends == "stopped"

    def alive():
        kinds = Counter(map(type, gc.get_objects())).items()
        return {k: number for k, number in kinds if k is Highs or "bdcc_jax" in str(k)}

    rng = np.random.default_rng(14)
    graphs = [random_graph(rng, 11, 1.0), wheels_in_a_mesh(rng, 3, 4, "normal")]
    for number in range(2):  # the first time for what is compiled and cached
        gc.collect()
        gc.disable()
        try:
            before = alive()
            for i, graph in enumerate(graphs):
                for kept in ({}, {"checkpoint": tmp_path / f"{number} {i}.npz"}):
                    result = solve(graph, options=options, callback=end, **kept)
                    assert result.status == ends
            del result
            after = alive()
        finally:
            gc.enable()
    assert after == before
