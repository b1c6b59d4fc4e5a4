import numpy as np
import pytest
import skimage.metrics
import sklearn.metrics

from bdcc_jax import metrics

RANDOM = np.random.default_rng(0)
PAIRS = [
    (RANDOM.integers(0, 6, 500), RANDOM.integers(0, 9, 500)),
    (np.repeat(np.arange(20), 10), np.repeat(np.arange(40), 5)),
    (np.arange(30), np.zeros(30, int)),
    (np.arange(30), np.arange(30)[::-1] * 7 - 3),
    (np.zeros(4, int), np.zeros(4, int)),
    (np.array([3]), np.array([9])),
    (RANDOM.integers(0, 4, (6, 7, 8)), RANDOM.integers(-3, 3, (6, 7, 8))),
]


@pytest.mark.parametrize(("truth", "labels"), PAIRS)
def test_same_as_scikit_learn_and_scikit_image(truth, labels):
    flat = truth.ravel(), labels.ravel()
    table = metrics.contingency_table(truth, labels)
    expected = sklearn.metrics.cluster.contingency_matrix(*flat)
    np.testing.assert_array_equal(table.toarray(), expected)
    assert metrics.rand_index(truth, labels) == pytest.approx(sklearn.metrics.rand_score(*flat))
    adjusted = sklearn.metrics.adjusted_rand_score(*flat)
    assert metrics.adjusted_rand_index(truth, labels) == pytest.approx(adjusted, abs=1e-12)
    # scikit-image gives H(second | first) and H(first | second), and wants labels >= 0.
    parts = skimage.metrics.variation_of_information(truth - truth.min(), labels - labels.min())
    assert metrics.split_and_merge(truth, labels) == pytest.approx(tuple(parts), abs=1e-12)
    total = metrics.variation_of_information(truth, labels)
    assert total == pytest.approx(parts.sum(), abs=1e-12)


def test_split_is_what_is_torn_apart():
    truth, torn = np.zeros(8, int), np.arange(8) // 2
    assert metrics.split_and_merge(truth, torn) == (2.0, 0.0)
    assert metrics.split_and_merge(torn, truth) == (0.0, 2.0)


def test_ignored_pixels_do_not_count():
    truth = np.array([[0, 1, 1], [2, 2, 0]])
    labels = np.array([[9, 4, 4], [5, 5, 4]])
    for metric in (metrics.rand_index, metrics.adjusted_rand_index):
        assert metric(truth, labels) < 1
        assert metric(truth, labels, ignore_label=0) == 1
    assert metrics.variation_of_information(truth, labels, ignore_label=0) == 0
    assert metrics.contingency_table(truth, labels, ignore_label=0).shape == (2, 2)


def test_whole_numbers_of_pixels_stay_exact():
    # The products of numbers of pairs pass 2**63 here.
    truth = np.arange(400_000) // 200_000
    labels = np.arange(400_000) // 100_000
    expected = sklearn.metrics.adjusted_rand_score(truth, labels)
    assert metrics.adjusted_rand_index(truth, labels) == pytest.approx(expected, rel=1e-12)


def test_entries_that_stand_for_many():
    rng = np.random.default_rng(3)
    truth, labels, sizes = rng.integers(0, 4, 30), rng.integers(0, 5, 30), rng.integers(1, 9, 30)
    every = np.repeat(truth, sizes), np.repeat(labels, sizes)
    for metric in (
        metrics.rand_index,
        metrics.adjusted_rand_index,
        metrics.variation_of_information,
        metrics.split_and_merge,
    ):
        assert metric(truth, labels, sizes=sizes) == metric(*every)
    ignored = metrics.rand_index(truth, labels, sizes=sizes, ignore_label=2)
    assert ignored == metrics.rand_index(*every, ignore_label=2)
    huge = metrics.adjusted_rand_index([0, 0, 1], [0, 1, 1], sizes=[2 * 10**10, 10**10, 10**10])
    assert huge == pytest.approx(
        metrics.adjusted_rand_index([0, 0, 1], [0, 1, 1], sizes=[2 * 10**5, 10**5, 10**5]), rel=1e-4
    )
    with pytest.raises(ValueError, match="sizes must be at least 1: one is 0"):
        metrics.rand_index([0, 1], [0, 1], sizes=[1, 0])
    with pytest.raises(ValueError, match=r"sizes must be whole numbers of shape \(2,\)"):
        metrics.rand_index([0, 1], [0, 1], sizes=[1.5, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0, 1, 2]), r"the same shape, not \(2,\) and \(3,\)"),
        (([], []), "nothing to compare"),
        (([0.0, np.nan], [0, 1]), "truth must not hold NaN"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        metrics.rand_index(*arguments)
    with pytest.raises(ValueError, match="no element is left"):
        metrics.split_and_merge([7, 7], [0, 1], ignore_label=7)
