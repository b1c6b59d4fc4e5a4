"""The front door."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from os import PathLike
from typing import Any

import jax

from . import devices
from .checkpoint import Checkpoint
from .clock import Clock
from .convert import as_graph
from .delegation import Callback
from .devices import Devices, Host
from .graph import Graph
from .highs import release_scheduler
from .interrupts import interruptible
from .options import Options, check_amount
from .progress import Wish, view
from .result import Progress, Result, Status
from .solver import Solver

logger = logging.getLogger(__name__)


def solve(
    graph: Any,
    *,
    device: str | jax.Device | Sequence[str | jax.Device] = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    callback: Callback | None = None,
    progress: Wish = False,
    checkpoint: str | PathLike[str] | None = None,
) -> Result:
    """Find an optimal clustering, or the best within the limits together with a lower bound.

    Parameters
    ----------
    graph : Graph, path, networkx graph, scipy sparse or square dense matrix, DataFrame, (u, v, w)
        The instance; positive weights attract, negative weights repel.
    device : str, jax.Device or list of these
        'auto' (a GPU if there is one), 'cpu', 'gpu', 'gpu:1' or a device of JAX. With several, or
        'all', the engine 'pdlp' divides its LPs among them.
    time_limit : float, optional
        Seconds; the best clustering by then is returned.
    gap : float
        Stop once ``(objective - lower_bound) / |objective|`` is at most this. The absolute
        counterpart is ``Options.absolute_gap``.
    seed : int
        The same seed gives the same result.
    options : Options, optional
        How to solve; ``Options.paper()`` is the paper to the letter.
    callback : callable, optional
        Called with a :class:`~bdcc_jax.Progress` after every round; return True to stop.
    progress : bool, 'live' or 'plain'
        Show a table of the rounds on the standard error stream: 'plain' prints lines, 'live' (needs
        rich) keeps a table up to date; True is 'live' on a terminal if rich is there, else 'plain'.
    checkpoint : path, optional
        A file that the solve is written to every few seconds and at its end, and that it goes on
        from if the file is there. One of another instance, version, seed or options is refused.

    Returns
    -------
    Result
        Labels, both bounds and why it stopped. Ctrl-C returns the best clustering so far.

    Examples
    --------
    Two friends who share an enemy:

    >>> import bdcc_jax
    >>> result = bdcc_jax.solve(([0, 1, 0], [1, 2, 2], [2.0, -1.0, -3.0]))
    >>> result.labels.tolist(), result.objective, str(result.status)
    ([0, 0, 1], -4.0, 'optimal')
    """
    graph = as_graph(graph)
    options, where = check_arguments(device, time_limit, gap, seed, options, callback)
    saved = None if checkpoint is None else Checkpoint(checkpoint, graph, options, seed)

    clock = Clock(time_limit)
    shown = view(progress, clock)

    def observe(state: Progress) -> bool:
        if shown is not None:
            shown(state)
        return bool(callback(state)) if callback is not None else False

    if shown is not None:
        shown.start()
    try:
        return solve_graph(
            graph,
            options,
            gap=gap,
            seed=seed,
            clock=clock,
            device=where,
            callback=observe,
            checkpoint=saved,
        )
    finally:
        if shown is not None:
            shown.close()


def check_arguments(
    device: str | jax.Device | Sequence[str | jax.Device],
    time_limit: float | None,
    gap: float,
    seed: int,
    options: Options | None,
    callback: object,
) -> tuple[Options, Devices | Host]:
    """Refuse what a solve cannot be asked for; returns the options and where to solve."""
    options = Options() if options is None else options
    if not isinstance(options, Options):
        raise ValueError(f"options must be an Options object, not {options!r}")
    where = devices.place(device, options.engine, options.memory)
    if options.engine in ("packing", "reference") and where.platform != "cpu":
        raise ValueError(f"engine {options.engine!r} runs on the CPU only, not on {device}")
    if time_limit is not None:
        check_amount("time_limit", time_limit)
    check_amount("gap", gap)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be an integer >= 0, not {seed!r}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, not {callback!r}")
    return options, where


def solve_graph(
    graph: Graph,
    options: Options,
    *,
    gap: float,
    seed: int,
    clock: Clock,
    device: Devices | Host,
    callback: Callback,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Solve with arguments that have been checked."""

    def observe(state: Progress) -> bool:
        logger.debug("%s", state.round)
        if checkpoint is not None:
            checkpoint.write_if_due(run.bounds, run.history)
        return bool(callback(state))

    logger.info("begin: %d nodes, %d edges, on %s", graph.n, graph.m, device)
    run = Solver(
        graph,
        options,
        gap=gap,
        seed=seed,
        clock=clock,
        device=device,
        callback=observe,
        checkpoint=checkpoint,
    )
    if checkpoint is not None:
        run.resume(checkpoint)
    try:
        with interruptible():
            status = run.run()
    except KeyboardInterrupt:  # when it was just about to return
        status = Status.INTERRUPTED
    finally:
        release_scheduler()
    if checkpoint is not None:
        try:
            checkpoint.restore_bound(run.bounds)
            checkpoint.write(run.bounds, run.history, run.removed, run.bounds.proof)
        except KeyboardInterrupt:  # the last file that was complete is still there
            status = run.bounds.verdict or Status.INTERRUPTED
    bounds = run.bounds
    logger.info(
        "end after %.2f s: %s, %.10g to %.10g", clock.elapsed, status, bounds.lower, bounds.upper
    )
    return Result(
        graph=graph,
        labels=bounds.labels,
        objective=graph.objective(bounds.labels),
        lower_bound=bounds.lower,
        status=status,
        tolerance=bounds.excess,
        history=tuple(run.history),
        timings={**clock.spent, "total": clock.elapsed},
        options=options,
        device=str(device),
        removed=run.removed,
        proof=bounds.proof,
    )
