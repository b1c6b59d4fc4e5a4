"""Labels as CSV with a header, both ways."""

import pytest

from bdcc_jax import FormatError, Graph, cli, write
from bdcc_jax.io import read_labels, write_labels

NAMES = ["plain", 'with "quotes", and commas', "Zoë", "#", ""]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".CSV"])
@pytest.mark.parametrize("names", [None, NAMES])
def test_both_ways(tmp_path, suffix, names):
    path = tmp_path / f"labels{suffix}"
    write_labels([0, 1, 0, 2, 1], path, names=names)
    assert read_labels(path, names=names).tolist() == [0, 1, 0, 2, 1]


def test_what_is_in_the_file(tmp_path):
    write_labels([0, 1], tmp_path / "a.csv", names=["x, y", "z"])
    assert (tmp_path / "a.csv").read_text() == 'node,cluster\n"x, y",0\nz,1\n'
    write_labels([0, 1], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "node,cluster\n0,0\n1,1\n"


def test_any_order_and_any_words(tmp_path):
    (tmp_path / "a.csv").write_text("node,cluster\nb,red\na,blue\n")
    assert read_labels(tmp_path / "a.csv", names=["a", "b"]).tolist() == [0, 1]
    (tmp_path / "b.csv").write_text("node,cluster\n1,red\n2,red\n0,blue\n")
    assert read_labels(tmp_path / "b.csv").tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,0\n", "expected the header 'node,cluster'"),
        ("", "expected the header"),
        ("node,cluster\na\n", "row 2: expected a node that is new, and its cluster"),
        ("node,cluster\na,0\na,1\n", "row 3: expected a node that is new"),
        ("node,cluster\na,0\n", "there is no label for node 'b'"),
        ("node,cluster\na,0\nb,0\nc,1\n", "3 names for 2 nodes; one is 'c'"),
        (b"\xff", "expected a table of labels"),
    ],
)
def test_refused(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError, match=message):
        read_labels(path, names=["a", "b"])


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".json", ".xlsx"])
def test_no_text_in_a_file_that_says_otherwise(tmp_path, suffix, capsys):
    message = f"labels are written as .npy, .npz, .h5, .csv or plain text, not as {suffix}"
    with pytest.raises(ValueError, match=message):
        write_labels([0], tmp_path / f"a{suffix}")
    write(Graph(2, [(0, 1)], [1.0]), tmp_path / "graph.txt")
    with pytest.raises(SystemExit):
        cli.main(["solve", str(tmp_path / "graph.txt"), "-o", str(tmp_path / f"a{suffix}")])
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.txt"]


def test_solve_writes_a_table_and_certify_reads_it(tmp_path, capsys):
    (tmp_path / "people.edges").write_text("anna bert 2\nbert carl -1\n")
    graph, labels = str(tmp_path / "people.edges"), str(tmp_path / "labels.csv")
    assert cli.main(["solve", graph, "-o", labels, "--quiet"]) == 0
    assert (tmp_path / "labels.csv").read_text() == "node,cluster\nanna,0\nbert,0\ncarl,1\n"
    assert cli.main(["certify", graph, labels, "--quiet"]) == 0
