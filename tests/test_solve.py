"""The front door: how a solve stops, what it refuses, what it returns."""

import json
import subprocess
import sys
import time
from dataclasses import astuple, replace
from itertools import count

import networkx as nx
import numpy as np
import pytest
from alarms import time_is_up_in_round
from checks import rounds_of
from families import wheel
from oracles import brute_force, random_graph, triangle_milp

import bdcc_jax
from bdcc_jax import Graph, Options, PDLPOptions, Status, solve, solve_batch
from bdcc_jax.base.working_time import standing_still
from bdcc_jax.search.clusterings import Clusterings
from bdcc_jax.separation.device import devices

BARE = Options(presolve=False, heuristics=False, odd_wheels=False)
OPEN = wheel(31, 1.1)
"""With these options two rounds of the LP never prove an optimum: cycles are not enough for it."""


def test_time_limit_returns_valid_bounds(monkeypatch):
    pass_time = time_is_up_in_round(monkeypatch, 2)
    result = solve(OPEN, time_limit=5, options=BARE, callback=pass_time)
    assert result.status == "time_limit"
    assert len(rounds_of(result)) == 2
    assert OPEN.negative_sum < result.lower_bound < result.objective < 0
    assert result.objective == OPEN.objective(result.labels)


def test_relative_and_absolute_gap():
    graph = random_graph(np.random.default_rng(1), 12, 1.0)
    optimum = triangle_milp(graph)
    loose = solve(graph, gap=0.5)
    assert loose.status in ("gap", "optimal")
    assert loose.relative_gap <= 0.5
    assert loose.lower_bound <= optimum + 1e-9
    first = solve(graph, options=Options(absolute_gap=1e6))
    assert (first.status, first.history) == ("gap", ())


def test_max_rounds():
    result = solve(OPEN, options=replace(BARE, max_rounds=2))
    assert result.status == "max_rounds"
    assert len(rounds_of(result)) == 2


def test_callback_sees_every_round_and_can_stop():
    seen = []

    def stop_at_two(progress):
        seen.append(progress)
        return len(seen) == 2

    result = solve(OPEN, options=BARE, callback=stop_at_two)
    assert result.status == "stopped"
    assert [p.round for p in seen] == list(result.history)
    assert OPEN.objective(seen[-1].labels) == result.objective == seen[-1].round.upper_bound
    assert seen[0].improved


def test_ctrl_c_in_a_callback_returns_the_best():
    def interrupt(progress):
        raise KeyboardInterrupt

    result = solve(OPEN, options=BARE, callback=interrupt)
    assert result.status == "interrupted"
    assert result.lower_bound <= result.objective


