import gzip
import io
import json
import os
import random
import stat
import zipfile

import numpy as np
import pytest
from graph_files import JSON_NAMES, assert_same, error_of, graphs, text_file
from hypothesis import given
from hypothesis import strategies as st

from bdcc_jax import FormatError, Graph, read, write
from bdcc_jax.io import files, multicut, npz, triples, write_labels

# Round trips


@given(graphs())
def test_multicut_round_trip(graph):
    assert_same(multicut.decode(multicut.encode(graph), "x"), graph)


@given(graphs(JSON_NAMES))
def test_npz_round_trip(graph):
    assert_same(npz.decode(npz.encode(graph), "x"), graph)


@pytest.mark.parametrize("name", ["g.txt", "g.multicut", "g.npz", "g.txt.gz", "g.npz.gz"])
def test_files_round_trip(tmp_path, name):
    graph = Graph.from_edges([0, 1, 2], [1, 2, 4], [0.1, -1 / 3, 1e-300], n=7)
    write(graph, tmp_path / name)
    assert_same(read(tmp_path / name), graph)
    assert_same(read(str(tmp_path / name)), graph)
    compressed = (tmp_path / name).read_bytes().startswith(b"\x1f\x8b")
    assert compressed == name.endswith(".gz")


def test_format_is_recognised_by_content(tmp_path):
    graph = Graph.from_edges([0, 1], [1, 2], [1.0, -1.0])
    assert_same(read(text_file(tmp_path, npz.encode(graph), "a.txt")), graph)
    assert_same(read(text_file(tmp_path, multicut.encode(graph), "a.npz")), graph)
    assert_same(read(text_file(tmp_path, gzip.compress(multicut.encode(graph)), "a")), graph)


def test_names_keep_their_type():
    names = ["a", 1, 2.5, None, "ü\ud800", np.int64(7)]
    graph = npz.decode(npz.encode(Graph(6, [], [], names)), "x")
    assert graph.names == ("a", 1, 2.5, None, "ü\ud800", 7)
    assert [type(name) for name in graph.names] == [str, int, float, type(None), str, int]


def test_npz_is_plain_numpy():
    graph = Graph(3, [(0, 1)], [2.0], ["a", "b", "c"])
    with np.load(io.BytesIO(npz.encode(graph)), allow_pickle=False) as arrays:
        assert sorted(arrays) == ["edges", "format", "n", "names", "weights"]
        assert json.loads(str(arrays["names"])) == ["a", "b", "c"]


# MULTICUT text


def test_multicut_is_written_strictly():
    graph = Graph.from_edges([0, 1], [1, 2], [0.1, -2.0])
    assert multicut.encode(graph) == b"MULTICUT\n0 1 0.1\n1 2 -2.0\n"


def test_isolated_last_nodes_are_kept_by_a_last_comment():
    graph = Graph.from_edges([0], [1], [1.0], n=4)
    assert multicut.encode(graph) == b"MULTICUT\n0 1 1.0\n# nodes 4\n"
    assert multicut.encode(Graph(2, [], [])) == b"MULTICUT\n# nodes 2\n"


