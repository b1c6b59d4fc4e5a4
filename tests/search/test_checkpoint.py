"""A solve that is stopped and resumed ends like one that is not; other files are left alone."""

import io
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from checks import rounds_of
from families import planar, wheel, wheels_in_a_mesh
from oracles import brute_force, random_graph

from bdcc_jax import Graph, Options, solve, verify, write
from bdcc_jax.base.clock import Clock
from bdcc_jax.cli import main
from bdcc_jax.lp.master import Master
from bdcc_jax.lp.rows import Rows
from bdcc_jax.proofs.branching_proof import Leaf
from bdcc_jax.search import checkpoint
from bdcc_jax.search.bounds import Bounds
from bdcc_jax.search.branching import BranchAndBound
from bdcc_jax.search.checkpoint import Checkpoint, CheckpointError
from benchmarks.fuzz import mutate

OPTIONS = {
    "default": Options(),
    "no presolve": Options(presolve=False),
    "one ILP": Options(presolve=False, odd_wheels=False, integer="whole", heuristics=False),
    "paper": Options.paper(),
}
GRAPHS = {
    "dense": random_graph(np.random.default_rng(1), 15, 1.0),
    "planar": planar(np.random.default_rng(0), 9, 9),
    "wheels": wheels_in_a_mesh(np.random.default_rng(3), 6, 6, "normal"),
}
HARD = random_graph(np.random.default_rng(4), 30, 0.5)
TWO_HARD = Graph(
    60,
    np.concatenate([HARD.edges, HARD.edges + 30]),
    np.concatenate([HARD.weights, -HARD.weights]),
)


