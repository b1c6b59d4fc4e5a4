"""``bdcc-jax solve``."""

import argparse
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ..attempt import solve_graph
from ..base.arrays import IntArray
from ..combinations import check_together
from ..io import read_labels, write_labels
from ..io.files import check_target, write_bytes
from ..io.labels import check_labels_target
from ..report import html_report
from ..result import Result, Status
from ..search.arguments import check_initial
from ..search.checkpoint import Checkpoint
from ..search.terms import Terms
from ..separation.device import devices
from ..show.plots import require_matplotlib
from .common import Parser, at_least_0, bad_input, before_line, exit_code, finite, say
from .instance import (
    add_constraints,
    add_format,
    add_instance,
    called,
    complain_if_suspicious,
    constrained,
    read_instance,
)
from .options import add_options, read_device, read_options
from .signals import SIGNALS

HELP = "cluster the graph in a file"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add = command.add_argument
    add_instance(command)
    add_format(command)
    add("-o", "--output", metavar="LABELS", help="write the labels: .npy, .npz, .h5, .csv, or text")
    add("--classes", metavar="FILE", help="write the classes of the nodes, as labels are written")
    add("--json", nargs="?", const="-", metavar="FILE", help="summary as JSON (default: stdout)")
    add("--report", metavar="FILE", help="a page about the run: bounds, timings, clusters (HTML)")
    add("--certificate", metavar="FILE", help="write a proof of the bounds, for verify")
    add_options(command)
    add("--time-limit", type=at_least_0(float), metavar="SECONDS", help="stop after this time")
    add("--initial", metavar="LABELS", help="a clustering to start from, as -o writes it")
    add_constraints(command)
    add("--checkpoint", metavar="FILE", help="write the solve there now and then, and resume it")
    add("--quiet", action="store_true", help="no progress and no summary")
    add("--force", action="store_true", help="overwrite existing files")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    # Everything that can be refused is refused before any work starts.
    with bad_input():
        options, device = read_options(arguments), read_device(arguments)
        devices.place(device, options.engine)
        _check_outputs(arguments)
        if arguments.report is not None:
            require_matplotlib()
        arguments.compilers.start()
        start = time.perf_counter()
        graph = constrained(read_instance(arguments.file, arguments.format)[0], arguments)
        check_together([*graph.features, *options.features])
        if arguments.classes is not None and graph.unaries is None:
            raise ValueError("--classes: there are no classes; --unaries says what they cost")
        complain_if_suspicious(graph, arguments.file)
        initial = None
        if arguments.initial is not None:
            initial = check_initial(graph, read_labels(arguments.initial, names=graph.names))
        reading = time.perf_counter() - start
        if arguments.checkpoint is not None:
            Checkpoint(arguments.checkpoint, Terms.of(graph).graph, options, arguments.seed)
    compiling = arguments.compilers.wait_for(graph, arguments.time_limit)
    result = SIGNALS.last(
        lambda: solve_graph(
            graph,
            device=device,
            time_limit=arguments.time_limit,
            gap=arguments.gap,
            seed=arguments.seed,
            options=options,
            checkpoint=arguments.checkpoint,
            initial=initial,
            callback=SIGNALS.stop,
            progress=not arguments.quiet,
        )
    )
    if result.status is Status.STOPPED:
        result = replace(result, status=Status.INTERRUPTED)
    # Files first: whoever reads what is printed may be gone. But a full disk must not take away
    # what can be printed. The stack does the last thing first.
    with ExitStack() as afterwards:
        if arguments.json == "-":
            afterwards.callback(say, _as_json(result))
        elif not arguments.quiet:
            before = before_line(arguments.loading, compiling, reading)
            afterwards.callback(say, result.summary() + before)
        for path, content in {
            arguments.report: lambda: _page(result, arguments),
            arguments.json: lambda: _as_json(result).encode(),
            arguments.certificate: lambda: _certificate(result),
        }.items():
            if path not in (None, "-"):
                afterwards.callback(_write, path, content, arguments.force)
        for labels, path in (
            (result.labels, arguments.output),
            (result.classes, arguments.classes),
        ):
            if labels is not None and path is not None:
                afterwards.callback(_write_labels, labels, path, result, arguments)
    return exit_code(result)


def _write(path: str, content: Callable[[], bytes], force: bool) -> None:
    with bad_input():
        write_bytes(Path(path), content(), force=force)


def _write_labels(
    labels: IntArray, path: str, result: Result, arguments: argparse.Namespace
) -> None:
    with bad_input():
        write_labels(labels, path, names=result.graph.names, force=arguments.force)


def _check_outputs(arguments: argparse.Namespace) -> None:
    names = ("file", "initial", "must_link", "cannot_link", "groups", "unaries")
    inputs = (getattr(arguments, name) for name in names)
    taken = {Path(path).resolve() for path in inputs if path is not None}
    labels = [path for path in (arguments.output, arguments.classes) if path is not None]
    outputs = (*labels, arguments.json, arguments.certificate, arguments.report)
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
    for path in labels:
        check_labels_target(Path(path), force=arguments.force)


def _certificate(result: Result) -> bytes:
    return (json.dumps(result.certificate, allow_nan=False) + "\n").encode()


def _as_json(result: Result) -> str:
    return json.dumps(finite(result.to_dict()), indent=2, allow_nan=False) + "\n"


def _page(result: Result, arguments: argparse.Namespace) -> bytes:
    settings = {
        name.replace("_", " "): getattr(arguments, name)
        for name in ("file", "device", "time_limit", "gap", "seed")
    }
    page = html_report(result, Path(called(arguments.file)).name, settings)
    return page.encode(errors="backslashreplace")  # the name of a file need not be Unicode
