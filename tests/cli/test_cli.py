import json
import logging
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import bdcc_jax
from bdcc_jax import Graph, Status, cli, write
from bdcc_jax.cli.common import before_line
from bdcc_jax.image import PICTURES
from bdcc_jax.show.progress import COLUMNS

GRAPH = Graph.from_edges([0, 1, 0, 2], [1, 2, 2, 3], [2.0, 1.5, -1.0, -3.0])
LABELS, OBJECTIVE = [0, 0, 0, 1], -3.0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(GRAPH, tmp_path / "graph.txt")
    return tmp_path


@pytest.fixture
def solved_with(monkeypatch):
    """Collect the arguments of every solve."""
    calls = []

    def spy(graph, **arguments):
        calls.append(arguments)
        return bdcc_jax.solve(graph, **arguments)

    monkeypatch.setattr(cli.solve, "solve_graph", spy)
    return calls


def run(*arguments):
    try:
        return cli.main(list(arguments))
    except SystemExit as leaving:
        return leaving.code


def process(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "bdcc_jax", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **settings,
    )


# solve


def test_summary(folder, capsys):
    assert run("solve", "graph.txt") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("status        optimal")
    assert captured.err == f"{COLUMNS}\n"  # presolve settles it: no rounds


def test_labels(folder, capsys):
    for name in ("labels.txt", "labels.npy", "labels.npz"):
        assert run("solve", "graph.txt", "-o", name, "--quiet") == 0
    assert (folder / "labels.txt").read_text() == "0\n0\n0\n1\n"
    assert np.load(folder / "labels.npy").tolist() == LABELS
    with np.load(folder / "labels.npz") as arrays:
        assert arrays["labels"].tolist() == LABELS
    assert capsys.readouterr() == ("", "")


