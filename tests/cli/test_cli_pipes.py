"""Streams that are closed, full or read by nobody: the work is done, and the files are written."""

import gzip
import io
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from oracles import random_graph

import bdcc_jax
from bdcc_jax import cli, write
from bdcc_jax.show.progress import COLUMNS, ProgressPrinter, view

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
ROOT = Path(__file__).parents[2]
GRAPH = random_graph(np.random.default_rng(3), 9, 1.0)
FILES = {"labels.txt": "-o", "proof.json": "--certificate", "page.html": "--report"}
SOLVE = ["solve", "graph.txt", *(word for name, flag in FILES.items() for word in (flag, name))]


@pytest.fixture
def folder(tmp_path):
    write(GRAPH, tmp_path / "graph.txt")
    return tmp_path


def run(folder, *arguments, before="", **streams):
    """Run the command; ``before`` is done by the process before it becomes Python."""
    command = [sys.executable, "-m", "bdcc_jax", *arguments]
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {before}', "sh", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        check=False,
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams),
    )


def run_without_reader(folder, *arguments):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return run(folder, *arguments, stdout=writer)
    finally:
        os.close(writer)


def check_files(folder):
    labels = np.array((folder / "labels.txt").read_text().split(), dtype=int)
    verdict = bdcc_jax.verify(GRAPH, json.loads((folder / "proof.json").read_text()))
    assert float(verdict.upper_bound) == pytest.approx(GRAPH.objective(labels))
    assert (folder / "page.html").stat().st_size > 0


