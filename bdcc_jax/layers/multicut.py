"""The relaxed clustering as a layer."""

from typing import Any

import jax
from numpy.typing import ArrayLike

from ..instance.graph import Graph
from .callbacks import numpy_callback
from .edges import Edges
from .relaxation import LayerOptions, SmoothedRelaxation


class MulticutLayer:
    """From edge weights to relaxed edge labels, differentiable.

    The labels x lie between 0 (together) and 1 (cut). They minimise
    ``w . x + smoothing / 2 * |x - 1/2|^2`` over all cycle inequalities of the graph, which are
    found as they are needed. Works with ``jax.grad``, ``jit`` and ``vmap``, in reverse mode and
    without second derivatives. Weights that are not finite give NaN.

    Parameters
    ----------
    graph_or_edges : Graph or array_like of int, shape (m, 2)
        Where the weights belong; the weights of a graph itself do not matter.
    options : LayerOptions, optional
        Smoothing and staleness of the rows.
    n : int, optional
        Number of nodes; the largest id plus one if not given.

    Examples
    --------
    Nodes 0 and 2 repel each other less than their friend 1 holds them together:

    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> layer = MulticutLayer([(0, 1), (1, 2), (0, 2)])
    >>> weights = jnp.array([0.4, 0.4, -0.3])
    >>> np.asarray(layer(weights), float).round(3).tolist()
    [0.3, 0.3, 0.6]
    >>> np.asarray(jax.grad(lambda w: layer(w)[2])(weights), float).round(3).tolist()
    [-0.333, -0.333, -0.667]
    """

    def __init__(
        self,
        graph_or_edges: Graph | ArrayLike,
        options: LayerOptions | None = None,
        *,
        n: int | None = None,
    ) -> None:
        options = LayerOptions() if options is None else options
        if not isinstance(options, LayerOptions):
            raise ValueError(f"options must be a LayerOptions object, not {options!r}")
        self._edges = Edges.of(graph_or_edges, n)
        self._relaxation = SmoothedRelaxation(self._edges, options)
        solve = numpy_callback(self._relaxation.solve)
        pull_back = numpy_callback(self._relaxation.pull_back)

        def forward(weights: jax.Array) -> tuple[jax.Array, jax.Array]:
            return solve(weights), weights

        def backward(weights: jax.Array, g: jax.Array) -> tuple[jax.Array]:
            return (pull_back(weights, g),)

        self._relaxed = jax.custom_vjp(lambda weights: forward(weights)[0])
        self._relaxed.defvjp(forward, backward)

    def __call__(self, weights: Any) -> jax.Array:
        """The relaxed labels.

        Parameters
        ----------
        weights : array_like, shape (m,) or (..., m)
            In the order of the edges; a batch shares its rows.

        Returns
        -------
        jax.Array of the shape of the weights
            Between 0 and 1.
        """
        return self._relaxed(self._edges.weights(weights))

    @property
    def n_rows(self) -> int:
        """How many cycle inequalities are in use at present."""
        return self._relaxation.n_rows
