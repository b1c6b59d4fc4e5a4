"""solve_batch, the devices it runs on, and ``bdcc-jax batch``."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
from families import planar
from oracles import brute_force, random_graph

from bdcc_jax import Failure, Options, cli, solve, solve_batch, write
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.separation.device import batched, devices, pool
from bdcc_jax.separation.device.batched import LANE_BYTES, Settings
from bdcc_jax.separation.device.batched import solve_batch as solve_lanes
from bdcc_jax.separation.device.devices import Devices, resolve_all
from bdcc_jax.separation.device.pool import Pool

CPU = jax.devices("cpu")[0]
ROOT = Path(__file__).parent.parent


def graphs(count, n=9, density=0.6, seed=0):
    rng = np.random.default_rng(seed)
    return [random_graph(rng, n, density) for _ in range(count)]


def same(one, other):
    """Everything but the times."""
    assert one.labels.tolist() == other.labels.tolist()
    assert (one.objective, one.lower_bound) == (other.objective, other.lower_bound)
    assert one.status == other.status
    counts = [[(r.rows, r.new_rows, r.violated_roots) for r in x.history] for x in (one, other)]
    assert counts[0] == counts[1]


def test_results_are_those_of_solve_in_order_and_a_bad_instance_has_its_own(tmp_path):
    good = graphs(6)
    bad = [[[0, np.nan], [np.nan, 0]], tmp_path / "absent.txt", "not a graph\0", object()]
    results = solve_batch(good[:3] + bad + good[3:], workers=3)
    for graph, result in zip(good, results[:3] + results[-3:], strict=True):
        same(result, solve(graph))
        assert result.objective == pytest.approx(brute_force(graph))
    assert all(isinstance(r, Failure) and r.status == "error" for r in results[3:7])
    assert "finite" in results[3].message
    assert results[4].message == f"{tmp_path / 'absent.txt'}: No such file or directory"
    assert solve_batch([]) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graphs": "folder"}, "list of instances"),
        ({"graphs": 3}, "list of instances"),
        ({"workers": 0}, "workers"),
        ({"time_limit_each": -1.0}, "time_limit_each"),
        ({"device": []}, "at least one device"),
        ({"device": ["cpu", "cpu:0"]}, "twice"),
        ({"device": "cpus"}, "'all'"),
        ({"options": Options}, "Options object"),
        ({"callback": 1}, "callable"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve_batch(**({"graphs": graphs(1)} | arguments))


def test_lps_of_several_instances_share_a_batch_and_change_nothing(monkeypatch):
    instances = graphs(5, n=13, seed=3)
    options = Options(engine="pdlp", presolve=False, heuristics=False, rounding=())
    alone = [solve(graph, options=options) for graph in instances]
    joined, run = [], Pool._run

    def spy(self, requests):
        joined.append(len(requests))
        run(self, requests)

    monkeypatch.setattr(Pool, "_run", spy)
    monkeypatch.setattr(pool, "PATIENCE", 5.0)
    for one, other in zip(alone, solve_batch(instances, options=options), strict=True):
        same(one, other)
    assert max(joined) > 1


SETTINGS = Settings(2, 0.5, True, 2)


def lanes(monkeypatch, seed=0, side=8):
    """The LPs of a round, as an engine asks for them."""
    taken = []

    def take(problems, *_):
        taken.append(problems)
        raise TimeLimitReached

    with monkeypatch.context() as patched:
        patched.setattr(devices, "solve_batch", take)
        options = Options.paper(engine="pdlp", cover="greedy")
        solve(planar(np.random.default_rng(seed), side, side), options=options)
    return taken[0]


def test_one_solve_that_runs_out_of_time_leaves_the_others_in_a_batch(monkeypatch):
    problems, shared = lanes(monkeypatch), Pool(Devices((CPU,)), 2)
    expected = solve_lanes(problems, SETTINGS, (CPU,), 2**30)
    monkeypatch.setattr(pool, "PATIENCE", 60.0)
    from concurrent.futures import ThreadPoolExecutor

    def one(limit):
        with shared.member(0) as share:
            return share.solve_balls(problems, SETTINGS, Clock(limit).check)

    with ThreadPoolExecutor(2) as threads:
        late, patient = threads.submit(one, 0.0), threads.submit(one, None)
        assert np.array_equal(patient.result().amount, expected.amount)
        with pytest.raises(TimeLimitReached):
            late.result()


def test_a_batch_that_fails_is_done_again_by_everyone_alone(monkeypatch):
    problems, given = lanes(monkeypatch), []

    def fails_once(joined, *rest):
        given.append(len(joined.supply))
        if len(given) == 1:
            raise RuntimeError("injected")
        return solve_lanes(joined, *rest)

    monkeypatch.setattr(devices, "solve_batch", fails_once)
    with Pool(Devices((CPU,)), 1).member(0) as share:
        assert share.solve_balls(problems, SETTINGS, lambda: None).amount.any()
    assert given == [len(problems.supply)] * 2


def test_limits_return_everything():
    instances = graphs(3, n=30)
    for result, graph in zip(solve_batch(instances, time_limit=0.0), instances, strict=True):
        assert result.status == "time_limit"
        assert len(result.labels) == graph.n
        assert result.lower_bound <= result.objective
    each = solve_batch(instances, time_limit_each=0.0)
    assert {str(result.status) for result in each} == {"time_limit"}


def test_ctrl_c_returns_what_is_done_and_bounds_of_the_rest():
    def interrupt(state):
        if state.done == 1:
            raise KeyboardInterrupt

    instances = graphs(12, n=30)
    results = solve_batch(instances, workers=1, callback=interrupt)
    assert results[0].status == "optimal"
    assert results[-1].status == "interrupted"
    for result, graph in zip(results, instances, strict=True):
        assert len(result.labels) == graph.n


def test_a_callback_sees_every_instance_and_can_stop():
    seen = []
    results = solve_batch(graphs(5), workers=2, callback=lambda s: seen.append(s.index))
    assert sorted(seen) == list(range(5))
    assert all(r.status == "optimal" for r in results)
    with pytest.raises(ZeroDivisionError):
        solve_batch(graphs(3), callback=lambda state: 1 / 0)


def test_progress_says_what_is_done(capsys):
    solve_batch([*graphs(2), "absent.txt"], workers=1, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert "ETA" in lines[0]
    assert "3/3" in lines[-1]
    assert any("error: absent.txt: No such file" in line for line in lines)


def test_memory_of_a_round_of_many_roots_stays_within_the_budget(monkeypatch):
    few, most, call = lanes(monkeypatch), [], batched._call
    many = type(few)(*(np.concatenate([array] * 20) for array in few))
    budget = 8 * LANE_BYTES
    assert len(many.supply) > 100

    def spy(run, some, size, *rest):
        most.append(sum(array.nbytes for array in jax.live_arrays()) + size * LANE_BYTES)
        return call(run, some, size, *rest)

    monkeypatch.setattr(batched, "_call", spy)
    before = sum(array.nbytes for array in jax.live_arrays())
    chains = solve_lanes(many, SETTINGS, (CPU,), budget)
    assert max(most) - before <= budget
    assert np.array_equal(chains.slot[:, : len(few.supply)], chains.slot[:, -len(few.supply) :])


def test_devices_by_name():
    assert resolve_all("all") == tuple(jax.devices("cpu"))
    assert resolve_all([CPU]) == (CPU,)
    assert Devices((CPU,)).budget > 2**20
    assert Devices((CPU,), 2**20).budget == 2**20


def python(code, *, flags="", **environment):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "XLA_FLAGS": flags}
        | environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_several_devices_give_the_results_of_one():
    code = """
