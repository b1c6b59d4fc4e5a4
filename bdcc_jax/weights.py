"""From probabilities to weights."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from .base.arrays import FloatArray
from .instance.graph import Graph

CLIP = 0.001
"""Probabilities are clipped at 0.001 and 0.999, or a few edges would decide everything."""


class SuspiciousWeights(UserWarning):
    """Weights that are probably something else, so that what comes out says nothing."""


@contextmanager
def not_suspicious() -> Iterator[None]:
    """Within the block nobody warns: weights that we make ourselves are what they should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspiciousWeights)
        yield


def suspicion(graph: Graph) -> str | None:
    """Say why the weights of a graph look like probabilities or distances; None if they do not.

    They do if all have the same sign, none is above 1 in magnitude, and they are not all alike (as
    those of a graph without weights are). Then the answer is trivial, unless constraints or classes
    keep nodes apart (or together, where all weights are negative): no weight speaks against it.

    Examples
    --------
    >>> suspicion(Graph(3, [(0, 1), (1, 2)], [0.9, 0.2]))[:48]
    'all weights are positive and at most 1, as proba'
    >>> suspicion(Graph(3, [(0, 1), (1, 2)], [1.0, 1.0])), suspicion(Graph(2, [(0, 1)], [0.5]))
    (None, None)
    """
    w = graph.weights
    if not len(w) or graph.constraints or graph.unaries is not None:
        return None
    low, high = float(w.min()), float(w.max())
    if low == high or low < -1 or high > 1 or low * high < 0:
        return None
    if low > 0:
        return (
            "all weights are positive and at most 1, as probabilities or similarities are: nothing "
            "repels, and every component becomes one cluster. Turn probabilities of belonging "
            "together into log-odds, bdcc_jax.weights_from_probabilities(1 - p), tables of pairs "
            "by bdcc_jax.tables.cluster (bdcc-jax cluster); subtract a threshold from similarities"
        )
    return (
        "all weights are negative and at least -1: nothing attracts, and every node becomes a "
        "cluster of its own. If they are distances with a minus sign, add a threshold: "
        "weight = threshold - distance"
    )


def weights_from_probabilities(
    p: ArrayLike, bias: float = 0.5, *, clip: float = CLIP
) -> FloatArray:
    """Turn the probability that an edge is CUT into its weight, the log-odds of being kept.

    The weight is ``log((1 - p) / p) + log((1 - bias) / bias)``. With ``bias=0.5`` an optimal
    clustering is a most probable one, if the edges are independent witnesses.

    Parameters
    ----------
    p : array_like of float, any shape
        How probable it is that the two ends belong to different clusters: 0 attracts, 1 repels.
        If you have the probability of belonging together, pass ``1 - p``.
    bias : float in (0, 1)
        How readily to cut: above 0.5 there are more and smaller clusters, below fewer and larger.
        An edge attracts exactly if ``p < 1 - bias``.
    clip : float in (0, 0.5)
        Probabilities are moved into ``[clip, 1 - clip]`` first, because 0 and 1 have no finite
        weight.

    Returns
    -------
    ndarray of float, of the shape of p
        Weights for :func:`bdcc_jax.solve`.

    Examples
    --------
    >>> weights_from_probabilities([0.1, 0.5, 0.9]).round(3).tolist()
    [2.197, 0.0, -2.197]
    >>> weights_from_probabilities([0.5], bias=0.8).round(3).tolist()
    [-1.386]
    """
    array = np.asarray(p)
    if array.size and array.dtype.kind not in "biuf":
        raise ValueError(f"p must hold real numbers, not {array.dtype}")
    array = array.astype(np.float64)
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"p must lie between 0 and 1: p[{', '.join(map(str, at))}] is {array[at]}")
    if not 0 < bias < 1:
        raise ValueError(f"bias must lie strictly between 0 and 1, not {bias}")
    if not 0 < clip < 0.5:
        raise ValueError(f"clip must lie strictly between 0 and 0.5, not {clip}")
    array = np.clip(array, clip, 1 - clip)
    weights: FloatArray = np.log((1 - array) / array) + np.log((1 - bias) / bias)
    return weights
