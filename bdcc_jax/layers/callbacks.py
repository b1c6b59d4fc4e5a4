"""NumPy functions inside JAX programs, and the exact solver as one of them.

JAX must not be called from a callback: on CPUs that deadlocks once programs run asynchronously,
on GPUs the stream waits for the callback. So what is called here knows NumPy only; and it
computes in float64, whatever the caller's ``jax_enable_x64`` is.
"""

import os
from collections.abc import Callable

import jax
import numpy as np

from ..base.arrays import FloatArray
from ..batch import Batch
from ..instance.graph import Graph
from ..result import Failure, Status
from ..search.arguments import check_arguments
from .edges import Edges


def finite_rows(function: Callable[..., FloatArray]) -> Callable[..., FloatArray]:
    """Make a function on arrays (..., m) of one on batches of vectors, (B, m), as is its result.

    It computes in float64. Vectors that are not finite do not reach it: like everywhere in JAX and
    PyTorch, what comes out for them is NaN.
    """

    def call(*arrays: FloatArray) -> FloatArray:
        shape = np.shape(arrays[0])
        batches = [np.asarray(array, np.float64).reshape(-1, shape[-1]) for array in arrays]
        finite = np.logical_and.reduce([np.isfinite(batch).all(axis=1) for batch in batches])
        result = np.full(batches[0].shape, np.nan)
        if finite.any():
            result[finite] = function(*(batch[finite] for batch in batches))
        return result.reshape(shape).astype(arrays[0].dtype)

    return call


def numpy_callback(function: Callable[..., FloatArray]) -> Callable[..., jax.Array]:
    """Make a JAX function of one on batches of vectors, all of shape (B, m), as is its result.

    Leading axes, also those of ``jax.vmap``, are the batch; see :func:`finite_rows`.
    """
    # One object for all calls: JAX compiles a program for every callback that it has not seen.
    call = finite_rows(function)

    def with_callback(*arrays: jax.Array) -> jax.Array:
        like = jax.ShapeDtypeStruct(arrays[0].shape, arrays[0].dtype)  # type: ignore[no-untyped-call]
        output: jax.Array = jax.pure_callback(call, like, *arrays, vmap_method="broadcast_all")
        return output

    return with_callback


def optimal_cuts(edges: Edges, weights: FloatArray) -> FloatArray:
    """For each of B weight vectors the edges that an optimal clustering cuts, as (B, m) of 0, 1."""
    u, v = edges.pairs.T
    cuts = np.empty(weights.shape)
    graphs = [Graph(edges.n, edges.pairs, w) for w in weights]
    # On the CPU: inside a JAX program, its own device is busy waiting for this answer.
    options, cpu, _, gap, seed = check_arguments("cpu", None, 0.0, 0, None, None)
    workers = max(1, min(os.cpu_count() or 1, len(graphs)))
    # Not by solve_batch: while weights are learnt, it is no mistake if all of them are positive.
    batch = Batch(graphs, options, gap, seed)
    results = batch.run(range(len(graphs)), cpu, workers, lambda _: False)
    for i, result in results.items():
        if isinstance(result, Failure):
            raise result.error
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # what it returns then must not be learnt from
        cuts[i] = result.labels[u] != result.labels[v]
    return cuts
