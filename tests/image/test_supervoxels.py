"""Supervoxels from affinities, and the flooding that makes them."""

import heapq

import numpy as np
import pytest
from scipy import ndimage

from bdcc_jax.image import graph_from_affinities, supervoxels
from bdcc_jax.image.flooding import connected_pieces, flood

UNITS = [(-1, 0, 0), (0, -1, 0), (0, 0, -1)]


def rooms(shape=(8, 20, 24)):
    """Eight rooms, and affinities that are 0 at their walls and 1 elsewhere."""
    z, y, x = np.indices(shape)
    truth = 1 + (z >= 4) + 2 * (y >= 9) + 4 * (x >= 14 - (y >= 9))
    return truth, np.array([truth == np.roll(truth, 1, axis) for axis in range(3)]).astype(float)


def purity(found, truth):
    return all(len(np.unique(truth[found == number])) == 1 for number in np.unique(found))


def test_no_supervoxel_crosses_a_wall():
    truth, affinities = rooms()
    found = supervoxels(affinities, UNITS)
    assert purity(found, truth)
    assert found.min() == 1
    assert found.max() == len(np.unique(found)) < 40


def test_walls_that_are_noisy():
    truth, affinities = rooms((12, 30, 40))
    noisy = 0.1 + 0.8 * affinities + np.random.default_rng(0).uniform(-0.1, 0.1, affinities.shape)
    assert purity(supervoxels(noisy, UNITS), truth)


def test_the_sign_of_an_offset_says_only_where_the_value_lies():
    _, affinities = rooms()
    noisy = np.clip(affinities + np.random.default_rng(1).normal(0, 0.2, affinities.shape), 0, 1)
    ahead = np.array([np.roll(noisy[axis], -1, axis) for axis in range(3)])
    forward = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    assert np.array_equal(supervoxels(noisy, UNITS), supervoxels(ahead, forward))
    both = supervoxels(np.concatenate([noisy, ahead]), UNITS + forward)
    assert np.array_equal(supervoxels(noisy, UNITS), both)


def test_bytes_are_the_same_as_floats():
    data = np.random.default_rng(2).integers(0, 256, (3, 6, 16, 16), dtype=np.uint8)
    assert np.array_equal(supervoxels(data, UNITS), supervoxels(data / 255, UNITS))


def test_spacing_and_smoothing_make_supervoxels_larger():
    noise = np.random.default_rng(3).random((3, 10, 30, 30))
    counts = [
        supervoxels(noise, UNITS, smoothing=smoothing, spacing=spacing).max()
        for smoothing, spacing in ((0.5, 1), (0.5, 3), (2.0, 5), ([2, 3.0, 3], [5, 9, 9]))
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 5 * counts[-1]


def test_a_picture_and_a_graph_of_it():
    truth = np.repeat([[1, 1, 2, 2, 3, 3]], 4, axis=0)
    affinities = np.array([truth == np.roll(truth, 1, axis) for axis in range(2)]) * 0.8 + 0.1
    found = supervoxels(affinities, [(-1, 0), (0, -1)], smoothing=0, spacing=1)
    assert purity(found, truth)
    graph, _ = graph_from_affinities(affinities, [(-1, 0), (0, -1)], labels=found)
    assert graph.n == found.max()


def test_masks():
    truth, affinities = rooms()
    mask = np.random.default_rng(4).random(truth.shape) < 0.4  # many small pieces
    found = supervoxels(affinities, UNITS, mask=mask)
    assert np.array_equal(found > 0, mask)
    assert all(ndimage.label(found == number)[1] == 1 for number in range(1, found.max() + 1))


def test_long_offsets_say_nothing():
    _, affinities = rooms()
    more = np.concatenate([affinities, np.zeros_like(affinities[:1])])
    same = supervoxels(more, [*UNITS, (0, 0, -5)])
    assert np.array_equal(same, supervoxels(affinities, UNITS))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"affinities": np.zeros((2, 3))}, r"affinities must have shape \(channels, height"),
        ({"affinities": np.full((3, 2, 2, 2), 1.5)}, "affinities must lie between 0 and 1"),
        ({"offsets": UNITS[:2]}, r"offsets must have one entry a channel \(3\), not 2"),
        ({"offsets": [(0, 0, -2), (0, -2, 0), (-2, 0, 0)]}, "need an offset of length 1"),
        ({"smoothing": -1}, "smoothing must be at least 0 and finite, not -1"),
        ({"smoothing": [1, 2]}, r"smoothing must be a number, or 3, one an axis, not \[1, 2\]"),
        ({"spacing": 1.5}, "spacing must be whole numbers, not all of them 0, not 1.5"),
        ({"spacing": 0}, "spacing must be whole numbers, not all of them 0, not 0"),
        ({"mask": np.ones((2, 2), bool)}, "mask must be truth values of shape"),
    ],
)
def test_errors(change, message):
    given = {"affinities": np.zeros((3, 4, 4, 4)), "offsets": UNITS, **change}
    with pytest.raises(ValueError, match=message):
        supervoxels(given.pop("affinities"), given.pop("offsets"), **given)


