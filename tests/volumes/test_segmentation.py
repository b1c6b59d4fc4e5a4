"""From affinities in zarr to regions in zarr: the whole way, and what may go wrong on it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr
from volumes_cases import UNITS, affinities_of, store, truth_of

from bdcc_jax import cli, solve
from bdcc_jax.image import graph_from_affinities
from bdcc_jax.large import StoreChanged
from bdcc_jax.metrics import adjusted_rand_index
from bdcc_jax.volumes import segment_volume

SHAPE, BLOCK = (12, 48, 48), (6, 24, 24)


@pytest.fixture
def noisy(tmp_path):
    """Affinities under noise, with their offsets, in chunks of a quarter of a block."""
    truth = truth_of(SHAPE)
    data = affinities_of(truth, noise=0.25).astype("float32")
    return truth, store(tmp_path / "in.zarr", data, UNITS, (3, 6, 12, 24))


def segmented(path, out, **more):
    return segment_volume(path, out, **{"block_shape": BLOCK, "workers": 1, "spacing": 2} | more)


def regions(path):
    return zarr.open_array(str(path), mode="r")[:]


@pytest.mark.parametrize("smoothing", [0, 1.0])
def test_easy_volumes_come_out_as_they_are(tmp_path, smoothing):
    truth = truth_of(SHAPE)
    path = store(tmp_path / "in.zarr", affinities_of(truth), UNITS, (3, *BLOCK))
    found = segmented(path, tmp_path / "out.zarr", smoothing=smoothing)
    assert adjusted_rand_index(truth, regions(tmp_path / "out.zarr")) == 1.0
    assert found.regions == len(np.unique(truth)) == len(np.unique(regions(found.path)))
    assert found.blocks == 8
    assert not (tmp_path / "out.zarr.work").exists()


def test_noisy_volumes(tmp_path, noisy):
    truth, path = noisy
    found = segmented(path, tmp_path / "out.zarr")
    painted = zarr.open_array(str(found.path), mode="r")
    assert painted.dtype == np.uint64
    assert painted.chunks == (6, 12, 24)
    assert adjusted_rand_index(truth, painted[:]) > 0.9
    assert sorted(np.unique(painted[:])) == list(range(1, found.regions + 1))
    noted = painted.attrs["bdcc_jax"]
    assert noted["objective"] == found.objective
    assert noted["offsets"] == [list(offset) for offset in UNITS]


@pytest.mark.parametrize("gap", [0.01, 0.0])
def test_bounds_are_those_of_the_whole_graph(tmp_path, noisy, gap):
    _, path = noisy
    found = segmented(path, tmp_path / "out.zarr", keep=True, gap=gap)
    nodes = regions(tmp_path / "out.zarr.work" / "supervoxels.zarr").astype(int)
    start = 0
    for z in range(0, 12, 6):
        for y in range(0, 48, 24):
            for x in range(0, 48, 24):
                block = nodes[z : z + 6, y : y + 24, x : x + 24]
                count = block.max()
                block += start
                start += count
    graph, nodes = graph_from_affinities(regions(path), UNITS, labels=nodes)
    assert (graph.n, graph.m) == (found.supervoxels, found.edges)
    labels = np.zeros(graph.n, int)
    labels[nodes] = regions(found.path).astype(int)
    assert np.array_equal(labels[nodes], regions(found.path))  # whole supervoxels
    assert graph.objective(labels) == pytest.approx(found.objective, rel=1e-12)
    best = solve(graph)
    assert best.status == "optimal"
    assert found.lower_bound <= best.objective * (1 - 1e-12)
    assert found.objective >= best.objective * (1 + 1e-12)
    assert found.gap < 0.05


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_formats_bytes_masks_and_groups(tmp_path, zarr_format):
    truth = truth_of(SHAPE)
    data = np.rint(255 * affinities_of(truth, noise=0.1)).astype(np.uint8)
    zarr.create_group(str(tmp_path / "in.zarr"), zarr_format=zarr_format)
    path = store(tmp_path / "in.zarr" / "a", data, None, (1, *BLOCK), zarr_format)
    mask = store(tmp_path / "mask.zarr", (truth % 4 > 0).astype(np.uint8))
    found = segmented(path, tmp_path / "out.zarr", mask=mask, offsets=UNITS)
    painted = zarr.open_array(str(found.path), mode="r")
    assert painted.metadata.zarr_format == zarr_format
    assert np.array_equal(painted[:] == 0, truth % 4 == 0)
    assert adjusted_rand_index(truth, painted[:], ignore_label=None) > 0.5
    inside = truth % 4 > 0
    assert adjusted_rand_index(truth[inside], painted[:][inside]) > 0.95
    with pytest.raises(ValueError, match=r"in\.zarr is a group: name an array, .*in\.zarr/a"):
        segmented(tmp_path / "in.zarr", tmp_path / "other.zarr")


def test_long_offsets(tmp_path):
    truth = truth_of(SHAPE)
    offsets = [*UNITS, (0, -6, 0), (0, 3, -6)]
    path = store(tmp_path / "in.zarr", affinities_of(truth, offsets, 0.3), offsets)
    found = segmented(path, tmp_path / "out.zarr", long_range="repulsive", block_shape=None)
    assert found.blocks == 1
    assert adjusted_rand_index(truth, regions(found.path)) > 0.9


def test_blocks_of_one_chunk_each_are_joined_if_nobody_says(tmp_path, noisy):
    _, path = noisy
    found = segmented(path, tmp_path / "out.zarr", block_shape=None)
    assert found.blocks == 1  # all of it is less than 4 million voxels


KILLED = """
import os, signal, sys
from bdcc_jax.volumes import segment_volume

