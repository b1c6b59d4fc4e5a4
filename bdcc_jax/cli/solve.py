"""``bdcc-jax solve``."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .. import devices
from ..checkpoint import Checkpoint
from ..io import write_labels
from ..io.files import check_target, write_bytes
from ..io.labels import check_labels_target
from ..plots import require_matplotlib
from ..report import html_report
from ..result import Result, Status
from ..solve import solve
from .common import at_least_0, bad_input, exit_code, finite
from .instance import add_format, add_instance, read_instance
from .options import add_options, read_device, read_options
from .signals import SIGNALS

if TYPE_CHECKING:
    from .common import Commands


def register(commands: Commands) -> None:
    """Add the subcommand."""
    command = commands.add_parser("solve", help="cluster the graph in a file")
    command.set_defaults(run=_run)
    add = command.add_argument
    add_instance(command)
    add_format(command)
    add("-o", "--output", metavar="LABELS", help="write the labels: .npy, .npz, .h5, or text")
    add("--json", nargs="?", const="-", metavar="FILE", help="summary as JSON (default: stdout)")
    add("--report", metavar="FILE", help="a page about the run: bounds, timings, clusters (HTML)")
    add("--certificate", metavar="FILE", help="write a proof of the bounds, for verify")
    add_options(command)
    add("--time-limit", type=at_least_0(float), metavar="SECONDS", help="stop after this time")
    add("--checkpoint", metavar="FILE", help="write the solve there now and then, and resume it")
    add("--quiet", action="store_true", help="no progress and no summary")
    add("--force", action="store_true", help="overwrite existing files")


def _run(arguments: argparse.Namespace) -> int:
    # Everything that can be refused is refused before any work starts.
    with bad_input():
        options, device = read_options(arguments), read_device(arguments)
        devices.place(device, options.engine)
        _check_outputs(arguments)
        if arguments.report is not None:
            require_matplotlib()
        graph, _ = read_instance(arguments.file, arguments.format)
        if arguments.checkpoint is not None:
            Checkpoint(arguments.checkpoint, graph, options, arguments.seed)
    result = solve(
        graph,
        device=device,
        time_limit=arguments.time_limit,
        gap=arguments.gap,
        seed=arguments.seed,
        options=options,
        checkpoint=arguments.checkpoint,
        callback=SIGNALS.stop,
        progress=not arguments.quiet,
    )
    with SIGNALS.shielded():
        if result.status is Status.STOPPED:
            result = replace(result, status=Status.INTERRUPTED)
        _show(result, arguments)
    return exit_code(result)


def _show(result: Result, arguments: argparse.Namespace) -> None:
    # What can be shown is shown first: a full disk must not take that away too.
    if arguments.json == "-":
        print(_as_json(result))
    elif not arguments.quiet:
        print(result.summary())
    with bad_input():
        if arguments.output is not None:
            names = result.graph.names
            write_labels(result.labels, arguments.output, names=names, force=arguments.force)
        if arguments.certificate is not None:
            certificate = json.dumps(result.certificate, allow_nan=False) + "\n"
            write_bytes(Path(arguments.certificate), certificate.encode(), force=arguments.force)
        if arguments.json not in (None, "-"):
            write_bytes(Path(arguments.json), _as_json(result).encode(), force=arguments.force)
        if arguments.report is not None:
            write_bytes(Path(arguments.report), _page(result, arguments), force=arguments.force)


def _check_outputs(arguments: argparse.Namespace) -> None:
    taken = {Path(arguments.file).resolve()}
    outputs = (arguments.output, arguments.json, arguments.certificate, arguments.report)
    for path in outputs:
        if path is None or path == "-":
            continue
        target = Path(path)
        if target.resolve() in taken:
            raise ValueError(f"{path} is named twice; input and outputs must be different files")
        taken.add(target.resolve())
        check_target(target, force=arguments.force)
    if arguments.checkpoint is not None and Path(arguments.checkpoint).resolve() in taken:
        raise ValueError(f"{arguments.checkpoint} is named twice; a checkpoint is its own file")
    if arguments.output is not None:
        check_labels_target(Path(arguments.output), force=arguments.force)


def _as_json(result: Result) -> str:
    return json.dumps(finite(result.to_dict()), indent=2, allow_nan=False) + "\n"


def _page(result: Result, arguments: argparse.Namespace) -> bytes:
    settings = {
        name.replace("_", " "): getattr(arguments, name)
        for name in ("file", "device", "time_limit", "gap", "seed")
    }
    page = html_report(result, Path(arguments.file).name, settings)
    return page.encode(errors="backslashreplace")  # the name of a file need not be Unicode
