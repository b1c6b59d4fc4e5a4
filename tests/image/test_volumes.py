"""Volumes, and pictures that are files."""

import numpy as np
import pytest
import skimage.io

from bdcc_jax.image import segment, segment_cells, superpixel_graph
from bdcc_jax.image.superpixels import _sources


def blocks(shape=(12, 24, 30)):
    """Dark on the left, bright on the right, and noise."""
    volume = np.full(shape, 0.2)
    volume[..., 15:] = 0.8
    return np.clip(volume + np.random.default_rng(0).normal(0, 0.02, shape), 0, 1)


@pytest.mark.parametrize("method", ["slic", "watershed"])
def test_a_volume(method):
    volume = blocks()
    graph, nodes = superpixel_graph(volume, 60, method=method, attractive=0.8)
    assert nodes.shape == volume.shape
    assert sorted(np.unique(nodes)) == list(range(graph.n))
    regions = segment(volume, method=method)
    left, right = set(regions[..., :13].flat), set(regions[..., 17:].flat)
    assert not left & right


def test_seeds_and_mask_in_a_volume():
    volume, seeds = blocks(), np.zeros((12, 24, 30), int)
    seeds[2, 3, 3], seeds[9, 20, 3] = 1, 2
    mask = np.ones(volume.shape, bool)
    mask[:, :, 25:] = False
    regions = segment(volume, seeds=seeds, mask=mask)
    assert regions[2, 3, 3] != regions[9, 20, 3]
    assert np.array_equal(regions > 0, mask)


def test_colours_of_a_volume():
    coloured = np.stack([blocks()] * 3, axis=-1)
    assert segment(coloured, 50).shape == (12, 24, 30)


class AskedError(Exception):
    """Ends a segmentation once it has asked for superpixels."""


def test_superpixels_grow_in_number_with_the_picture(monkeypatch):
    """A thousand up to 240,000 pixels, and more in larger ones."""

    def ask(_, number, **__):
        raise AskedError(number)

    monkeypatch.setattr("bdcc_jax.image.superpixels.superpixel_graph", ask)
    for shape, number in (((50, 50), 156), ((400, 600), 1000), ((30, 300, 300), 11250)):
        with pytest.raises(AskedError, match=f"^{number}$"):
            segment(np.zeros(shape))


@pytest.mark.parametrize("number", [1, 7, 60, 500])
@pytest.mark.parametrize("shape", [(30, 40), (9, 12, 15)])
def test_sources_are_spread(shape, number):
    sources = _sources(np.random.default_rng(0).random(shape), number)
    there = np.count_nonzero(sources)
    assert 0.7 * number <= there <= 1.4 * number
    assert there == sources.max() or there == len(np.unique(sources)) - 1


def test_files(tmp_path):
    volume = (blocks() * 65535).astype(np.uint16)
    skimage.io.imsave(tmp_path / "volume.tif", volume, check_contrast=False)
    assert np.array_equal(segment(tmp_path / "volume.tif"), segment(volume))
    assert np.array_equal(segment(str(tmp_path / "volume.tif")), segment(volume))
    page = volume[0]
    skimage.io.imsave(tmp_path / "page.png", page, check_contrast=False)
    assert np.array_equal(segment_cells(tmp_path / "page.png"), segment_cells(page))
    with pytest.raises(FileNotFoundError, match=r"missing\.tif: there is no such file"):
        segment(tmp_path / "missing.tif")
    (tmp_path / "broken.tif").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"broken\.tif cannot be read as a picture or volume"):
        segment_cells(tmp_path / "broken.tif")
