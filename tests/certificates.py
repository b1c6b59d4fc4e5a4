"""What the tests of certificates share."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
from families import joined, wheel
from oracles import partitions

from bdcc_jax import Options, solve
from bdcc_jax.base.clock import Clock
from bdcc_jax.search.branching import Tree

BARE = Options(presolve=False, heuristics=False, odd_wheels=False)
WHOLE = replace(BARE, integer="whole")
TWO_WHEELS = joined([wheel(5), wheel(9)])  # the LP over cycles misses 1


def exact_optimum_of(n, weights):
    """By enumeration, in exact arithmetic; ``weights`` are of pairs of nodes."""
    labels = partitions(n)
    costs = np.zeros(len(labels), dtype=object)
    for (u, v), w in weights.items():
        costs += (labels[:, u] != labels[:, v]).astype(object) * w
    return min(costs)


def exact_optimum(graph):
    pairs = zip(map(tuple, graph.edges.tolist()), graph.weights.tolist(), strict=True)
    return exact_optimum_of(graph.n, {pair: Fraction(w) for pair, w in pairs})


def written(result):
    """The certificate as it comes back from a file."""
    return json.loads(json.dumps(result.certificate))


def claimed(monkeypatch):
    """What is left if the time is up when HiGHS' branch and bound has just ended."""
    monkeypatch.setattr(Tree, "grow", lambda _: Clock(0.0).check())
    return solve(TWO_WHEELS, options=WHOLE)
