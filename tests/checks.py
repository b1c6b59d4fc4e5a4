"""What is true of every result, and the options that the tests of the search combine."""

from functools import cache
from itertools import product

import numpy as np
from families import optimum, small_instances

from bdcc_jax import Options
from bdcc_jax.search import after_lp
from bdcc_jax.search.benders import Benders
from bdcc_jax.search.bounds import allowed_excess
from bdcc_jax.search.job import Job

COMBINATIONS = [
    {"presolve": a, "heuristics": b, "integer": c, "odd_wheels": d, "engine": e}
    for a, b, c, d, e in product(
        (True, False), (True, False), ("pieces", "whole"), (True, False), ("packing", "reference")
    )
]
BARE = Options(presolve=False, heuristics=False, odd_wheels=False, rounding=())
WHOLE = Options(
    presolve=False, heuristics=False, odd_wheels=False, integer="whole", engine="reference"
)


@cache
def cases(seed):
    """Instances of all families and their optima."""
    return {name: (graph, optimum(graph)) for name, graph in small_instances(seed).items()}


def slack_of(graph):
    return 1e-9 * (1 + np.abs(graph.weights).sum())


def check_bounds(graph, result, best):
    """Valid at the end and in every round, and never getting worse."""
    slack = slack_of(graph)
    assert result.objective == graph.objective(result.labels)
    assert result.lower_bound <= best + slack
    assert result.objective >= best - slack
    lower = [record.lower_bound for record in result.history] + [result.lower_bound]
    upper = [record.upper_bound for record in result.history] + [result.objective]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert max(lower) <= best + slack
    assert [record.number for record in result.history] == list(range(1, len(lower)))


def check_optimal(graph, result, best):
    check_bounds(graph, result, best)
    assert result.status == "optimal"
    assert abs(result.objective - best) <= slack_of(graph)
    assert result.tolerance <= allowed_excess(graph.weights)


def count_calls(monkeypatch, *steps):
    """Count the calls of some steps of a solve, which work as before."""
    calls = dict.fromkeys(steps, 0)
    for name in steps:
        owner = next(owner for owner in (Benders, Job, after_lp) if hasattr(owner, name))
        original = getattr(owner, name)

        def counted(*args, name=name, original=original, **kwargs):
            calls[name] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)
    return calls


def rounds_of(result):
    """The records of the LP and of what comes after it: those that Options.max_rounds counts."""
    return [record for record in result.history if record.phase in ("lp", "ilp")]