def test_json(folder, capsys):
    assert run("solve", "graph.txt", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert run("solve", "graph.txt", "--json", "summary.json") == 0
    written = json.loads((folder / "summary.json").read_text())
    for summary in (printed, written):
        assert summary["status"] == "optimal"
        assert summary["objective"] == OBJECTIVE
    assert capsys.readouterr().out.startswith("status")


def test_json_is_strict(folder, capsys, monkeypatch):
    result = bdcc_jax.solve(GRAPH)
    monkeypatch.setattr(
        cli.solve,
        "solve_graph",
        lambda *_, **__: replace(result, objective=0.0, lower_bound=-np.inf),
    )
    assert run("solve", "graph.txt", "--json") == 0

    def refuse(constant):
        raise AssertionError(constant)

    summary = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert summary["lower_bound"] is summary["relative_gap"] is None


def test_arguments_reach_the_solver(folder, solved_with):
    assert run("solve", "graph.txt", "--quiet") == 0
    limits = ["--device", "cpu", "--time-limit", "9", "--gap", ".1", "--seed", "3"]
    method = ["--paper", "--tau", ".25", "--max-rounds", "50"]
    assert run("solve", "graph.txt", "--quiet", *limits, *method) == 0
    default, special = solved_with
    assert default["options"] == bdcc_jax.Options()
    assert (default["time_limit"], default["gap"], default["seed"]) == (None, 0.0, 0)
    assert special["options"] == bdcc_jax.Options.paper(tau=0.25, max_rounds=50)
    assert (special["time_limit"], special["gap"], special["seed"]) == (9.0, 0.1, 3)
    assert special["device"] == "cpu"


def test_paper_and_tau(folder, solved_with):
    for arguments in (["--paper"], ["--paper", "--tau", "none"], ["--tau", "0.5"]):
        assert run("solve", "graph.txt", "--quiet", *arguments) == 0
    assert [call["options"] for call in solved_with] == [
        bdcc_jax.Options.paper(),
        bdcc_jax.Options.paper(tau=None),
        bdcc_jax.Options(tau=0.5),
    ]


def test_progress_unless_quiet(folder, solved_with):
    assert run("solve", "graph.txt") == run("solve", "graph.txt", "--quiet") == 0
    assert [call["progress"] for call in solved_with] == [True, False]


@pytest.mark.parametrize("status", [Status.TIME_LIMIT, Status.GAP, Status.MAX_ROUNDS])
def test_stopping_at_a_limit_is_no_failure(folder, monkeypatch, status):
    result = replace(bdcc_jax.solve(GRAPH), status=status)
    monkeypatch.setattr(cli.solve, "solve_graph", lambda *_, **__: result)
    assert run("solve", "graph.txt") == 0


def test_interrupted_solve_still_writes_its_answer(folder, monkeypatch):
    result = replace(bdcc_jax.solve(GRAPH), status=Status.INTERRUPTED)
    monkeypatch.setattr(cli.solve, "solve_graph", lambda *_, **__: result)
    assert run("solve", "graph.txt", "-o", "labels.txt", "--json", "summary.json") == 130
    assert (folder / "labels.txt").read_text() == "0\n0\n0\n1\n"
    assert json.loads((folder / "summary.json").read_text())["status"] == "interrupted"


def test_interrupted_outside_the_solver(folder, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.solve, "read_instance", interrupt)
    assert run("solve", "graph.txt") == 130
    assert capsys.readouterr().err == "bdcc-jax: interrupted\n"


# Bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("absent.txt", "bdcc-jax: absent.txt: No such file or directory"),
        ("bad.txt", "bdcc-jax: bad.txt:2: expected 'i j weight', not 1 field(s): ['what?']"),
        ("empty.txt", "bdcc-jax: empty.txt: the file is empty"),
        ("graph.txt -o taken.txt", "bdcc-jax: taken.txt exists; choose another name"),
        ("graph.txt --json taken.txt", "bdcc-jax: taken.txt exists; choose another name"),
        ("graph.txt --report taken.txt", "bdcc-jax: taken.txt exists; choose another name"),
        ("graph.txt --report a --json a", "bdcc-jax: a is named twice"),
        ("graph.txt -o no/labels.txt", "bdcc-jax: no/labels.txt: there is no folder no"),
        ("graph.txt -o a --json a", "bdcc-jax: a is named twice"),
        ("graph.txt -o graph.txt --force", "bdcc-jax: graph.txt is named twice"),
        ("graph.txt --tau 2", "bdcc-jax: tau must lie strictly between 0 and 1"),
        ("graph.txt --max-rounds 0", "bdcc-jax: max_rounds must be None or an integer >= 1"),
        ("graph.txt --device tpu", "bdcc-jax: device must be 'auto', 'cpu', 'gpu'"),
        ("graph.txt --tau some", "argument --tau: expected a number or 'none', not 'some'"),
        ("graph.txt --gap -1", "argument --gap: expected float >= 0, not '-1'"),
        ("graph.txt --gap nan", "argument --gap: expected float >= 0, not 'nan'"),
        ("graph.txt --time-limit soon", "--time-limit: expected float >= 0, not 'soon'"),
        ("graph.txt --seed 1.5", "argument --seed: expected int >= 0, not '1.5'"),
        ("graph.txt --fast", "unrecognized arguments: --fast"),
        ("", "the following arguments are required: FILE"),
    ],
)
def test_bad_input_is_one_line_before_any_work(folder, capsys, solved_with, arguments, message):
    (folder / "bad.txt").write_text("MULTICUT\nwhat?\n")
    (folder / "empty.txt").touch()
    (folder / "taken.txt").write_text("precious")
    assert run("solve", *arguments.split()) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert solved_with == []
    assert (folder / "taken.txt").read_text() == "precious"


def test_force(folder):
    (folder / "labels.txt").write_text("old")
    assert run("solve", "graph.txt", "-o", "labels.txt", "--force") == 0
    assert (folder / "labels.txt").read_text() == "0\n0\n0\n1\n"


