"""The kernels of the batched LP solver on one device, or sharded over the batch on several.

Problems know nothing of each other, so that every shard goes its own way: no kernel communicates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from . import pdlp
from .flow_batch import Padded
from .pdhg import Point
from .pdlp import State
from .preconditioner import Problem, block_of

BATCH = PartitionSpec("batch")  # type: ignore[no-untyped-call]
EVERYWHERE = PartitionSpec()  # type: ignore[no-untyped-call]

Check = Callable[[], None]

AT_ONCE = 256
"""Problems with so many nodes are preconditioned in one call."""

ELIMINATED = 2**31
"""Multiplications in one call on each device when larger ones are: some tenths of a second."""


def _prepare_given(
    padded: Padded, start: Point, weight: jax.Array, inverse: jax.Array, **settings: Any
) -> tuple[Problem, State]:
    """As :func:`.pdlp.prepare`, the inverse being known."""
    result: tuple[Problem, State] = pdlp.prepare(padded, start, weight, inverse=inverse, **settings)
    return result


class Kernels:
    """What :mod:`.pdlp` does, with the problems of a batch divided among the devices of a mesh.

    Parameters
    ----------
    devices : tuple of jax.Device
    uniform : bool
        Whether all calls have the same number of problems, and solve them in chunks.
    """

    def __init__(self, devices: tuple[jax.Device, ...], uniform: bool) -> None:
        self.shards, self.uniform = len(devices), uniform
        self._mesh: Mesh | None = None
        self._divided: Sharding = SingleDeviceSharding(devices[0])
        self._replicated: Sharding = self._divided
        if len(devices) > 1:
            self._mesh = Mesh(np.array(devices), ("batch",))
            self._divided = NamedSharding(self._mesh, BATCH)
            self._replicated = NamedSharding(self._mesh, EVERYWHERE)
        self._compiled: dict[Any, Callable[..., Any]] = {}

    @staticmethod
    @lru_cache(maxsize=64)
    def on(devices: tuple[jax.Device, ...], uniform: bool) -> Kernels:
        """The kernels for some devices, compiled once."""
        return Kernels(devices, uniform)

    def put(self, tree: Any) -> Any:
        """Divide arrays among the devices by their first axis."""
        return jax.device_put(tree, self._divided)

    def put_everywhere(self, value: Any) -> Any:
        """A copy on every device."""
        return jax.device_put(value, self._replicated)

    def prepare(
        self,
        placed: tuple[Padded, Point, jax.Array],
        dtype: str,
        active: bool,
        check: Check = lambda: None,
    ) -> tuple[Problem, State]:
        """Precondition and start; what takes long comes back in between to ``check``."""
        settings = {"dtype": dtype, "with_activity": active, "chunked": self.uniform}
        result: tuple[Problem, State]
        nodes = placed[0].supply.shape[1]
        if nodes <= AT_ONCE:
            result = self._kernel(pdlp.prepare, **settings)(*placed)
        else:
            inverse = self._invert(placed[0], check)
            result = self._kernel(_prepare_given, **settings)(*placed, inverse)
        return result

    def _invert(self, padded: Padded, check: Check) -> jax.Array:
        """The inverses of large problems, a few blocks of rows at a time."""
        matrix: jax.Array = self._kernel(pdlp.to_invert)(padded)
        block = block_of(matrix.shape[-1])
        blocks = matrix.shape[-1] // block
        at_once = max(1, ELIMINATED * self.shards // (block * matrix.size))
        for first in range(0, blocks, at_once):
            check()
            ends = self.put_everywhere((np.int32(first), np.int32(min(first + at_once, blocks))))
            # Not waited for, all pieces would be on their way before the first is done.
            matrix = self._kernel(pdlp.invert_some)(matrix, *ends).block_until_ready()
        return matrix

    def advance(
        self, problem: Problem, state: State, tolerance: jax.Array, limit: jax.Array
    ) -> tuple[State, jax.Array]:
        """A few checks' worth of steps, and how many problems run on in every shard."""
        result: tuple[State, jax.Array] = self._kernel(pdlp.advance, chunked=self.uniform)(
            problem, state, tolerance, limit
        )
        return result

    def compact(self, problem: Problem, state: State, size: int) -> tuple[Problem, State]:
        """Gather `size` problems of every shard, the running ones first."""
        result: tuple[Problem, State] = self._kernel(pdlp.compact, size=size)(problem, state)
        return result

    def most(self, running: jax.Array) -> int:
        """How many problems run on, in the shard that has most of them."""
        return int(jax.device_get(running).max())

    def _kernel(self, function: Callable[..., Any], **static: Any) -> Callable[..., Any]:
        if self._mesh is None:
            return partial(function, **static)
        key = (function, *static.values())
        if key not in self._compiled:
            inputs: Any = BATCH
            if function is pdlp.advance:
                inputs = (BATCH, BATCH, EVERYWHERE, EVERYWHERE)
            elif function is pdlp.invert_some:
                inputs = (BATCH, EVERYWHERE, EVERYWHERE)
            self._compiled[key] = jax.jit(
                jax.shard_map(
                    partial(function, **static),
                    mesh=self._mesh,
                    in_specs=inputs,
                    out_specs=BATCH,
                    check_vma=False,  # loops start from constants, the same in all shards
                )
            )
        return self._compiled[key]
