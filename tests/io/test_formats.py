"""The formats of the field; MULTICUT text, .npz and files as such are in test_io."""

import gzip
import io
import tracemalloc
import warnings
from contextlib import suppress
from itertools import combinations

import h5py
import numpy as np
import pytest
from graph_files import assert_same, error_of, general, graphs, text_file
from hypothesis import given
from hypothesis import strategies as st
from oracles import DATA

import bdcc_jax.io
from bdcc_jax import FormatError, Graph, read, write
from bdcc_jax.io import FORMATS, files, multicut, pace, signed, text, triples
from bdcc_jax.io.formats import recognise
from bdcc_jax.io.text import lines_of

PATH = Graph.from_edges([0, 1], [1, 2], [2.5, -1.0])


@st.composite
def connected(draw, names=None):
    """Graphs without isolated nodes."""
    graph = draw(graphs())
    used, index = np.unique(graph.edges, return_inverse=True)
    if not len(used):
        used, graph, index = np.arange(3), PATH, PATH.edges
    if names is not None:
        names = draw(st.lists(names, min_size=len(used), max_size=len(used), unique=True))
    return Graph(len(used), index.reshape(-1, 2), graph.weights, names)


@st.composite
def cluster_editing(draw):
    n = draw(st.integers(1, 9))
    pairs = list(combinations(range(n), 2))
    signs = draw(st.lists(st.sampled_from([1, -1]), min_size=len(pairs), max_size=len(pairs)))
    return Graph(n, pairs, signs)


def decoded(name, graph):
    return FORMATS[name].decode(FORMATS[name].encode(graph), "x")


# Round trips


@pytest.mark.parametrize("name", ["triples", "opengm", "andres"])
@given(graph=graphs())
def test_round_trip(name, graph):
    assert_same(decoded(name, graph), graph)


@given(connected())
def test_edge_list_round_trip_of_plain_nodes(graph):
    assert_same(decoded("signed", graph), graph)


def by_name(graph):
    names = range(graph.n) if graph.names is None else graph.names
    ends = graph.edges.tolist()
    return {
        frozenset([names[u], names[v]]): w
        for (u, v), w in zip(ends, graph.weights.tolist(), strict=True)
    }


@given(
    connected(st.text(min_size=1))
    | connected(st.integers())
    | connected(st.text("01 ,.a#", min_size=1))
)
def test_edge_list_keeps_names_or_refuses_them(graph):
    try:
        content = signed.encode(graph)
    except ValueError as error:
        if "cannot hold the node name" not in str(error):
            raise
        return
    again = signed.decode(content, "x")
    assert by_name(again) == by_name(graph)
    assert list(again.names or range(again.n)) == sorted(graph.names)


@given(cluster_editing())
def test_pace_round_trip(graph):
    assert_same(decoded("pace", graph), graph)


SUFFIXES = [
    ".triples",
    ".edges",
    ".edgelist",
    ".csv",
    ".tsv",
    ".gr",
    ".h5",
    ".hdf5",
    ".gml",
    ".graphml",
]


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".GR"])
@pytest.mark.parametrize("gz", ["", ".gz"])
def test_files(tmp_path, suffix, gz):
    graph = Graph(3, [(0, 1), (0, 2), (1, 2)], [1, -1, 1])
    write(graph, tmp_path / f"g{suffix}{gz}")
    assert_same(read(tmp_path / f"g{suffix}{gz}"), graph)


@pytest.mark.parametrize("name", FORMATS)
def test_format_in_place_of_suffix(tmp_path, name):
    graph = Graph(3, [(0, 1), (0, 2), (1, 2)], [1, -1, 1])
    write(graph, tmp_path / "graph", format=name)
    assert_same(read(tmp_path / "graph", format=name), graph)
    graph, found = bdcc_jax.io.load(tmp_path / "graph")
    # Nodes are called 0, 1, 2 in the list: nothing tells it from triples but a suffix.
    assert found == {"signed": "triples"}.get(name, name)


# Which format it is