def test_a_bug_keeps_its_traceback(folder, monkeypatch):
    def broken(*_, **__):
        raise ValueError("a bug")

    monkeypatch.setattr(cli.solve, "solve_graph", broken)
    with pytest.raises(ValueError, match="a bug"):
        cli.main(["solve", "graph.txt"])


# demo


def test_demo(folder, capsys):
    assert run("demo", "--segments", "60") == 0
    captured = capsys.readouterr()
    assert "status        optimal" in captured.out
    assert captured.out.endswith("picture       bdcc-demo-coffee.png\n")
    assert captured.err.startswith("coffee: ")
    content = (folder / "bdcc-demo-coffee.png").read_bytes()
    assert content.startswith(b"\x89PNG")


def test_demo_never_overwrites_unless_forced(folder):
    taken = folder / "bdcc-demo-coins.png"
    taken.write_text("precious")
    arguments = ["demo", "--picture", "coins", "--segments", "30"]
    assert run(*arguments) == run(*arguments) == 0
    assert taken.read_text() == "precious"
    written = sorted(path.name for path in folder.glob("*.png"))
    assert written == ["bdcc-demo-coins-2.png", "bdcc-demo-coins-3.png", "bdcc-demo-coins.png"]
    assert run(*arguments, "--force") == 0
    assert taken.read_bytes().startswith(b"\x89PNG")


def test_demo_bad_input(folder, capsys, monkeypatch):
    assert run("demo", "--segments", "0") == 2
    assert "n_segments must be from 1 to 240000 pixels, not 0" in capsys.readouterr().err
    assert run("demo", "--picture", "mona_lisa") == 2
    assert all(name in capsys.readouterr().err for name in PICTURES[:1])
    monkeypatch.setitem(sys.modules, "skimage", None)
    assert run("demo") == 2
    assert 'pip install ".[image]"' in capsys.readouterr().err


# version, and the real thing


def test_help(capsys):
    with pytest.raises(SystemExit) as leaving:
        cli.main(["--help"])
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    assert all(command in out for command in ("solve", "batch", "verify", "info", "convert"))


def test_version(capsys):
    assert run("version") == 0
    report = capsys.readouterr().out
    bdcc_jax.show_versions()
    assert capsys.readouterr().out == report
    for word in ("python", "platform", "bdcc-jax", "jax", "highspy", "JAX devices"):
        assert f"\n{word} " in f"\n{report}"
    assert run("--version") == 0
    assert capsys.readouterr().out == f"bdcc-jax {bdcc_jax.__version__}\n"


def test_process(folder):
    done = process("solve", "graph.txt", "-o", "labels.txt", "--json")
    assert (done.returncode, done.stderr) == (0, f"{COLUMNS}\n")
    assert json.loads(done.stdout)["objective"] == OBJECTIVE
    assert (folder / "labels.txt").read_text() == "0\n0\n0\n1\n"


def test_process_bad_input(folder):
    done = process("solve", "absent.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bdcc-jax: absent.txt: No such file or directory\n"


def test_what_comes_before_a_solve_is_told_apart(folder, capsys):
    assert cli.main(["solve", "graph.txt"], loading=1.26) == 0
    assert "\nbefore        1.3 s loading" in capsys.readouterr().out
    assert before_line(0.05, 0.0, 0.0) == ""
    assert before_line(1.0, 12.0, 3.0).endswith("1.0 s loading, 12.0 s compiling, 3.0 s reading")


def test_log_level(folder, capsys):
    """What is logged is printed while the command runs, and only then."""
    logger = logging.getLogger("bdcc_jax")
    before = list(logger.handlers), logger.level
    assert cli.main(["solve", "graph.txt", "--quiet", "--log-level", "info"]) == 0
    assert "INFO bdcc_jax" in capsys.readouterr().err
    assert (list(logger.handlers), logger.level) == before
    assert cli.main(["solve", "graph.txt", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    with pytest.raises(SystemExit):
        cli.main(["solve", "graph.txt", "--log-level", "loud"])
    assert "invalid choice: 'loud'" in capsys.readouterr().err
