"""The benchmarks of communities, cells and affinities do what they say."""

import sys

import networkx as nx
import numpy as np
import pytest

from benchmarks import affinities, cells, communities


def test_lfr_graphs_are_made_and_their_planted_communities_kept():
    G = communities.lfr(250, 0.1)
    assert sorted(G) == list(range(250))
    assert nx.number_of_selfloops(G) == 0
    assert 0.5 < float(communities.planted(G)) < 1
    assert communities.planted(nx.path_graph(3)) == ""


def test_no_heuristic_is_above_what_is_proven():
    G = communities.graphs(100, [])["Les Miserables"]()
    value, proof, number, _ = communities.exact(G, 60.0)
    assert (value, proof, number) == ("0.56001", "proven", 6)
    assert communities.louvain(G, 0) <= float(value) + 5e-6


def test_without_leiden_its_column_is_empty(monkeypatch):
    monkeypatch.setitem(sys.modules, "igraph", None)
    assert communities.heuristic(communities.leiden, nx.path_graph(4)) == ""


@pytest.mark.parametrize("kind", cells.KINDS.values(), ids=cells.KINDS)
def test_synthetic_cells(kind):
    image, truth = cells.synthetic_cells(0, kind)
    assert image.shape == truth.shape == kind.shape
    assert 0 <= image.min() < image.max() <= 1
    assert 0.8 * kind.number <= len(np.unique(truth)) - 1 <= kind.number
    again, _ = cells.synthetic_cells(0, kind)
    assert np.array_equal(image, again)


def test_affinities_to_masks(capsys):
    affinities.measure((40, 40, 40))
    row = capsys.readouterr().out.split(" | ")
    assert row[0] == "| 40 x 40 x 40"
    assert row[7] == "optimal"
    assert float(row[-1].rstrip(" |\n")) > 0.8