@pytest.mark.parametrize(
    "text",
    [
        "MULTICUT\n0 1 2.5\n1 2 -1",
        "MULTICUT\r\n0 1 2.5\r\n1 2 -1\r\n",
        "MULTICUT\r0 1 2.5\r1 2 -1\r",
        "\ufeffMULTICUT\n0 1 2.5\n1 2 -1\n",
        "c made by hand\n# twice\n\n  MULTICUT  \n0 1 2.5\n\n1 2 -1\n",
        "MULTICUT # the header\n0 1 2.5 # an edge\nc a comment\n1 2 -1\n",
        "MULTICUT\n0,1,2.5\n1, 2,\t-1\n",
        "MULTICUT\n  0\t1   2.5e0\n+1 2 -1.\n",
        "MULTICUT\n1 0 1.5\n0 1 1\n2 1 -1\n0 2 0\n",
    ],
)
def test_multicut_lenient_forms(tmp_path, text):
    assert_same(read(text_file(tmp_path, text)), Graph.from_edges([0, 1], [1, 2], [2.5, -1.0]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("0 1", "FILE:2: expected 'i j weight', not 2 field(s): ['0', '1']"),
        ("0 1 2 3", "FILE:2: expected 'i j weight', not 4 field(s)"),
        ("0 1 1\n\nx 1 2", "FILE:4: expected a node id from 0 to 2147483646, not 'x'"),
        ("0 1 1\n0 -1 2", "FILE:3: expected a node id from 0 to 2147483646, not '-1'"),
        ("0 1.0 2", "FILE:2: expected a node id from 0 to 2147483646, not '1.0'"),
        ("0 1_0 2", "FILE:2: expected a node id from 0 to 2147483646, not '1_0'"),
        ("0 2147483647 2", "FILE:2: expected a node id from 0 to 2147483646, not '2147483647'"),
        ("0 1" + "0" * 9999 + " 2", "FILE:2: expected a node id from 0 to 2147483646, not '1000"),
        ("0 1 nan", "FILE:2: expected a finite number as weight, not 'nan'"),
        ("0 1 -inf", "FILE:2: expected a finite number as weight, not '-inf'"),
        ("0 1 1_0", "FILE:2: expected a finite number as weight, not '1_0'"),
        ("0 1 heavy", "FILE:2: expected a finite number as weight, not 'heavy'"),
        ("0 1 1e999", "FILE:2: the weight '1e999' is more than a float64 can hold"),
        ("0,,1,3", "FILE:2: expected 'i j weight', not 4 field(s): ['0', '', '1', '3']"),
        (",0,1,3", "FILE:2: expected 'i j weight', not 4 field(s): ['', '0', '1', '3']"),
        ("", "FILE: no edges; expected at least one, or a comment '# nodes N'"),
        ("# nothing", "FILE: no edges; expected at least one, or a comment '# nodes N'"),
        ("# nodes 0", "FILE: the comment '# nodes 0' must give at least 1 "),
        ("0 3 1\n# nodes 3", "FILE: the comment '# nodes 3' must give at least 4 "),
        ("0 3 1\n# nodes 99999999999", "and at most 2147483647"),
        ("0 3 1\n# nodes 4\n# nodes 5", "FILE: contradicting comments '# nodes N': ['4', '5']"),
        ("0 1 1\n\0", "FILE: binary content; expected MULTICUT text"),
    ],
)
def test_multicut_refuses_what_it_does_not_understand(tmp_path, body, message):
    assert message in error_of(tmp_path, f"MULTICUT\n{body}\n")


def test_multicut_needs_its_header(tmp_path):
    name = "graph.multicut"
    expected = "expected the header 'MULTICUT', not"
    assert error_of(tmp_path, "0 1 2\n", name) == f"FILE:1: {expected} '0 1 2'"
    assert f"FILE:1: {expected} nothing" in error_of(tmp_path, "# only\n", name)
    assert f"FILE:2: {expected} 'MULTICUTS'" in error_of(tmp_path, "\nMULTICUTS\n0 1 1\n", name)


@given(
    st.lists(
        st.sampled_from(["0", "1", "7", "-1", "1.0", "2.5", "1e3", "nan", "c", "#", ",", " ", "\n"])
    )
)
def test_fast_parser_agrees_with_the_careful_one(tokens):
    text = " ".join(tokens)
    fast = triples._parse_clean(text)
    if fast is not None:
        for a, b in zip(fast, triples._parse_lines(text, "x", 1), strict=True):
            np.testing.assert_array_equal(a, b)


def test_clean_text_takes_the_fast_path():
    assert triples._parse_clean("\n0 1 2\n# nodes 5\n") is not None


