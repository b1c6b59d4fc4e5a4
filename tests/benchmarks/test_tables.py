"""The data that the benchmark of tables makes, and what it measures."""

from itertools import combinations

import numpy as np
import pytest

from benchmarks import tables
from benchmarks.linkage import quality
from benchmarks.people import people
from benchmarks.scored_pairs import scored_pairs


def test_quality_counts_pairs():
    rng = np.random.default_rng(0)
    truth, labels = rng.integers(0, 4, 20), rng.integers(0, 4, 20)
    true = {p for p in combinations(range(20), 2) if truth[p[0]] == truth[p[1]]}
    found = {p for p in combinations(range(20), 2) if labels[p[0]] == labels[p[1]]}
    precision, recall = len(true & found) / len(found), len(true & found) / len(true)
    f1 = 2 * precision * recall / (precision + recall)
    assert quality(truth, labels) == pytest.approx((f1, precision, recall))


def test_scores_are_what_they_say():
    """Of pairs with a probability of about p, a share of about p is true."""
    made = scored_pairs(60_000, 2.0)
    true = made.truth[made.left] == made.truth[made.right]
    p = 1 / (1 + 2.0**-made.match_weight)
    for low in np.arange(0.05, 0.95, 0.1):
        chosen = (p >= low) & (p < low + 0.1)
        assert true[chosen].mean() == pytest.approx(p[chosen].mean(), abs=0.03)


def test_pairs_are_those_of_a_block_each_once():
    made = scored_pairs(300, 3.0)
    pairs = {frozenset(pair) for pair in zip(made.left.tolist(), made.right.tolist(), strict=True)}
    expected = {
        frozenset((i, j))
        for i, j in combinations(range(300), 2)
        if made.truth[i] // 3 == made.truth[j] // 3
    }
    assert pairs == expected
    assert len(made.left) == len(pairs)


def test_people_are_the_same_for_the_same_seed():
    one, other = people(30, seed=4), people(30, seed=4)
    assert one.columns == other.columns
    assert len(one.columns["unique_id"]) == len(one.truth) == len(set(one.columns["unique_id"]))


def test_the_comparison_runs(monkeypatch, capsys):
    monkeypatch.setattr(tables, "MODELS", ((8.0, 1.0, 1.0, 2),))
    monkeypatch.setattr(tables, "RECORDS", 60)
    tables.against_components()
    assert capsys.readouterr().out.splitlines()[2].startswith("| strength 8")
