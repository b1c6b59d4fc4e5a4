"""bdcc-jax convert and info, and instance files of all formats for bdcc-jax solve."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from graph_files import assert_same

from bdcc_jax import Graph, cli, read, write
from bdcc_jax.io import FORMATS

GRAPH = Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [2.0, 1.5, -1.0, -3.0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(GRAPH, tmp_path / "graph.txt")
    (tmp_path / "people.edges").write_text("anna bert 2\nbert carl -1\nbert anna 1\n")
    return tmp_path


def run(*arguments):
    try:
        return cli.main(list(arguments))
    except SystemExit as leaving:
        return leaving.code


@pytest.mark.parametrize("target", ["a.npz", "a.triples.gz", "a.h5", "a.edges", "a.multicut"])
def test_convert(folder, capsys, target):
    assert run("convert", "graph.txt", target) == 0
    assert capsys.readouterr().out.startswith(f"{target}: ")
    assert_same(read(target), GRAPH)
    assert run("convert", target, "back.txt") == 0
    assert (folder / "back.txt").read_bytes() == (folder / "graph.txt").read_bytes()


def test_convert_by_name_of_format(folder, capsys):
    assert run("convert", "graph.txt", "model", "--to", "opengm") == 0
    assert capsys.readouterr().out == "model: opengm, 4 nodes, 4 edges\n"
    with h5py.File("model") as file:
        assert "gm" in file
    assert run("convert", "model", "a.txt", "--from", "opengm") == 0
    assert run("convert", "graph.txt", "b.txt", "--from", "pace") == 2
    assert "graph.txt:1: expected the header 'p cep n m'" in capsys.readouterr().err


def test_convert_never_loses_names_unless_told(folder, capsys):
    assert run("convert", "people.edges", "a.txt") == 2
    assert "no place for node names" in capsys.readouterr().err
    assert not (folder / "a.txt").exists()
    assert run("convert", "people.edges", "a.txt", "--drop-names") == 0
    assert (folder / "a.txt").read_text() == "MULTICUT\n0 1 3.0\n1 2 -1.0\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("graph.txt taken.txt", "taken.txt exists; choose another name, or force"),
        ("graph.txt ./graph.txt --force", "graph.txt is named twice; write to another file"),
        ("graph.txt a.docx", "a.docx: the name must end in one of .npz, .txt"),
        ("graph.txt a.gr", "a .gr file holds cluster editing only"),
        ("graph.txt absent/a.txt", "there is no folder absent"),
        ("absent.txt a.txt", "absent.txt: No such file or directory"),
        ("graph.txt a.txt --to docx", "invalid choice: 'docx'"),
    ],
)
def test_convert_bad_input(folder, capsys, arguments, message):
    (folder / "taken.txt").write_text("precious")
    before = sorted(folder.iterdir())
    assert run("convert", *arguments.split()) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(folder.iterdir()) == before
    assert (folder / "taken.txt").read_text() == "precious"


def test_convert_force(folder):
    (folder / "taken.txt").write_text("old")
    assert run("convert", "graph.txt", "taken.txt", "--force") == 0
    assert_same(read("taken.txt"), GRAPH)


def test_info(folder, capsys):
    assert run("info", "graph.txt") == 0
    out = capsys.readouterr().out
    lines = {line[:13].strip(): line[14:] for line in out.splitlines()}
    assert lines["file"] == "graph.txt (multicut)"
    assert lines["nodes"] == "4, 0 without edges"
    assert lines["edges"] == "4: 2 attract, 2 repel"
    assert lines["weights"] == "-3 to 2, magnitudes 1 to 3"
    assert lines["presolve"] == "leaves 0 nodes and 0 edges: all is decided"
    assert lines["lower bound"] == "-4 (sum of the negative weights)"
    assert lines["upper bound"] == "-3 (greedy contraction)"


def test_info_json(folder, capsys):
    write(Graph(6, [(0, 1), (3, 4)], [1e-3, -5.0]), folder / "a.npz")
    assert run("info", "a.npz", "--json") == 0
    about = json.loads(capsys.readouterr().out)
    assert about["format"] == "npz"
    assert (about["nodes"], about["isolated"], about["edges"]) == (6, 2, 2)
    assert (about["components"], about["positive_components"]) == (4, 5)
    assert about["weights"] == [-5.0, 1e-3]
    assert about["presolve"]["separated"] == 1
    assert about["left"] == {"nodes": 0, "edges": 0, "pieces": 0}
    assert about["lower_bound"] == about["upper_bound"] == -5.0


def test_info_of_what_presolve_leaves(folder, capsys):
    rng = np.random.default_rng(0)
    W = np.triu(rng.normal(size=(20, 20)), 1)
    write(Graph.from_dense(W + W.T), folder / "hard.npz")
    assert run("info", "hard.npz", "--json") == 0
    about = json.loads(capsys.readouterr().out)
    assert about["left"]["nodes"] == 20 - about["presolve"]["nodes"] > 0
    assert about["left"]["edges"] == 190 - about["presolve"]["edges"]
    assert about["lower_bound"] < about["upper_bound"] < 0
    write(Graph(2, [], []), folder / "empty.npz")
    assert run("info", "empty.npz") == 0
    assert "weights       none" in capsys.readouterr().out


def test_solve_with_names(folder, capsys):
    assert run("solve", "people.edges", "-o", "labels.tsv", "--quiet") == 0
    assert (folder / "labels.tsv").read_text() == "anna\t0\nbert\t0\ncarl\t1\n"
    assert run("solve", "people.edges", "-o", "labels.h5", "--quiet") == 0
    with h5py.File("labels.h5") as file:
        assert file["labels"][()].tolist() == [0, 0, 1]
    assert run("solve", "graph.txt", "--format", "multicut", "--quiet") == 0
    assert run("solve", "graph.txt", "--format", "npz", "--quiet") == 2
    assert "corrupt npz archive" in capsys.readouterr().err


def test_missing_h5py_is_noticed_before_the_work(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    monkeypatch.setattr(cli.solve, "solve_graph", None)
    assert run("solve", "graph.txt", "-o", "labels.h5") == 2
    assert 'pip install ".[hdf5]"' in capsys.readouterr().err


def test_warnings_are_lines(folder, capsys):
    (folder / "loop.txt").write_text("0 0 1\n0 1 1\n")
    assert run("info", "loop.txt") == 0
    error = capsys.readouterr().err
    assert error.startswith("bdcc-jax: loop.txt: 1 self-loop(s) dropped")
    assert error.count("\n") == 1


BROKEN = {
    "empty": b"",
    "blank": b"\n\n",
    "binary": bytes(range(256)),
    "zip": b"PK\x03\x04 and nothing more",
    "hdf5": b"\x89HDF\r\n\x1a\n and nothing more",
    "gzip": gzip.compress(b"MULTICUT\n0 1 1\n")[:-5],
    "sparse": b"0 1999999999 1\n",
    "prose": b"Dear all,\nplease find\x1b[31m attached ...\n",
}


@pytest.mark.parametrize("command", ["solve", "info", "convert"])
@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_give_one_line(folder, capsys, command, what):
    """A traceback would come out of cli.main as an exception."""
    more = ["a.npz"] if command == "convert" else []
    for suffix in (".txt", ".npz", ".h5", ".gr", ".edges", ".gz", ""):
        path = folder / f"broken{suffix}"
        path.write_bytes(BROKEN[what])
        if what == "sparse" and suffix == ".edges":  # there it is fine
            continue
        assert run(command, path.name, *more) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(f"bdcc-jax: {path.name}:")
        assert captured.err.count("\n") == 1
        assert "\x1b" not in captured.err
        assert captured.out == ""


@pytest.mark.parametrize("name", FORMATS)
def test_truncated_files_give_one_line_or_an_answer(folder, capsys, name):
    graph = Graph(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], [1, 1, -1, -1, 1, 1])
    content = FORMATS[name].encode(graph)
    for length in np.linspace(0, len(content) - 1, 30).astype(int):
        (folder / "cut").write_bytes(content[:length])
        code = run("info", "cut", "--format", name)
        captured = capsys.readouterr()
        assert code == 0 or (code == 2 and captured.err.startswith("bdcc-jax: cut"))


@pytest.mark.skipif(sys.platform != "linux", reason="names are any bytes there")
def test_file_names_that_are_no_text(folder, capfd):
    name = os.fsdecode(b"\xff.txt")
    assert run("convert", "graph.txt", name) == run("info", name) == 0
    assert capfd.readouterr().out.startswith("?.txt: multicut, 4 nodes, 4 edges\n")


def test_help_lists_the_formats(capsys):
    for command in ("solve", "info", "convert"):
        assert run(command, "--help") == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "MULTICUT text, triples, a signed edge list, .gr, HDF5, GraphML, GML or .npz" in text
        for name in FORMATS:
            assert name in text


# Too little memory


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory")
@pytest.mark.parametrize("suffix", [".txt", ".edges", ".npz", ".h5"])
def test_too_little_memory_is_one_line(folder, suffix):
    """That names the file and its size, and says what to do."""
    n = 500_000
    path = folder / f"large{suffix}"
    nodes = np.arange(n)
    if suffix == ".edges":  # names that only the careful reader takes
        path.write_text("".join(f"a{i} a{i + 1} 1\n" for i in nodes))
    else:
        write(Graph.from_edges(nodes, nodes + 1, np.random.default_rng(0).random(n)), path)
    code = (
        "import resource, sys; from bdcc_jax.cli import main;"
        "pages = int(open('/proc/self/statm').read().split()[0]);"
        "most = pages * resource.getpagesize() + 10_000_000;"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most));"
        f"sys.exit(main(['info', '{path.name}']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    size = path.stat().st_size
    assert done.stderr.startswith(f"bdcc-jax: {path.name}: too little memory to read this file")
    assert f"of {size} bytes; give the process more" in done.stderr
    assert done.stderr.count("\n") == 1


LIFTED = "MULTICUT\n3\n0 1 -2\n1 2 -2\nLIFTED\n0 2 3\n"


def test_info_of_lifted_edges(folder, capsys):
    (folder / "lifted.txt").write_text(LIFTED)
    assert run("info", "lifted.txt") == 0
    out = capsys.readouterr().out
    assert "3: 1 attract, 2 repel, 1 are lifted" in out
    assert "none: with lifted edges it is not valid" in out


def test_lifted_edges_are_converted_and_solved(folder, capsys):
    (folder / "lifted.txt").write_text(LIFTED)
    assert run("convert", "lifted.txt", "lifted.npz") == 0
    assert run("solve", "lifted.npz", "-o", "labels.txt") == 0
    assert (folder / "labels.txt").read_text().split() == ["0", "1", "2"]


def test_clusters_in_pieces_are_not_certified(folder, capsys):
    (folder / "lifted.txt").write_text(LIFTED)
    (folder / "apart.txt").write_text("0\n1\n0\n")
    assert run("certify", "lifted.txt", "apart.txt") == 2
    assert "has a cluster that ordinary edges do not connect" in capsys.readouterr().err
