"""The front door for large graphs."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..instance.graph import Graph
from ..io.files import write_bytes
from ..options import Options, as_amount, as_count
from ..search.checkpoint import fingerprint
from ..show.block_progress import BlockPrinter
from .budget import Budget, as_bytes, cores, machine_memory
from .partition import (
    Blocks,
    Partition,
    are_lists,
    as_block_count,
    block_of_nodes,
    by_position,
    count,
    distribute,
    loaded,
)
from .result import BlockProgress, Callback, LargeResult
from .run import Run, Wish, solve_whole
from .runners import DaskWorkers, Here, Processes, Runner, check_client
from .sources import Source, source_of, source_of_graph
from .store import BlockStore
from .store_files import MANIFEST

SHARE = 0.6
"""Of the memory of the machine, what may be used if nobody says how much."""


def solve(
    path: str | PathLike[str] | Graph,
    *,
    blocks: Blocks | None = None,
    positions: str | PathLike[str] | ArrayLike | None = None,
    memory: int | float | str | None = None,
    folder: str | PathLike[str] | None = None,
    time_limit: float | None = None,
    gap: float = 0.01,
    passes: int = 3,
    prove: bool = False,
    workers: int | None = None,
    client: Any = None,
    columns: Sequence[str] | None = None,
    seed: int = 0,
    options: Options | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> LargeResult:
    """Cluster a graph that need not fit into memory, block by block, with both bounds.

    Everything is kept in a folder as it is found. The same call, after a kill, a crash or a limit,
    goes on from there, and so do calls that ask for more.

    Parameters
    ----------
    path : path or Graph
        A block store (see :class:`~bdcc_jax.large.BlockWriter`); Parquet, Arrow, ``.npz``, ``.npy``
        or zarr with both ends and the weight of every edge, which are read in chunks; anything that
        :func:`bdcc_jax.read` reads, or a graph, which has to fit into memory. Ids are 0, 1, ...
    blocks : int, array_like, path or list of array_like, optional
        How many blocks, of ids one after another (a fair choice where neighbours have similar ids,
        as superpixels have); or the block of every node, as an array or an ``.npy`` file; or for
        every block its nodes. If not given, as many as the memory asks for.
    positions : array_like, shape (n, dimensions), or path, optional
        In place of ``blocks``: where the nodes are; blocks are boxes with as many nodes each.
    memory : int or str, optional
        What all processes here may use together, in bytes or as '8GB'; if not given, 60 % of what
        the machine has.
    folder : path, optional
        Where blocks and results are kept; beside the file, as ``NAME.large``, if not given.
    time_limit : float, optional
        Seconds, without reading; the best clustering by then is returned.
    gap : float
        Stop once ``(objective - lower_bound) / |objective|`` is at most this.
    passes : int
        Over all blocks, at most, to improve the prices by which they share what is at their faces.
    prove : bool
        Where passes leave a gap, go on with the ordinary solve of every block, which takes longer.
    workers : int, optional
        Processes at a time; if not given, as many as there are processors and as memory allows.
        With 1 everything is done in this process.
    client : dask.distributed.Client, str, optional
        Run blocks by Dask: a client, the address of a scheduler, or 'local' for a cluster of
        ``workers`` processes here. All workers must see the folder. Needs the extra
        ``distributed``. Labels and bounds are those of a run without it.
    columns : three str, optional
        Columns, or arrays, with the ends and the weights; u, v, w or source, target, weight if
        not given.
    seed, options
        For the ordinary solve, as in :func:`bdcc_jax.solve`: of what is one block, and of proofs.
    callback : callable, optional
        Called with a :class:`~bdcc_jax.large.BlockProgress` after every block; return True to
        stop.
    progress : bool
        Print lines about blocks on the standard error stream.

    Returns
    -------
    LargeResult
        Both bounds, why it stopped, and the labels block by block. Ctrl-C returns the best so far.

    Raises
    ------
    StoreChanged
        A file of the store is not what it was when the store was finished.
    WorkersLost
        Processes have died, or a scheduler has gone. What is finished is kept.
    MemoryError
        A block does not fit into the memory; says which, and both numbers.

    Examples
    --------
    >>> import tempfile
    >>> from bdcc_jax import Graph, large
    >>> ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)], [2.0, -1.0, 2.0, 2.0, -1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = large.solve(ring, blocks=2, folder=folder, workers=1)
    ...     print(result.all_labels().tolist(), result.objective, result.lower_bound)
    [0, 0, 1, 1, 1, 0] -2.0 -2.0
    """
    seconds = inf if time_limit is None else as_amount("time_limit", time_limit)
    gap, seed = as_amount("gap", gap), as_count("seed", seed, at_least=0)
    passes = as_count("passes", passes, at_least=1)
    options = Options() if options is None else options
    if not isinstance(options, Options):
        raise ValueError(f"options must be an Options object, not {options!r}")
    if prove not in (True, False):
        raise ValueError(f"prove must be True or False, not {prove!r}")
    if blocks is not None and positions is not None:
        raise ValueError("give blocks or positions, not both")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, not {callback!r}")
    check_client(client)
    most = cores() if workers is None else as_count("workers", workers, at_least=1)
    amount = int(SHARE * machine_memory()) if memory is None else as_bytes(memory)
    budget = Budget(amount, most)
    told = _told(callback, progress)
    store, place = _store(path, blocks, positions, budget, folder, columns, told)
    if store.n == 0:
        raise ValueError(f"{store.folder}: a graph needs a node, and no block has any")
    processes = budget.processes(store)
    wish = Wish(
        gap=gap,
        passes=passes,
        prove=prove,
        seed=seed,
        options=options,
        budget=budget,
        time_limit=seconds,
    )
    if store.n_blocks == 1:
        return solve_whole(store, place, wish, told)
    runner: Runner
    if client is not None:
        runner = DaskWorkers(client, processes)
    else:
        runner = Here() if processes == 1 else Processes(processes)
    with runner:
        return Run(store, place, wish, runner, told).result()


def _told(callback: Callback | None, progress: bool) -> Callback | None:
    if not progress:
        return callback
    printer = BlockPrinter(sys.stderr)

    def both(state: BlockProgress) -> bool:
        printer(state)
        return bool(callback(state)) if callback is not None else False

    return both


def _store(
    path: str | PathLike[str] | Graph,
    blocks: Blocks | None,
    positions: str | PathLike[str] | ArrayLike | None,
    budget: Budget,
    folder: str | PathLike[str] | None,
    columns: Sequence[str] | None,
    told: Callback | None,
) -> tuple[BlockStore, Path]:
    """The store to solve, made of the edges if it is not there, and where its results go."""
    if isinstance(path, Graph):
        if folder is None:
            raise ValueError("a graph in memory needs folder=, where blocks and results are kept")
        digest = fingerprint(path)
        source, place = source_of_graph(path, "the graph", lambda: digest), Path(folder)
    elif (Path(path) / MANIFEST).is_file():
        if blocks is not None or positions is not None:
            raise ValueError(f"{path} is a block store: it has its blocks already")
        return BlockStore(path), Path(path) / "results" if folder is None else Path(folder)
    else:
        source = source_of(path, columns)
        named = Path(path).resolve()
        place = named.with_name(f"{named.name}.large") if folder is None else Path(folder)
    target, ticket = place / "blocks", place / "source.json"
    state = source.state()
    chosen = _choice(blocks, positions)
    asked = {
        "source": hashlib.sha256(state.encode()).hexdigest(),
        "columns": None if columns is None else list(columns),
        **chosen,
    }
    known: Any = None
    if ticket.is_file():
        with suppress(ValueError):
            known = json.loads(ticket.read_bytes())
    ours = isinstance(known, dict) and {"source", "columns"} <= known.keys()
    if not ours and any(place.glob("[!.]*")):  # what a kill leaves of a ticket is hidden
        raise FileExistsError(f"{place} exists and is not a folder of ours; give another folder=")
    if (target / MANIFEST).is_file():
        if known != asked:
            raise FileExistsError(
                f"{place} holds the blocks of another input, of other columns, or of other blocks; "
                "remove it, or give another folder="
            )
        return BlockStore(target), place / "results"
    partition = _partition(source, blocks, positions, budget)
    # Blocks of a run that was killed may be of an input that has changed, or of other sizes.
    shutil.rmtree(target, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    write_bytes(ticket, json.dumps(asked).encode(), force=True)

    def tell(stage: str, done: int, total: int) -> None:
        if told is not None:
            told(BlockProgress(stage, done, total, 0.0, -inf, inf))

    return distribute(source, partition, target, budget.chunk(), tell), place / "results"


def _choice(blocks: Blocks | None, positions: Any) -> dict[str, int | str]:
    """How blocks were chosen, in a form that can be compared."""
    if blocks is None and positions is None:
        return {"blocks": "by memory"}  # of the run that made them
    if (number := as_block_count(blocks)) is not None:
        return {"blocks": number}
    given = blocks if positions is None else positions
    total = hashlib.sha256()
    if isinstance(given, str | PathLike):
        total.update(Path(given).read_bytes())
    else:
        for part in given if isinstance(given, list | tuple) else [given]:
            total.update(np.ascontiguousarray(part).tobytes() + b";")
    return {"blocks" if positions is None else "positions": total.hexdigest()}


def _partition(source: Source, blocks: Blocks | None, positions: Any, budget: Budget) -> Partition:
    n, m = count(source, budget.chunk())
    number = as_block_count(blocks)
    if number is None and blocks is None and positions is None:
        number = 1 if budget.fits_whole(m) else -(-n // budget.block_nodes(n, m))
    if number is not None:
        if number > n:
            raise ValueError(f"blocks must be at most {n}, one a node, not {number}")
        return Partition.ranges(n, number)
    # Nodes without edges count, too.
    if positions is not None:
        points = loaded(positions, "positions")
        n = max(n, len(points) if np.ndim(points) else 0)
        return Partition.given(by_position(points, n, budget.block_nodes(n, m)))
    given: Any = loaded(blocks, "blocks")
    n = max(n, sum(map(np.size, given)) if are_lists(given) else np.size(given))
    return Partition.given(block_of_nodes(given, n))
