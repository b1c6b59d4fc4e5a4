"""``bdcc-jax volume``: from affinities in zarr to a segmentation in zarr, block by block."""

import argparse
import json
from typing import Any

from ..image.supervoxels import SMOOTHING, SPACING
from ..large.runners import WorkersLost
from ..large.store import StoreChanged
from ..result import Status
from ..volumes import segment_volume
from .common import BAD_INPUT, INTERRUPTED, Parser, at_least_0, bad_input, complain, finite, say
from .logs import LEVELS
from .signals import SIGNALS

HELP = "segment a volume of any size: affinities in zarr to regions in zarr"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add = command.add_argument
    add("affinities", metavar="IN.zarr", help="of shape (channels, depth, height, width)")
    add("out", metavar="OUT.zarr", help="the segmentation; OUT.zarr.work until it is finished")
    add("--offsets", type=_json, metavar="JSON", help="(default: the attribute 'offsets' of IN)")
    add("--mask", metavar="MASK.zarr", help="no regions where this is 0")
    add("--block-shape", type=int, nargs=3, metavar=("Z", "Y", "X"), help="multiples of chunks")
    add("--smoothing", type=float, nargs="+", default=[SMOOTHING], metavar="VOXELS",
        help=f"of supervoxels' sources: one, or z y x (default: {SMOOTHING:g})")  # fmt: skip
    add("--spacing", type=int, nargs="+", default=[SPACING], metavar="VOXELS",
        help=f"between sources, at least: one, or z y x (default: {SPACING})")  # fmt: skip
    add("--bias", type=float, default=0.5, help="the larger, the more regions (default: 0.5)")
    add("--long-range", choices=("signed", "repulsive"), default="signed",
        help="what offsets longer than 1 may do (default: signed)")  # fmt: skip
    add("--length-exponent", type=float, default=0.5, help="of sizes of contacts (default: 0.5)")
    add("--memory", metavar="AMOUNT", help="such as 8GB, of all processes together")
    add("--workers", type=int, metavar="N", help="processes at most")
    add("--scheduler", metavar="ADDRESS", help="of Dask, whose workers see the same folders")
    add("--gap", type=at_least_0(float), default=0.01, help="stop at this gap (default: 0.01)")
    add("--passes", type=int, default=3, metavar="N", help="to improve prices (default: 3)")
    add("--prove", action="store_true", help="close what passes leave by solving every block")
    add("--time-limit", type=at_least_0(float), metavar="SECONDS", help="of the solve")
    add("--seed", type=at_least_0(int), default=0, help="of everything random (default: 0)")
    add("--keep", action="store_true", help="keep OUT.zarr.work: supervoxels and graph")
    add("--json", action="store_true", help="the summary as JSON")
    add("--quiet", action="store_true", help="no progress and no summary")
    add("--force", action="store_true", help="overwrite an existing array")
    add("--log-level", choices=LEVELS, help="print what is logged, on standard error")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    with bad_input():
        try:
            found = segment_volume(
                arguments.affinities,
                arguments.out,
                offsets=arguments.offsets,
                mask=arguments.mask,
                block_shape=arguments.block_shape,
                smoothing=_one_or_all(arguments.smoothing),
                spacing=_one_or_all(arguments.spacing),
                bias=arguments.bias,
                long_range=arguments.long_range,
                length_exponent=arguments.length_exponent,
                memory=arguments.memory,
                workers=arguments.workers,
                client=arguments.scheduler,
                force=arguments.force,
                keep=arguments.keep,
                progress=not arguments.quiet,
                callback=SIGNALS.stop,
                gap=arguments.gap,
                passes=arguments.passes,
                prove=arguments.prove,
                time_limit=arguments.time_limit,
                seed=arguments.seed,
            )
        except (StoreChanged, WorkersLost) as error:
            complain(str(error))
            return BAD_INPUT
        except KeyboardInterrupt:
            complain("interrupted; the same command goes on with what is done")
            return INTERRUPTED
    if arguments.json:
        say(json.dumps(finite(found.to_dict()), indent=2, allow_nan=False))
    elif not arguments.quiet:
        say(found.summary())
    return INTERRUPTED if found.status in (Status.STOPPED, Status.INTERRUPTED) else 0


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"expected JSON such as [[-1,0,0],[0,-1,0],[0,0,-1]], not {text!r}"
        ) from error
