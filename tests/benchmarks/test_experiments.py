"""The experiments as a whole on tiny data, and how their figures are read off the stored runs."""

import json
from math import inf

import pytest

import bdcc_jax
from bdcc_jax import Options
from benchmarks import __main__ as command
from benchmarks import comparison, instances, methods, phases, runs, table1
from benchmarks.store import Store, newest

PNGS = ("figure1_left.png", "figure1_right.png", "methods.png", "devices.png")


def test_everything_runs_and_is_not_run_again(tmp_path, capsys):
    out = tmp_path / "results"
    assert command.main(["--quick", "--out", str(out)]) == 0
    report = capsys.readouterr().out
    stored = (out / "runs.jsonl").read_bytes()
    assert report.strip() == (out / "report.md").read_text().strip()
    for experiment in command.EXPERIMENTS.values():
        assert experiment.TITLE in report
    assert "No runs" not in report
    for name in PNGS:
        assert name in report
        assert (out / name).read_bytes().startswith(b"\x89PNG")
    for line in stored.splitlines():
        run = json.loads(line)
        assert run["versions"]["jax"]
        assert run["machine"]["cores"] > 0
        assert run["status"] in ("optimal", "no bound", "done")
    optima = {}
    for run in newest(Store(out / "runs.jsonl").records):
        if run["status"] == "optimal":
            optima.setdefault(run["instance"], []).append(run["objective"])
    assert all(values == pytest.approx([values[0]] * len(values)) for values in optima.values())
    assert len(optima["pictures/coins-20"]) >= 15

    assert command.main(["--quick", "--out", str(out)]) == 0
    assert (out / "runs.jsonl").read_bytes() == stored


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sample", "0"], "--sample must be at least 1, not 0"),
        (["--time-limit", "-1"], "--time-limit must be positive, not -1.0"),
        (["--only", "table2"], "invalid choice: 'table2'"),
    ],
)
def test_bad_arguments(arguments, message, capsys, tmp_path):
    with pytest.raises(SystemExit):
        command.main([*arguments, "--out", str(tmp_path / "results")])
    assert message in capsys.readouterr().err


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(SystemExit, match="is not a folder of benchmark results"):
        command.main(["--quick", "--out", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_any_folder_of_instances(tmp_path, capsys):
    for name, size in {"a/small": 20, "a/large": 60, "a/middle": 40, "top": 30}.items():
        path = tmp_path / "data" / f"{name}.txt.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        bdcc_jax.write(instances.planar(size), path)
    (tmp_path / "data" / "a" / "broken.txt").write_text("nothing\n" * 1000)
    found = instances.folder(tmp_path / "data")
    assert {family: [each.name for each in group] for family, group in found.items()} == {
        "a": ["small", "middle", "large", "broken"],
        "data": ["top"],
    }
    arguments = ["--data", str(tmp_path / "data"), "--out", str(tmp_path / "results")]
    assert command.main([*arguments, "--only", "phases", "--family", "a"]) == 0
    said = capsys.readouterr()
    assert "left out: " in said.err
    assert "broken.txt" in said.err
    assert {run["instance"] for run in Store(tmp_path / "results" / "runs.jsonl").records} == {
        "a/small",
        "a/middle",
        "a/large",
    }
    with pytest.raises(SystemExit, match="no family 'b'; there are a, data"):
        command.main([*arguments, "--family", "b"])
    with pytest.raises(SystemExit, match="has no files that end in"):
        instances.folder(tmp_path / "results")


def test_a_line_cut_short_is_neither_read_nor_overwritten(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"key": "a"}\n{"key": "b", "sec')
    store = Store(path)
    store.append({"key": "c"})
    assert path.read_text() == '{"key": "a"}\n{"key": "b", "sec\n{"key": "c"}\n'
    assert [record["key"] for record in Store(path).records] == ["a", "c"]
    assert ["a" in store, "b" in store, "c" in store] == [True, False, True]


def test_what_was_asked_for_decides_whether_it_is_run_again(tmp_path):
    store = Store(tmp_path / "runs.jsonl")
    each = instances.instance("planar/20")
    assert runs.Runner(store, 60.0).run((each, methods.GAEC)) is not None
    assert runs.Runner(store, 60.0).run((each, methods.GAEC)) is None
    assert runs.Runner(store, 61.0).run((each, methods.GAEC)) is not None
    other = methods.bdcc(methods.GAEC.name, Options())
    assert runs.Runner(store, 60.0).run((each, other)) is not None
    assert len(newest(store.records)) == 1


def test_an_interrupted_run_is_not_stored(tmp_path):
    store = Store(tmp_path / "runs.jsonl")
    method = methods.Method("stopped", lambda graph, limit: {"status": "interrupted"})
    with pytest.raises(KeyboardInterrupt):
        runs.Runner(store, 60.0).run((instances.instance("planar/20"), method))
    assert store.records == []


def test_only_engines_that_take_root_by_root_know_the_slowest():
    graph = instances.planar(100)
    history = bdcc_jax.solve(graph, options=Options.paper(engine="reference")).history
    for record in history:
        assert record.slowest_root_seconds <= record.detection_seconds + record.subproblem_seconds
    # The last LP may prove the optimum, and nobody looks for violations then.
    assert all(record.slowest_root_seconds > 0 for record in history[:-1])
    packing = bdcc_jax.solve(graph, options=Options(presolve=False)).history
    assert {record.slowest_root_seconds for record in packing} == {None}


def record(seconds, lower, upper, slowest=0.5, compiling=0.0):
    return {
        "seconds": seconds,
        "lower_bound": lower,
        "upper_bound": upper,
        "phase": "lp",
        "violated_roots": 1,
        "detection_seconds": 1.0,
        "subproblem_seconds": 2.0,
        "rounding_seconds": 4.0,
        "slowest_root_seconds": slowest,
        "compile_seconds": compiling,
    }


def stored(history, seconds=30.0, status="optimal", objective=-10.0, lower_bound=-10.0):
    return {
        "instance": "f/it",
        "family": "f",
        "method": "bdcc_jax",
        "status": status,
        "seconds": seconds,
        "objective": objective,
        "lower_bound": lower_bound,
        "compile_seconds": sum(r["compile_seconds"] for r in history),
        "history": history,
    }


def test_the_three_clocks():
    run = stored([record(10.0, -20.0, -5.0), record(20.0, -12.0, -8.0, compiling=1.0)])
    assert [p.seconds for p in runs.trace(run)] == [10.0, 19.0, 29.0]
    assert [p.seconds for p in runs.trace(run, "serial")] == [6.0, 11.0, 21.0]
    assert [p.seconds for p in runs.trace(run, "parallel")] == [3.5, 6.0, 16.0]
    assert [p.gap for p in runs.trace(run)] == [15.0, 4.0, 0.0]
    assert runs.reached(runs.trace(run), gap=4.0) == 19.0
    assert runs.reached(runs.trace(run), relative=0.1) == 29.0
    assert runs.reached(runs.trace(run)[:2], gap=1.0) is None


def test_shares_say_what_is_not_known():
    closed = runs.trace(stored([record(2.0, -20.0, -5.0)], seconds=8.0))
    stopped = runs.trace(stored([record(2.0, -20.0, -5.0)], 60.0, "time_limit", -9.0, -14.0))
    assert table1.share([closed, stopped], 1.0, 5) == "0"
    assert table1.share([closed, stopped], 1.0, 10) == "0.5"
    assert table1.share([closed, stopped], 1.0, 100) == ">= 0.5"
    assert table1.share([closed, stopped], 5.0, 100) == "1"


def test_a_round_that_was_cut_short_has_no_parallel_time():
    run = stored([record(20.0, -20.0, -5.0)], 60.0, "time_limit", -9.0, -14.0)
    assert [p.seconds for p in runs.trace(run, "serial")] == [16.0, 56.0]
    assert [p.seconds for p in runs.trace(run, "parallel")] == [13.5, 13.5]
    assert table1.share([runs.trace(run, "parallel")], 1.0, 50) == ">= 0"
    run["compile_seconds"] = 7.0
    assert [p.seconds for p in runs.trace(run)] == [20.0, 53.0]


def test_methods_without_a_bound_are_measured_against_the_best_one():
    proven = stored([record(2.0, -10.05, -10.0)])
    heuristic = stored([], 0.1, "no bound", -9.95, None) | {"method": "GAEC"}
    failed = stored([], 60.0, "time_limit", None, None) | {"method": "bioimage GAEC"}
    found = comparison.outcomes([proven, heuristic, failed])
    assert found["f", "bdcc_jax"] == [comparison.Outcome(2.0, 30.0, 0.0)]
    (gaec,) = found["f", "GAEC"]
    assert (gaec.close, gaec.proven, gaec.gap) == (0.1, None, pytest.approx(0.05 / 9.95))
    assert found["f", "bioimage GAEC"] == [comparison.Outcome(None, None, inf)]


def test_phases_of_a_run():
    last = record(20.0, -10.0, -10.0) | {"violated_roots": 0}
    run = stored([record(2.0, -20.0, -9.95), last], seconds=30.0)
    assert phases.lp_seconds(run) == 20.0
    assert phases.lp_seconds(stored([record(2.0, -20.0, -5.0)])) == 30.0
    cells = phases._cells([run, stored([])])
    assert cells == [2, 1, "30.000", "7", "0.5, 0.5", "1, 1", "20.000", "10.000", "0.500"]
