"""``bdcc-jax cluster``: from a table of scored pairs to a table of clusters."""

import argparse
import json
from pathlib import Path
from typing import Any

from ..attempt import solve_graph
from ..io.arrow import require_pyarrow
from ..result import Status
from ..search.arguments import check_arguments
from ..separation.device import devices
from ..show.stages import Stages
from ..tables import Clusters
from ..tables.clusters import clusters_of, read_pairs
from ..tables.files import SUFFIXES, check_table_target, write_table
from ..tables.scores import CLIP
from .common import (
    Parser,
    at_least_0,
    bad_input,
    before_line,
    finite,
    say,
    warnings_as_lines,
)
from .instance import called
from .options import add_options, read_device, read_options
from .signals import SIGNALS

HELP = "cluster records by a table of scored pairs"

_COLUMNS = {
    "left": "the column with the ids of one record (default: unique_id_l, or source)",
    "right": "that with the ids of the other (default: unique_id_r, or target)",
    "match_weight": "the scores are log2 of the odds, as splink has them",
    "probability": "the scores are probabilities of belonging together",
    "weight": "the scores are log-odds",
    "left_dataset": "the dataset of one record (default: source_dataset_l, if there)",
    "right_dataset": "that of the other (default: source_dataset_r, if there)",
}


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add, kinds = command.add_argument, ", ".join(SUFFIXES)
    add("pairs", metavar="PAIRS", help=f"{kinds}, a folder of Parquet files, or - for CSV")
    add("-o", "--output", metavar="CLUSTERS", help=f"write the clusters: {kinds}")
    for name, text in _COLUMNS.items():
        add(f"--{name.replace('_', '-')}", metavar="COLUMN", help=text)
    add("--record-id", default="unique_id", metavar="NAME", help="what ids are called")
    add("--dataset", default="source_dataset", metavar="NAME", help="what datasets are called")
    add("--nodes", metavar="FILE", help="a table of all records, also those without pairs")
    add("--threshold", type=float, default=0.5, help="a pair attracts above it (default: 0.5)")
    add("--clip", type=float, default=CLIP, help=f"probabilities end there (default: {CLIP:g})")
    add("--one-per-dataset", action="store_true", help="no two of a dataset in one cluster")
    add_options(command)
    add("--time-limit", type=at_least_0(float), metavar="SECONDS", help="stop after this time")
    add("--json", action="store_true", help="the summary as JSON")
    add("--quiet", action="store_true", help="no progress and no summary")
    add("--force", action="store_true", help="overwrite an existing file")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    with bad_input():
        options, device = read_options(arguments), read_device(arguments)
        devices.place(device, options.engine)
        require_pyarrow()
        _check_output(arguments)
        check_arguments(device, arguments.time_limit, arguments.gap, arguments.seed, options, None)
        arguments.compilers.start()
        said = {name: getattr(arguments, name) for name in _COLUMNS}
        stages = Stages(not arguments.quiet)
        with warnings_as_lines(f"{called(arguments.pairs)}: "):
            pairs = read_pairs(
                arguments.pairs,
                stages,
                **said,
                record_id=arguments.record_id,
                dataset=arguments.dataset,
                nodes=arguments.nodes,
                threshold=arguments.threshold,
                clip=arguments.clip,
                one_per_dataset=arguments.one_per_dataset,
            )
        compiling = arguments.compilers.wait_for(pairs.graph, arguments.time_limit)

        def solved() -> Clusters:
            with stages("solving"):
                result = solve_graph(
                    pairs.graph,
                    device=device,
                    time_limit=arguments.time_limit,
                    gap=arguments.gap,
                    seed=arguments.seed,
                    options=options,
                    callback=SIGNALS.stop,
                    progress=not arguments.quiet,
                )
            return clusters_of(pairs, result, stages)

        with warnings_as_lines(f"{called(arguments.pairs)}: "):
            clusters = SIGNALS.last(solved)
        if arguments.output is not None:
            write_table(clusters.table, Path(arguments.output), force=arguments.force)
    if arguments.json:
        say(json.dumps(finite(_facts(clusters)), indent=2, allow_nan=False))
    elif not arguments.quiet:
        say(clusters.summary() + before_line(arguments.loading, compiling))
    stopped = clusters.result.status in (Status.STOPPED, Status.INTERRUPTED)
    return 130 if stopped else 0


def _check_output(arguments: argparse.Namespace) -> None:
    if arguments.output is None:
        return
    target = Path(arguments.output)
    check_table_target(target, force=arguments.force)
    inputs = [path for path in (arguments.pairs, arguments.nodes) if path is not None]
    if target.resolve() in [Path(path).resolve() for path in inputs]:
        raise ValueError(f"{target} is named twice; input and output must be different files")


def _facts(clusters: Clusters) -> dict[str, Any]:
    result = clusters.result
    return {
        "records": result.graph.n,
        "pairs": clusters.pairs,
        "clusters": result.n_clusters,
        "status": str(result.status),
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "disagreement": result.disagreement,
        "seconds": clusters.seconds,
    }