@pytest.fixture(autouse=True)
def write_always(monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_stopped_and_resumed_again_and_again(tmp_path, options, name):
    graph, path = GRAPHS[name], tmp_path / "run.npz"
    whole = solve(graph, options=options)
    assert whole.status == "optimal"
    for most in range(1, 100):
        rounds = count(1)
        # Every run may do one round more than the last: what comes between the LP and branch and
        # bound (open regions, fix-and-solve, HiGHS' ILP) starts anew each time.
        stop = lambda _: next(rounds) == most  # noqa: B023, E731
        result = solve(graph, options=options, checkpoint=path, callback=stop)
        assert result.lower_bound <= whole.objective
        if result.status != "stopped":
            break
    assert result.status == "optimal"
    assert result.objective == pytest.approx(whole.objective, abs=1e-9)
    assert result.lower_bound == pytest.approx(whole.lower_bound, abs=1e-9)
    if name != "wheels":  # where several clusterings are optimal, any of them may come out
        assert (result.labels == whole.labels).all()
    assert [record.number for record in result.history] == [*range(1, len(result.history) + 1)]
    seconds = [record.seconds for record in result.history]
    assert seconds == sorted(seconds)


def test_a_resumed_lp_starts_where_it_was(tmp_path):
    graph, path = GRAPHS["dense"], tmp_path / "run.npz"
    options = Options(presolve=False, heuristics=False, rounding=(), odd_wheels=False)
    bounds = [record.lower_bound for record in solve(graph, options=options).history]
    rounds = count(1)
    solve(graph, options=options, checkpoint=path, callback=lambda _: next(rounds) == 3)
    resumed = solve(graph, options=options, checkpoint=path, callback=lambda _: True)
    assert resumed.history[-1].rows > 0
    assert resumed.lower_bound >= bounds[2] - 1e-9 > bounds[0]


@pytest.mark.parametrize("graph", [HARD, TWO_HARD], ids=["one", "two"])
def test_branch_and_bound_goes_on_where_it_was(tmp_path, monkeypatch, graph):
    """With the same few steps in every run it ends, and does not take many more.

    They have to be enough for what comes before the tree, which begins anew, and few enough for
    several runs.
    """
    monkeypatch.setattr(checkpoint, "INTERVAL", np.inf)  # at the end only
    options = Options(presolve=False, heuristics=False, odd_wheels=False)
    whole = solve(graph, options=options)
    for most in range(8, 40):
        result, sizes = in_steps(graph, options, tmp_path / f"{most}.npz", most)
        if result.status == "optimal":
            break
    assert (whole.status, result.status) == ("optimal", "optimal")
    assert len(sizes) > 2
    assert result.objective == pytest.approx(whole.objective, abs=1e-9)
    assert len(result.history) < 3 * len(whole.history)
    assert _size_of_trees(tmp_path / f"{most}.npz") == 0  # not needed any more


def in_steps(graph, options, path, most):
    """Solve in runs of so many steps, for as long as the tree grows; also its sizes."""
    sizes = [0]
    while True:
        steps = count(1)
        stop = lambda progress: progress.round.phase == "ilp" and next(steps) == most  # noqa: B023, E731
        result = solve(graph, options=options, checkpoint=path, callback=stop)
        assert verify(graph, result.certificate).claims == ()
        sizes.append(_size_of_trees(path))
        if result.status != "stopped" or sizes[-1] <= sizes[-2]:
            return result, sizes


def test_a_tree_that_was_killed_is_proven(tmp_path, monkeypatch):
    """What is written on the way has no proof of its bound, but the multipliers of all leaves."""
    path = tmp_path / "run.npz"
    options = Options(presolve=False, heuristics=False, odd_wheels=False)

    def kill(progress):
        if _size_of_trees(path) >= 11:
            shutil.copy(path, tmp_path / "killed.npz")
            return True
        return False

    solve(HARD, options=options, checkpoint=path, callback=kill)
    path = tmp_path / "killed.npz"
    assert json.loads(str(np.load(path)["proof"])) is None
    stored = _stored(path)["lower_bound"]
    monkeypatch.setattr(
        BranchAndBound, "grow", lambda _: Clock(0.0).check()
    )  # also if time is up at once
    result = solve(HARD, options=options, checkpoint=path)
    assert result.status == "time_limit"
    assert result.lower_bound >= stored
    verdict = verify(HARD, result.certificate)
    assert verdict.claims == ()
    assert verdict.lower_bound >= stored - result.tolerance
    with np.load(tmp_path / "run.npz") as first, np.load(path) as second:
        assert (first["multipliers"] == second["multipliers"]).all()  # of the LP before the tree
        assert second["multipliers"].any()


def test_large_files_are_written_less_often(tmp_path, monkeypatch):
    """A write that takes a second is followed by twenty without any."""
    now = [0.0]
    written = []

    def write_slowly(*_, **__):
        written.append(now[0])
        now[0] += 1.0

    monkeypatch.setattr(checkpoint, "SHARE", 0.05)
    monkeypatch.setattr(checkpoint, "write_bytes", write_slowly)
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    graph = GRAPHS["dense"]
    saved = Checkpoint(tmp_path / "run.npz", graph, Options(), 0)
    while now[0] < 70.0:
        saved.write_if_due(Bounds(graph), [])
        now[0] += 0.5
    assert written == [0.0, 21.0, 42.0, 63.0]


def test_trees_of_other_instances_are_kept_until_a_larger_one_is_there(tmp_path):
    """Pieces come one after another; and they may be others in the next run."""
    first, second = (random_graph(np.random.default_rng(seed), 5, 1.0) for seed in (0, 1))

    def run(graph, forks):
        saved = Checkpoint(tmp_path / "run.npz", first, Options(), 0)
        known = 0
        if graph is not None:
            tree = saved.tree(graph)
            known = len(tree.nodes)
            tree.rows = Rows.from_cycles([np.arange(3)])
            for _ in range(forks):
                tree.divide(len(tree.nodes) - 1, 0, Leaf.trivial(), Leaf.trivial())
        saved.write(Bounds(first), [], None, None)
        return known

    assert run(first, 3) == 1
    run(None, 0)
    assert run(second, 2) == 1
    assert run(second, 1) == 5
    assert run(first, 0) == 1  # 7 nodes were not more
    assert run(second, 0) == 7


def test_a_finished_run_returns_at_once(tmp_path, monkeypatch):
    graph, path = GRAPHS["wheels"], tmp_path / "run.npz"
    whole = solve(graph, checkpoint=path)

    def fail(*_):
        raise AssertionError("solved again")

    monkeypatch.setattr(Master, "solve", fail)
    monkeypatch.setattr("bdcc_jax.search.strategy.presolve", fail)
    again = solve(graph, checkpoint=path)
    assert (again.status, again.objective, again.lower_bound, again.history, again.removed) == (
        whole.status, whole.objective, whole.lower_bound, whole.history, whole.removed,
    )  # fmt: skip
    assert (again.labels == whole.labels).all()
    assert again.certificate == whole.certificate


def test_a_limit_is_not_an_end(tmp_path):
    graph, path = GRAPHS["dense"], tmp_path / "run.npz"
    assert solve(graph, checkpoint=path, time_limit=0).status == "time_limit"
    assert solve(graph, checkpoint=path, gap=0.5).status == "gap"
    assert solve(graph, checkpoint=path).status == "optimal"


def test_rounds_are_counted_over_all_runs(tmp_path):
    options = Options(presolve=False, heuristics=False, max_rounds=2)
    for _ in range(2):
        result = solve(GRAPHS["dense"], options=options, checkpoint=tmp_path / "run.npz")
        assert (result.status, len(rounds_of(result))) == ("max_rounds", 2)


def test_bounds_never_get_worse(tmp_path):
    graph, path = random_graph(np.random.default_rng(5), 9, 1.0), tmp_path / "run.npz"
    first = solve(graph, checkpoint=path, callback=lambda _: True, options=Options(presolve=False))
    second = solve(graph, checkpoint=path, time_limit=0, options=Options(presolve=False))
    assert second.lower_bound >= first.lower_bound
    assert second.objective <= first.objective
    assert second.lower_bound <= brute_force(graph) <= second.objective


# What is refused


def test_a_checkpoint_of_something_else_is_refused(tmp_path, monkeypatch):
    graph, path = GRAPHS["planar"], tmp_path / "run.npz"
    solve(graph, checkpoint=path)
    before = path.read_bytes()
    weights = graph.weights.copy()
    weights[0] = np.nextafter(weights[0], 9)
    other = Graph(graph.n, graph.edges, weights)
    with pytest.raises(CheckpointError, match=r"run.npz is the checkpoint of another instance"):
        solve(other, checkpoint=path)
    with pytest.raises(CheckpointError, match="of another options"):
        solve(graph, checkpoint=path, options=Options(odd_wheels=False))
    with pytest.raises(CheckpointError, match=r"of another seed \('0', not '1'\)"):
        solve(graph, checkpoint=path, seed=1)
    monkeypatch.setattr(checkpoint, "package_version", lambda: "99.0")
    with pytest.raises(CheckpointError, match=r"of another version .*99\.0"):
        solve(graph, checkpoint=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["text", "graph", "pickle", "damaged", "truncated", "empty"])
def test_a_file_that_is_no_checkpoint_is_left_alone(tmp_path, kind):
    graph, path = GRAPHS["planar"], tmp_path / "run.npz"
    if kind == "text":
        path.write_text("precious")
    elif kind == "graph":
        write(graph, path)
    elif kind == "pickle":
        np.savez(path, format=np.array([{"precious": 1}], dtype=object))
    elif kind == "empty":
        path.touch()
    else:
        solve(graph, checkpoint=path)
        content = path.read_bytes()
        if kind == "truncated":
            path.write_bytes(content[: len(content) // 2])
        else:
            with np.load(path) as archive:
                arrays = dict(archive)
            np.savez(path, **{**arrays, "lower_bound": arrays["lower_bound"] + 1})
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"not a checkpoint|is damaged"):
        solve(graph, checkpoint=path)
    assert path.read_bytes() == before


def test_whatever_the_damage_it_is_said_and_the_file_left_alone(tmp_path):
    """zlib, zipfile and numpy have errors of many kinds for it."""
    graph, path = GRAPHS["planar"], tmp_path / "run.npz"
    solve(graph, checkpoint=path)
    content, rng, refused = path.read_bytes(), random.Random(0), 0
    for _ in range(400):
        damaged = mutate(content, [content], rng, in_place=True)
        path.write_bytes(damaged)
        try:
            Checkpoint(path, graph, Options(), 0)
        except CheckpointError as error:
            assert "run.npz" in str(error)  # noqa: PT017
            refused += 1
        assert path.read_bytes() == damaged
    assert refused > 300


def test_a_compression_that_nobody_knows(tmp_path):
    graph, path = GRAPHS["planar"], tmp_path / "run.npz"
    solve(graph, checkpoint=path)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02") + 10  # in the directory of the archive
    content[at : at + 2] = (77).to_bytes(2, "little")
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"run\.npz: the checkpoint is damaged; remove it"):
        solve(graph, checkpoint=path)


def test_a_place_that_cannot_be_written_to(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        solve(GRAPHS["planar"], checkpoint=tmp_path / "no" / "run.npz")
    with pytest.raises(FileExistsError, match="not a regular file"):
        solve(GRAPHS["planar"], checkpoint=tmp_path)


def test_a_full_disk_does_not_end_the_solve(tmp_path, monkeypatch, caplog):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with caplog.at_level(logging.WARNING):
        assert solve(GRAPHS["planar"], checkpoint=tmp_path / "run.npz").status == "optimal"
    assert "the checkpoint could not be written: [Errno 28] No space left" in caplog.text
    assert list(tmp_path.iterdir()) == []


# Command line


def test_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(GRAPHS["planar"], "graph.npz")
    arguments = ["solve", "graph.npz", "--checkpoint", "run.npz", "--json"]
    outputs = []
    for _ in range(2):
        assert main(arguments) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0]["history"] == outputs[1]["history"]
    for wrong in (["--seed", "1"], ["-o", "run.npz", "--force"]):
        with pytest.raises(SystemExit) as leaving:
            main([*arguments, *wrong])
        assert leaving.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


KILLED = """
import os, signal
from bdcc_jax import Options, read, solve
from bdcc_jax.search import checkpoint

def kill(progress):
    if progress.round.number == 2:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.INTERVAL, checkpoint.SHARE = 0.0, float("inf")  # in every round, however slow the disk
options = Options(presolve=False, heuristics=False, odd_wheels=False)
solve(read("open.npz"), options=options, checkpoint="run.npz", callback=kill)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killed_and_resumed(tmp_path):
    """Without any warning, in the second round: what was known by then is not lost."""
    graph = wheel(31, 1.1)  # two rounds of the LP over cycles never prove an optimum of it
    write(graph, tmp_path / "open.npz")
    path = tmp_path / "run.npz"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    child = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tmp_path, env=environment, check=False
    )
    assert child.returncode == -signal.SIGKILL
    stored = _stored(path)
    assert len(stored["history"]) == 2
    options = Options(presolve=False, heuristics=False, odd_wheels=False)
    result = solve(graph, checkpoint=path, options=options, callback=lambda _: True)
    assert len(rounds_of(result)) == 3
    assert stored["lower_bound"] <= result.lower_bound
    assert result.history[2].rows > 0
    assert result.objective <= graph.objective(stored["labels"])
    assert result.objective == graph.objective(result.labels)


def _size_of_trees(path):
    if not path.exists():
        return 0
    with np.load(io.BytesIO(path.read_bytes())) as archive:
        return sum(len(archive[name]) for name in archive.files if name.endswith("/forks"))


def _stored(path):
    with np.load(io.BytesIO(path.read_bytes())) as archive:
        return {
            "history": json.loads(str(archive["history"])),
            "lower_bound": float(archive["lower_bound"]),
            "labels": archive["labels"],
        }
