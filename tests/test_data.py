"""Real instances; skipped, visibly, where the data folder is absent."""

import csv

import numpy as np
import pytest
from oracles import DATA, instance, instances

from bdcc_jax import Options, solve


def known_optima(*, hard):
    """Of cp-lib, hard for everybody, or of the others."""
    index = DATA / "INDEX.tsv"
    if not index.exists():
        return [("opengm-imageseg-frag50/absent", 0.0)]
    with index.open() as file:
        return [
            (row["name"].removesuffix(".txt.gz"), float(row["known_opt"]))
            for row in csv.DictReader(file, delimiter="\t")
            if row["known_opt"] and (row["family"] == "cp-lib") == hard
        ]


@pytest.mark.parametrize(("name", "optimum"), known_optima(hard=False))
def test_known_optimum(name, optimum):
    result = solve(instance(name))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(optimum, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "optimum"), known_optima(hard=True))
def test_bounds_around_a_known_optimum(name, optimum):
    """Published optima of others: no lower bound above, no clustering below."""
    result = solve(instance(name), time_limit=5)
    assert result.lower_bound <= optimum + 1e-6
    assert result.objective >= optimum - 1e-6


def test_karate():
    """LP and optimal value of the modularity instance."""
    result = solve(instance("modularity/karate"))
    assert result.status == "optimal"
    assert result.objective == -5108
    assert {record.phase for record in result.history} == {"start", "lp"}


@pytest.mark.parametrize(
    "name", instances("opengm-imageseg-stitched") + instances("opengm-knott3d-stitched")
)
def test_proven_optimal(name):
    result = solve(instance(name))
    assert result.status == "optimal"
    assert result.gap <= 1e-9 * abs(result.objective)
    assert result.tolerance <= 1e-3 * np.abs(instance(name).weights).min()


@pytest.mark.parametrize(
    "name",
    [
        "opengm-imageseg-stitched/image-seg-piece00",
        "bsds300test-rf255ucm/42049",
    ],
)
def test_the_paper_at_every_tau_finds_the_same_optimum(name):
    graph = instance(name)
    optimum = solve(graph).objective
    for tau in (None, 0.01, 0.5, 0.99):
        result = solve(graph, options=Options.paper(tau))
        assert result.status == "optimal"
        assert result.objective == pytest.approx(optimum, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", instances("opengm-imageseg-stitched") + instances("opengm-knott3d-stitched")
)
def test_the_paper_to_the_letter(name):
    graph = instance(name)
    optimum = solve(graph).objective
    for options in (Options.paper(), Options.paper(None), Options.paper(0.99)):
        result = solve(graph, options=options)
        assert result.status == "optimal"
        assert result.objective == pytest.approx(optimum, abs=1e-6)
