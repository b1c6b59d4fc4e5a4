"""``bdcc-jax batch``."""

import csv
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from batches import graphs
from oracles import random_graph

from bdcc_jax import cli, solve, write


@pytest.fixture
def folder(tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    for i, graph in enumerate(graphs(3)):
        write(graph, source / f"g{i}.txt")
    return source


def test_cli_writes_results_and_does_not_do_them_again(folder, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["batch", str(folder), "--out", str(out)]
    assert cli.main(command) == 0
    summary = json.loads((out / "g1.txt.json").read_text())
    assert summary["status"] == "optimal"
    assert summary["finished"]
    expected = solve(folder / "g1.txt")
    assert np.load(out / "g1.txt.labels.npy").tolist() == expected.labels.tolist()
    assert "3 of 3 done now: 3 optimal" in capsys.readouterr().out

    (out / "g1.txt.json").unlink()
    (out / ".g1.txt.json.0badcafe.part").write_text('{"finished": true')
    kept = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert cli.main(command) == 0
    assert "1 of 3 done now" in capsys.readouterr().out
    again = {path.name for path, at in kept.items() if path.stat().st_mtime_ns != at}
    assert again == {"g1.txt.labels.npy", "summary.csv"}

    with pytest.raises(SystemExit) as error:
        cli.main([*command, "--seed", "1"])
    assert error.value.code == 2
    assert "other settings" in capsys.readouterr().err
    assert cli.main([*command, "--seed", "1", "--force", "--quiet"]) == 0


def test_cli_writes_a_table(folder, tmp_path, capsys):
    """It has a line for every instance, also for those of an earlier run and those that failed."""
    out = tmp_path / "out"
    command = ["batch", str(folder), "--out", str(out), "--quiet"]
    assert cli.main(command) == 0
    (folder / "g, 9.txt").write_text("nonsense")
    assert cli.main(command) == 2
    with (out / "summary.csv").open(newline="") as file:
        rows = {row["file"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["g, 9.txt", "g0.txt", "g1.txt", "g2.txt"]
    assert rows["g, 9.txt"]["status"] == "error"
    assert "it starts with 'nonsense'" in rows["g, 9.txt"]["message"]
    assert rows["g1.txt"]["message"] == ""
    expected = solve(folder / "g1.txt")
    assert rows["g1.txt"]["status"] == "optimal"
    assert float(rows["g1.txt"]["objective"]) == expected.objective
    assert int(rows["g1.txt"]["n_clusters"]) == expected.n_clusters
    assert float(rows["g1.txt"]["seconds"]) > 0.0

    (out / "summary.csv").write_text("mine\n")
    capsys.readouterr()
    with pytest.raises(SystemExit):
        cli.main(command)
    assert "summary.csv exists and is no summary of a batch" in capsys.readouterr().err
    assert (out / "summary.csv").read_text() == "mine\n"


def test_cli_refuses_what_is_no_result(folder, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "g0.txt.json").write_text('{"finished": tr')
    with pytest.raises(SystemExit):
        cli.main(["batch", str(folder), "--out", str(out)])
    assert "g0.txt.json is not a result" in capsys.readouterr().err
    for wrong in (["absent"], [str(folder), "--engine", "cplex"], [str(folder), "--workers", "0"]):
        with pytest.raises(SystemExit) as error:
            cli.main(["batch", *wrong, "--out", str(out)])
        assert error.value.code == 2


def test_cli_goes_on_past_a_bad_file_and_tries_it_again(folder, tmp_path, capsys):
    out = tmp_path / "out"
    (folder / "bad.txt").write_text("MULTICUT\n0 1 nan\n")
    command = ["batch", str(folder), "--out", str(out)]
    assert cli.main(command) == 2
    assert json.loads((out / "bad.txt.json").read_text())["status"] == "error"
    (folder / "bad.txt").write_text("MULTICUT\n0 1 1.0\n")
    assert cli.main([*command, "--force"]) == 0
    assert "1 of 4 done now: 1 optimal" in capsys.readouterr().out


def test_cli_keeps_the_best_of_what_a_limit_cut_short(folder, tmp_path):
    out = tmp_path / "out"
    command = ["batch", str(folder), "--out", str(out), "--quiet"]
    assert cli.main([*command, "--time-limit", "0"]) == 0
    assert not json.loads((out / "g0.txt.json").read_text())["finished"]
    assert cli.main(command) == 0
    assert json.loads((out / "g0.txt.json").read_text())["finished"]


def status_of(out, name):
    return json.loads((out / f"{name}.json").read_text())["status"]


def test_cli_keeps_what_is_proven_whatever_the_time_limit(folder, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["batch", str(folder), "--out", str(out)]
    assert cli.main([*command, "--time-limit-each", "1000"]) == 0
    kept = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    for limit in (["--time-limit-each", "0"], ["--time-limit-each", "2000"], [], ["--force"]):
        capsys.readouterr()
        assert cli.main([*command, *limit]) == 0
        assert "0 of 3 done now: nothing left to do" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == kept


def test_cli_does_again_what_a_shorter_limit_ended(folder, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["batch", str(folder), "--out", str(out)]
    hard = random_graph(np.random.default_rng(0), 16, 1.0)  # in no time nothing is proven
    write(hard, folder / "g0.txt", force=True)
    assert cli.main([*command, "--time-limit-each", "0"]) == 0
    cut_short = [f"g{i}.txt" for i in range(3) if status_of(out, f"g{i}.txt") == "time_limit"]
    assert cut_short
    assert cli.main([*command, "--time-limit-each", "0"]) == 0
    assert "0 of 3 done now" in capsys.readouterr().out
    assert cli.main([*command, "--time-limit-each", "1000"]) == 0
    assert f"{len(cut_short)} of 3 done now: {len(cut_short)} optimal" in capsys.readouterr().out
    assert {status_of(out, f"g{i}.txt") for i in range(3)} == {"optimal"}


def test_cli_refuses_to_write_where_it_reads(folder, tmp_path, capsys, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("work was done")

    monkeypatch.setattr(cli.batch, "solve_batch", fail)
    before = sorted(path.name for path in folder.iterdir())
    (tmp_path / "link").symlink_to(folder)
    for out in (str(folder), f"{folder}/../in/", str(tmp_path / "link")):
        with pytest.raises(SystemExit) as error:
            cli.main(["batch", str(folder), "--out", out])
        assert error.value.code == 2
        assert "--out must be another folder" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_cli_skips_what_is_no_graph_if_names_are_given(folder, tmp_path, capsys):
    out = tmp_path / "out"
    (folder / "readme.txt").write_text("These are graphs.\n")
    (folder / "notes.md").write_text("Nothing.\n")
    command = ["batch", str(folder), "--out", str(out), "--glob", "*.txt"]
    assert cli.main(command) == 0
    captured = capsys.readouterr()
    assert "4 of 4 done now: 3 optimal, 1 skipped" in captured.out
    skipped = [line for line in captured.err.splitlines() if "skipped" in line]
    assert len(skipped) == 1
    assert skipped[0].startswith(f"bdcc-jax: skipped {folder}/readme.txt: it starts with")
    assert not (out / "readme.txt.json").exists()
    assert cli.main([*command[:-1], "g[01].txt"]) == 0
    assert "0 of 2 done now" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main([*command[:-1], "*.gr"])
    assert "there are no files whose names are like '*.gr'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path):
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    instances = graphs(40, n=40, density=0.1)
    for i, graph in enumerate(instances):
        write(graph, source / f"g{i}.txt")
    command = [sys.executable, "-m", "bdcc_jax", "batch", str(source), "--out", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while len(list(out.glob("*.json"))) < 3 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for summary in out.glob("[!.]*.json"):
        assert json.loads(summary.read_text())["finished"]
    before = len(list(out.glob("[!.]*.json")))
    done = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"{40 - before} of 40 done now" in done
    for i, graph in enumerate(instances):
        labels = np.load(out / f"g{i}.txt.labels.npy")
        assert labels.tolist() == solve(graph).labels.tolist()
