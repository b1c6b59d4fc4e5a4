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
from .preconditioner import Problem

BATCH = PartitionSpec("batch")  # type: ignore[no-untyped-call]
EVERYWHERE = PartitionSpec()  # type: ignore[no-untyped-call]


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
        self, placed: tuple[Padded, Point, jax.Array], dtype: str, active: bool
    ) -> tuple[Problem, State]:
        """Precondition and start."""
        kernel = self._kernel(pdlp.prepare, dtype=dtype, with_activity=active, chunked=self.uniform)
        result: tuple[Problem, State] = kernel(*placed)
        return result

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
