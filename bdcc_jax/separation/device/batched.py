"""LPs of balls in batches of one shape, on one device or divided among several."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .balls import NODES
from .flow_lps import Point, Problems, advance, pose, prepare, start
from .limits import Check, is_out_of_memory, kind_of
from .paths_of_flow import PASSES, Chains, decompose

CHUNK = 4
"""Lanes that a CPU works on at a time, one chunk after another: they stay in its cache."""

LANES = {"cpu": (CHUNK, 64), "gpu": (64, 1024)}
"""Lanes of a call on each device, all of them or fewer: each makes a program."""

LANE_BYTES = 5 * 2**16
"""Device memory that a lane takes, at most."""

KINDS = 2
"""Subproblems and variants."""

DIVIDED = PartitionSpec("lanes")  # type: ignore[no-untyped-call]
SAME = PartitionSpec()  # type: ignore[no-untyped-call]
OUTPUT = PartitionSpec(None, "lanes")  # type: ignore[no-untyped-call]


class Settings(NamedTuple):
    """What all lanes of a call have in common.

    Attributes
    ----------
    kinds : int
        1: the subproblems; 2: their Magnanti-Wong variants too.
    tau : float
        The share of the value that these keep.
    by_row : bool
        Whether a row or a price makes them.
    checks : int
        Iterations, in units of :data:`.flow_lps.INNER`.
    """

    kinds: Any
    tau: Any
    by_row: Any
    checks: Any

    def as_arrays(self) -> Settings:
        """As the program takes them."""
        kinds, checks = np.int32(self.kinds), np.int32(self.checks)
        return Settings(kinds, np.float32(self.tau), np.bool_(self.by_row), checks)


def solve_batch(
    problems: Problems,
    settings: Settings,
    devices: tuple[jax.Device, ...],
    memory: int,
    check: Check = lambda: None,
) -> Chains:
    """Chains of the flows of all lanes: slots and amounts [kind, lane, pass, node].

    Kind 0 are the subproblems, kind 1 their variants, if these were asked for.
    """
    kind = kind_of(devices[0])
    run = program(devices, CHUNK if kind == "cpu" else 0)
    sizes = [size for size in LANES[kind] if size * LANE_BYTES <= memory] or [LANES[kind][0]]
    total, done, parts = len(problems.supply), 0, []
    with jax.enable_x64(False):
        while done < total and sizes:
            check()
            # What a CPU does not use costs it nothing.
            enough = [] if kind == "cpu" else [s for s in sizes if s * len(devices) >= total - done]
            size = len(devices) * min(enough, default=sizes[-1])
            some = Problems(*(array[done : done + size] for array in problems))
            try:
                parts.append(_call(run, some, size, len(devices), settings))
                done += len(some.supply)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                sizes.remove(size // len(devices))
    if done < total:  # no memory at all: no paths, and the host finds rows
        shape = (KINDS, total - done, PASSES, NODES)
        parts.append(Chains(np.zeros(shape, np.int16), np.zeros(shape, np.float32)))
    together = (np.concatenate(arrays, 1) for arrays in zip(*parts, strict=True))
    return Chains(*(array[: settings.kinds] for array in together))


def _call(
    run: Callable[..., Any], some: Problems, size: int, shards: int, settings: Settings
) -> Chains:
    """One call of the program with so many lanes, of which these are in use."""
    # Dealt out like cards: every device has its share of a batch that is not full. Copies of the
    # last lane fill it up.
    lanes, count = np.arange(size).reshape(-1, shards).T.ravel(), len(some.supply)
    dealt = Problems(*(array[np.minimum(lanes, count - 1)] for array in some))
    chains = jax.device_get(run(dealt, lanes < count, settings.as_arrays()))
    back = np.argsort(lanes)[:count]
    return Chains(*(array[:, back] for array in chains))


@lru_cache(maxsize=64)
def program(devices: tuple[jax.Device, ...], chunk: int) -> Callable[..., Any]:
    """The compiled program for some devices, for all lanes at once or a chunk after another."""
    mesh = Mesh(np.array(devices), ("lanes",))
    inputs = (DIVIDED, DIVIDED, SAME)
    divided = jax.shard_map(
        partial(_round, chunk=chunk),
        mesh=mesh,
        in_specs=inputs,
        out_specs=OUTPUT,
        check_vma=False,  # loops start from constants, the same in all shards
    )
    placed = tuple(NamedSharding(mesh, spec) for spec in inputs)
    return jax.jit(divided, in_shardings=placed)


def _round(problems: Problems, used: Array, settings: Settings, *, chunk: int) -> Chains:
    """Solve and take apart, all lanes at once or a chunk after another."""

    def some(problems: Problems) -> Chains:
        method = prepare(problems)

        def one(kind: Array, state: tuple[Point, Chains]) -> tuple[Point, Chains]:
            before, chains = state
            posed = pose(method, before, kind > 0, settings.tau, settings.by_row)
            point = advance(posed, before, settings.checks)
            found = decompose(problems, point)
            return point, jax.tree.map(lambda a, b: a.at[kind].set(b), chains, found)

        shape = (KINDS, len(problems.supply), PASSES, NODES)
        nothing = Chains(jnp.zeros(shape, jnp.int16), jnp.zeros(shape, jnp.float32))
        chains: Chains = lax.fori_loop(0, settings.kinds, one, (start(problems), nothing))[1]
        return chains

    if chunk == 0:
        return some(problems)
    lanes = len(used)
    needed = jnp.max(jnp.where(used, jnp.arange(lanes, dtype=jnp.int32) + 1, 0))

    def one(i: Array, chains: Chains) -> Chains:
        part = jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, i * chunk, chunk), problems)
        whole: Chains = jax.tree.map(
            lambda a, b: lax.dynamic_update_slice_in_dim(a, b, i * chunk, 1), chains, some(part)
        )
        return whole

    shapes = jax.eval_shape(some, problems)
    empty = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), shapes)
    result: Chains = lax.fori_loop(0, -(-needed // chunk), one, empty)
    return result
