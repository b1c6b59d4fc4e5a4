import sys
from pathlib import Path

import numpy as np
import pytest
import skimage
import skimage.graph

import bdcc_jax
from bdcc_jax.image import (
    MAX_LOG_ODDS,
    PICTURES,
    example_picture,
    png,
    segment,
    segmentation_picture,
    superpixel_graph,
)


def two_halves(noise=0.02):
    image = np.full((60, 80, 3), 0.2)
    image[:, 40:] = 0.8
    return np.clip(image + np.random.default_rng(0).normal(0, noise, image.shape), 0, 1)


def brute_force_boundaries(superpixels):
    counts = {}
    height, width = superpixels.shape
    for y in range(height):
        for x in range(width):
            for neighbour in ((y + 1, x), (y, x + 1)):
                if neighbour[0] < height and neighbour[1] < width:
                    pair = tuple(sorted((int(superpixels[y, x]), int(superpixels[neighbour]))))
                    if pair[0] != pair[1]:
                        counts[pair] = counts.get(pair, 0) + 1
    return counts


def test_edges_join_exactly_the_superpixels_that_touch():
    graph, superpixels = superpixel_graph(two_halves(), 40)
    assert superpixels.shape == (60, 80)
    assert sorted(np.unique(superpixels)) == list(range(graph.n))
    lengths = brute_force_boundaries(superpixels)
    assert set(map(tuple, graph.edges.tolist())) == set(lengths)
    limits = [MAX_LOG_ODDS * np.sqrt(lengths[tuple(edge)]) for edge in graph.edges.tolist()]
    assert (np.abs(graph.weights) <= np.array(limits) + 1e-12).all()


def test_strong_boundaries_repel_and_weak_ones_attract():
    graph, superpixels = superpixel_graph(two_halves(), 40, attractive=0.8)
    column = np.array([np.mean(np.nonzero(superpixels == i)[1]) for i in range(graph.n)])
    u, v = graph.edges.T
    across = (column[u] < 40) != (column[v] < 40)
    assert across.any()
    assert (graph.weights[across] < 0).all()
    assert np.median(graph.weights[~across]) > 0


def test_finds_the_two_halves():
    graph, superpixels = superpixel_graph(two_halves(noise=0), 40, attractive=0.8)
    result = bdcc_jax.solve(graph)
    segmentation = result.labels[superpixels]
    left, right = set(segmentation[:, :38].flat), set(segmentation[:, 42:].flat)
    assert result.status == "optimal"
    assert not left & right


def test_attractive_is_the_share_of_attractive_edges():
    image = example_picture("coffee")[::4, ::4]
    for share in (0.3, 0.9):
        graph, _ = superpixel_graph(image, 150, attractive=share)
        assert graph.positive.mean() == pytest.approx(share, abs=0.02)


def test_grey_integers_and_floats_agree():
    grey = (255 * two_halves()[..., 0]).astype(np.uint8)
    as_integers, _ = superpixel_graph(grey, 30)
    as_floats, _ = superpixel_graph(np.stack([grey / 255] * 3, axis=-1), 30)
    np.testing.assert_array_equal(as_integers.edges, as_floats.edges)
    np.testing.assert_allclose(as_integers.weights, as_floats.weights)


def test_picture_without_contrast_is_one_region():
    graph, superpixels = superpixel_graph(np.full((30, 30), 0.5), 9)
    assert graph.n == superpixels.max() + 1 == 9
    assert graph.positive.all()
    assert (segment(np.full((30, 30), 0.5)) == 1).all()


