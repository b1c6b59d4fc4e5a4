"""Runs that are killed, cut short, moved to Dask, or asked for what cannot be done."""

import errno
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bdcc_jax import Graph, Status, cli, large
from bdcc_jax.large import WorkersLost, tasks
from bdcc_jax.large.budget import BASE, PER_EDGE
from bdcc_jax.large.runners import Processes


def grid(side, seed=0):
    rng = np.random.default_rng(seed)
    node = np.arange(side * side).reshape(side, side)
    ends = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:]), (node[:-1, :-1], node[1:, 1:])]
    u, v = (np.concatenate([pair[i].ravel() for pair in ends]) for i in (0, 1))
    return Graph.from_edges(u, v, rng.normal(0.2, 1.0, len(u)))


@pytest.fixture
def store(tmp_path):
    """A grid of 30 by 30 in 9 blocks."""
    graph = grid(30)
    row, column = np.divmod(np.arange(graph.n), 30)
    np.savez(tmp_path / "edges.npz", u=graph.edges[:, 0], v=graph.edges[:, 1], w=graph.weights)
    np.save(tmp_path / "blocks.npy", row // 10 * 3 + column // 10)
    large.solve(tmp_path / "edges.npz", blocks=tmp_path / "blocks.npy", workers=1, time_limit=0)
    return tmp_path / "edges.npz.large" / "blocks"


def counted(monkeypatch):
    """How often blocks are done, from now on."""
    done, real = [], tasks.relax_and_cluster

    def count(*arguments):
        done.append(1)
        return real(*arguments)

    monkeypatch.setattr(tasks, "relax_and_cluster", count)
    return done


def test_what_is_finished_is_not_done_again(store, tmp_path, monkeypatch):
    done = counted(monkeypatch)
    first = large.solve(store, workers=1, folder=tmp_path / "a")
    assert len(done) > 9
    done.clear()
    again = large.solve(store, workers=1, folder=tmp_path / "a", memory="3GB")
    assert not done  # whatever the memory
    assert (again.objective, again.lower_bound) == (first.objective, first.lower_bound)
    assert (again.all_labels() == first.all_labels()).all()


def test_a_result_that_is_damaged_is_done_again(store, tmp_path, monkeypatch):
    first = large.solve(store, workers=1, folder=tmp_path / "a")
    file = next(first.folder.glob("pass-1/blocks/clusters-000003.npz"))
    file.write_bytes(file.read_bytes()[:-100])
    done = counted(monkeypatch)
    again = large.solve(store, workers=1, folder=tmp_path / "a")
    assert len(done) == 1
    assert again.objective == first.objective


KILLED = """
import sys
from bdcc_jax import large
def told(state):
    print(state.stage, state.done, flush=True)
if __name__ == "__main__":
    large.solve(sys.argv[1], workers=int(sys.argv[3]), folder=sys.argv[2], gap=0.0, callback=told)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_kill_9_loses_no_finished_block(store, tmp_path, monkeypatch, workers):
    script = tmp_path / "script.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(store), str(tmp_path / "work"), str(workers)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    while not process.stdout.readline().startswith("blocks 4"):
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)  # the pool's processes, too
    process.communicate()
    done = counted(monkeypatch)
    result = large.solve(store, workers=1, folder=tmp_path / "work", gap=0.0)
    expected = large.solve(store, workers=1, folder=tmp_path / "whole", gap=0.0)
    levels = len(list(result.folder.glob("pass-1/clusters-*")))
    assert 9 + levels > len(done) - 9 - levels  # four blocks of the first run were there
    assert (result.objective, result.lower_bound) == (expected.objective, expected.lower_bound)
    assert (result.all_labels() == expected.all_labels()).all()


def test_processes_and_this_process_agree(store, tmp_path):
    one = large.solve(store, workers=1, folder=tmp_path / "one")
    two = large.solve(store, workers=2, folder=tmp_path / "two", memory="20GB")
    dask = large.solve(store, workers=2, folder=tmp_path / "dask", memory="20GB", client="local")
    for other in (two, dask):
        assert (one.objective, one.lower_bound) == (other.objective, other.lower_bound)
        assert all((one.labels(b) == other.labels(b)).all() for b in range(9))


def test_dask_and_this_process_agree_although_a_worker_is_killed(store, tmp_path):
    distributed = pytest.importorskip("distributed")
    one = large.solve(store, workers=1, folder=tmp_path / "one", gap=0.0)
    killed = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def told(state):
            if state.stage == "blocks" and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        two = large.solve(store, client=client, folder=tmp_path / "two", gap=0.0, callback=told)
    assert killed
    assert (one.objective, one.lower_bound) == (two.objective, two.lower_bound)
    assert all((one.labels(b) == two.labels(b)).all() for b in range(9))


def test_a_scheduler_that_goes_away(store, tmp_path):
    distributed = pytest.importorskip("distributed")
    with pytest.raises(WorkersLost, match=r"no scheduler of Dask answers at 'tcp://127.0.0.1:1'"):
        large.solve(store, client="tcp://127.0.0.1:1", folder=tmp_path / "none")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    client = distributed.Client(cluster, timeout="5s")

    def told(state):
        cluster.close(timeout=10)

    with pytest.raises(WorkersLost, match=r"what is finished is kept, run again to go on"):
        large.solve(store, client=client, folder=tmp_path / "gone", callback=told)
    client.close()
    again = large.solve(store, workers=1, folder=tmp_path / "gone")
    assert again.objective == large.solve(store, workers=1, folder=tmp_path / "new").objective


def test_a_worker_process_that_dies(store, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom bdcc_jax import large\n"
        "large.solve(sys.argv[1], workers=2, memory='20GB', folder=sys.argv[2])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, str(script), str(store), str(tmp_path / "work")]
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert "WorkersLost: a worker process has died" in process.stderr
    assert "if __name__ == '__main__'" in process.stderr


def test_a_time_limit_and_a_callback_leave_what_is_found(store, tmp_path):
    nothing = large.solve(store, workers=1, folder=tmp_path / "a", time_limit=0)
    assert nothing.status is Status.TIME_LIMIT
    assert nothing.lower_bound < nothing.objective
    assert len(nothing.all_labels()) == 900

    def told(state):
        return state.done == 5

    some = large.solve(store, workers=1, folder=tmp_path / "a", callback=told)
    assert some.status is Status.STOPPED
    assert nothing.lower_bound < some.lower_bound
    whole = large.solve(store, workers=1, folder=tmp_path / "a")
    assert some.objective > whole.objective >= whole.lower_bound > some.lower_bound


def test_ctrl_c_leaves_what_is_found(store, tmp_path):
    def told(state):
        if state.stage == "blocks" and state.done == 9:
            raise KeyboardInterrupt

    result = large.solve(store, workers=1, folder=tmp_path / "a", callback=told)
    assert result.status is Status.INTERRUPTED
    assert result.lower_bound < result.objective < 0.0
    assert result.gap < 0.5


def test_a_store_that_changes_under_the_run(store, tmp_path):
    def told(state):
        if state.done == 2:
            (store / "block-000007.npz").write_bytes(b"other")

    with pytest.raises(large.StoreChanged, match=r"block-000007.npz is damaged"):
        large.solve(store, workers=1, folder=tmp_path / "a", callback=told)


def test_a_disk_that_is_full_in_the_middle(store, tmp_path, monkeypatch):
    real, calls = os.fsync, []

    def fail(number):
        calls.append(1)
        if len(calls) > 7:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(number)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"No space left on device: .*\.npz"):
        large.solve(store, workers=1, folder=tmp_path / "a")
    monkeypatch.setattr(os, "fsync", real)
    done = counted(monkeypatch)
    result = large.solve(store, workers=1, folder=tmp_path / "a")
    assert len(done) < 9 + 2  # three blocks were there
    whole = large.solve(store, workers=1, folder=tmp_path / "b")
    assert (result.all_labels() == whole.all_labels()).all()


def test_too_little_memory_names_both_numbers(store, tmp_path):
    with pytest.raises(MemoryError, match=r"block \d has \d+ edges, which take 0.94 GB; memory is"):
        large.solve(store, memory="100MB", folder=tmp_path / "a")


def test_one_block_needs_the_memory_of_the_ordinary_solve(tmp_path):
    graph = grid(30)
    memory = BASE + 2 * PER_EDGE * graph.m
    with pytest.raises(MemoryError, match=r"block 0 has \d+ edges, which take 0.95 GB; memory is"):
        large.solve(graph, blocks=1, memory=memory, folder=tmp_path / "a", workers=1)


# getrusage's figure would be that of the process of the tests, if that has more: it survives exec.
MEASURED = """
import sys
from pathlib import Path
from bdcc_jax import large
result = large.solve(sys.argv[1], workers=1, memory=int(sys.argv[2]), folder=sys.argv[3])
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) * 1024, result.store.n_blocks)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted otherwise")
def test_peak_memory_stays_within_the_budget(tmp_path):
    """Of a graph that would take several times as much if it were solved whole."""
    graph = grid(300)
    np.savez(tmp_path / "edges.npz", u=graph.edges[:, 0], v=graph.edges[:, 1], w=graph.weights)
    memory = BASE + PER_EDGE * 40_000
    command = [sys.executable, "-c", MEASURED, tmp_path / "edges.npz", str(memory), tmp_path / "a"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    peak, blocks = map(int, process.stdout.split())
    assert peak <= memory
    assert blocks > 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"blocks": 3, "positions": [[0.0]]}, r"give blocks or positions, not both"),
        ({"blocks": 0}, r"blocks must be a number of blocks >= 1, not 0"),
        ({"blocks": 7}, r"blocks must be at most 3, one a node, not 7"),
        ({"gap": -1}, r"gap must be at least 0"),
        ({"passes": 0}, r"passes must be an integer >= 1"),
        ({"workers": 0}, r"workers must be an integer >= 1"),
        ({"memory": "lots"}, r"memory must be an amount such as '8GB'"),
        ({"time_limit": -1}, r"time_limit must be at least 0"),
        ({"prove": "yes"}, r"prove must be True or False"),
        ({"options": 3}, r"options must be an Options object, not 3"),
        ({"callback": 3}, r"callback must be callable, not 3"),
        ({"seed": -1}, r"seed must be an integer >= 0"),
        ({"client": 3}, r"client must be a dask.distributed.Client, an address, or 'local', not 3"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    graph = Graph(3, [(0, 1), (1, 2)], [1.0, -1.0])
    with pytest.raises(ValueError, match=message):
        large.solve(graph, folder=tmp_path / "a", **arguments)
    assert not (tmp_path / "a").exists()


def test_bad_folders(store, tmp_path):
    graph = Graph(3, [(0, 1), (1, 2)], [1.0, -1.0])
    with pytest.raises(ValueError, match=r"a graph in memory needs folder="):
        large.solve(graph)
    with pytest.raises(FileExistsError, match=r"exists and is not a folder of ours"):
        large.solve(graph, folder=tmp_path)
    large.solve(graph, folder=tmp_path / "a", blocks=2, workers=1)
    with pytest.raises(FileExistsError, match=r"holds the blocks of another input"):
        large.solve(graph, folder=tmp_path / "a", blocks=3, workers=1)
    with pytest.raises(ValueError, match=r"is a block store: it has its blocks already"):
        large.solve(store, blocks=2)


def test_labels(store, tmp_path):
    result = large.solve(store, workers=1, folder=tmp_path / "a")
    result.write_labels(tmp_path / "labels.npy")
    assert np.load(tmp_path / "labels.npy").tolist() == result.all_labels().tolist()
    with pytest.raises(FileExistsError, match=r"labels.npy exists"):
        result.write_labels(tmp_path / "labels.npy")
    with pytest.raises(ValueError, match=r"labels are written as .npy"):
        result.write_labels(tmp_path / "labels.txt")
    with pytest.raises(ValueError, match=r"there is no block 9: expected 0 .. 8"):
        result.labels(9)


def test_labels_on_a_disk_that_is_full(store, tmp_path):
    """Which must not kill the process, as writing to a mapped file would."""
    result = large.solve(store, workers=1, folder=tmp_path / "a")
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("cannot mount a file system here")
    try:
        with pytest.raises(OSError, match=r"No space left on device: .*labels.npy"):
            result.write_labels(place / "labels.npy")
        assert not list(place.iterdir())
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_one_block_is_the_ordinary_solve(tmp_path):
    graph = grid(12)
    result = large.solve(graph, folder=tmp_path, gap=0.0)
    assert result.store.n_blocks == 1
    assert result.status is Status.OPTIMAL
    assert graph.objective(result.all_labels()) == result.objective


def test_the_command(store, tmp_path, capsys):
    labels = str(tmp_path / "labels.npy")
    command = ["large", str(store), "-o", labels, "--workers", "1", "--memory", "4GB"]
    assert cli.main(command) == 0
    out, err = capsys.readouterr()
    assert out.startswith("status        gap") or out.startswith("status        max_rounds")
    assert "blocks" in err
    assert len(np.load(labels)) == 900
    with pytest.raises(SystemExit) as leaving:
        cli.main(command)
    assert leaving.value.code == 2
    assert "exists" in capsys.readouterr().err
    assert cli.main([*command, "--force", "--json", "--quiet"]) == 0
    assert '"relative_gap"' in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["large", str(store), "--memory", "1MB"])
    assert "memory is 0.00 GB" in capsys.readouterr().err
    (store / "block-000001.npz").write_bytes(b"")
    assert cli.main(["large", str(store), "--folder", str(tmp_path / "new"), "--workers", "1"]) == 2
    assert "block-000001.npz is damaged" in capsys.readouterr().err


def test_progress_goes_to_the_standard_error(store, tmp_path, capsys):
    start = time.monotonic()
    large.solve(store, workers=1, folder=tmp_path / "a", progress=True)
    err = capsys.readouterr().err
    assert "9/9  blocks" in err
    assert len(err.splitlines()) < 60 + (time.monotonic() - start)


def _at_work(folder, number):
    """Say how many are at work when this one begins."""
    mine = Path(folder) / str(number)
    mine.write_text("")
    others = len(list(Path(folder).iterdir()))
    time.sleep(0.05)
    mine.unlink()
    return others


def test_no_more_blocks_are_in_work_than_memory_allows(tmp_path):
    with Processes(2) as processes:
        task = partial(_at_work, str(tmp_path))
        found = dict(processes.run(task, range(6), lambda: None, 1))
    assert found == dict.fromkeys(range(6), 1)
