"""The front door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from . import devices
from .clock import Clock
from .convert import as_graph
from .devices import Devices
from .graph import Graph
from .options import Options, check_amount
from .progress import ProgressPrinter
from .result import Progress, Result
from .solver import Callback, Solver


def solve(
    graph: Any,
    *,
    device: str | jax.Device | Sequence[str | jax.Device] = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    callback: Callback | None = None,
    progress: bool = False,
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
    progress : bool
        Print a table of the rounds to the standard error stream.

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

    printer = ProgressPrinter() if progress else None

    def observe(state: Progress) -> bool:
        if printer is not None:
            printer(state)
        return bool(callback(state)) if callback is not None else False

    if printer is not None:
        printer.start()
    result = solve_graph(
        graph, options, gap=gap, seed=seed, clock=Clock(time_limit), device=where, callback=observe
    )
    if printer is not None:
        printer.close()
    return result


def check_arguments(
    device: str | jax.Device | Sequence[str | jax.Device],
    time_limit: float | None,
    gap: float,
    seed: int,
    options: Options | None,
    callback: object,
) -> tuple[Options, Devices]:
    """Refuse what a solve cannot be asked for; returns the options and the devices."""
    found = devices.resolve_all(device)
    options = Options() if options is None else options
    if not isinstance(options, Options):
        raise ValueError(f"options must be an Options object, not {options!r}")
    if options.engine in ("packing", "reference"):
        found = (devices.resolve("cpu"),) if device == "auto" else found
        if found[0].platform != "cpu":
            raise ValueError(f"engine {options.engine!r} runs on the CPU only, not on {device}")
    if time_limit is not None:
        check_amount("time_limit", time_limit)
    check_amount("gap", gap)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be an integer >= 0, not {seed!r}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable, not {callback!r}")
    return options, Devices(found, options.memory)


def solve_graph(
    graph: Graph,
    options: Options,
    *,
    gap: float,
    seed: int,
    clock: Clock,
    device: Devices,
    callback: Callback | None = None,
) -> Result:
    """Solve with arguments that have been checked."""
    run = Solver(graph, options, gap=gap, seed=seed, clock=clock, device=device, callback=callback)
    status = run.run()
    return Result(
        graph=graph,
        labels=run.bounds.labels,
        objective=run.bounds.upper,
        lower_bound=run.bounds.lower,
        status=status,
        tolerance=run.bounds.tolerance,
        history=tuple(run.history),
        timings={**clock.spent, "total": clock.elapsed},
        options=options,
        device=str(device),
        removed=run.removed,
    )
