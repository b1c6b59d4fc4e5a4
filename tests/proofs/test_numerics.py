"""Weights of any size, or almost alike: the bounds hold in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from certificates import BARE, written

from bdcc_jax import Graph, Options, solve, verify
from benchmarks.exact_optimum import exact_optimum

KINDS = {
    "1e-12 to 1e12": lambda rng, s: s * 10.0 ** rng.uniform(-12, 12, len(s)),
    "both ends": lambda rng, s: s * np.where(rng.random(len(s)) < 0.5, 1e12, 1e-12),
    "ties": lambda rng, s: s * rng.integers(0, 3, len(s)),
    "past 2^31": lambda rng, s: s * (2.0 ** rng.integers(31, 50, len(s)) + rng.integers(0, 3)),
    "near duplicates": lambda rng, s: s * (1 + 1e-9 * rng.integers(-3, 4, len(s))),
    "an ulp apart": lambda rng, s: s * (1 + 2.0**-52 * rng.integers(0, 4, len(s))),
    "float32": lambda rng, s: (s * rng.random(len(s))).astype(np.float32),
    "1e-300": lambda rng, s: s * rng.random(len(s)) * 1e-300,
    "1e300": lambda rng, s: s * rng.random(len(s)) * 1e300,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [Options(), BARE], ids=["default", "bare"])
def test_bounds_hold_whatever_the_weights(kind, options):
    rng = np.random.default_rng(0)
    for n in (5, 6, 7) * 3:
        u, v = np.triu_indices(n, 1)
        graph = Graph.from_edges(u, v, KINDS[kind](rng, rng.choice([-1.0, 1.0], len(u))), n)
        truth = exact_optimum(graph)
        result = solve(graph, options=options)
        verdict = verify(graph, written(result))
        sizes = np.abs(graph.weights)
        wide = options is BARE and sizes.max() > 1e6 * sizes.min()  # all of it is left open
        assert result.status == "optimal" or (wide and result.status == "numerical")
        assert verdict.claims == ()
        assert Fraction(result.lower_bound) <= truth
        assert verdict.lower_bound <= truth <= verdict.upper_bound
        assert verdict.upper_bound - truth <= Fraction(result.tolerance)