def told(state, seen=[0]):
    if state.stage.startswith(sys.argv[3]):
        seen[0] += 1
        if seen[0] == 3:
            os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    segment_volume(
        sys.argv[1], sys.argv[2], block_shape=(6, 24, 24), workers=1, spacing=2, callback=told
    )
"""


def test_kill_and_go_on(tmp_path, noisy):
    """Killed in the first stage and in the last; each time the next run goes on."""
    _, path = noisy
    expected = segmented(path, tmp_path / "expected.zarr")
    (tmp_path / "killed.py").write_text(KILLED)
    out, made = tmp_path / "out.zarr", {}
    for stage in ("supervoxels", "regions"):
        command = [sys.executable, "killed.py", str(path), str(out), stage]
        assert subprocess.run(command, cwd=tmp_path, check=False).returncode == -9
        assert not out.exists()
        work = tmp_path / "out.zarr.work"
        for each, moment in made.items():
            assert each.stat().st_mtime_ns == moment  # what was done is not done again
        notes = [*(work / "supervoxels").glob("0*.json"), *(work / "graph").glob("[bf]*.npz")]
        made = {each: each.stat().st_mtime_ns for each in notes}
        assert len(made) >= (6 if stage == "supervoxels" else 16)
    # Half a block, of which no note says that it is done.
    zarr.open_array(str(work / "segmentation.zarr"), mode="r+")[6:, 24:, 30:] = 7
    found = segmented(path, out)
    assert np.array_equal(regions(out), regions(tmp_path / "expected.zarr"))
    assert (found.objective, found.lower_bound) == (expected.objective, expected.lower_bound)
    assert not work.exists()


def test_a_solve_that_is_stopped_leaves_regions_and_can_go_on(tmp_path, noisy):
    truth, path = noisy
    out = tmp_path / "out.zarr"
    found = segmented(path, out, callback=lambda state: state.stage == "blocks", gap=0.0)
    assert found.status == "stopped"
    assert regions(out).min() > 0
    assert found.lower_bound <= found.objective
    assert (tmp_path / "out.zarr.work").exists()
    with pytest.raises(FileExistsError, match=r"out\.zarr exists; choose another name"):
        segmented(path, out)
    again = segmented(path, out, force=True)
    assert again.objective <= found.objective
    assert adjusted_rand_index(truth, regions(out)) > 0.9
    assert not (tmp_path / "out.zarr.work").exists()


def test_dask_gives_the_same(tmp_path, noisy):
    distributed = pytest.importorskip("distributed")
    _, path = noisy
    alone = segmented(path, tmp_path / "alone.zarr")
    with (
        distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = segmented(path, tmp_path / "out.zarr", client=client)
    assert np.array_equal(regions(found.path), regions(alone.path))
    assert (found.objective, found.lower_bound) == (alone.objective, alone.lower_bound)


def test_affinities_that_change_between_two_runs(tmp_path, noisy):
    _, path = noisy

    class Enough(Exception):
        pass

    def leave(state):
        if state.stage == "faces":
            raise Enough

    with pytest.raises(Enough):
        segmented(path, tmp_path / "out.zarr", callback=leave)
    zarr.open_array(str(path), mode="r+")[0, 11, 47, 47] = 0.5
    with pytest.raises(StoreChanged, match="has changed since block 7"):
        segmented(path, tmp_path / "out.zarr")


def test_affinities_and_supervoxels_that_change_under_the_run(tmp_path, noisy):
    _, path = noisy
    out = tmp_path / "out.zarr"

    def change(state):
        if (state.stage, state.done) == ("supervoxels", 8):
            zarr.open_array(str(path), mode="r+")[0, 11, 47, 47] = 0.5

    with pytest.raises(StoreChanged, match=r"in.zarr or its mask has changed since block 7"):
        segmented(path, out, callback=change)
    again = tmp_path / "again.zarr"

    def damage(state):
        if state.stage == "cost":
            place = tmp_path / "again.zarr.work" / "supervoxels.zarr"
            zarr.open_array(str(place), mode="r+")[0, 0, 0] = 10**6

    with pytest.raises(StoreChanged, match=r"supervoxels.zarr is damaged at block 0"):
        segmented(path, again, callback=damage)
    assert not out.exists()
    assert not again.exists()


def test_other_parameters_are_another_run(tmp_path, noisy):
    _, path = noisy
    segmented(path, tmp_path / "out.zarr", keep=True)
    (tmp_path / "out.zarr").rename(tmp_path / "elsewhere.zarr")
    with pytest.raises(FileExistsError, match=r"out\.zarr\.work is of another run"):
        segmented(path, tmp_path / "out.zarr", bias=0.6)
    other = segmented(path, tmp_path / "out.zarr", bias=0.6, force=True)
    assert other.path.exists()


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"offsets": UNITS[:2]}, ValueError, r"offsets must have one entry a channel \(3\)"),
        ({"offsets": [(0, 0, 2)] * 3}, ValueError, "need an offset of length 1"),
        ({"block_shape": (6, 24)}, ValueError, "block_shape must be three whole numbers above 0"),
        ({"block_shape": (6, 24, 0)}, ValueError, "block_shape must be three whole numbers"),
        ({"block_shape": (6, 20, 24)}, ValueError, "20 along axis 1 is not one of 12"),
        ({"smoothing": -1}, ValueError, "smoothing must be at least 0"),
        ({"spacing": 0}, ValueError, "spacing must be whole numbers"),
        ({"bias": 1.0}, ValueError, "bias must lie strictly between 0 and 1"),
        ({"long_range": "lifted"}, ValueError, "long_range='lifted' is not for blocks"),
        ({"long_range": "no"}, ValueError, "long_range must be 'signed' or 'repulsive'"),
        ({"memory": "1MB"}, MemoryError, "takes .* GB, and memory is 0.00 GB"),
        ({"memory": "much"}, ValueError, "memory must be an amount"),
        ({"workers": 0}, ValueError, "workers must be"),
        ({"callback": 3}, ValueError, "callback must be callable"),
        ({"gap": -1}, ValueError, "gap must be"),
        ({"passes": 0}, ValueError, "passes must be"),
    ],
)
def test_bad_arguments_before_any_work(tmp_path, noisy, change, kind, message):
    with pytest.raises(kind, match=message):
        segmented(noisy[1], tmp_path / "out.zarr", **change)
    assert not (tmp_path / "out.zarr").exists()
    assert not (tmp_path / "out.zarr.work").exists()


def test_offsets_longer_than_blocks(tmp_path):
    offsets = [*UNITS, (0, 0, -30)]
    path = store(tmp_path / "in.zarr", np.full((4, *SHAPE), 0.5), offsets, (4, *BLOCK))
    with pytest.raises(ValueError, match="24 along axis 2, where an offset is 30 long"):
        segmented(path, tmp_path / "out.zarr")


def test_bad_arrays(tmp_path, noisy):
    out = tmp_path / "out.zarr"
    flat = store(tmp_path / "flat.zarr", np.zeros((3, 4, 5)))
    with pytest.raises(
        ValueError, match=r"shape \(channels, depth, height, width\), not \(3, 4, 5"
    ):
        segmented(flat, out)
    whole = store(tmp_path / "whole.zarr", np.zeros((3, *SHAPE), np.int32), UNITS)
    with pytest.raises(ValueError, match=r"affinities must be uint8, .* not int32"):
        segmented(whole, out)
    silent = store(tmp_path / "silent.zarr", np.zeros((3, *SHAPE), np.uint8))
    with pytest.raises(ValueError, match="has no attribute 'offsets': give offsets"):
        segmented(silent, out)
    with pytest.raises(FileNotFoundError, match=r"missing\.zarr: there is no zarr array"):
        segmented(tmp_path / "missing.zarr", out)
    with pytest.raises(ValueError, match="mask must have the volume's shape"):
        segmented(noisy[1], out, mask=flat)
    empty = store(tmp_path / "empty.zarr", np.zeros(SHAPE, np.uint8))
    with pytest.raises(ValueError, match="mask leaves no voxel"):
        segmented(noisy[1], out, mask=empty)


def test_values_out_of_range_say_where(tmp_path):
    data = np.full((3, *SHAPE), 0.5, "float32")
    data[0, 11, 47, 47] = np.nan
    path = store(tmp_path / "in.zarr", data, UNITS, (3, *BLOCK))
    with pytest.raises(ValueError, match=r"affinities of .*in\.zarr, .* must be finite"):
        segmented(path, tmp_path / "out.zarr")


def test_nothing_of_the_users_is_overwritten(tmp_path, noisy):
    _, path = noisy
    with pytest.raises(ValueError, match="is named twice"):
        segmented(path, path, force=True)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError, match="exists and is no zarr array"):
        segmented(path, tmp_path / "file", force=True)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").touch()
    with pytest.raises(FileExistsError, match="exists and is no zarr array"):
        segmented(path, tmp_path / "folder", force=True)
    zarr.create_group(str(tmp_path / "group.zarr")).create_array("a", shape=3, dtype="u1")
    with pytest.raises(FileExistsError, match="is a zarr group"):
        segmented(path, tmp_path / "group.zarr", force=True)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        segmented(path, tmp_path / "nowhere" / "out.zarr")
    (tmp_path / "out.zarr.work").mkdir()
    (tmp_path / "out.zarr.work" / "mine").touch()
    with pytest.raises(FileExistsError, match="is no folder of a run: mine is in it"):
        segmented(path, tmp_path / "out.zarr", force=True)
    old = store(tmp_path / "old.zarr", np.arange(5))
    with pytest.raises(FileExistsError, match=r"old\.zarr exists; choose another name"):
        segmented(path, old)
    assert segmented(path, old, force=True).path == old
    assert regions(old).shape == SHAPE
    assert sorted(each.name for each in tmp_path.glob("*old.zarr*")) == ["old.zarr"]


def test_without_zarr(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ImportError, match=r'volumes need zarr: pip install "\.\[volume\]"'):
        segment_volume(tmp_path / "in.zarr", tmp_path / "out.zarr")


def test_command_line(tmp_path, noisy, capsys):
    truth, path = noisy
    out = tmp_path / "out.zarr"
    said = ["volume", str(path), str(out), "--block-shape", "6", "24", "24", "--spacing", "2"]
    assert cli.main([*said, "--workers", "1", "--json", "--offsets", json.dumps(UNITS)]) == 0
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert facts["blocks"] == 8
    assert "8/8  supervoxels" in printed.err
    assert adjusted_rand_index(truth, regions(out)) > 0.9
    with pytest.raises(SystemExit) as left:
        cli.main([*said, "--quiet"])
    assert left.value.code == 2
    assert "out.zarr exists" in capsys.readouterr().err
    assert cli.main([*said, "--force", "--workers", "1"]) == 0
    assert f"written       {out}" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main([*said, "--offsets", "up"])
    assert "expected JSON such as" in capsys.readouterr().err
    assert Path(out).is_dir()
