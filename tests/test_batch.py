"""solve_batch: results, refusals, and how it stops."""

import socket

import numpy as np
import pytest
from batches import graphs, python, same
from oracles import brute_force

from bdcc_jax import Failure, Options, solve, solve_batch


def test_results_are_those_of_solve_in_order_and_a_bad_instance_has_its_own(tmp_path):
    good = graphs(6)
    bad = [[[0, np.nan], [np.nan, 0]], tmp_path / "absent.txt", "not a graph\0", object()]
    results = solve_batch(good[:3] + bad + good[3:], workers=3)
    for graph, result in zip(good, results[:3] + results[-3:], strict=True):
        same(result, solve(graph))
        assert result.objective == pytest.approx(brute_force(graph))
    assert all(isinstance(r, Failure) and r.status == "error" for r in results[3:7])
    assert "numbers" in results[3].message
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


def test_two_processes_solve_their_shares_and_both_have_all_results():
    code = """
import os, jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(os.environ["ADDRESS"], 2, int(os.environ["NUMBER"]))
import bdcc_jax
from batches import graphs
seen = []
results = bdcc_jax.solve_batch(
    [*graphs(5), "absent.txt"], device="all", callback=lambda state: seen.append(state.index)
)
print(sorted(seen), [r.labels.tolist() for r in results[:-1]], results[-1].message)
"""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    both = [python(code, ADDRESS=address, NUMBER=str(i), JAX_PLATFORMS="cpu") for i in (0, 1)]
    # The last line: gloo talks too.
    first, second = (p.communicate()[0].splitlines()[-1] for p in both)
    expected = [solve(graph).labels.tolist() for graph in graphs(5)]
    told = f"{expected} absent.txt: No such file or directory"
    assert first == f"[0, 2, 4] {told}"
    assert second == f"[1, 3, 5] {told}"
