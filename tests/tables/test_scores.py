import numpy as np
import pyarrow as pa
import pytest

from bdcc_jax import weights_from_probabilities
from bdcc_jax.tables.scores import pair_weights


def weights(values, kind, threshold=0.5, clip=1e-6):
    column = pa.chunked_array([values]) if not isinstance(values, pa.ChunkedArray) else values
    return pair_weights(column, "s", kind, threshold=threshold, clip=clip)


def test_probabilities_match_weights_and_weights_say_the_same():
    p = np.array([0.01, 0.3, 0.5, 0.98])
    odds = p / (1 - p)
    for threshold in (0.1, 0.5, 0.9):
        expected = weights_from_probabilities(1 - p, bias=threshold)
        for values, kind in ((p, "probability"), (np.log2(odds), "match_weight")):
            np.testing.assert_allclose(weights(values, kind, threshold)[0], expected, rtol=1e-12)
        given = weights(np.log(odds), "weight", threshold)[0]
        np.testing.assert_allclose(given, expected, atol=1e-12)


def test_what_is_certain_is_clipped():
    most = np.log(0.999 / 0.001)
    for values, kind in (([0.0, 1.0], "probability"), ([-np.inf, np.inf], "match_weight")):
        np.testing.assert_allclose(weights(values, kind, clip=0.001)[0], [-most, most])
    assert weights([-900.0, 900.0], "weight")[0].tolist() == [-900.0, 900.0]


@pytest.mark.parametrize("values", [[0.9, None], [0.9, np.nan], ["0.9", "NA"], ["0.9", None]])
def test_no_score_counts_0(values):
    w, scored = weights(values, "probability")
    assert w.round(3).tolist() == [2.197, 0.0]
    assert scored.tolist() == [True, False]


@pytest.mark.parametrize(
    ("values", "kind", "settings", "message"),
    [
        ([0.5, 1.5], "probability", {}, r"between 0 and 1.*\(weight=\)\? Row 1 .* is 1.5"),
        ([0.5, -0.5], "probability", {}, r"Row 1 \(counted from 0\) is -0.5"),
        ([1.0, np.inf], "weight", {}, r"must hold finite weights.*Row 1"),
        (["0.5", "high"], "probability", {}, "'s' must hold numbers: .*high"),
        ([True], "probability", {}, "'s' must hold numbers, not bool"),
        ([0.5], "probability", {"clip": 0.5}, "clip must lie strictly between 0 and 0.5, not 0.5"),
        ([0.5], "weight", {"threshold": 1.0}, "threshold must be a probability .*: 1.0"),
        ([0.5], "probability", {"threshold": 0.999, "clip": 0.01}, "make clip smaller"),
    ],
)
def test_refused(values, kind, settings, message):
    with pytest.raises(ValueError, match=message):
        weights(values, kind, **settings)
