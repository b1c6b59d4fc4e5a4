"""What to do where the memory of a device does not suffice: half as much at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

import jax
import numpy as np

from .flow_problems import Activity, FlowProblems

Solution = TypeVar("Solution")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory, of the host or of a device, did not suffice.

    Examples
    --------
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(ValueError())
    (True, False)
    """
    if isinstance(error, jax.errors.JaxRuntimeError):
        return "RESOURCE_EXHAUSTED" in str(error) or "out of memory" in str(error).lower()
    return isinstance(error, MemoryError)


def halving(
    otherwise: Callable[[FlowProblems], Solution],
) -> Callable[[Callable[..., Solution]], Callable[..., Solution]]:
    """Decorate a solver of flow LPs: it solves half of them at a time where all do not fit.

    Parameters
    ----------
    otherwise : callable
        What is returned for a single problem that does not fit.
    """

    def decorate(solve: Callable[..., Solution]) -> Callable[..., Solution]:
        @wraps(solve)
        def solve_all(problems: FlowProblems, *arguments: Any, **settings: Any) -> Solution:
            try:
                return solve(problems, *arguments, **settings)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            # Out here the exception, and with it all arrays of the failed attempt, are gone.
            if len(problems) <= 1:
                return otherwise(problems)
            settings["start"] = None  # of all problems: not worth dividing too
            middle = len(problems) // 2
            halves = [
                solve_all(some(problems, *ends), *arguments, **settings)
                for ends in ((0, middle), (middle, len(problems)))
            ]
            kind: Any = type(halves[0])
            joined: Solution = kind(
                *(np.concatenate([getattr(half, f.name) for half in halves]) for f in fields(kind))
            )
            return joined

        return solve_all

    return decorate


def some(problems: FlowProblems, first: int, end: int) -> FlowProblems:
    """The problems from one number to another."""
    nodes, edges = problems.nodes[first : end + 1], problems.edges[first : end + 1]
    on_nodes, on_edges = slice(nodes[0], nodes[-1]), slice(edges[0], edges[-1])
    activity = problems.activity
    return FlowProblems(
        nodes=nodes - nodes[0],
        edges=edges - edges[0],
        tail=problems.tail[on_edges],
        head=problems.head[on_edges],
        cost=problems.cost[on_edges],
        capacity=problems.capacity[on_edges],
        reward=problems.reward[on_nodes],
        supply=problems.supply[on_nodes],
        activity=activity
        and Activity(
            cost=activity.cost[on_edges],
            reward=activity.reward[on_nodes],
            level=activity.level[first:end],
            largest=activity.largest[first:end],
        ),
        roots=None if problems.roots is None else problems.roots[first:end],
    )
