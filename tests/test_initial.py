"""Solves that start from somebody's clustering, and what is said about it."""

import json

import numpy as np
import pytest
from families import planar, wheel
from oracles import brute_force, random_graph

from bdcc_jax import Graph, Options, solve, write
from bdcc_jax.cli import main
from bdcc_jax.io import FormatError, read_labels, write_labels

GRAPH = planar(np.random.default_rng(0), 8, 8)


def test_the_result_says_how_far_it_was_from_the_optimum():
    graph = random_graph(np.random.default_rng(1), 9, 0.8)
    given = np.zeros(9, dtype=int)
    result = solve(graph, initial=given)
    assert result.status == "optimal"
    assert result.initial_objective == graph.objective(given)
    assert result.initial_gap == pytest.approx(graph.objective(given) - brute_force(graph))
    assert "initial" in result.summary()
    assert result.to_dict()["initial_gap"] == result.initial_gap
    without = solve(graph)
    assert without.initial_objective is without.initial_gap is None


@pytest.mark.parametrize("options", [Options(), Options(presolve=False)])
def test_the_first_record_is_as_good_as_what_was_given(options):
    best = solve(GRAPH)
    result = solve(GRAPH, initial=best.labels, options=options)
    assert result.history[0].upper_bound <= best.objective + 1e-9
    assert result.initial_gap <= best.tolerance + 1e-9 * abs(best.objective)


def test_without_any_time_it_is_returned():
    best = solve(GRAPH)
    result = solve(GRAPH, initial=best.labels, time_limit=0)
    assert result.objective == best.objective


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ([0, 1], r"one label a node, shape \(64,\), not \(2,\)"),
        (np.zeros((64, 1), int), "one label a node"),
        (np.zeros(64), "whole numbers"),
        (["a"] * 64, "whole numbers"),
    ],
)
def test_what_is_no_clustering_is_refused(initial, message):
    with pytest.raises(ValueError, match=message):
        solve(GRAPH, initial=initial)


@pytest.mark.parametrize("name", ["l.txt", "l.npy", "l.npz", "l.h5", "l.txt.gz"])
def test_labels_are_read_as_they_were_written(tmp_path, name):
    write_labels([0, 1, 0, 2], tmp_path / name)
    assert read_labels(tmp_path / name).tolist() == [0, 1, 0, 2]


def test_names_may_come_in_any_order(tmp_path):
    path = tmp_path / "l.txt"
    path.write_text("c\t5\na\t7\nb\t5\n")
    assert read_labels(path, names=["a", "b", "c"]).tolist() == [0, 1, 1]
    with pytest.raises(FormatError, match="no label for node 'd'"):
        read_labels(path, names=["a", "b", "d"])
    with pytest.raises(FormatError, match="3 names for 2 nodes"):
        read_labels(path, names=["a", "b"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1 2\n", "line 1: expected one label"),
        (b"a\t1\na\t2\n", "line 2: expected a name that is new"),
        (b"a\t1\n2\n", "line 2: expected a name"),
        (b"\xff\xfe", "expected labels"),
        (b"PK\x03\x04rubbish", "corrupt"),
        (b"\x93NUMPY\x01\x00rubbish", "not a numpy array"),
    ],
)
def test_files_without_labels_are_refused(tmp_path, content, message):
    (tmp_path / "l").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_labels(tmp_path / "l")


def test_arrays_of_other_kinds_are_refused(tmp_path):
    np.save(tmp_path / "l.npy", np.zeros(3))
    with pytest.raises(FormatError, match="whole numbers"):
        read_labels(tmp_path / "l.npy")
    np.savez(tmp_path / "l.npz", other=np.zeros(3))
    with pytest.raises(FormatError, match="expected an array 'labels'"):
        read_labels(tmp_path / "l.npz")


@pytest.fixture
def files(tmp_path):
    write(GRAPH, tmp_path / "g.npz")
    write_labels(solve(GRAPH).labels, tmp_path / "best.txt")
    write_labels(np.zeros(GRAPH.n, int), tmp_path / "joined.txt")
    return tmp_path


def certify(capsys, *arguments):
    code = main(["certify", *map(str, arguments), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_an_optimum_is_certified(files, capsys):
    code, facts = certify(capsys, files / "g.npz", files / "best.txt")
    assert (code, facts["proven"], facts["at_least"]) == (0, True, 0.0)
    assert facts["at_most"] <= 1e-6


def test_a_bad_clustering_is_not(files, capsys):
    best = solve(GRAPH).objective
    code, facts = certify(capsys, files / "g.npz", files / "joined.txt")
    assert (code, facts["proven"]) == (1, False)
    assert facts["at_least"] == pytest.approx(facts["objective"] - best)
    assert main(["certify", str(files / "g.npz"), str(files / "joined.txt")]) == 1
    assert "can" not in capsys.readouterr().err


def test_a_gap_that_is_proven_ends_the_solve(tmp_path, capsys):
    graph = Graph(32, wheel(31, 1.1).edges, wheel(31, 1.1).weights)
    write(graph, tmp_path / "g.npz")
    best = solve(graph)
    write_labels(best.labels, tmp_path / "best.txt")
    code, facts = certify(capsys, tmp_path / "g.npz", tmp_path / "best.txt", "--gap", "0.9")
    assert (code, facts["proven"]) == (0, True)
    assert 0 < facts["at_most"] <= 0.9 * abs(facts["objective"])


def test_solve_takes_a_file_to_start_from(files, capsys):
    file = str(files / "g.npz")
    assert main(["solve", file, "--initial", str(files / "best.txt"), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["initial_gap"] <= 1e-6
    (files / "short.txt").write_text("0\n")
    with pytest.raises(SystemExit):
        main(["solve", file, "--initial", str(files / "short.txt")])
    assert "one label a node" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["solve", file, "--initial", file, "-o", file])