@pytest.mark.parametrize(
    ("name", "text", "expected", "m"),
    [
        ("g.txt", "0 1 2\n", "triples", 1),
        ("g", "# a comment\n0,1,2\n", "triples", 1),
        ("g.dat", "c a comment\n0 1 2\n", "triples", 1),
        ("g.edges", "0 1 2\n", "signed", 1),
        ("g.csv", "7,8,10,1289241911.5\n", "signed", 1),
        ("g.txt", "7 8 10 1289241911.5\n", "signed", 1),
        ("g.txt", "# FromNodeId\tToNodeId\tSign\n0 1 2\n", "signed", 1),
        ("g.txt", "anna bert 1\n", "signed", 1),
        ("g.txt", "-1 1 1\n", "signed", 1),
        ("g.edges", "MULTICUT\n0 1 2\n", "multicut", 1),
        ("g.txt", "c hello\np cep 2 1\n1 2\n", "pace", 1),
        ("g.edges", "p cep 1\n", "signed", 1),
        ("g.edges", "c d 1\nd e -1\n", "signed", 2),
        ("g.txt", "c d 1\nd e -1\n", "signed", 2),
    ],
)
def test_rules(tmp_path, name, text, expected, m):
    graph, found = bdcc_jax.io.load(text_file(tmp_path, text, name))
    assert (found, graph.m) == (expected, m)


@pytest.mark.parametrize(("line", "looked_at"), [("", 0), ("# nothing", 1), ("c", 1), ("%", 1)])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("edge", ["MULTICUT", "0 1 1.0", "anna bert 1", "no graph"])
def test_a_long_opening_is_looked_at_once(tmp_path, monkeypatch, line, looked_at, end, edge):
    """Whatever format asks; blank lines not even once."""
    seen = []

    def spy(data):
        for found in lines_of(data):
            seen.append(found)
            yield found

    monkeypatch.setattr(text, "lines_of", spy)
    for number in (100, 1000):
        seen.clear()
        content = ((line + end) * number + edge).encode()
        with suppress(FormatError):
            recognise(content, tmp_path / "x")
        assert len(seen) <= looked_at * number + 1


def test_unknown_content(tmp_path):
    assert "FILE: it starts with 'what?'; expected the line 'MULTICUT', edges" in error_of(
        tmp_path, "what?"
    )
    assert "FILE: binary content of no known format; expected" in error_of(tmp_path, b"\x7fELF\0")
    with pytest.raises(ValueError, match=r"format must be one of npz, .*, not 'docx'"):
        read(text_file(tmp_path, "0 1 2"), format="docx")
    with pytest.raises(ValueError, match=r"format must be one of npz, .*, not 'docx'"):
        write(PATH, tmp_path / "a.txt", format="docx")
    with pytest.raises(FormatError, match="expected the header 'p cep n m', not '0 1 2'"):
        read(text_file(tmp_path, "0 1 2"), format="pace")


# Signed edge lists


def test_names_and_directions():
    graph = signed.decode(b"% KONECT\nbert anna 1\nanna bert 2\nanna\tcarl -1\n", "x")
    assert graph.names == ("anna", "bert", "carl")
    assert graph.edges.tolist() == [[0, 1], [0, 2]]
    assert graph.weights.tolist() == [3.0, -1.0]


@pytest.mark.parametrize("separator", [" ", "\t", ",", " , "])
@pytest.mark.parametrize("time", ["", "12.5"])
def test_integer_names_by_both_parsers(separator, time):
    fields = [["30", "7", "1"], ["7", "1000000000000", "-1"], ["7", "30", "2"]]
    lines = [separator.join([*row, time] if time else row) for row in fields]
    fast = signed.decode("\n".join(lines).encode(), "x")
    careful = signed._graph([signed._row([*row, *([time] if time else [])], "") for row in fields])
    assert fast.names == careful.names == (7, 30, 10**12)
    assert fast.weights.tolist() == careful.weights.tolist() == [3.0, -1.0]


def test_first_edge_tells_the_separator():
    graph = signed.decode(b"Smith, Ann\tBo Lee\t1\nBo Lee\tC\t-1\n", "x")
    assert graph.names == ("Bo Lee", "C", "Smith, Ann")
    assert signed.decode(b"7 8\t1\t12.5\n", "x").names == (7, 8)  # as some of KONECT's
    with pytest.raises(ValueError, match="cannot hold the node name '7 8'"):
        signed.encode(Graph(3, [(0, 1), (1, 2)], [1.0, 1.0], ["7 8", "9", "a"]))


