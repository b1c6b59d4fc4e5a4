"""Supervoxels and graphs block by block are those of the volume as a whole."""

from functools import partial

import numpy as np
import pytest
import zarr
from volumes_cases import UNITS, affinities_of, store, truth_of

from bdcc_jax import Graph
from bdcc_jax.image import graph_from_affinities
from bdcc_jax.image.evidence import Weighting
from bdcc_jax.image.supervoxels import Basins, units
from bdcc_jax.large import BlockWriter, StoreChanged
from bdcc_jax.volumes.arrays import affinities_at, create, mask_at
from bdcc_jax.volumes.block_graphs import EdgeRule
from bdcc_jax.volumes.blocks import Plan, make_block, make_faces, paint_block
from bdcc_jax.volumes.grid import Grid
from bdcc_jax.volumes.stages import Stages

DIAGONAL = [*UNITS, (0, -4, 3), (2, 0, 5), (-1, -3, -2), (0, 0, 9)]


def planned(folder, data, offsets=UNITS, mask=None, repulsive=False, block_shape=(6, 24, 24)):
    chunks = (len(offsets), *block_shape)
    path = store(folder / "affinities.zarr", data, offsets, chunks)
    affinities = affinities_at(path)
    if mask is not None:
        mask = store(folder / "mask.zarr", mask)
    (folder / "work").mkdir()
    plan = Plan(
        affinities=affinities,
        mask=mask_at(mask, affinities.shape),
        grid=Grid(affinities.shape, block_shape),
        basins=Basins(units(affinities.offsets), (1.0, 1.0, 1.0), (2, 2, 2)),
        rule=EdgeRule(affinities.offsets, Weighting(0.5, None, 0.5), repulsive),
        folder=folder / "work",
    )
    create(plan.supervoxels, affinities, "uint32")
    create(plan.segmentation, affinities, "uint64")
    return plan


def finished(plan):
    for block in range(plan.grid.blocks):
        make_block(plan, block)
    for block in range(plan.grid.blocks):
        make_faces(plan, block)
    return BlockWriter(plan.graph).finish(plan.grid.blocks)


def whole(blocks):
    """The graph of a block store."""
    parts = []
    for block in range(blocks.n_blocks):
        inside = blocks.block(block)
        parts.append((*(inside.edges.T + blocks.starts[block]), inside.weights))
    for a, b in blocks.faces:
        face = blocks.face(a, b)
        parts.append((face.u + blocks.starts[a], face.v + blocks.starts[b], face.w))
    u, v, w = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Graph.from_edges(u, v, w, blocks.n)


def numbered(plan, starts):
    """The supervoxels of the whole volume, from 0 on, and -1 for none."""
    found = zarr.open_array(str(plan.supervoxels))[:].astype(int)
    for block in range(plan.grid.blocks):
        core = plan.grid.core(block)
        found[core] = np.where(found[core] > 0, found[core] - 1 + starts[block], -1)
    return found


