"""What can be asked for together works, what cannot is refused: the table tells the truth."""

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from bdcc_jax import CorrelationClustering, Graph, Options, read, solve, solve_batch, verify, write
from bdcc_jax.cli import main
from bdcc_jax.combinations import ABSENT, MODELS, OTHERS, REFUSED, check_together, table

DOCS = Path(__file__).parent.parent / "docs" / "modelling.md"
UNARIES = np.array([[0.0, 2.0], [1.0, 0.0], [2.0, 1.0], [0.0, 0.0], [3.0, 1.0]])
CONSTRAINTS = {
    "must_link": [(0, 3)],
    "cannot_link": [(1, 4)],
    "groups": [0, -1, 0, -1, -1],
    "min_clusters": 2,
    "max_clusters": 3,
}


def with_features(*features: str) -> Graph:
    """A graph of five nodes that has some features."""
    u, v, w = [0, 1, 2, 3, 0], [1, 2, 3, 4, 4], [2.0, -1.0, 3.0, 1.0, -2.0]
    lifted = ([0, 1], [2, 3], [1.5, -0.5]) if "lifted" in features else None
    graph = Graph.from_edges(u, v, w, lifted=lifted)
    for feature in features:
        if feature in CONSTRAINTS:
            graph = graph.constrained(**{feature: CONSTRAINTS[feature]})
        elif feature == "unaries":
            graph = graph.classified(UNARIES)
    return graph


def estimated(feature: str) -> None:
    """The estimator with one feature; ``lifted`` is not for it."""
    weights = np.ones((5, 5)) - 2.0 * np.tri(5)
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    number = {feature: CONSTRAINTS[feature]} if feature.endswith("clusters") else {}
    other = {} if number else {feature: UNARIES if feature == "unaries" else CONSTRAINTS[feature]}
    fitted = CorrelationClustering(affinity="precomputed", **number).fit(weights, **other)
    assert fitted.status_ == "optimal"
    assert (fitted.classes_ is not None) == (feature == "unaries")


def use(graph: Graph, feature: str, asked: str, folder: Path) -> None:
    """Ask for something of an instance with a feature."""
    if asked == "initial":
        assert solve(graph, initial=[0, 1, 0, 1, 1]).status == "optimal"
    elif asked == "limits":
        assert solve(graph, gap=0.5, time_limit=60.0).relative_gap <= 0.5
    elif asked == "checkpoint":
        for _ in range(2):
            assert solve(graph, checkpoint=folder / "checkpoint").status == "optimal"
    elif asked == "paper":
        assert solve(graph, options=Options.paper()).status == "optimal"
    elif asked == "solve_batch":
        assert [result.status for result in solve_batch([graph, graph])] == ["optimal"] * 2
    elif asked == "estimator":
        estimated(feature)
    elif asked == "alternatives":
        assert solve(graph).alternatives().complete
    elif asked == "margin":
        assert solve(graph).margin((0, 1)) >= 0.0
    elif asked == "certificate":
        assert not verify(graph, solve(graph).certificate).claims
    elif asked == "npz":
        write(graph, folder / "graph.npz")
        assert solve(read(folder / "graph.npz")).objective == solve(graph).objective
    else:
        write(graph, folder / "graph.txt")


PAIRS = [pair for pair in product(MODELS, OTHERS) if frozenset(pair) not in ABSENT]


@pytest.mark.parametrize(("feature", "asked"), PAIRS)
def test_what_is_asked_of_an_instance(feature, asked, tmp_path):
    graph = with_features(feature)
    if frozenset((feature, asked)) not in REFUSED:
        use(graph, feature, asked, tmp_path)
        return
    with pytest.raises(ValueError, match=f"{feature} and {asked} cannot be had together"):
        use(graph, feature, asked, tmp_path)


@pytest.mark.parametrize(("one", "other"), combinations(MODELS, 2))
def test_two_features(one, other):
    if frozenset((one, other)) not in REFUSED:
        for order in ((one, other), (other, one)):
            graph = with_features(*order)
            result = solve(graph)
            assert result.status == "optimal"
            assert not verify(graph, result.certificate).claims
        return
    for order in ((one, other), (other, one)):
        with pytest.raises(ValueError, match="cannot be had together"):
            with_features(*order)


@pytest.mark.parametrize("pair", REFUSED, ids=sorted)
def test_every_refusal_names_both_and_says_why(pair):
    with pytest.raises(ValueError, match="cannot be had together") as refused:
        check_together(sorted(pair))
    assert all(feature in str(refused.value) for feature in pair)
    assert REFUSED[pair] in str(refused.value)


def test_names_are_known():
    assert {name for pair in REFUSED for name in pair} <= {*MODELS, *OTHERS}


def test_the_docs_have_the_table():
    text = DOCS.read_text()
    assert table() in text, "python -c 'from bdcc_jax.combinations import table; print(table())'"


@pytest.mark.parametrize(
    "options",
    [
        Options.paper(),
        Options(engine="reference"),
        Options(engine="pdlp"),
        Options(tau=0.5),
        Options(rows="aggregated"),
        Options(integer="whole"),
    ],
)
def test_options_of_the_paper(options):
    with pytest.raises(ValueError, match="unaries and paper cannot be had together"):
        solve(with_features("unaries"), options=options)
    (failed,) = solve_batch([with_features("min_clusters")], options=options)
    assert "min_clusters and paper" in failed.message


def test_the_command_line_refuses_before_it_works(tmp_path, capsys):
    write(with_features("min_clusters"), tmp_path / "g.npz")
    with pytest.raises(SystemExit, match="2"):
        main(["solve", str(tmp_path / "g.npz"), "--paper"])
    assert "min_clusters and paper cannot be had together" in capsys.readouterr().err