@given(
    st.lists(
        st.lists(
            st.sampled_from(["0", "1", "-7", "1.0", "1e3", "nan", "a", "#", "007", "9" * 19]),
            min_size=2,
            max_size=4,
        ).map(" ".join),
        min_size=1,
    )
)
def test_fast_parser_agrees_with_the_careful_one(lines):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # self-loops
        fast = signed._parse_clean(lines, None)
        if fast is not None:
            careful = signed._graph([signed._row(line.split(), "") for line in lines])
            assert_same(fast, careful)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b 1\na b\n", "FILE:2: expected 'u v weight', and a time if you like, not 2 field(s)"),
        ("a b 1\n\na b c d e\n", "FILE:3: expected 'u v weight', and a time if you like, not 5"),
        ("a,,1\n", "not 3 field(s): ['a', '', '1']"),
        ("source,target,weight\n", "FILE:1: expected a finite number as weight, not 'weight'"),
        ("a b 1 noon\n", "FILE:1: the time: expected a finite number as weight, not 'noon'"),
        ("a b inf\n", "FILE:1: expected a finite number as weight, not 'inf'"),
        ("# only\n", "FILE: no edges; expected at least one line 'u v weight'"),
        ("1 2 1e308\n2 1 1e308\n", "FILE: the weights add up to more than a float64 can hold"),
    ],
)
def test_edge_list_refuses(tmp_path, text, message):
    assert message in error_of(tmp_path, text, "g.edges")


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph(3, [(0, 1)], [1.0]), r"nodes without edges: there are 1 \(the first is 2\)"),
        (Graph(2, [(0, 1)], [1.0], ["1", "2"]), "cannot hold the node name '1'"),
        (Graph(2, [(0, 1)], [1.0], ["a", 2]), "cannot hold the node name 2"),
        (Graph(2, [(0, 1)], [1.0], ["a", "b\tc"]), r"cannot hold the node name 'b\\tc'"),
        (Graph(2, [(0, 1)], [1.0], ["a", "\ud800"]), "cannot hold the node name"),
        (Graph(2, [(0, 1)], [1.0], ["#a", "b"]), "cannot hold the node name '#a'"),
        (Graph(2, [(0, 1)], [1.0], [1, 2**70]), "cannot hold the node name 118"),
        (Graph(2, [(0, 1)], [1.0], [None, "a"]), "cannot hold the node name None"),
        (Graph(2, [(0, 1)], [1.0], [True, 2]), "cannot hold the node name True"),
    ],
)
def test_edge_list_never_loses_anything(graph, message):
    with pytest.raises(ValueError, match=message):
        signed.encode(graph)


@pytest.mark.parametrize("character", ["\U0010ffff", "\U000f0000", "\u0661"])
def test_numbers_are_ascii(character):
    """numpy.loadtxt crashes on such characters where it expects an integer."""
    line = f"1{character} 2 1\n".encode()
    assert set(signed.decode(line, "x").names) == {"1" + character, "2"}
    for codec, before in ((triples, b""), (multicut, b"MULTICUT\n"), (pace, b"p cep 3 1\n")):
        with pytest.raises(FormatError, match=r"expected (a node id|'u v')"):
            codec.decode(before + line, "x")


# Triples


def test_triples_say_the_line(tmp_path):
    message = "FILE:3: expected a node id from 0 to 2147483646, not 'x'"
    assert message in error_of(tmp_path, "# hello\n0 1 2\nx 1 2\n", "g.triples")
    assert triples.encode(PATH) == b"0 1 2.5\n1 2 -1.0\n"


# PACE