def test_an_error_in_a_callback_is_the_callers():
    with pytest.raises(ZeroDivisionError):
        solve(OPEN, options=BARE, callback=lambda progress: 1 / 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": -1}, "time_limit must be at least 0, not -1"),
        ({"time_limit": "1"}, "time_limit must be a number, not '1'"),
        ({"gap": -0.1}, "gap must be at least 0, not -0.1"),
        ({"gap": float("nan")}, "gap must be at least 0, not nan"),
        ({"seed": -1}, "seed must be an integer >= 0, not -1"),
        ({"time_limit": 10**400}, "time_limit must be a number that a float64 can hold"),
        ({"seed": np.float64(1)}, "seed must be an integer >= 0, not "),
        ({"seed": 0.5}, "seed must be an integer >= 0, not 0.5"),
        ({"options": "paper"}, "options must be an Options object, not 'paper'"),
        ({"device": "tpu"}, "device must be 'auto', 'cpu', 'gpu', 'gpu:1'"),
        ({"device": 3}, "device must be 'auto', 'cpu', 'gpu', 'gpu:1'"),
        ({"device": "cpu:7"}, "device 'cpu:7': there is only cpu:0"),
        ({"callback": 3}, "callback must be callable, not 3"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        solve(OPEN, **arguments)


def test_numbers_of_numpy_are_numbers(tmp_path):
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [2.0, -1.0, -3.0])
    options = Options(
        engine="reference",
        tau=np.float32(0.5),
        ball_size=np.int32(8),
        max_rounds=np.int64(7),
        threads=np.int16(2),
        memory=np.uint32(2**21),
        cover_time_limit=np.float64(3),
        absolute_gap=np.float32(0.25),
        pdlp=PDLPOptions(iterations=np.int8(6)),
    )
    kinds = {name: type(getattr(options, name)) for name in ("tau", "cover_time_limit")}
    counts = ("ball_size", "max_rounds", "threads", "memory")
    kinds |= {name: type(getattr(options, name)) for name in counts}
    assert kinds == {"tau": float, "cover_time_limit": float, **dict.fromkeys(counts, int)}
    assert [type(value) for value in astuple(options.pdlp)] == [int, str]
    result = solve(
        graph,
        seed=np.int64(3),
        time_limit=np.float32(1e6),
        gap=np.float64(0.0),
        options=options,
        checkpoint=tmp_path / "run.npz",  # which holds the options as JSON
    )
    assert result.status == "optimal"
    (result,) = solve_batch([graph], workers=np.int64(1), time_limit_each=np.int64(10**6))
    assert result.status == "optimal"


def test_a_time_limit_of_ages():
    stopped = solve(OPEN, time_limit=1e300, options=BARE, callback=lambda _: True)
    assert stopped.status == "stopped"
    assert solve(OPEN, time_limit=1e300, options=Options.paper(max_rounds=1)).status == "max_rounds"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 1.5}, r"iterations must be an integer >= 1, not 1\.5"),
        ({"iterations": 0}, "iterations must be an integer >= 1, not 0"),
        ({"iterations": True}, "iterations must be an integer >= 1, not True"),
        ({"iterations": float("nan")}, "iterations must be an integer >= 1, not nan"),
    ],
)
def test_bad_pdlp_options(options, message):
    with pytest.raises(ValueError, match=message):
        PDLPOptions(**options)


@pytest.mark.skipif(bool(devices._devices("gpu")), reason="there is a GPU here")
def test_no_gpu_is_an_error_that_says_what_to_install():
    with pytest.raises(ValueError, match=r"JAX sees no GPU here; pip install .*cuda1"):
        solve(OPEN, device="gpu")


