"""LPs of balls in batches of one shape, on one device or divided among several."""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

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


DIVIDED, RESULT, SAME = P("lanes"), P(None, "lanes"), P()  # type: ignore[no-untyped-call]
"""How arrays are divided among devices: problems, chains, and settings."""


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
            size = min(enough, default=sizes[-1])
            shares = _shares(done, total, min(each, size), len(devices))
            try:
                chains = _call(problems, shares, size, devices, settings)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                sizes.remove(size)
                continue
            for d, share in enumerate(shares):
                lanes = slice(d * size, d * size + len(share))
                parts.append(Chains(*(array[: settings.kinds, lanes] for array in chains)))
                done += len(share)
    if done < total:  # no memory at all: no paths, and the host finds rows
        parts.append(no_chains(settings.kinds, total - done))
    return Chains(*(np.concatenate(arrays, 1) for arrays in zip(*parts, strict=True)))


def _shares(begin: int, total: int, each: int, n: int) -> list[range]:
    """The lanes that each of n devices gets."""
    ends = [min(total, begin + d * each) for d in range(n + 1)]
    return [range(*pair) for pair in pairwise(ends)]


def no_chains(kinds: int, lanes: int) -> Chains:
    """What lanes that are not solved have for an answer."""
    shape = kinds, lanes, PASSES, NODES
    return Chains(np.zeros(shape, np.int16), np.zeros(shape, np.float32))


def _call(
    problems: Problems,
    shares: list[range],
    size: int,
    devices: tuple[jax.Device, ...],
    settings: Settings,
) -> Any:
    """Run the program with so many lanes for each device; those that are not in use are empty."""
    n = len(devices)
    filled = Problems(*(np.zeros((n * size, *array.shape[1:]), array.dtype) for array in problems))
    for d, share in enumerate(shares):
        for whole, array in zip(filled, problems, strict=True):
            whole[d * size : d * size + len(share)] = array[share.start : share.stop]
    counts = np.array([len(share) for share in shares], np.int32)
    where: Any = devices[0] if n == 1 else NamedSharding(_mesh(devices), DIVIDED)
    arguments = jax.device_put((filled, counts), where)
    chunk = CHUNK if kind_of(devices[0]) == "cpu" else 0
    return jax.device_get(program(*arguments, settings, chunk=chunk, devices=devices))


def _mesh(devices: tuple[jax.Device, ...]) -> Mesh:
    return Mesh(np.array(devices), ("lanes",))


@partial(jax.jit, static_argnames=("chunk", "devices"))
def program(
    problems: Problems,
    counts: Array,
    settings: Settings,
    *,
    chunk: int,
    devices: tuple[jax.Device, ...] = (),
) -> Chains:
    """Solve and take apart; several devices have a share of the lanes each."""
    run = partial(_lanes, chunk=chunk)
    if len(devices) <= 1:
        return run(problems, counts, settings)
    divided: Chains = jax.shard_map(
        run,
        mesh=_mesh(devices),
        in_specs=(DIVIDED, DIVIDED, SAME),
        out_specs=RESULT,
        check_vma=False,  # loops start from constants, the same for all
    )(problems, counts, settings)
    return divided


def _lanes(problems: Problems, counts: Array, settings: Settings, *, chunk: int) -> Chains:
    """All lanes at once (0), or those that count, a chunk after another."""

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
        return some(problems)

    def one(i: Array, chains: Chains) -> Chains:
        part = jax.tree.map(lambda a: lax.dynamic_slice_in_dim(a, i * chunk, chunk), problems)
        whole: Chains = jax.tree.map(
            lambda a, b: lax.dynamic_update_slice_in_dim(a, b, i * chunk, 1), chains, some(part)
        )
        return whole

    nothing = jax.tree.map(jnp.asarray, no_chains(KINDS, len(problems.supply)))
    chains: Chains = lax.fori_loop(0, -(-counts[0] // chunk), one, nothing)
    return chains
