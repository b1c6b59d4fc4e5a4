"""The layers and the loss for PyTorch; they compute what those for JAX do, on the CPU.

PyTorch is not among the dependencies, nor in an extra: bring your own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray
from ..instance.graph import Graph
from .callbacks import finite_rows, optimal_cuts
from .edges import Edges
from .hinge import checked_margin
from .perturbed import Perturbation
from .relaxation import LayerOptions, SmoothedRelaxation

try:
    import torch
    from torch import Tensor, nn
    from torch.autograd.function import Function, once_differentiable
except ImportError as error:
    raise ImportError(
        "bdcc_jax.layers.torch needs PyTorch, which is yours to choose: see https://pytorch.org"
    ) from error

__all__ = ["LayerOptions", "MulticutLayer", "PerturbedMulticut", "StructuredHinge"]

Rows = Callable[..., FloatArray]


class MulticutLayer(nn.Module):
    """From edge weights to relaxed edge labels, differentiable.

    As :class:`bdcc_jax.layers.MulticutLayer`, and with its parameters: ``graph_or_edges``,
    ``options`` and ``n``. Needs cvxpylayers (in a clone: ``pip install ".[layers]"``).

    Examples
    --------
    >>> layer = MulticutLayer([(0, 1), (1, 2), (0, 2)])
    >>> weights = torch.tensor([0.4, 0.4, -0.3], requires_grad=True)
    >>> layer(weights)[2].backward()
    >>> weights.grad.numpy().round(3).tolist()
    [-0.3330000042915344, -0.3330000042915344, -0.6669999957084656]
    """

    def __init__(
        self,
        graph_or_edges: Graph | ArrayLike,
        options: LayerOptions | None = None,
        *,
        n: int | None = None,
    ) -> None:
        super().__init__()
        options = LayerOptions() if options is None else options
        if not isinstance(options, LayerOptions):
            raise ValueError(f"options must be a LayerOptions object, not {options!r}")
        self._edges = Edges.of(graph_or_edges, n)
        self._relaxation = SmoothedRelaxation(self._edges, options)
        self._solve = finite_rows(self._relaxation.solve)
        self._pull_back = finite_rows(self._relaxation.pull_back)

    def forward(self, weights: Tensor) -> Tensor:
        """The relaxed labels, between 0 and 1, for weights of shape (..., m)."""
        w = _floats(weights, self._edges)
        relaxed: Tensor = _Relaxed.apply(w, self._solve, self._pull_back)
        return relaxed

    @property
    def n_rows(self) -> int:
        """How many cycle inequalities are in use at present."""
        return self._relaxation.n_rows


class PerturbedMulticut(nn.Module):
    """The exact optimal cut as a layer, with a gradient although it is piecewise constant.

    As :class:`bdcc_jax.layers.PerturbedMulticut`, and with its parameters: ``graph_or_edges``,
    ``step``, ``noise``, ``samples``, ``seed`` and ``n``. The noise is PyTorch's, so not that of JAX
    for the same seed.

    Examples
    --------
    >>> layer = PerturbedMulticut([(0, 1), (1, 2), (0, 2)], step=4.0)
    >>> weights = torch.tensor([2.0, -0.5, -3.0], requires_grad=True)
    >>> layer(weights)[2].backward()
    >>> weights.grad.tolist()
    [0.0, -0.25, -0.25]
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
        super().__init__()
        self._edges = Edges.of(graph_or_edges, n)
        self._how = Perturbation(step, noise, samples, seed)
        self._cuts = finite_rows(partial(optimal_cuts, self._edges))

    def forward(self, weights: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The optimal cut, or the mean over the perturbed ones, for weights of shape (..., m).

        Without a generator (of the CPU), every call has the same noise.
        """
        w = _floats(weights, self._edges)
        shape = (self._how.samples, *w.shape)
        if self._how.noise == 0:
            return self._mean_cut(w, torch.zeros(shape, dtype=w.dtype))
        if generator is None:
            generator = torch.Generator().manual_seed(self._how.seed)
        noise = torch.randn(shape, generator=generator, dtype=w.dtype)
        return self._mean_cut(w, self._how.noise * noise)

    def _mean_cut(self, weights: Tensor, shifts: Tensor) -> Tensor:
        shifts = shifts.to(weights.device)
        mean: Tensor = _MeanCut.apply(weights, shifts, self._cuts, self._how.step)
        return mean


class StructuredHinge(nn.Module):
    """By how much a wrong clustering beats the true one, wrong edges counting ``margin`` each.

    As :class:`bdcc_jax.layers.StructuredHinge`, and with its parameters: ``graph_or_edges``,
    ``margin`` and ``n``.

    Examples
    --------
    >>> hinge = StructuredHinge([(0, 1), (1, 2), (0, 2)])
    >>> weights = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
    >>> hinge(weights, torch.tensor([0, 0, 1])).backward()
    >>> weights.grad.tolist()
    [-1.0, 0.0, 1.0]
    """

    def __init__(
        self,
        graph_or_edges: Graph | ArrayLike,
        *,
        margin: float | ArrayLike = 1.0,
        n: int | None = None,
    ) -> None:
        super().__init__()
        self._edges = Edges.of(graph_or_edges, n)
        self._margin = checked_margin(margin, self._edges.m)
        self._cuts = finite_rows(partial(optimal_cuts, self._edges))

    def forward(self, weights: Tensor, labels: Tensor) -> Tensor:
        """The loss, (...,), for weights (..., m) and true partitions (n,) or (..., n)."""
        w = _floats(weights, self._edges)
        truth = torch.as_tensor(labels, device=w.device)
        self._edges.check_labels(tuple(truth.shape))
        u, v = torch.tensor(self._edges.pairs.T, device=w.device)
        y = (truth[..., u] != truth[..., v]).to(w.dtype)
        margin = torch.tensor(self._margin, dtype=w.dtype, device=w.device)
        z = _by_numpy(self._cuts, w + margin * (2 * y - 1))
        # z is a maximiser, so that it may be held fixed in the derivative (Danskin's theorem).
        return (margin * (z - y).abs() + w * (y - z)).sum(dim=-1)


class _Relaxed(Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, solve: Rows, pull_back: Rows) -> Tensor:
        ctx.save_for_backward(weights)
        ctx.pull_back = pull_back
        return _by_numpy(solve, weights)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        (weights,) = ctx.saved_tensors
        return _by_numpy(ctx.pull_back, weights, g), None, None


class _MeanCut(Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, shifts: Tensor, solve: Rows, step: float) -> Tensor:
        cuts = _by_numpy(solve, weights + shifts)
        ctx.save_for_backward(weights, shifts, cuts)
        ctx.solve, ctx.step = solve, step
        return cuts.mean(dim=0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        weights, shifts, cuts = ctx.saved_tensors
        moved = _by_numpy(ctx.solve, weights + ctx.step * g + shifts)
        return (moved - cuts).mean(dim=0) / ctx.step, None, None, None


def _by_numpy(function: Rows, *tensors: Tensor) -> Tensor:
    """Call a function of NumPy on the CPU; the result is where the first tensor is, as it is."""
    like = tensors[0]
    arrays = [tensor.detach().to("cpu", torch.float64).numpy() for tensor in tensors]
    return torch.as_tensor(function(*arrays), dtype=like.dtype, device=like.device)


def _floats(weights: Tensor, edges: Edges) -> Tensor:
    if not isinstance(weights, Tensor):
        weights = torch.as_tensor(np.asarray(weights))
    edges.check_weights(tuple(weights.shape))
    if weights.is_complex() or weights.dtype == torch.bool:
        raise ValueError(f"weights must be real numbers, not {weights.dtype}")
    return weights if weights.is_floating_point() else weights.to(torch.get_default_dtype())
