import numpy as np
import pytest

import bdcc_jax
from bdcc_jax import weights_from_probabilities


def test_formula_bias_and_clipping():
    p = np.array([[0.2, 0.7], [0.0, 1.0]])
    weights = weights_from_probabilities(p, 0.3)
    assert weights[0, 0] == pytest.approx(np.log(0.8 / 0.2) + np.log(0.7 / 0.3))
    assert weights[0, 1] == pytest.approx(0.0)
    assert weights[1] == pytest.approx(np.array([1, -1]) * np.log(999) + np.log(0.7 / 0.3))
    assert weights_from_probabilities([0, 1], clip=0.1) == pytest.approx([np.log(9), -np.log(9)])
    assert weights_from_probabilities([]).shape == (0,)


def test_optimal_clustering_is_the_most_probable_one():
    p = {(0, 1): 0.2, (1, 2): 0.6, (0, 2): 0.3}
    u, v = zip(*p, strict=True)
    labels = bdcc_jax.solve((u, v, weights_from_probabilities(list(p.values())))).labels

    def likelihood(clusters):
        return np.prod([q if clusters[a] != clusters[b] else 1 - q for (a, b), q in p.items()])

    every = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    assert tuple(labels) == max(every, key=likelihood)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": [0.5, 1.5]}, r"p must lie between 0 and 1: p\[1\] is 1\.5"),
        ({"p": [[0.5, np.nan]]}, r"p\[0, 1\] is nan"),
        ({"p": ["a"]}, "p must hold real numbers"),
        ({"bias": 0}, "bias must lie strictly between 0 and 1, not 0"),
        ({"bias": 1.0}, r"bias must lie strictly between 0 and 1, not 1\.0"),
        ({"clip": 0.0}, r"clip must lie strictly between 0 and 0\.5, not 0\.0"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        weights_from_probabilities(**({"p": [0.5]} | arguments))