def lowest_paths(sources, ground, walls):
    """From every source on its own: the highest step of the lowest path to every voxel."""
    found = []
    for source in range(1, sources.max() + 1):
        height = np.full(sources.shape, np.inf)
        heap = [(0, tuple(at)) for at in np.argwhere(sources == source).tolist()]
        while heap:
            level, at = heapq.heappop(heap)
            if height[at] < np.inf:
                continue
            height[at] = level
            for axis in range(3):
                for sign in (-1, 1):
                    to = list(at)
                    to[axis] += sign
                    to = tuple(to)
                    if sources[to] >= 0:
                        wall = int(walls[(axis, *(at if sign > 0 else to))])
                        heapq.heappush(heap, (max(level, int(ground[to]) + wall), to))
        found.append(height)
    return np.array(found)


@pytest.mark.parametrize("seed", range(5))
def test_flooding_takes_the_lowest_paths(seed):
    rng = np.random.default_rng(seed)
    shape = (6, 7, 8)
    sources = np.full(shape, -1, np.int32)
    sources[1:-1, 1:-1, 1:-1] = np.where(rng.random((4, 5, 6)) < 0.1, -1, 0)
    free = np.argwhere(sources == 0)
    for number, at in enumerate(rng.choice(free, 4, replace=False), start=1):
        sources[tuple(at)] = number
    ground = rng.integers(0, 700, shape).astype(np.int16)
    walls = rng.integers(0, 256, (3, *shape)).astype(np.uint8)
    heights = lowest_paths(sources, ground, walls)
    basins = sources.copy()
    flood(basins, ground, walls)
    reached = np.isfinite(heights).any(axis=0)
    assert np.array_equal(basins > 0, reached)
    mine = np.take_along_axis(heights, np.maximum(basins - 1, 0)[None], axis=0)[0]
    assert np.array_equal(mine[reached], heights.min(axis=0)[reached])
    assert all(ndimage.label(basins == number)[1] == 1 for number in range(1, 5))


def test_fronts_meet_in_the_middle_of_what_is_flat():
    basins = np.full((3, 3, 11), -1, np.int32)
    basins[1, 1, 1:-1] = [1, 0, 0, 0, 0, 0, 0, 0, 2]
    flood(basins, np.zeros(basins.shape, np.int16), np.zeros((3, *basins.shape), np.uint8))
    assert basins[1, 1, 1:-1].tolist() == [1, 1, 1, 1, 1, 2, 2, 2, 2]


def test_pieces():
    labels = np.random.default_rng(5).integers(0, 3, (5, 6, 7)).astype(np.int32)
    expected = sum(ndimage.label(labels == number)[1] for number in (1, 2))
    pieces = labels.copy()
    assert connected_pieces(pieces) == expected == pieces.max()
    assert np.array_equal(pieces > 0, labels > 0)
    for number in range(1, expected + 1):
        where = pieces == number
        assert len(np.unique(labels[where])) == 1
        assert ndimage.label(where)[1] == 1