def test_devices():
    import jax

    cpu = jax.devices("cpu")[0]
    assert devices.resolve(cpu) is cpu
    assert devices.resolve("cpu:0") is cpu
    assert solve(Graph(1, [], []), device="cpu").device == "cpu"
    assert solve(Graph(1, [], []), device=cpu).device == str(cpu)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "magic"}, "engine must be one of .*, not 'magic'"),
        ({"rows": "both"}, "rows must be one of 'split', 'aggregated', not 'both'"),
        ({"direction": 1}, "direction must be one of 'random', 'inverse_weight', not 1"),
        ({"cover": ""}, "cover must be one of 'greedy', 'exact', not ''"),
        ({"rounding": "serial"}, "rounding must be a tuple of names, not 'serial'"),
        ({"rounding": ("up",)}, "rounding must be one of 'local', 'parallel', 'serial', not 'up'"),
        ({"tau": 0}, "tau must lie strictly between 0 and 1, or be None, not 0"),
        ({"tau": 1.0}, "tau must lie strictly between 0 and 1, or be None, not 1.0"),
        ({"tau": "half"}, "tau must be a number, not 'half'"),
        ({"ball_size": 1}, "ball_size must be None or an integer >= 2, not 1"),
        ({"max_rounds": 0}, "max_rounds must be None or an integer >= 1, not 0"),
        ({"cover_time_limit": -1.0}, "cover_time_limit must be at least 0, not -1.0"),
        ({"absolute_gap": -1.0}, "absolute_gap must be at least 0, not -1.0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        Options(**options)


def test_paper_options():
    assert Options.paper() == Options(
        rows="aggregated",
        tau=0.5,
        direction="random",
        ball_size=None,
        cover="exact",
        rounding=("serial",),
        dual_ascent=False,
        odd_wheels=False,
        presolve=False,
        heuristics=False,
        integer="whole",
        pdlp=PDLPOptions(activity="row"),
    )
    assert Options.paper(None, max_rounds=3).max_rounds == 3
    with pytest.raises(ValueError, match="unknown option 'taus'"):
        Options.paper(taus=1)


def test_result():
    graph = Graph.from_networkx(
        nx.Graph([("a", "b", {"weight": 2.0}), ("b", "c", {"weight": -1.0})])
    )
    result = solve(graph)
    assert result.clusters == {"a": 0, "b": 0, "c": 1}
    assert result.n_clusters == 2
    assert result.cut.tolist() == [False, True]
    assert (result.objective, result.disagreement) == (-1.0, 0.0)
    assert result.gap == result.relative_gap == 0.0
    assert "optimal" in result.summary()
    assert json.loads(json.dumps(result.to_dict()))["status"] == "optimal"
    assert result.status is Status.OPTIMAL


def test_history_and_timings_add_up(monkeypatch):
    """On a clock that goes on by a second whenever somebody looks at it."""
    monkeypatch.setattr(time, "perf_counter", count(1.0).__next__)
    result = solve(OPEN, options=replace(BARE, max_rounds=2))
    parts = {"master": "master", "detection": "detection", "subproblem": "subproblems"}
    for part, name in (parts | {"rounding": "rounding"}).items():
        total = sum(getattr(record, f"{part}_seconds") for record in result.history)
        before = 1.0 if part == "master" else 0.0  # to set it up
        assert total + before == result.timings[name] > before
    seconds = [record.seconds for record in result.history]
    assert 0.0 < seconds[0] < seconds[1] < result.timings["total"]
    assert result.history[-1].rows == sum(record.new_rows for record in result.history)


def test_what_was_compiled_is_told_apart(monkeypatch):
    """Time goes on in a loop that is compiled, and nowhere else."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    round_ = Clusterings.round

    def compile_and_round(*arguments, **named):
        with standing_still():
            now[0] += 100.0
        now[0] += 1.0
        round_(*arguments, **named)

    monkeypatch.setattr(Clusterings, "round", compile_and_round)
    result = solve(OPEN, options=replace(BARE, max_rounds=2), time_limit=50.0)
    assert result.status is Status.MAX_ROUNDS
    assert result.timings["compiling"] == 200.0
    assert result.timings["total"] == 202.0
    assert sum(result.timings.values()) <= 404.0
    assert "compiling 200.00" in result.summary()
    monkeypatch.undo()
    assert "compiling" not in solve(OPEN, options=replace(BARE, max_rounds=2)).timings


def test_progress_prints_a_table(capsys):
    graph = random_graph(np.random.default_rng(4), 8, 1.0)
    assert solve(graph, progress=True).objective == pytest.approx(brute_force(graph))
    assert "lower" in capsys.readouterr().err


def test_public_names():
    packages = {"graphs", "image", "io", "large", "layers", "metrics", "report", "tables"}
    others = packages | {"volumes", "CorrelationClustering", "__version__"}
    assert set(dir(bdcc_jax)) == set(bdcc_jax.__all__) | others
    for name in dir(bdcc_jax):
        assert getattr(bdcc_jax, name) is not None


def test_packages_are_imported_when_they_are_used():
    code = """
import sys, bdcc_jax
names = ("estimator", "graphs", "image", "large", "layers", "metrics", "report", "tables", "cli")
loaded = lambda: [name for name in names if f"bdcc_jax.{name}" in sys.modules]
print(loaded())
bdcc_jax.graphs.modularity, bdcc_jax.metrics, dir(bdcc_jax)
print(loaded())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['graphs', 'metrics']"]
