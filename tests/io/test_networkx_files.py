"""GraphML and GML."""

import sys
from contextlib import suppress

import networkx as nx
import pytest
from graph_files import assert_same, error_of, graphs, text_file
from hypothesis import given
from hypothesis import strategies as st

import bdcc_jax
from bdcc_jax import Graph, read, write
from bdcc_jax.graphs import signed_graph
from bdcc_jax.io import FORMATS, load

KINDS = pytest.mark.parametrize("name", ["graphml", "gml"])

NEWMAN = """Creator "Mark Newman on Sat Jul 22 05:32:16 2006"
graph
[
  directed 0
  node
  [
    id 7
  ]
  node
  [
    id 5
  ]
  edge
  [
    source 7
    target 5
    weight -1.5
  ]
]
"""


@KINDS
@given(graph=graphs())
def test_round_trip(name, graph):
    assert_same(FORMATS[name].decode(FORMATS[name].encode(graph), "x"), graph)


@KINDS
@given(graph=graphs(st.text()) | graphs(st.integers()) | graphs(st.text("01 \"&<é\n'", min_size=1)))
def test_names_are_kept_or_refused(name, graph):
    with suppress(ValueError):  # all messages of which are tested below
        assert_same(FORMATS[name].decode(FORMATS[name].encode(graph), "x"), graph)


@KINDS
def test_names_that_are_held(name, tmp_path):
    graph = Graph(4, [(0, 1), (1, 2)], [1.5, -2e-300], ["Ü & <b>", 'x "y"', "07", " "])
    write(graph, tmp_path / f"graph.{name}.gz")
    assert_same(read(tmp_path / f"graph.{name}.gz"), graph)
    numbers = Graph(3, [(0, 1)], [1.0], [5, -3, 2**40])
    write(numbers, tmp_path / f"numbers.{name}")
    assert load(tmp_path / f"numbers.{name}")[1] == name
    assert_same(read(tmp_path / f"numbers.{name}"), numbers)
    with pytest.raises(ValueError, match="cannot hold these node names"):
        write(Graph(2, [(0, 1)], [1.0], ["1", "2"]), tmp_path / f"digits.{name}")
    assert not (tmp_path / f"digits.{name}").exists()


@KINDS
@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiGraph])
def test_what_networkx_wrote(name, kind, tmp_path):
    G = kind()
    G.add_node("alone")
    G.add_edge("b", "a", weight=2.0, colour="red")
    G.add_edge("a", "b", weight=-0.5)
    G.add_edge("a", "c", weight=3)
    path = tmp_path / f"graph.{name}"
    getattr(nx, f"write_{name}")(G, path)
    assert_same(read(path), Graph.from_networkx(G))
    assert bdcc_jax.solve(path).clusters == {"alone": 0, "b": 1, "a": 1, "c": 1}


def test_gml_without_labels_and_of_other_alphabets(tmp_path):
    graph = read(text_file(tmp_path, NEWMAN, "karate.txt"))
    assert (graph.names, graph.weights.tolist()) == ((7, 5), [-1.5])
    labelled = NEWMAN.replace("id 7", 'id 7 label "Zoë"').replace("id 5", 'id 5 label "5"')
    assert read(text_file(tmp_path, labelled, "karate.gml")).names == ("Zoë", "5")
    twice = NEWMAN.replace("id 7", 'id 7 label "x"').replace("id 5", 'id 5 label "x"')
    assert read(text_file(tmp_path, twice, "karate.gml")).names == (7, 5)


@KINDS
def test_signs_are_pointed_to_and_read(name, tmp_path):
    G = nx.Graph()
    G.add_edge("a", "b", sign="+")
    G.add_edge("b", "c", sign="-")
    path = tmp_path / f"signs.{name}"
    getattr(nx, f"write_{name}")(G, path)
    hint = r"edge \('a', 'b'\) has no attribute 'weight'; bdcc_jax\.graphs\.signed_graph reads"
    for graph in (G, path):
        with pytest.raises(ValueError, match=hint):
            bdcc_jax.solve(graph)
        assert bdcc_jax.solve(signed_graph(graph)).clusters == {"a": 0, "b": 0, "c": 1}
    (tmp_path / "signs.txt").write_text("0 1 -1\n")
    with pytest.raises(ValueError, match="is neither GraphML nor GML: solve and read take it"):
        signed_graph(tmp_path / "signs.txt")


def test_errors_name_the_file(tmp_path):
    assert "networkx cannot read it as GML" in error_of(tmp_path, "graph [ node [ ] ]", "x.gml")
    assert "networkx cannot read it as GML" in error_of(tmp_path, "graph [" * 3000, "x.gml")
    assert error_of(tmp_path, "graph [ ]", "x.gml") == "FILE: no nodes"
    assert "has no attribute 'weight'" in error_of(
        tmp_path, NEWMAN.replace("weight -1.5", ""), "x.gml"
    )
    assert "networkx cannot read it as GraphML" in error_of(tmp_path, "<graphml><", "x")
    entity = '<!DOCTYPE x [<!ENTITY a "aaaa">]><graphml>&a;</graphml>'
    assert "entities in GraphML are not read" in error_of(tmp_path, entity, "x.graphml")


@KINDS
def test_what_to_install(name, monkeypatch, tmp_path):
    path = tmp_path / f"graph.{name}"
    write(Graph(2, [(0, 1)], [1.0]), path)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r'need networkx: pip install "\.\[networkx\]"'):
        read(path)