def test_multicut_takes_the_fast_path(tmp_path, monkeypatch):
    m = 20_000
    lines = (f"{i} {i + 1} {random.random()!r}" for i in range(m))
    path = text_file(tmp_path, "MULTICUT\n" + "\n".join(lines))
    monkeypatch.setattr(triples, "_parse_lines", None)  # the careful one, line by line
    assert read(path).m == m


def test_multicut_has_no_names():
    with pytest.raises(ValueError, match=r"no place for node names: write \.npz"):
        multicut.encode(Graph(2, [], [], ["a", "b"]))


# Broken files


@pytest.mark.parametrize("name", ["a.txt", "a.npz", "a"])
@pytest.mark.parametrize("content", [b"", b" \n\n", gzip.compress(b"", mtime=0)])
def test_empty_file(tmp_path, name, content):
    assert "the file is empty" in error_of(tmp_path, content, name)


def test_binary_files(tmp_path):
    assert "FILE: binary content" in error_of(tmp_path, b"\x89PNG\r\n\0\0")
    assert "FILE: not UTF-8 at byte 9; expected MULTICUT" in error_of(tmp_path, b"MULTICUT\n\xff")
    assert "npz archive" in error_of(tmp_path, b"\x89PNG\r\n\0\0", "a.npz")


def test_truncated_gzip(tmp_path):
    content = gzip.compress(b"MULTICUT\n" + b"".join(b"%d 999 1\n" % i for i in range(900)))
    for damaged in (
        content[:-9],
        content[:12],
        content[:-6] + b"\0" * 6,
        content[:20] + b"\7" * 99,
    ):
        assert "truncated or corrupt gzip file" in error_of(tmp_path, damaged, "a.txt.gz")


@given(st.data())
def test_damaged_npz_never_raises_anything_else(data):
    content = bytearray(npz.encode(Graph(3, [(0, 1), (1, 2)], [1.0, -2.0], ["a", "b", "c"])))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(1, len(content))) :]
    try:
        graph = npz.decode(bytes(content), "x")
    except FormatError:
        return
    assert isinstance(graph, Graph)


def archive(**arrays):
    buffer = io.BytesIO()
    valid = {"format": npz.FORMAT, "n": 2, "edges": [[0, 1]], "weights": [1.0]} | arrays
    np.savez(buffer, **{key: value for key, value in valid.items() if value is not None})
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"format": "other 3"}, "FILE: expected format 'bdcc_jax.Graph 1', not 'other 3'"),
        ({"weights": None}, "FILE: expected an array 'weights'; the archive has ["),
        ({"n": 1}, "FILE: node id 1 is out of range"),
        ({"n": [1, 2]}, "FILE: can only convert an array of size 1"),
        ({"n": 2.5}, "FILE: n must be an integer, not 2.5"),
        ({"edges": [0, 1]}, "FILE: edges must have shape (m, 2)"),
        ({"weights": [1.0, 2.0]}, "FILE: weights must have shape (1,)"),
        ({"weights": [np.nan]}, "FILE: weights must be numbers: entry 0 is nan"),
        ({"names": "[1"}, "FILE: 'names' must be a JSON list ("),
        ({"names": '"ab"'}, "FILE: 'names' must be a JSON list, not str"),
        ({"names": "[[1], [2]]"}, "FILE: unhashable type"),
        ({"names": '["a"]'}, "FILE: names must have one entry a node (2), not 1"),
        ({"weights": np.array([object()])}, "FILE: array 'weights' declares (1,) of object"),
    ],
)
def test_npz_refuses_what_it_does_not_understand(tmp_path, arrays, message):
    assert message in error_of(tmp_path, archive(**arrays), "a.npz")


def with_member(name, content):
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive())) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.namelist():
            new.writestr(member, content if member == name else old.read(member))
    return buffer.getvalue()