def test_solve_without_a_reader(folder):
    done = run_without_reader(folder, *SOLVE, "--quiet", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    check_files(folder)


COMMANDS = {
    "info graph.txt": None,
    "batch in --out out": "out/graph.txt.json",
    "batch in --out quiet --quiet": "quiet/graph.txt.json",
    "convert graph.txt other.npz": "other.npz",
    "demo --segments 20": "bdcc-demo-coffee.png",
    "version": None,
    "--help": None,
    "solve --help": None,
}
"""And what they write."""


def without_reader(command, monkeypatch):
    """Run a command in this process, every line of which fails."""
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w", buffering=1)
    monkeypatch.setattr(sys, "stdout", stream)
    try:
        return cli.main(command.split())
    except SystemExit as leaving:
        return leaving.code
    finally:
        with suppress(BrokenPipeError):
            stream.close()


@pytest.mark.parametrize("command", COMMANDS)
def test_other_commands_without_a_reader(folder, command, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (folder / "in").mkdir()
    write(GRAPH, folder / "in" / "graph.txt")
    assert without_reader(command, monkeypatch) == 0
    err = capsys.readouterr().err
    assert not [word for word in ("Error", "Exception", "Traceback", "pipe") if word in err]
    assert not COMMANDS[command] or (folder / COMMANDS[command]).stat().st_size > 0


def test_verify_without_a_reader(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    certificate = bdcc_jax.solve(GRAPH).certificate
    (folder / "good.json").write_text(json.dumps(certificate))
    (folder / "bad.json").write_text(json.dumps(certificate | {"objective": -1e9}))
    assert without_reader("verify graph.txt good.json", monkeypatch) == 0
    assert capsys.readouterr().err == ""
    assert without_reader("verify graph.txt bad.json", monkeypatch) == 1
    err = capsys.readouterr().err
    assert err.startswith("bdcc-jax: rejected")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["info graph.txt", "--help"])
def test_a_process_without_a_reader(folder, command):
    done = run_without_reader(folder, *command.split())
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("before", ["2>/dev/full", "2>&- <&-"])
def test_progress_that_cannot_be_shown_is_dropped(folder, before):
    done = run(folder, *SOLVE, before=before)
    assert done.returncode == 0
    assert done.stdout.startswith("status        optimal")
    assert COLUMNS not in done.stdout
    check_files(folder)


def test_no_standard_output_at_all(folder):
    done = run(folder, *SOLVE, "--quiet", "--json", before=">&-")
    assert (done.returncode, done.stderr) == (0, "")
    check_files(folder)


def test_nothing_at_all(folder):
    done = run(folder, *SOLVE, before="<&- >&- 2>&-")
    assert done.returncode == 0
    check_files(folder)


def test_a_full_disk_under_standard_output(folder):
    done = run(folder, *SOLVE, "--quiet", "--json", before=">/dev/full")
    message = "bdcc-jax: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)
    check_files(folder)


def test_bad_input_without_standard_error(folder):
    for before in ("2>/dev/full", "2>&-"):
        done = run(folder, "solve", "absent.txt", before=before)
        assert (done.returncode, done.stdout) == (2, "")


def test_files_come_before_what_is_printed(folder, monkeypatch):
    """And all of them, though one fails."""
    monkeypatch.chdir(folder)
    seen = []

    class Watching(io.StringIO):
        def write(self, text):
            seen.extend(name for name in FILES if Path(name).exists())
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Watching())
    assert cli.main([*SOLVE]) == 0
    assert set(seen) == set(FILES)

    def fail(*_, **__):
        raise OSError(28, "No space left on device", "labels.txt")

    monkeypatch.setattr(cli.solve, "write_labels", fail)
    for name in FILES:
        Path(name).unlink()
    with pytest.raises(SystemExit) as leaving:
        cli.main([*SOLVE])
    assert leaving.value.code == 2
    assert [name for name in FILES if Path(name).exists()] == ["proof.json", "page.html"]
    assert "optimal" in sys.stdout.getvalue()


# In the library


class Broken(io.StringIO):
    def write(self, _):
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("kind", ["none", "broken", "closed"])
def test_a_solve_does_not_depend_on_who_watches(kind, monkeypatch, capsys):
    stream = {"none": None, "broken": Broken(), "closed": io.StringIO()}[kind]
    if kind == "closed":
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    results = [bdcc_jax.solve(GRAPH, progress=wish) for wish in (False, True, "plain", "live")]
    assert {str(result.status) for result in results} == {"optimal"}
    assert bdcc_jax.solve_batch([GRAPH], progress=True)[0].status == "optimal"
    assert view(True, bdcc_jax.base.clock.Clock(None)).__class__ is ProgressPrinter
    assert capsys.readouterr().out == ""


def test_self_loops_are_warned_of_in_a_line_or_not_at_all(folder, capsys):
    (folder / "loop.txt").write_text("MULTICUT\n0 0 1\n0 1 1\n")
    assert cli.main(["info", str(folder / "loop.txt")]) == 0
    assert "self-loop(s) dropped" in capsys.readouterr().err
    done = run(folder, "info", "loop.txt", before="2>/dev/full")
    assert (done.returncode, done.stdout.startswith("file")) == (0, True)


INPUTS = {
    "MULTICUT\n0 1 2.0\n1 2 -1.0\n": 3,
    "0 1 2.0\n1 2 -1.0\n# nodes 5\n": 5,
    "anna\tbert\t2\nbert\tcarl\t-1\n": 3,
    "p cep 3 1\n1 2\n": 3,
}


@pytest.mark.parametrize("text", INPUTS, ids=["multicut", "triples", "signed", "pace"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_instances_from_standard_input(text, packed, monkeypatch, capsys):
    data = gzip.compress(text.encode()) if packed else text.encode()
    for command in ("info", "solve"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert cli.main([command, "-", "--json", *(["--quiet"] if command == "solve" else [])]) == 0
        about = json.loads(capsys.readouterr().out)
        assert about["nodes" if command == "info" else "n"] == INPUTS[text]


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "standard input: the file is empty"), (b"what?", "standard input: it starts with")],
)
def test_standard_input_that_is_no_instance(data, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(SystemExit) as leaving:
        cli.main(["solve", "-"])
    assert leaving.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith(f"bdcc-jax: {message}")
    assert err.count("\n") == 1


def test_no_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit):
        cli.main(["info", "-"])
    assert "standard input: the process was started without one" in capsys.readouterr().err
