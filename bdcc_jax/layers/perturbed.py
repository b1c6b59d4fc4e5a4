"""Perturb and solve: gradients of exact clusterings from two solves each, for large graphs."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from ..instance.graph import Graph
from ..options import as_amount, as_count
from .callbacks import numpy_callback, optimal_cuts
from .edges import Edges

Kept = tuple[jax.Array, jax.Array, jax.Array]


@dataclass(frozen=True)
class Perturbation:
    """How weights are perturbed, checked; see :class:`PerturbedMulticut`."""

    step: float
    noise: float
    samples: int
    seed: int

    def __post_init__(self) -> None:
        if not 0 < as_amount("step", self.step) < float("inf"):
            raise ValueError(f"step must be positive and finite, not {self.step}")
        if as_amount("noise", self.noise) == float("inf"):
            raise ValueError("noise must be finite")
        as_count("samples", self.samples, at_least=1)
        as_count("seed", self.seed, at_least=0)
        if self.noise == 0 and self.samples > 1:
            raise ValueError(
                f"without noise all {self.samples} samples would be the same: set noise"
            )


class PerturbedMulticut:
    """The exact optimal cut as a layer, with a gradient although it is piecewise constant.

    Backwards, the weights are moved by ``step`` times the gradient g that arrives, and solved
    once more; what comes back is ``(z(w + step g) - z(w)) / step``. Without noise this is
    blackbox differentiation (Vlastelica et al., 2020). With noise, the layer returns the mean cut
    over ``samples`` perturbations of the weights, and gradients are the mean over the same ones:
    implicit maximum likelihood estimation (Niepert et al., 2021), with Gaussian noise.

    Parameters
    ----------
    graph_or_edges : Graph or array_like of int, shape (m, 2)
        Where the weights belong; the weights of a graph itself do not matter.
    step : float
        How far to go along the gradient: large enough to change some edges.
    noise : float
        Standard deviation of what is added to the weights; 0: blackbox differentiation.
    samples : int
        How many perturbations; each costs a solve, and another one backwards.
    seed : int
        For the noise of calls without a key.
    n : int, optional
        Number of nodes; the largest id plus one if not given.

    Examples
    --------
    >>> layer = PerturbedMulticut([(0, 1), (1, 2), (0, 2)], step=5.0)
    >>> weights = jnp.array([2.0, -0.5, -3.0])
    >>> layer(weights).tolist()
    [0.0, 1.0, 1.0]
    >>> jax.grad(lambda w: layer(w)[2])(weights).tolist()
    [0.0, -0.20000000298023224, -0.20000000298023224]
    """

    def __init__(
        self,
        graph_or_edges: Graph | ArrayLike,
        *,
        step: float = 1.0,
        noise: float = 0.0,
        samples: int = 1,
        seed: int = 0,
        n: int | None = None,
    ) -> None:
        self._edges = edges = Edges.of(graph_or_edges, n)
        self._how = how = Perturbation(step, noise, samples, seed)

        solved = numpy_callback(partial(optimal_cuts, edges))

        def forward(weights: jax.Array, shifts: jax.Array) -> tuple[jax.Array, Kept]:
            cuts = solved(weights + shifts)
            return cuts.mean(axis=0), (weights, shifts, cuts)

        def backward(kept: Kept, g: jax.Array) -> tuple[jax.Array, jax.Array]:
            weights, shifts, cuts = kept
            moved = solved(weights + how.step * g + shifts)
            return (moved - cuts).mean(axis=0) / how.step, jnp.zeros_like(shifts)

        self._mean_cut = jax.custom_vjp(lambda weights, shifts: forward(weights, shifts)[0])
        self._mean_cut.defvjp(forward, backward)

    def __call__(self, weights: Any, key: jax.Array | None = None) -> jax.Array:
        """The optimal cut, or the mean over the perturbed ones.

        Parameters
        ----------
        weights : array_like, shape (m,) or (..., m)
            In the order of the edges.
        key : key of jax.random, optional
            For fresh noise; without it, every call has the same.

        Returns
        -------
        jax.Array of the shape of the weights
            1 where an edge is cut and 0 where it is kept; with noise, how often it is cut.
        """
        w = self._edges.weights(weights)
        shape = (self._how.samples, *w.shape)
        if self._how.noise == 0:
            return self._mean_cut(w, jnp.zeros(shape, w.dtype))
        key = jax.random.key(self._how.seed) if key is None else key
        return self._mean_cut(w, self._how.noise * jax.random.normal(key, shape, w.dtype))