def test_declared_sizes_are_checked_before_allocation(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    )
    content = with_member("weights.npy", header.getvalue() + b"\0" * 8)
    message = error_of(tmp_path, content, "a.npz")
    assert "'weights' declares (1000000000000000,) of float64, but holds 8 bytes" in message
    content = with_member("weights.npy", b"no array")
    assert "array 'weights' is not a numpy array" in error_of(tmp_path, content, "a.npz")


def test_archive_that_declares_more_than_it_can_hold(tmp_path):
    content = bytearray(archive())
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"weights.npy"))
    content[entry + 24 : entry + 28] = (2**32 - 2).to_bytes(4, "little")
    message = error_of(tmp_path, bytes(content), "a.npz")
    assert "the arrays declare 4294967766 bytes, but" in message
    assert "may hold at most 67108864" in message


@pytest.mark.parametrize("name", [(0, 1), float("inf"), b"bytes", frozenset()])
def test_npz_refuses_names_that_json_cannot_hold(name):
    with pytest.raises(ValueError, match=r"node 1 is named .* text, finite numbers"):
        npz.encode(Graph(2, [], [], ["fine", name]))


# Files


def test_os_errors_stay_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "absent.txt")
    with pytest.raises(IsADirectoryError):
        read(tmp_path)


def test_write_refuses_to_overwrite(tmp_path):
    path = text_file(tmp_path, "precious")
    graph = Graph(2, [(0, 1)], [1.0])
    with pytest.raises(FileExistsError, match="exists; choose another name, or force"):
        write(graph, path)
    assert path.read_text() == "precious"
    write(graph, path, force=True)
    assert_same(read(path), graph)


def test_write_refuses_unknown_suffixes_and_places(tmp_path):
    graph = Graph(2, [(0, 1)], [1.0])
    with pytest.raises(ValueError, match=r"must end in one of \.npz, \.txt, \.multicut"):
        write(graph, tmp_path / "graph.docx")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write(graph, tmp_path / "absent" / "graph.txt")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(FileExistsError, match="is not a regular file"):
        write(graph, tmp_path / "folder.txt", force=True)
    assert os.listdir(tmp_path) == ["folder.txt"]


def test_special_files_are_never_replaced():
    with pytest.raises(FileExistsError, match="is not a regular file"):
        files.check_target(files.Path(os.devnull), force=True)


def test_failed_write_leaves_the_old_file_and_no_debris(tmp_path, monkeypatch):
    path = text_file(tmp_path, "precious")

    def fail(*_):
        raise OSError("disk on fire")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(OSError, match="disk on fire"):
        write(Graph(2, [(0, 1)], [1.0]), path, force=True)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="permission bits")
def test_written_files_have_ordinary_permissions(tmp_path):
    write(Graph(2, [(0, 1)], [1.0]), tmp_path / "a.txt")
    (tmp_path / "b.txt").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.txt", "b.txt")}
    assert len(modes) == 1


def test_written_files_are_reproducible(tmp_path):
    graph = Graph(2, [(0, 1)], [1.0])
    for name in ("a.npz", "b.npz", "a.txt.gz", "b.txt.gz"):
        write(graph, tmp_path / name)
    for suffix in ("npz", "txt.gz"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_labels(tmp_path):
    labels = np.array([0, 0, 1, 0])
    for name in ("l.txt", "l.npy", "l.npz", "l.txt.gz", "l"):
        write_labels(labels, tmp_path / name)
    assert (tmp_path / "l.txt").read_text() == (tmp_path / "l").read_text() == "0\n0\n1\n0\n"
    assert gzip.decompress((tmp_path / "l.txt.gz").read_bytes()) == b"0\n0\n1\n0\n"
    np.testing.assert_array_equal(np.load(tmp_path / "l.npy"), labels)
    with np.load(tmp_path / "l.npz") as arrays:
        np.testing.assert_array_equal(arrays["labels"], labels)
    with pytest.raises(FileExistsError):
        write_labels(labels, tmp_path / "l.txt")
