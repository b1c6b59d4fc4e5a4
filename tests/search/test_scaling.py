"""Weights down to the smallest float64: the answers are those of the same weights, multiplied."""

import warnings

import numpy as np
import pytest
from certificates import signed_again
from oracles import brute_force, random_graph

from bdcc_jax import Graph, Options, solve, verify
from bdcc_jax.cli.info import describe
from bdcc_jax.lp.master import Master, power_of_two
from bdcc_jax.search.terms import Terms

TINY = 5e-324
RAW = random_graph(np.random.default_rng(5), 9, 1.0)
WHOLE = np.rint(5 * RAW.weights) + (np.rint(5 * RAW.weights) == 0)
ENGINES = ("packing", "reference", "pdlp")
OPTIONS = {
    "default": Options(),
    "paper": Options.paper(),
    "paper, pdlp": Options.paper(engine="pdlp"),
    "inverse": Options.paper(direction="inverse_weight"),
    "whole": Options(presolve=False, integer="whole"),
    "rounding": Options(presolve=False, heuristics=False, rounding=("serial", "parallel", "local")),
    **{engine: Options(engine=engine) for engine in ENGINES},
    **{
        f"{engine}, bare": Options(engine=engine, presolve=False, heuristics=False)
        for engine in ENGINES
    },
}


@pytest.fixture(autouse=True)
def no_warnings():
    """What numpy warns of, a division by zero or an overflow, is a fault here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("exponent", [-1074, -1060, -1010])
@pytest.mark.parametrize("signs", [False, True], ids=["weights", "signs"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_smallest_weights(options, signs, exponent):
    weights = np.sign(WHOLE) if signs else WHOLE
    usual = Graph(RAW.n, RAW.edges, weights)
    small = Graph(RAW.n, RAW.edges, np.ldexp(weights, exponent))
    result = solve(small, options=options)
    assert result.status == "optimal"
    assert usual.objective(result.labels) == brute_force(usual)
    assert result.objective == small.objective(result.labels)
    assert result.objective - result.lower_bound <= result.tolerance
    verdict = verify(small, result.certificate)
    assert verdict.claims == ()
    assert verdict.lower_bound <= verdict.upper_bound == result.objective


@pytest.mark.parametrize("heavy", [1.0, 1e-290, 1e300])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_smallest_among_others(options, heavy):
    """In the same component, and in one of their own: too far apart for any LP solver.

    What presolve does not decide may be left unproven, and is said to be then.
    """
    third = np.arange(RAW.m) % 3 == 0
    edges = np.concatenate([RAW.edges, RAW.edges + RAW.n])
    weights = np.concatenate([np.where(third, WHOLE * heavy, WHOLE * TINY), WHOLE * TINY])
    graph = Graph(2 * RAW.n, edges, weights)
    result = solve(graph, options=options)
    assert result.status in ("optimal", "numerical")
    usual = Graph(RAW.n, RAW.edges[third], WHOLE[third])
    assert usual.objective(result.labels[: RAW.n]) == pytest.approx(brute_force(usual))
    assert verify(graph, result.certificate).claims == ()


def test_what_is_seen_on_the_way_is_in_the_units_of_the_weights(tmp_path):
    hard = random_graph(np.random.default_rng(1), 15, 1.0)
    small = Graph(hard.n, hard.edges, hard.weights * 1e-310)
    options = Options(presolve=False, heuristics=False)
    seen = []
    whole = solve(small, options=options, callback=lambda p: seen.append(p.round) or False)
    assert tuple(seen) == whole.history
    assert len(seen) > 2
    for record in seen:
        assert record.lower_bound <= record.upper_bound
        assert abs(record.upper_bound) < 1e-300
    path = tmp_path / "run.npz"
    first = solve(small, options=options, checkpoint=path, callback=lambda _: True)
    assert first.status == "stopped"
    resumed = solve(small, options=options, checkpoint=path)
    assert (resumed.status, resumed.objective) == ("optimal", whole.objective)
    assert resumed.history[0].lower_bound == first.history[0].lower_bound
    assert verify(small, first.certificate).lower_bound <= whole.objective


def test_gaps_are_in_the_units_of_the_weights():
    small = Graph(RAW.n, RAW.edges, RAW.weights * 1e-310)
    bare = {"presolve": False, "heuristics": False}
    for wide in (1e-305, 1.0, np.inf):
        result = solve(small, options=Options(absolute_gap=wide, **bare))
        assert result.status in ("gap", "optimal")
        assert len(result.history) <= 1
    assert solve(small, options=Options(absolute_gap=TINY, **bare)).status in ("gap", "optimal")


def test_units():
    ordinary = Graph(2, [(0, 1)], [1e-100])
    terms = Terms.of(ordinary)
    assert terms.exponent == Terms.of(Graph(3, [], [])).exponent == 0
    assert terms.graph is ordinary
    assert terms.lower_bound(0.1) == 0.1
    smallest = Terms.of(Graph(2, [(0, 1)], [TINY]))
    for bound in (-2.5, -0.1, 0.0, 0.1, 7.0, 7.9):
        assert smallest.lower_bound(bound) == np.floor(bound) * TINY
    for exponent in range(-1074, -500, 7):
        terms = Terms.of(Graph(2, [(0, 1)], [2.0**exponent]))
        scaled = terms.graph.weights[0]
        assert 1.0 <= scaled <= 2.0**80
        assert terms.lower_bound(scaled) == 2.0**exponent


def test_scales_are_never_zero():
    assert [power_of_two(value) for value in (0.0, TINY, 1e-310, 0.7, 8.0)] == [
        TINY, TINY, 2.0**-1030, 0.5, 8.0
    ]  # fmt: skip
    assert Master(np.array([TINY, -TINY, TINY]))._scale == TINY


def test_a_certificate_in_other_units_proves_no_more():
    """A forged exponent makes multipliers others, and any multipliers prove something true."""
    small = Graph(RAW.n, RAW.edges, np.ldexp(WHOLE, -1060))
    result = solve(small, options=Options(presolve=False, heuristics=False))
    modest = {**result.certificate, "status": "gap", "lower_bound": -1.0}
    optimum, accepted = result.objective, []
    for exponent in (0, 1, 1000, 1073, 1100, 2000, "1", None, 1.5):
        try:
            verdict = verify(small, signed_again({**modest, "exponent": exponent}))
        except ValueError:
            continue
        assert verdict.lower_bound <= optimum
        accepted.append(exponent)
    assert accepted == [1000, 1073, 1100]


def test_info():
    about = describe(Graph(RAW.n, RAW.edges, np.sign(WHOLE) * TINY))
    assert about["presolve"] == describe(Graph(RAW.n, RAW.edges, np.sign(WHOLE)))["presolve"]
