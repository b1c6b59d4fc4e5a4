"""From a table of scored pairs to a table of clusters: :func:`cluster`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..attempt import solve_graph
from ..base.arrays import FloatArray, IntArray
from ..instance.graph import Graph
from ..io import arrow
from ..options import Options
from ..result import Result
from ..search.arguments import check_arguments
from ..search.reporter import Callback
from ..separation.device.devices import DeviceChoice
from ..show.progress import ProgressChoice
from ..show.stages import Stages
from ..weights import SuspiciousWeights, suspicion
from .columns import PairColumns, pair_columns, record_columns
from .confidence import confidences
from .files import Rows, TableFile
from .records import Records, graph_of, records_of
from .scores import CLIP, check_threshold, pair_weights

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class Clusters:
    """What became of a table of pairs.

    Attributes
    ----------
    table : table of the kind that was given
        One row a record: its id (after its dataset, where there are datasets), ``cluster_id`` (0,
        1, ... by first appearance) and ``confidence``, that of the whole cluster; see
        :mod:`bdcc_jax.tables.confidence`.
    result : Result
        The solve: both bounds and why it ended. Node i of its graph is row i of the table.
    pairs : int
        Rows of the table of pairs.
    seconds : dict from str to float
        How long each stage took.
    """

    table: Any
    result: Result
    pairs: int
    seconds: dict[str, float]

    def __repr__(self) -> str:
        return (
            f"Clusters({self.result.status}, {self.result.graph.n} records in "
            f"{self.result.n_clusters} clusters)"
        )

    def summary(self) -> str:
        """A few lines to print."""
        result = self.result
        at_least = max(0.0, result.disagreement - result.gap)  # not below 0 by a rounding error
        stages = ", ".join(f"{name} {spent:.1f}" for name, spent in self.seconds.items())
        facts = {
            "status": f"{result.status} ({result.status.explanation})",
            "records": f"{result.graph.n} in {result.n_clusters} clusters",
            "pairs": f"{self.pairs}: {int(result.graph.positive.sum())} attract, "
            f"{int(result.graph.negative.sum())} repel",
            "against": f"{result.disagreement:.10g} of log-odds, at least "
            f"{at_least:.10g} with any clustering",
            "seconds": f"{sum(self.seconds.values()):.1f}: {stages}",
        }
        return "\n".join(f"{name:<13} {value}" for name, value in facts.items())


def cluster(
    pairs: Any,
    *,
    left: str | None = None,
    right: str | None = None,
    weight: str | None = None,
    probability: str | None = None,
    match_weight: str | None = None,
    left_dataset: str | None = None,
    right_dataset: str | None = None,
    record_id: str = "unique_id",
    dataset: str = "source_dataset",
    nodes: Any = None,
    threshold: float = 0.5,
    clip: float = CLIP,
    one_per_dataset: bool = False,
    device: DeviceChoice = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    options: Options | None = None,
    callback: Callback | None = None,
    progress: ProgressChoice = False,
) -> Clusters:
    """Cluster records by the scores of pairs, so that all scores agree as well as possible.

    Pairs that are not in the table count 0, as do pairs without a score. A pair that is there
    several times, in whatever direction, counts once, with the mean of its log-odds. Pairs of a
    record with itself say nothing. A warning tells of each of these.

    Parameters
    ----------
    pairs : table, or path
        One row a pair: a table of pandas, polars, pyarrow, DuckDB or splink, or a file of CSV with
        a header, Parquet or Arrow, or a folder of Parquet files.
    left, right : str, optional
        The columns with the ids of the two records, text or whole numbers. Default: ``unique_id_l``
        and ``unique_id_r``, or ``source`` and ``target``.
    weight, probability, match_weight : str, optional
        The column with the scores, and what they are: log-odds of belonging together, the
        probability of it, or splink's log2 of the odds. Default: whichever of the columns
        ``match_weight``, ``match_probability`` (a probability) and ``weight`` is there, in this
        order.
    left_dataset, right_dataset : str, optional
        The columns with the datasets of the two records. A record is known by its dataset and its
        id then. Default: ``source_dataset_l`` and ``source_dataset_r`` if they are there.
    record_id, dataset : str
        What the ids and datasets of records are called: the columns of ``nodes`` and of the
        result, and with ``_l`` and ``_r`` those of pairs.
    nodes : table, path, or column of ids, optional
        All records, also those without pairs. Of a table the columns ``record_id`` and, if pairs
        have datasets, ``dataset`` are used, or its only column. The result is in this order.
    threshold : float in (0, 1)
        A pair attracts if its probability is above this; its weight is its log-odds minus those of
        the threshold. A prior q, for scores that have none in them, is ``threshold=1 - q``.
    clip : float in (0, 0.5)
        No probability or match weight says more than the probability ``1 - clip``, or less than
        ``clip``. Weights are not clipped.
    one_per_dataset : bool
        No two records of a dataset are in one cluster.
    device, time_limit, gap, seed, options, callback
        As for :func:`bdcc_jax.solve`.
    progress : bool, 'live' or 'plain'
        Show what is read and done, and the rounds as :func:`bdcc_jax.solve` does, on the standard
        error stream.

    Returns
    -------
    Clusters
        ``table`` is of the kind of ``pairs``; of pyarrow for files and splink.

    Examples
    --------
    >>> import pandas as pd
    >>> pairs = pd.DataFrame({
    ...     "unique_id_l": ["ann", "ann", "bob"],
    ...     "unique_id_r": ["anne", "bob", "anne"],
    ...     "match_probability": [0.95, 0.6, 0.02],
    ... })
    >>> cluster(pairs, nodes=["ann", "anne", "bob", "cid"]).table.round(3)
      unique_id  cluster_id  confidence
    0       ann           0        0.927
    1      anne           0        0.927
    2       bob           1        0.927
    3       cid           2          NaN
    """
    check_arguments(device, time_limit, gap, seed, options, callback)
    stages = Stages(bool(progress))
    found = read_pairs(
        pairs,
        stages,
        left=left,
        right=right,
        weight=weight,
        probability=probability,
        match_weight=match_weight,
        left_dataset=left_dataset,
        right_dataset=right_dataset,
        record_id=record_id,
        dataset=dataset,
        nodes=nodes,
        threshold=threshold,
        clip=clip,
        one_per_dataset=one_per_dataset,
    )
    with stages("solving"):
        result = solve_graph(
            found.graph,
            device=device,
            time_limit=time_limit,
            gap=gap,
            seed=seed,
            options=options,
            callback=callback,
            progress=progress,
        )
    clusters = clusters_of(found, result, stages)
    return replace(clusters, table=arrow.like(clusters.table, pairs))


@dataclass(frozen=True, eq=False)
class Pairs:
    """A table of pairs that has been read.

    Attributes
    ----------
    graph : Graph
        The instance: a node for every record.
    records : Records
        What the nodes are.
    groups : array, optional
        The dataset of every record, if no cluster may have two of one.
    rows : int
        Of the table.
    """

    graph: Graph
    records: Records
    groups: IntArray | None
    rows: int


def read_pairs(
    pairs: Any,
    stages: Stages,
    *,
    left: str | None,
    right: str | None,
    weight: str | None,
    probability: str | None,
    match_weight: str | None,
    left_dataset: str | None,
    right_dataset: str | None,
    record_id: str,
    dataset: str,
    nodes: Any,
    threshold: float,
    clip: float,
    one_per_dataset: bool,
) -> Pairs:
    """Make an instance of a table of pairs; what may be said of it is that of :func:`cluster`."""
    with stages("reading pairs") as told:
        source = _opened(pairs, "pairs")
        columns = pair_columns(
            source.columns,
            left=left,
            right=right,
            left_dataset=left_dataset,
            right_dataset=right_dataset,
            scores={"weight": weight, "probability": probability, "match_weight": match_weight},
            record_id=record_id,
            dataset=dataset,
        )
        check_threshold(threshold, clip, columns.kind)
        if one_per_dataset and columns.datasets is None:
            raise ValueError(
                f"one_per_dataset needs columns {dataset}_l and {dataset}_r, or left_dataset= and "
                f"right_dataset=; the table has {source.columns}"
            )
        table = source.read(columns.names, told)
    names = [record_id] if columns.datasets is None else [dataset, record_id]
    with stages("reading nodes") as told:
        given = None if nodes is None else _nodes(nodes, names, told)
    with stages("numbering records"):
        records = _records(table, columns, given, names)
        weights, scored = pair_weights(
            table[columns.score], columns.score, columns.kind, threshold=threshold, clip=clip
        )
        rows = table.num_rows
        del table, given
        graph = graph_of(records, weights, scored)
        del weights, scored
        if columns.kind == "weight" and suspicion(graph) is not None:
            warnings.warn(
                f"column {columns.score!r} has weights of one sign, none above 1 in magnitude: if "
                f"these are probabilities, say probability={columns.score!r}",
                SuspiciousWeights,
                stacklevel=3,
            )
        groups = records.datasets if one_per_dataset else None
        if groups is not None:
            graph = graph.constrained_by_id(groups=groups)
    return Pairs(graph, records, groups, rows)


def clusters_of(pairs: Pairs, result: Result, stages: Stages) -> Clusters:
    """Make a table of pyarrow of what a solve of the instance found."""
    with stages("confidences"):
        sure = confidences(pairs.graph, result.labels, pairs.groups)
        table = _table(pairs.records, result, sure)
    return Clusters(table, result, pairs.rows, stages.seconds)


class _Given:
    """A table in memory, to be read like a file."""

    def __init__(self, table: Any) -> None:
        self._table, self.columns = table, arrow.column_names(table)

    def read(self, names: Sequence[str], _: Rows) -> pa.Table:
        return arrow.columns(self._table, names)


def _opened(given: Any, what: str) -> TableFile | _Given:
    if isinstance(given, str | os.PathLike):
        return TableFile(given if isinstance(given, str) else Path(given))
    if arrow.is_table(given):
        return _Given(given)
    raise TypeError(f"{what} must be {arrow.KINDS}, or a path, not {type(given).__name__!r}")


def _nodes(nodes: Any, names: list[str], told: Rows) -> list[pa.ChunkedArray]:
    if not isinstance(nodes, str | os.PathLike) and not arrow.is_table(nodes):
        if len(names) > 1:
            raise ValueError(
                "nodes must be a table here: a record is known by its dataset and its id, "
                f"columns {names[0]!r} and {names[1]!r}"
            )
        return [arrow.column(nodes)]
    source = _opened(nodes, "nodes")
    chosen = record_columns(source.columns, names[-1], names[0] if len(names) > 1 else None)
    table = source.read(chosen, told)
    return [table[name] for name in chosen]


def _records(
    table: pa.Table, columns: PairColumns, nodes: list[pa.ChunkedArray] | None, names: list[str]
) -> Records:
    left_dataset, right_dataset = columns.datasets or (None, None)
    ends = [
        [table[name] for name in (of, end) if name is not None]
        for of, end in ((left_dataset, columns.left), (right_dataset, columns.right))
    ]
    return records_of(ends, nodes, names)


def _table(records: Records, result: Result, sure: FloatArray) -> pa.Table:
    pa = arrow.require_pyarrow()
    return pa.table(
        {
            **records.columns,
            "cluster_id": pa.array(result.labels),
            "confidence": pa.array(sure[result.labels], from_pandas=True),  # NaN: null
        }
    )
