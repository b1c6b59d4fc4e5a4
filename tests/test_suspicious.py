"""Weights that look like probabilities: said once, and only where the answer would be trivial."""

import warnings

import numpy as np
import pytest

import bdcc_jax
from bdcc_jax import Graph, SuspiciousWeights, cli, solve, solve_batch, write

LIKE_PROBABILITIES = Graph(3, [(0, 1), (1, 2)], [0.9, 0.2])


def test_solve_says_what_to_do():
    with pytest.warns(SuspiciousWeights, match=r"weights_from_probabilities\(1 - p\)") as caught:
        result = solve(LIKE_PROBABILITIES)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert result.n_clusters == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert result.margin((0, 1)) == 0.9  # solves again, and need not say it again
    with pytest.warns(SuspiciousWeights, match="weight = threshold - distance"):
        solve(([0, 1], [1, 2], [-0.9, -0.2]))


@pytest.mark.parametrize(
    "graph",
    [
        Graph(3, [(0, 1), (1, 2)], [1.0, 1.0]),  # a graph without weights
        Graph(3, [(0, 1), (1, 2)], [0.5, 0.5]),
        Graph(2, [(0, 1)], [0.5]),
        Graph(3, [(0, 1), (1, 2)], [0.5, 1.5]),
        Graph(3, [(0, 1), (1, 2)], [0.5, -0.1]),
        Graph(3, [], []),
        LIKE_PROBABILITIES.constrained(cannot_link=[(0, 2)]),  # a multiway cut
        LIKE_PROBABILITIES.constrained(groups=["a", "b", "a"]),
    ],
)
def test_nothing_is_said_of_others(graph):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(graph)


def test_a_batch_says_it_once():
    graphs = [Graph(2, [(0, 1)], [-1.0]), *[LIKE_PROBABILITIES] * 5]
    with pytest.warns(SuspiciousWeights, match="5 of 6 instances, the first is number 1") as caught:
        results = solve_batch(graphs)
    assert len(caught) == 1
    assert {str(result.status) for result in results} == {"optimal"}


def test_learning_says_nothing():
    layer = bdcc_jax.layers.PerturbedMulticut(LIKE_PROBABILITIES, noise=0.01, samples=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspiciousWeights)
        assert np.asarray(layer(LIKE_PROBABILITIES.weights)).shape == (2,)


def test_the_command_line_says_it_in_a_line(tmp_path, capsys):
    file, labels = tmp_path / "graph.txt", tmp_path / "labels.txt"
    write(LIKE_PROBABILITIES, file)
    assert cli.main(["solve", str(file), "--quiet", "-o", str(labels)]) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"bdcc-jax: {file}: all weights are positive and at most 1")
    assert err.count("\n") == 1
    (tmp_path / "many").mkdir()
    for i in range(3):
        write(LIKE_PROBABILITIES, tmp_path / "many" / f"{i}.txt")
    out = str(tmp_path / "out")
    assert cli.main(["batch", str(tmp_path / "many"), "--out", out, "--quiet"]) == 0
    err = capsys.readouterr().err
    assert err.startswith("bdcc-jax: 3 of 3 instances, the first is number 0: all weights")
    assert err.count("\n") == 1
