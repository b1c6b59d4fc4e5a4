"""Instances full of conflicts: searched at once, but not for the sake of a small part of them."""

import numpy as np
import pytest
from families import joined

from bdcc_jax import Graph, Options, solve
from bdcc_jax.search import clusterings, first_bound, strategy
from bdcc_jax.search.clusterings import Clusterings
from benchmarks.instances import planted

FEW_ROUNDS = Options(max_rounds=3, threads=1)


def heavy_path(weight):
    """A path that presolve decides, and that costs a hundred times ``weight``."""
    nodes = np.arange(200)
    return Graph.from_edges(nodes, nodes + 1, np.where(nodes % 2, -weight, weight))


@pytest.fixture
def turns(monkeypatch):
    """What the bounds were when it was the search's turn."""
    seen, search_longer = [], Clusterings._search_longer

    def note(self):
        if self._turn > 0:
            seen.append((self._bounds.lower, self._bounds.upper))
        search_longer(self)

    monkeypatch.setattr(Clusterings, "_search_longer", note)
    return seen


def test_the_search_begins_at_the_first_lp_where_that_leaves_much(turns):
    graph = planted(300, wrong=0.12, seed=3)
    solve(graph, options=FEW_ROUNDS)
    lower, upper = turns[0]
    assert upper - lower > 0.04 * abs(upper)


def test_not_where_a_small_part_of_the_instance_leaves_it(turns, monkeypatch):
    """As a share of its own cost it leaves as much as above, however long its LP has worked."""
    monkeypatch.setattr(clusterings, "SPARSE_WORK", 0.0)
    graph = joined([planted(300, wrong=0.12, seed=3), heavy_path(1000.0)])
    solve(graph, options=FEW_ROUNDS)
    assert not turns


@pytest.mark.parametrize("presolve", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_large_ones_are_searched_before_all_else(presolve, threads, monkeypatch):
    monkeypatch.setattr(first_bound, "TORN_EDGES", 1_000)
    monkeypatch.setattr(strategy, "LARGE", 1_000)
    monkeypatch.setattr(strategy, "QUICK", 1_000)
    graph = planted(1_000, seed=2)
    options = Options(max_rounds=1, threads=threads, dual_ascent=True, presolve=presolve)
    result = solve(graph, options=options)
    start = [record.upper_bound for record in result.history if record.phase == "start"]
    assert len(start) >= (4 if presolve else 1)
    assert start == sorted(start, reverse=True)
    assert graph.objective(result.labels) == result.objective <= start[-1]
    alone = solve(
        graph, options=Options(max_rounds=1, threads=1, dual_ascent=True, presolve=presolve)
    )
    assert start == [r.upper_bound for r in alone.history if r.phase == "start"]
    np.testing.assert_array_equal(result.labels, alone.labels)
