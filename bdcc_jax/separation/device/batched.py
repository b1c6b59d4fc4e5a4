"""LPs of balls in batches of one shape, on one device or divided among several."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .balls import NODES
from .flow_lps import Point, Problems, advance, pose, prepare, start
from .limits import Check, is_out_of_memory, kind_of
from .paths_of_flow import PASSES, Chains, decompose

CHUNK = 4
"""Lanes that a CPU works on at a time, one chunk after another: they stay in its cache, and lanes
that have converged wait for three others at most."""

LANES = {"cpu": (CHUNK, 64), "gpu": (64, 1024)}
"""Lanes of a call on each device, all of them or fewer: each makes a program."""

LANE_BYTES = 5 * 2**16
"""Device memory that a lane takes, at most."""

KINDS = 2
"""Subproblems and variants."""


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
    kind, total, done = kind_of(devices[0]), len(problems.supply), 0
    sizes = [size for size in LANES[kind] if size * LANE_BYTES <= memory] or [LANES[kind][0]]
    parts: list[Chains] = []
    with jax.enable_x64(False):
        while done < total and sizes:
            check()
            each = -(-(total - done) // len(devices))
            # What a CPU does not use costs it nothing.
            enough = [size for size in sizes if size >= each and kind != "cpu"]
            size, calls, begin = min(enough, default=sizes[-1]), [], done
            each = min(each, size)
            try:
                for device in devices:  # all of them work at the same time
                    some = Problems(*(array[begin : begin + each] for array in problems))
                    if len(some.supply) > 0:
                        calls.append(_call(some, size, device, settings))
                        begin += each
                for chains, count in jax.device_get(calls):
                    parts.append(Chains(*(a[: settings.kinds, :count] for a in chains)))
                    done += int(count)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                sizes.remove(size)
    if done < total:  # no memory at all: no paths, and the host finds rows
        parts.append(no_chains(settings.kinds, total - done))
    return Chains(*(np.concatenate(arrays, 1) for arrays in zip(*parts, strict=True)))


def no_chains(kinds: int, lanes: int) -> Chains:
    """What lanes that are not solved have for an answer."""
    shape = kinds, lanes, PASSES, NODES
    return Chains(np.zeros(shape, np.int16), np.zeros(shape, np.float32))


def _call(some: Problems, size: int, device: jax.Device, settings: Settings) -> Any:
    """Start the program for so many lanes, of which these are in use; the others are empty."""
    count = len(some.supply)
    filled = Problems(*(np.zeros((size, *array.shape[1:]), array.dtype) for array in some))
    for whole, part in zip(filled, some, strict=True):
        whole[:count] = part
    arguments = jax.device_put((filled, np.int32(count)), device)
    return program(*arguments, settings, chunk=CHUNK if kind_of(device) == "cpu" else 0)


@partial(jax.jit, static_argnames="chunk")
def program(
    problems: Problems, count: Array, settings: Settings, *, chunk: int
) -> tuple[Chains, Array]:
    """Solve and take apart, all lanes at once (0) or a chunk after another; and how many count."""

    def some(problems: Problems) -> Chains:
        method = prepare(problems)

        def one(kind: Array, state: tuple[Point, Chains]) -> tuple[Point, Chains]:
            before, chains = state
            posed = pose(method, before, kind > 0, settings.tau, settings.by_row)
            point = advance(posed, before, settings.checks)
            found = decompose(problems, point)
            return point, jax.tree.map(lambda a, b: a.at[kind].set(b), chains, found)

        nothing = jax.tree.map(jnp.asarray, no_chains(KINDS, len(problems.supply)))
        chains: Chains = lax.fori_loop(0, settings.kinds, one, (start(problems), nothing))[1]
        return chains

    if chunk == 0:
        return some(problems), count

    def one(i: Array, chains: Chains) -> Chains:
        part = jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, i * chunk, chunk), problems)
        whole: Chains = jax.tree.map(
            lambda a, b: lax.dynamic_update_slice_in_dim(a, b, i * chunk, 1), chains, some(part)
        )
        return whole

    nothing = jax.tree.map(jnp.asarray, no_chains(KINDS, len(problems.supply)))
    chains: Chains = lax.fori_loop(0, -(-count // chunk), one, nothing)
    return chains, count
