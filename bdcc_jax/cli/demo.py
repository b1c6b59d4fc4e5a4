"""``bdcc-jax demo``."""

import argparse
import sys
from pathlib import Path

from ..base.streams import show
from ..image import PICTURES, example_picture, png, segmentation_picture, superpixel_graph
from ..io.files import check_target, write_bytes
from ..report import html_report
from ..solve import solve
from .common import Parser, bad_input, before_line, exit_code, say
from .signals import SIGNALS

ATTRACTIVE = 0.85
"""Fewer, larger regions than the default: what one expects to see in a photograph."""

HELP = "segment a picture, and write the result as PNG"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add = command.add_argument
    add("--picture", choices=PICTURES, default="coffee", help="(default: coffee)")
    add("--segments", type=int, default=1000, metavar="N", help="superpixels (default: 1000)")
    add("--report", metavar="FILE", help="a page about the run, with the picture (HTML)")
    add("--force", action="store_true", help="overwrite an existing PNG")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    arguments.compilers.start()
    target = Path(f"bdcc-demo-{arguments.picture}.png")
    with bad_input():
        if not arguments.force:
            target = _free_name(target)
        check_target(target, force=arguments.force)
        if arguments.report is not None:
            check_target(Path(arguments.report), force=arguments.force)
        picture = example_picture(arguments.picture)
        graph, superpixels = superpixel_graph(picture, arguments.segments, attractive=ATTRACTIVE)
    show(f"{arguments.picture}: {graph.n} superpixels, {graph.m} edges", sys.stderr)
    compiling = arguments.compilers.wait_for(graph)
    result = SIGNALS.last(lambda: solve(graph, progress=True))
    with bad_input():
        segmentation = segmentation_picture(picture, result.labels[superpixels])
        write_bytes(target, png(segmentation), force=arguments.force)
        if arguments.report is not None:
            page = html_report(result, arguments.picture, picture=(picture, superpixels))
            write_bytes(Path(arguments.report), page.encode(), force=arguments.force)
    say(f"{result.summary()}\n{'picture':<13} {target}" + before_line(arguments.loading, compiling))
    return exit_code(result)


def _free_name(path: Path) -> Path:
    number = 2
    free = path
    while free.exists():
        free = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return free
