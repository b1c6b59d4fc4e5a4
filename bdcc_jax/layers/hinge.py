"""A structured loss: the margin-rescaled hinge against a ground-truth partition."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray
from ..instance.graph import Graph
from .callbacks import numpy_callback, optimal_cuts
from .edges import Edges


def checked_margin(margin: float | ArrayLike, m: int) -> FloatArray:
    """What each of m wrong edges counts, or all of them."""
    margins = np.asarray(margin)
    if margins.shape not in ((), (m,)):
        raise ValueError(f"margin must be a number or ({m},), not {margins.shape}")
    if margins.dtype.kind not in "biuf" or not (margins >= 0).all() or np.isinf(margins).any():
        raise ValueError(f"margin must be finite and at least 0, not {margin!r}")
    return margins.astype(np.float64)


class StructuredHinge:
    """By how much a wrong clustering beats the true one, wrong edges counting ``margin`` each.

    With the true cut y, the loss is ``max over clusterings z of margin . |z - y| + w . (y - z)``.
    It is at least 0, convex in the weights w, and 0 iff the true partition is better than every
    other by the margin. The maximiser z is the optimal clustering for the weights
    ``w + margin (2 y - 1)`` and found exactly; ``y - z`` is the (sub)gradient.

    Parameters
    ----------
    graph_or_edges : Graph or array_like of int, shape (m, 2)
        Where the weights belong; the weights of a graph itself do not matter.
    margin : float or array_like, shape (m,)
        What a wrong edge counts, at least 0.
    n : int, optional
        Number of nodes; the largest id plus one if not given.

    Examples
    --------
    >>> hinge = StructuredHinge([(0, 1), (1, 2), (0, 2)])
    >>> weights, truth = jnp.array([2.0, -0.5, -3.0]), jnp.array([0, 0, 1])
    >>> float(hinge(weights, truth))
    0.0
    >>> jax.grad(hinge)(-weights, truth).tolist()
    [-1.0, 0.0, 1.0]
    """

    def __init__(
        self,
        graph_or_edges: Graph | ArrayLike,
        *,
        margin: float | ArrayLike = 1.0,
        n: int | None = None,
    ) -> None:
        self._edges = edges = Edges.of(graph_or_edges, n)
        self._margin = checked_margin(margin, edges.m)
        self._optimal = numpy_callback(partial(optimal_cuts, edges))

    def __call__(self, weights: Any, labels: Any) -> jax.Array:
        """The loss: a number, or (...,) for weights of shape (..., m).

        Parameters
        ----------
        weights : array_like, shape (m,) or (..., m)
            In the order of the edges.
        labels : array_like of int, shape (n,) or (..., n)
            The true partition.
        """
        w, truth = self._edges.weights(weights), jnp.asarray(labels)
        self._edges.check_labels(truth.shape)
        u, v = self._edges.pairs.T
        y = (truth[..., u] != truth[..., v]).astype(w.dtype)
        margin = jnp.asarray(self._margin, w.dtype)
        augmented = jax.lax.stop_gradient(w + margin * (2 * y - 1))
        z = self._optimal(augmented)
        # z is a maximiser, so that it may be held fixed in the derivative (Danskin's theorem).
        return jnp.sum(margin * jnp.abs(z - y) + w * (y - z), axis=-1)
