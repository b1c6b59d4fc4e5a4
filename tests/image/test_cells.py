"""Cells that touch, in pictures and volumes."""

import numpy as np
import pytest
from scipy import ndimage

from bdcc_jax import solve
from bdcc_jax.image import cell_graph, label_image, segment_cells
from bdcc_jax.image.cells import _dips
from benchmarks.cells import KINDS, agreement, plain_watershed, synthetic_cells


def discs(centres, radius=12.0, shape=(60, 90)):
    places = np.indices(shape)
    near = [sum((x - c) ** 2 for x, c in zip(places, at, strict=True)) for at in centres]
    return np.min(near, axis=0) < radius**2


@pytest.mark.parametrize("seed", range(3))
def test_touching_cells(seed):
    """Seeds and limits as in RESULTS.md: the watershed has 0.84, on average."""
    image, truth = synthetic_cells(seed)
    found = segment_cells(image)
    assert agreement(truth, found) > 0.89
    plain = max(agreement(truth, plain_watershed(image, between)) for between in (3, 5, 7))
    assert agreement(truth, found) > plain


def test_a_volume():
    image, truth = synthetic_cells(0, KINDS["in a volume"])
    found = segment_cells(image, time_limit=60)
    plain = max(agreement(truth, plain_watershed(image, between)) for between in (3, 5, 7))
    assert found.shape == (48, 64, 64)
    assert agreement(truth, found) > plain


def test_cells_are_numbered_without_gaps_and_only_in_the_mask():
    image, _ = synthetic_cells(3)
    mask = image > 0.45
    mask[:, :100] = False
    found = segment_cells(image, mask=mask)
    assert ((found > 0) == mask).all()
    assert np.array_equal(np.unique(found), np.arange(found.max() + 1))


def test_the_unit_of_the_image_and_the_size_of_the_picture_do_not_matter():
    image, truth = synthetic_cells(0)
    assert np.array_equal(segment_cells(1000.0 * image - 7), segment_cells(image))
    larger = segment_cells(ndimage.zoom(image, 2, order=1))
    assert agreement(ndimage.zoom(truth, 2, order=0), larger) > 0.85


def test_two_discs_one_disc_and_two_far_apart():
    touching = discs([(30, 30), (30, 52)])
    assert segment_cells(touching.astype(float)).max() == 2
    assert segment_cells(discs([(30, 45)]).astype(float)).max() == 1
    apart = discs([(30, 20), (30, 70)])
    cells = segment_cells(apart.astype(np.uint16))
    assert np.mean((cells > 0) != apart) < 0.01
    assert len({cells[30, 20], cells[30, 70]}) == 2


def test_a_cell_at_the_border_and_a_mask_of_everything():
    half = discs([(0, 45)])
    assert segment_cells(half.astype(float)).max() == 1
    everything = np.ones((20, 20), bool)
    assert segment_cells(np.zeros((20, 20)), mask=everything).min() == 1


def test_bias_and_radius():
    image, _ = synthetic_cells(1)
    few, many = (segment_cells(image, bias=bias).max() for bias in (0.1, 0.9))
    assert few < many
    assert segment_cells(image, radius=60.0).max() < segment_cells(image).max()


def test_the_graph_is_what_is_solved():
    image, truth = synthetic_cells(2)
    graph, superpixels = cell_graph(image)
    result = solve(graph)
    assert result.status == "optimal"
    assert agreement(truth, label_image(result.labels, superpixels)) > 0.87


def test_depth_does_not_dip_in_a_convex_set():
    inside = np.pad(np.ones((20, 30), bool), 5)
    depth = ndimage.distance_transform_edt(inside)
    ends = np.random.default_rng(0).uniform((6, 6), (23, 33), (2, 500, 2))
    assert _dips(depth, *ends).max() < 0.5  # but for the pixels
    neck = ndimage.distance_transform_edt(discs([(30, 30), (30, 52)]))
    assert _dips(neck, np.array([[30.0, 30.0]]), np.array([[30.0, 52.0]])) > 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": np.zeros((9, 9))}, "nothing that is brighter than the rest: give a mask"),
        ({"image": np.zeros((9, 9, 3))}, r"has colours: give the channel .* image\[\.\.\., 0\]"),
        ({"image": np.zeros(9)}, r"must have shape \(height, width\) or .* not \(9,\)"),
        ({"image": np.full((9, 9), np.nan)}, "image must be finite"),
        ({"bias": 1.0}, "bias must lie strictly between 0 and 1, not 1.0"),
        ({"radius": 0}, "radius must be a positive number, not 0"),
        ({"mask": np.zeros((2, 2), bool)}, r"mask must be truth values of shape \(60, 90\)"),
    ],
)
def test_errors(arguments, message):
    image = discs([(30, 30)]).astype(float)
    with pytest.raises(ValueError, match=message):
        segment_cells(**({"image": image} | arguments))
