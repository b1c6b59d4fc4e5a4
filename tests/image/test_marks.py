"""Seeds and masks: what was marked holds in every segmentation."""

import numpy as np
import pytest

from bdcc_jax.image import segment, superpixel_graph

PICTURE = np.clip(np.random.default_rng(2).normal(0.5, 0.2, (60, 80, 3)), 0.0, 1.0)


@pytest.mark.parametrize("method", ["slic", "watershed"])
def test_seeds(method):
    rng = np.random.default_rng(4)
    for _ in range(3):
        seeds = np.where(rng.random((60, 80)) < 0.01, rng.integers(1, 5, (60, 80)), 0)
        regions = segment(PICTURE, 100, method=method, seeds=seeds)
        of = [np.unique(regions[seeds == number]) for number in range(1, 5)]
        assert [len(found) for found in of] == [1, 1, 1, 1]
        assert len(np.unique(np.concatenate(of))) == 4


def test_seeds_next_to_each_other():
    seeds = np.zeros((60, 80), dtype=int)
    seeds[5, 5], seeds[5, 6], seeds[50, 70] = 1, 2, 1
    regions = segment(PICTURE, 20, seeds=seeds)
    assert regions[5, 5] == regions[50, 70] != regions[5, 6]


def test_without_seeds_nothing_changes():
    graph, nodes = superpixel_graph(PICTURE, 50)
    same, again = superpixel_graph(PICTURE, 50, seeds=np.zeros((60, 80), dtype=int))
    assert np.array_equal(nodes, again)
    assert np.array_equal(graph.weights, same.weights)
    assert not same.constraints


def test_mask():
    mask = np.ones((60, 80), dtype=bool)
    mask[:, :30] = False
    seeds = np.zeros((60, 80), dtype=int)
    seeds[10, 10], seeds[10, 40] = 1, 2  # the first one is outside
    regions = segment(PICTURE, 50, mask=mask, seeds=seeds)
    assert np.array_equal(regions > 0, mask)


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (
            {"seeds": np.zeros((3, 3), dtype=int)},
            r"seeds must be whole numbers of shape \(60, 80\)",
        ),
        ({"seeds": np.zeros((60, 80))}, "seeds must be whole numbers"),
        ({"seeds": np.full((60, 80), -1)}, "seeds must be at least 0"),
        ({"mask": np.ones((60, 80))}, "mask must be truth values"),
        ({"mask": np.zeros((60, 80), dtype=bool)}, "mask must be True somewhere"),
    ],
)
def test_what_is_refused(marks, message):
    with pytest.raises(ValueError, match=message):
        segment(PICTURE, 20, **marks)
