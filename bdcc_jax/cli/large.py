"""``bdcc-jax large``: a graph that need not fit into memory, block by block."""

import argparse
import json
from pathlib import Path

from ..base.records import Status
from ..io.files import check_target
from ..large import solve
from ..large.budget import as_bytes
from ..large.runners import WorkersLost
from ..large.store import StoreChanged
from .common import BAD_INPUT, INTERRUPTED, Parser, at_least_0, bad_input, complain, finite, say
from .logs import LEVELS
from .signals import SIGNALS

HELP = "cluster a graph that does not fit into memory, or into one machine"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add = command.add_argument
    add("graph", metavar="FILE", help="block store, .parquet, .npz, .npy, .zarr, or as for 'solve'")
    add("-o", "--output", metavar="LABELS", help="one .npy file with the cluster of every node")
    add("--blocks", metavar="N|FILE", help="how many, or an .npy file with the block of every node")
    add("--positions", metavar="FILE", help=".npy file: where the nodes are, in place of --blocks")
    add("--memory", metavar="AMOUNT", help="for all processes here, as 8GB (default: 60 %%)")
    add("--folder", metavar="DIR", help="where blocks and results are kept (default: FILE.large)")
    add("--time-limit", type=at_least_0(float), metavar="SECONDS", help="stop after this time")
    add("--gap", type=at_least_0(float), default=0.01, help="stop at this gap (default: 0.01)")
    add("--passes", type=int, default=3, metavar="N", help="to improve prices (default: 3)")
    add("--prove", action="store_true", help="close what passes leave by solving every block")
    add(
        "--workers", type=int, metavar="N", help="processes (default: one a core, as memory allows)"
    )
    add("--scheduler", metavar="ADDRESS", help="run blocks by Dask, or 'local' for a cluster here")
    add("--columns", metavar="U,V,W", help="columns or arrays with the ends and the weights")
    add("--seed", type=at_least_0(int), default=0, help="of everything random (default: 0)")
    add("--json", action="store_true", help="print the summary as JSON")
    add("--quiet", action="store_true", help="no progress and no summary")
    add("--force", action="store_true", help="overwrite LABELS")
    add("--log-level", choices=LEVELS, help="print what is logged, on standard error")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    with bad_input():
        output = None if arguments.output is None else Path(arguments.output)
        if output is not None:
            if output.suffix != ".npy":
                raise ValueError(f"{output}: labels are written as .npy")
            check_target(output, force=arguments.force)
            if output.resolve() == Path(arguments.graph).resolve():
                raise ValueError(f"{output} is named twice; input and output must be different")
        blocks = arguments.blocks
        if blocks is not None and blocks.lstrip("-").isdigit():
            blocks = int(blocks)
        memory = None if arguments.memory is None else as_bytes(arguments.memory)
        try:
            result = SIGNALS.last(
                lambda: solve(
                    arguments.graph,
                    blocks=blocks,
                    positions=arguments.positions,
                    memory=memory,
                    folder=arguments.folder,
                    time_limit=arguments.time_limit,
                    gap=arguments.gap,
                    passes=arguments.passes,
                    prove=arguments.prove,
                    workers=arguments.workers,
                    client=arguments.scheduler,
                    columns=None if arguments.columns is None else arguments.columns.split(","),
                    seed=arguments.seed,
                    callback=SIGNALS.stop,
                    progress=not arguments.quiet,
                )
            )
        except (StoreChanged, WorkersLost) as error:
            complain(str(error))
            return BAD_INPUT
        if output is not None:
            result.write_labels(output, force=arguments.force)
    if arguments.json:
        facts = result.to_dict() | {"folder": str(result.folder)}
        say(json.dumps(finite(facts), indent=2, allow_nan=False))
    elif not arguments.quiet:
        say(result.summary())
    return INTERRUPTED if result.status in (Status.INTERRUPTED, Status.STOPPED) else 0