def test_pace_is_cluster_editing():
    graph = pace.decode(b"c hi\np cep 3 2\n1 2\n3 2\n", "x")
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.weights.tolist() == [1.0, -1.0, 1.0]
    assert graph.disagreement([0, 0, 0]) == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n", "FILE:1: expected the header 'p cep n m', not '1 2'"),
        ("p td 3 2\n", "FILE:1: expected the header 'p cep n m', not 'p td 3 2'"),
        ("c\np cep 0 0\n", "FILE:2: expected a number of nodes from 1 to 2147483647, not '0'"),
        ("p cep 3 4\n", "FILE:1: expected a number of edges from 0 to 3, not '4'"),
        ("p cep 99999 0\n", "FILE:1: 99999 nodes have 4999850001 pairs, each of which needs a"),
        ("p cep 3 1\n1 2 3\n", "FILE:2: expected 'u v', not 3 field(s): ['1', '2', '3']"),
        ("p cep 3 1\n0 1\n", "FILE:2: expected a node from 1 to 3, not '0'"),
        ("p cep 3 1\n2 2\n", "FILE:2: expected two different nodes, not 2 twice"),
        ("p cep 3 1\n1 2\n2 1\n", "FILE:3: the edge 1 2 appears twice"),
        ("p cep 3 2\n1 2\n", "FILE: the header promises 2 edges, but there are 1"),
    ],
)
def test_pace_refuses(tmp_path, text, message):
    assert message in error_of(tmp_path, text, "g.gr")


def test_pace_holds_cluster_editing_only():
    with pytest.raises(ValueError, match=r"weight 1 or -1: only 2 of 3 pairs have a weight"):
        pace.encode(PATH)
    with pytest.raises(ValueError, match=r"weight 1 or -1: the pair \(0, 1\) has 2\.5"):
        pace.encode(Graph(2, [(0, 1)], [2.5]))


@pytest.mark.skipif(not DATA.exists(), reason="no data folder")
def test_pace_instance_survives(tmp_path):
    graph = read(DATA / "pace2021-exact" / "exact007.txt.gz")
    write(graph, tmp_path / "exact007.gr")
    assert_same(read(tmp_path / "exact007.gr"), graph)


@pytest.mark.parametrize("name", ["triples", "multicut", "pace", "opengm", "andres"])
def test_names_are_refused(name):
    graph = Graph(2, [(0, 1)], [1.0], ["a", "b"])
    with pytest.raises(ValueError, match=r"no place for node names: write \.npz or an edge list"):
        FORMATS[name].encode(graph)


# Sizes that a few bytes can ask for


@pytest.mark.parametrize(
    "text", ["MULTICUT\n0 2000000000 1\n", "0 2000000000 1\n", "0 1 1\n# nodes 2000000000\n"]
)
def test_nodes_far_apart(tmp_path, text):
    message = error_of(tmp_path, text)
    assert "nodes are too many for 1 edges (at most 16777216)" in message
    assert "format 'signed'" in message


def test_nodes_that_could_not_be_read_are_not_written(tmp_path):
    for name in ("a.txt", "a.npz", "a.h5"):
        with pytest.raises(ValueError, match="2000000000 nodes are too many for 0 edges"):
            write(Graph(2_000_000_000, [], []), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_far_apart_ids_are_fine_as_names(tmp_path):
    graph = read(text_file(tmp_path, "0 1000000000000 1\n"), format="signed")
    assert (graph.n, graph.names) == (2, (0, 10**12))


def test_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ALWAYS_INFLATED", 2**20)
    bomb = gzip.compress(gzip.compress(b"\n" * 10**7)[:20] + b"\n" * 5 * 10**7)
    tracemalloc.start()
    assert "decompress to more than" in error_of(tmp_path, bomb, "g.txt.gz")
    archive = io.BytesIO()
    np.savez_compressed(archive, format="x", n=1, edges=np.zeros((10**5, 2)), weights=[1.0])
    small = archive.getvalue()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 10**7
    assert "the arrays declare 1600" in error_of(tmp_path, small, "g.npz")
    buffer = io.BytesIO(general(edge_values=None))
    with h5py.File(buffer, "r+") as file:
        file.create_dataset("edge-values", data=np.zeros(10**6), compression="gzip")
    assert "more than the file can hold" in error_of(tmp_path, buffer.getvalue(), "g.h5")


def test_tables_are_sent_to_the_command_for_them(tmp_path):
    (tmp_path / "pairs.csv").write_text("unique_id_l,unique_id_r,match_probability\na,b,0.9\n")
    with pytest.raises(FormatError, match=r"not 'match_probability' .*header are for bdcc-jax cl"):
        read(tmp_path / "pairs.csv")
    (tmp_path / "pairs.parquet").write_bytes(b"PAR1\0\0PAR1")
    with pytest.raises(FormatError, match="Parquet and Arrow files are for bdcc-jax cluster"):
        read(tmp_path / "pairs.parquet")