@pytest.mark.parametrize("offsets", [UNITS, DIAGONAL])
@pytest.mark.parametrize("repulsive", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_graph_is_the_one_of_the_whole_volume(tmp_path, offsets, repulsive, masked):
    truth = truth_of((12, 48, 50))
    data = (255 * affinities_of(truth, offsets, 0.2)).astype(np.uint8)
    mask = truth % 5 > 0 if masked else None
    plan = planned(tmp_path, data, offsets, mask, repulsive)
    assert plan.grid.blocks == 12
    blocks = finished(plan)
    nodes = numbered(plan, blocks.starts)
    assert np.array_equal(nodes >= 0, np.ones(truth.shape, bool) if mask is None else mask)
    expected, same = graph_from_affinities(
        data,
        offsets,
        labels=nodes,
        mask=mask,
        long_range="repulsive" if repulsive else "signed",
    )
    assert np.array_equal(same, nodes)
    found = whole(blocks)
    assert found.n == expected.n
    assert np.array_equal(found.edges, expected.edges)
    assert np.array_equal(found.weights, expected.weights)  # to the bit


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats(tmp_path, dtype):
    truth = truth_of((6, 24, 48))
    data = affinities_of(truth, noise=0.2).astype(dtype)
    plan = planned(tmp_path, data)
    blocks = finished(plan)
    expected, _ = graph_from_affinities(data, UNITS, labels=numbered(plan, blocks.starts))
    assert np.array_equal(whole(blocks).weights, expected.weights)


def test_basins_are_alike_on_both_sides_of_a_face(tmp_path):
    """What the halo is for: nearly the basins of the whole volume, whatever the blocks."""
    data = np.random.default_rng(0).random((3, 12, 48, 48)).astype("float32")
    plan = planned(tmp_path, data)
    expected = plan.basins.grow(data, None)

    def agreement(halo):
        """How often neighbours are in one basin, or in two, in a block as in the volume."""
        same = []
        for block in range(plan.grid.blocks):
            around, core = plan.grid.around(block, halo), plan.grid.core(block)
            here = plan.basins.grow(plan.affinities.read(around), None)
            whole = np.zeros(data.shape[1:], int)
            whole[around] = here
            for axis in range(3):
                joined = [np.diff(each[core], axis=axis) == 0 for each in (whole, expected)]
                same.append((joined[0] == joined[1]).mean())
        return np.mean(same)

    assert agreement(plan.basins.reach) > 0.99 > agreement((0, 0, 0))


def test_processes_make_the_same_graph(tmp_path):
    data = affinities_of(truth_of(), noise=0.2).astype("float32")
    plan = planned(tmp_path, data)
    expected = finished(planned_again(plan, tmp_path / "other"))
    stages = Stages(plan, None, 2, None, progress=False, callback=None)
    with stages.opened():
        stages.run("supervoxels", partial(make_block, plan))
        stages.run("faces", partial(make_faces, plan))
    assert BlockWriter(plan.graph).finish(8).digest == expected.digest


def test_painting(tmp_path):
    truth = truth_of((6, 24, 48))
    plan = planned(tmp_path, affinities_of(truth), mask=truth != 3)
    blocks = finished(plan)

    def painted(more):
        for block in range(2):
            paint_block(plan, lambda b: np.arange(*blocks.starts[b : b + 2]) + more, block)
        return zarr.open_array(str(plan.segmentation))[:]

    expected = numbered(plan, blocks.starts) + 1
    assert painted(0).dtype == np.uint64
    assert np.array_equal(painted(0), expected)
    assert np.array_equal(painted(7), np.where(expected > 0, expected + 7, 0))  # other clusters
    assert ((painted(0) == 0) == (truth == 3)).all()
    # What is noted as painted with the same clusters is not painted again.
    zarr.open_array(str(plan.segmentation), mode="r+")[0, 0, 0] = 12345
    assert painted(0)[0, 0, 0] == 12345


def test_what_is_done_is_not_done_again_but_checked(tmp_path):
    data = affinities_of(truth_of((6, 24, 48)), noise=0.2).astype("float32")
    plan = planned(tmp_path, data)
    count = make_block(plan, 0)
    before = plan.note(plan.supervoxels, 0).stat().st_mtime_ns
    assert make_block(plan, 0) == count
    assert plan.note(plan.supervoxels, 0).stat().st_mtime_ns == before
    zarr.open_array(str(plan.supervoxels), mode="r+")[0, 0, 0] = 9999
    with pytest.raises(StoreChanged, match="is damaged at block 0"):
        make_block(plan, 0)
    zarr.open_array(plan.affinities.path, mode="r+")[0, 0, 0, 0] = 0.123
    with pytest.raises(StoreChanged, match="has changed since block 0"):
        make_block(plan, 0)


def test_a_block_that_was_cut_short_is_made_anew(tmp_path):
    """Voxels and edges without the note that comes last: as after a kill."""
    plan = planned(tmp_path, affinities_of(truth_of((6, 24, 48)), noise=0.2).astype("float32"))
    expected = finished(planned_again(plan, tmp_path / "other"))
    make_block(plan, 0)
    plan.note(plan.supervoxels, 0).unlink()
    zarr.open_array(str(plan.supervoxels), mode="r+")[:3] = 77
    assert finished(plan).digest == expected.digest


def planned_again(plan, folder):
    folder.mkdir()
    return planned(folder, zarr.open_array(plan.affinities.path)[:])


def test_values_out_of_range(tmp_path):
    data = np.full((3, 6, 24, 48), 0.5, np.float32)
    data[1, 2, 3, 30] = 1.5
    plan = planned(tmp_path, data)
    with pytest.raises(ValueError, match=r"must lie between 0 and 1: the entry at .* is 1.5"):
        make_block(plan, 1)


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (UNITS, [(0, 0, 1), (0, 1, 0), (1, 0, 0)]),
        ([(0, -4, 3)], [(0, 0, 1), (0, 1, -1), (0, 1, 0)]),
    ],
)
def test_directions(offsets, expected):
    assert Grid._directions(offsets) == expected
    grid = Grid((4, 10, 10), (2, 5, 5))
    around = dict(grid.later_neighbours(0, offsets))
    assert all(other > 0 for other in around)
    assert set(around.values()) <= set(expected)