def test_one_superpixel():
    graph, superpixels = superpixel_graph(two_halves(), 1)
    assert (graph.n, graph.m, superpixels.max()) == (1, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": np.zeros((4, 4, 2))}, r"image must have shape .* not \(4, 4, 2\)"),
        ({"image": np.zeros(4)}, r"image must have shape .* not \(4,\)"),
        ({"image": np.zeros((0, 4))}, r"image must have shape .* not \(0, 4\)"),
        ({"image": np.zeros((4, 4), int)}, "unsigned integers or floats, not int64"),
        (
            {"image": np.full((4, 4), 1.5)},
            r"must lie between 0 and 1: the entry at \(0, 0, 0\) is 1\.5",
        ),
        ({"image": np.full((4, 4), np.nan)}, "image must be finite"),
        ({"n_segments": 0}, "n_segments must be from 1 to 4800 pixels, not 0"),
        ({"n_segments": 4801}, "n_segments must be from 1 to 4800 pixels, not 4801"),
        ({"n_segments": 2.5}, r"n_segments must be an integer, not 2\.5"),
        ({"compactness": 0}, "compactness must be a positive number, not 0"),
        ({"attractive": 1.1}, r"attractive must lie between 0 and 1, not 1\.1"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        superpixel_graph(**({"image": two_halves()} | arguments))


def test_segmentation_picture():
    image = two_halves(noise=0)
    segmentation = (np.arange(80) >= 40)[None, :].repeat(60, axis=0).astype(int)
    picture = segmentation_picture(image, segmentation)
    assert picture.shape == (60, 160, 3)
    assert picture.dtype == np.uint8
    mean_colours = picture[:, 80:]
    assert (mean_colours[:, :40] == 51).all()
    assert (mean_colours[:, 40:] == 204).all()
    changed = (picture[:, :80] != np.rint(255 * image)).any(axis=(0, 2))
    assert changed[38:42].any()
    assert not changed[:38].any()
    assert not changed[42:].any()
    with pytest.raises(ValueError, match=r"segmentation must have shape \(60, 80\), not \(3, 3\)"):
        segmentation_picture(image, np.zeros((3, 3), int))


def test_png(tmp_path):
    picture = segmentation_picture(two_halves(), np.zeros((60, 80), int))
    (tmp_path / "a.png").write_bytes(png(picture))
    np.testing.assert_array_equal(skimage.io.imread(tmp_path / "a.png")[..., :3], picture)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_come_with_scikit_image(name):
    shipped = {path.stem for path in (Path(skimage.__file__).parent / "data").iterdir()}
    assert name in shipped
    assert example_picture(name).dtype == np.uint8


def test_unknown_picture():
    with pytest.raises(ValueError, match=r"picture must be one of astronaut, .* not 'mona_lisa'"):
        example_picture("mona_lisa")


def test_without_scikit_image(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    for call in (lambda: superpixel_graph(two_halves()), example_picture):
        with pytest.raises(ImportError, match=r'pip install "\.\[image\]"'):
            call()


# any kind of picture


def test_segment_in_one_line():
    regions = segment(two_halves())
    assert regions.shape == (60, 80)
    assert regions.min() == 1
    assert not set(regions[:, :38].flat) & set(regions[:, 42:].flat)
    clean = segment(two_halves(noise=0), method="slic", attractive=0.8, time_limit=1e6)
    assert (clean[:, :38] == 1).all()
    with pytest.raises(ValueError, match="time_limit must be at least 0"):
        segment(two_halves(), time_limit=-1)


def test_watershed_ends_at_the_edge_and_has_about_as_many_superpixels():
    picture = np.zeros((50, 70))
    picture[:, 33:] = 1
    graph, superpixels = superpixel_graph(picture, 30, method="watershed")
    assert 20 <= graph.n <= 40
    assert not set(superpixels[:, :33].flat) & set(superpixels[:, 33:].flat)
    assert (graph.n, superpixels.max()) == (len(np.unique(superpixels)), graph.n - 1)


@pytest.mark.parametrize("method", ["slic", "watershed"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (1, 40), (40, 1), (5, 4, 4), (9, 9, 1)])
def test_tiny_pictures(shape, method):
    regions = segment(np.random.default_rng(0).random(shape), method=method)
    assert regions.shape == shape[:2]
    graph, _ = superpixel_graph(np.ones(shape), shape[0] * shape[1], method=method)
    assert graph.positive.all()


def test_what_is_transparent_lies_on_white():
    picture = two_halves()
    opacity = np.ones((60, 80, 1))
    opacity[:30] = 0.4
    on_white = opacity * picture + (1 - opacity)
    one, _ = superpixel_graph(np.dstack([picture, opacity]), 30)
    other, _ = superpixel_graph(on_white, 30)
    np.testing.assert_array_equal(one.weights, other.weights)
    bits = picture[..., 0] > 0.5
    np.testing.assert_array_equal(segment(bits), segment(bits.astype(float)))
