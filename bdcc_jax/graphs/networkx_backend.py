"""A backend of networkx: its functions for communities of large modularity, solved exactly.

networkx calls the functions below by name, with graphs that :func:`convert_from_nx` has seen. They
return what is optimal within a time limit, and not what the heuristic that gave them their
name would return. What networkx is told about them is in :mod:`bdcc_jax_networkx`.
"""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..io.unsigned_graph import MAX_PAIRS
from .communities import modularity_communities

if TYPE_CHECKING:
    import networkx as nx

NAME = "bdcc_jax"
"""Under which networkx knows this backend."""

AT_ONCE = 1000
"""Graphs of up to this many nodes are taken where networkx chooses the backend by itself."""


@dataclass(frozen=True, eq=False)
class BackendGraph:
    """A graph of networkx as it is: nothing is copied, so that changes to it count."""

    networkx: nx.Graph
    __networkx_backend__ = NAME

    def __len__(self) -> int:
        return len(self.networkx)

    def is_directed(self) -> bool:
        """As networkx has it; its decorators ask before a function is called."""
        return bool(self.networkx.is_directed())

    def is_multigraph(self) -> bool:
        """As networkx has it; its decorators ask before a function is called."""
        return bool(self.networkx.is_multigraph())


def convert_from_nx(graph: nx.Graph, **_: Any) -> BackendGraph:
    """Take a graph of networkx; which attributes matter, the functions are told themselves."""
    return BackendGraph(graph)


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Give a graph back; lists of sets are what networkx returns too."""
    return result.networkx if isinstance(result, BackendGraph) else result


def can_run(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
    """Whether the optimum answers the question; a text that says why not."""
    given = _given(name, args, kwargs)
    n = len(given["G"])
    if n * (n - 1) // 2 > MAX_PAIRS:
        return f"{n} nodes have more than {MAX_PAIRS} pairs"
    if given.get("max_level") is not None:
        return "an optimum has no levels: max_level must be None"
    if given.get("cutoff", 1) != 1 or given.get("best_n") is not None:
        return "the number of communities is found: cutoff must be 1 and best_n None"
    return True


def should_run(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
    """Whether to run although nobody asked for this backend by name in the call."""
    n = len(_given(name, args, kwargs)["G"])
    return n <= AT_ONCE or f"{n} nodes take long to solve exactly: ask for it by backend={NAME!r}"


def louvain_communities(
    G: BackendGraph,
    weight: str | None = "weight",
    resolution: float = 1,
    threshold: float = 1e-7,
    max_level: None = None,
    seed: Any = None,
    *,
    time_limit: float | None = None,
) -> list[set[Hashable]]:
    """The communities of largest modularity; ``threshold`` and ``seed`` change nothing in it."""
    return _optimal(G, weight, resolution, time_limit)


def leiden_communities(
    G: BackendGraph,
    weight: str | None = "weight",
    resolution: float = 1,
    max_level: None = None,
    seed: Any = None,
    *,
    time_limit: float | None = None,
) -> list[set[Hashable]]:
    """The communities of largest modularity; ``seed`` changes nothing in it."""
    return _optimal(G, weight, resolution, time_limit)


def greedy_modularity_communities(
    G: BackendGraph,
    weight: str | None = None,
    resolution: float = 1,
    cutoff: int = 1,
    best_n: None = None,
    *,
    time_limit: float | None = None,
) -> list[frozenset[Hashable]]:
    """The communities of largest modularity, as frozensets, which networkx has here."""
    return [frozenset(each) for each in _optimal(G, weight, resolution, time_limit)]


def naive_greedy_modularity_communities(
    G: BackendGraph,
    resolution: float = 1,
    weight: str | None = None,
    *,
    time_limit: float | None = None,
) -> list[frozenset[Hashable]]:
    """The communities of largest modularity, as frozensets, which networkx has here."""
    return [frozenset(each) for each in _optimal(G, weight, resolution, time_limit)]


def _optimal(
    G: BackendGraph, weight: str | None, resolution: float, time_limit: float | None
) -> list[set[Hashable]]:
    import networkx as nx

    # networkx keeps what it had converted, and warns at the next call that it may be out of date.
    # Nothing was copied, so there is nothing to keep or to warn of.
    cache = getattr(G.networkx, "__networkx_cache__", None) or {}
    cache.get("backends", {}).pop(NAME, None)
    if len(G) == 0:
        return []
    if time_limit is None:
        time_limit = nx.config.backends[NAME].time_limit
    return modularity_communities(
        G.networkx, weight=weight, resolution=resolution, time_limit=time_limit
    )


def _given(name: str, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names, whether they came by position or not."""
    return inspect.signature(globals()[name]).bind(*args, **kwargs).arguments