import jax, numpy as np
import bdcc_jax
from bdcc_jax import Options, solve
from families import planar

graph = planar(np.random.default_rng(0), 9, 9)
for options in (Options.paper(engine="pdlp"), Options(engine="pdlp", presolve=False)):
    one, two = (solve(graph, options=options, device=device) for device in ("cpu", "all"))
    assert two.device.count(",") == len(jax.devices("cpu")) - 1
    assert one.labels.tolist() == two.labels.tolist()
    rows = [[(r.rows, r.violated_roots, r.lower_bound) for r in x.history] for x in (one, two)]
    assert rows[0] == rows[1]
print("same", len(jax.devices("cpu")))
"""
    process = python(code, flags="--xla_force_host_platform_device_count=2")
    assert process.communicate()[0].split() == ["same", "2"]


def test_two_processes_solve_their_shares_and_both_have_all_results():
    code = """
import os, jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(os.environ["ADDRESS"], 2, int(os.environ["NUMBER"]))
import bdcc_jax
from test_batch import graphs
seen = []
results = bdcc_jax.solve_batch(
    [*graphs(5), "absent.txt"], device="all", callback=lambda state: seen.append(state.index)
)
print(sorted(seen), [r.labels.tolist() for r in results[:-1]], results[-1].message)
"""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    both = [python(code, ADDRESS=address, NUMBER=str(i), JAX_PLATFORMS="cpu") for i in (0, 1)]
    # The last line: gloo talks too.
    first, second = (p.communicate(timeout=300)[0].splitlines()[-1] for p in both)
    expected = [solve(graph).labels.tolist() for graph in graphs(5)]
    told = f"{expected} absent.txt: No such file or directory"
    assert first == f"[0, 2, 4] {told}"
    assert second == f"[1, 3, 5] {told}"


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
    again = [path.name for path, at in kept.items() if path.stat().st_mtime_ns != at]
    assert again == ["g1.txt.labels.npy"]

    with pytest.raises(SystemExit) as error:
        cli.main([*command, "--seed", "1"])
    assert error.value.code == 2
    assert "other settings" in capsys.readouterr().err
    assert cli.main([*command, "--seed", "1", "--force", "--quiet"]) == 0


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
