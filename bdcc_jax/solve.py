"""The front door."""

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from .attempt import solve_graph
from .instance.constraints import Groups, Pairs
from .instance.graph import Graph
from .io.convert import GraphLike, as_graph
from .options import Options
from .result import Result
from .search.reporter import Callback
from .separation.device.devices import DeviceChoice
from .show.progress import ProgressChoice
from .weights import SuspiciousWeights, suspicion


def solve(
    graph: GraphLike,
    *,
    device: DeviceChoice = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    callback: Callback | None = None,
    progress: ProgressChoice = False,
    checkpoint: str | PathLike[str] | None = None,
    initial: ArrayLike | None = None,
    must_link: Pairs | None = None,
    cannot_link: Pairs | None = None,
    groups: Groups | None = None,
    columns: Sequence[str] | None = None,
    min_clusters: int | None = None,
    max_clusters: int | None = None,
    unaries: ArrayLike | None = None,
) -> Result:
    """Find an optimal clustering, or the best within the limits together with a lower bound.

    Parameters
    ----------
    graph : Graph, path, networkx graph, matrix, table, (u, v, w) or list of (a, b, weight)
        The instance; positive weights attract, negative weights repel. Matrices are scipy's sparse
        ones, square arrays and nested lists; tables are those of pandas, polars, pyarrow and
        DuckDB.
    device : str, jax.Device or list of these
        'auto' (a GPU if there is one), 'cpu', 'gpu', 'gpu:1' or a device of JAX. With several, or
        'all', the engine 'pdlp' divides its LPs among them.
    time_limit : float, optional
        Seconds; the best clustering by then is returned. Those in which loops are compiled, on the
        first use on a machine, do not count.
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
    initial : array_like of int, shape (n,), optional
        A clustering to start from, whoever made it. ``Result.initial_objective`` is what it costs,
        and ``Result.initial_gap`` how much less any other can cost at most. One that violates
        constraints, or has clusters that ordinary edges do not connect where others are lifted, is
        changed until it does not.
    must_link, cannot_link, groups : optional
        Only clusterings count that keep these pairs of nodes together, or apart, and no two nodes
        of a group together; see :meth:`bdcc_jax.Graph.constrained`.
    columns : three str, optional
        The columns of a table that hold the two nodes and the weight of every edge; source, target
        and weight if not given. Tables of scores: :func:`bdcc_jax.tables.cluster`.
    min_clusters, max_clusters : int, optional
        How many clusters there are at least, and at most.
    unaries : array_like, shape (n, k), optional
        Every cluster has one of k classes, and this is what each costs each node; see
        :meth:`bdcc_jax.Graph.classified`. ``Result.classes`` are those of the nodes.

    Returns
    -------
    Result
        Labels, both bounds and why it stopped. Ctrl-C returns the best clustering so far.

    Warns
    -----
    SuspiciousWeights
        The weights look like probabilities: all of one sign, at most 1, not all the same, and
        without constraints that could make the answer anything but trivial.

    Examples
    --------
    Two friends who share an enemy:

    >>> import bdcc_jax
    >>> result = bdcc_jax.solve(([0, 1, 0], [1, 2, 2], [2.0, -1.0, -3.0]))
    >>> result.labels.tolist(), result.objective, str(result.status)
    ([0, 0, 1], -4.0, 'optimal')
    """
    graph = modelled(
        as_graph(graph, columns),
        must_link=must_link,
        cannot_link=cannot_link,
        groups=groups,
        min_clusters=min_clusters,
        max_clusters=max_clusters,
        unaries=unaries,
    )
    if (why := suspicion(graph)) is not None:
        warnings.warn(why, SuspiciousWeights, stacklevel=2)
    return solve_graph(
        graph,
        device=device,
        time_limit=time_limit,
        gap=gap,
        seed=seed,
        options=options,
        callback=callback,
        progress=progress,
        checkpoint=checkpoint,
        initial=initial,
    )


def modelled(graph: Graph, *, unaries: ArrayLike | None = None, **constraints: Any) -> Graph:
    """The graph with the constraints and the classes of the arguments that are not None."""
    if any(value is not None for value in constraints.values()):
        graph = graph.constrained(**constraints)
    return graph if unaries is None else graph.classified(unaries)
