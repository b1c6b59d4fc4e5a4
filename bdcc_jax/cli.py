"""The command ``bdcc-jax``."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from . import devices
from .convert import as_graph
from .environment import package_version, show_versions
from .image import PICTURES, example_picture, png, segmentation_picture, superpixel_graph
from .io import write_labels
from .io.files import check_target, write_bytes
from .options import Options
from .result import Result, Status
from .solve import solve

BAD_INPUT, INTERRUPTED = 2, 130

DEMO_ATTRACTIVE = 0.85
"""Fewer, larger regions than the default: what one expects to see in a photograph."""


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Leave with the exit code for bad input."""
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if not given.

    Returns
    -------
    int
        0: there is an answer, 2: bad input (this may also leave by SystemExit), 130: interrupted.

    Examples
    --------
    >>> main(["version"])  # doctest: +ELLIPSIS
    python ...
    0
    """
    arguments = _parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except KeyboardInterrupt:
        print("bdcc-jax: interrupted", file=sys.stderr)
        return INTERRUPTED


def _solve(arguments: argparse.Namespace) -> int:
    # Everything that can be refused is refused before any work starts.
    with _bad_input():
        changes = {k: v for k, v in vars(arguments).items() if k in ("engine", "tau", "max_rounds")}
        options = Options.paper(**changes) if arguments.paper else Options(**changes)
        device = devices.resolve(arguments.device)
        _check_outputs(arguments)
        graph = as_graph(arguments.file)
    result = solve(
        graph,
        device=device,
        time_limit=arguments.time_limit,
        gap=arguments.gap,
        seed=arguments.seed,
        options=options,
        progress=not arguments.quiet and sys.stderr.isatty(),
    )
    with _bad_input():
        if arguments.output is not None:
            write_labels(result.labels, arguments.output, force=arguments.force)
        if arguments.json == "-":
            print(_as_json(result))
        elif arguments.json is not None:
            write_bytes(Path(arguments.json), _as_json(result).encode(), force=arguments.force)
    if not arguments.quiet and arguments.json != "-":
        print(result.summary())
    return _exit_code(result)


def _demo(arguments: argparse.Namespace) -> int:
    target = Path(f"bdcc-demo-{arguments.picture}.png")
    with _bad_input():
        if not arguments.force:
            target = _free_name(target)
        check_target(target, force=arguments.force)
        picture = example_picture(arguments.picture)
        graph, superpixels = superpixel_graph(
            picture, arguments.segments, attractive=DEMO_ATTRACTIVE
        )
    print(f"{arguments.picture}: {graph.n} superpixels, {graph.m} edges", file=sys.stderr)
    print("(the first run on a machine compiles for half a minute)", file=sys.stderr)
    result = solve(graph, progress=True)
    print(result.summary())
    with _bad_input():
        segmentation = segmentation_picture(picture, result.labels[superpixels])
        write_bytes(target, png(segmentation), force=arguments.force)
    print(f"{'picture':<13} {target}")
    return _exit_code(result)


def _version(_: argparse.Namespace) -> int:
    show_versions()
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="bdcc-jax", description="Exact correlation clustering (minimum cost multicut)."
    )
    parser.add_argument("--version", action="version", version=f"bdcc-jax {package_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("solve", help="cluster the graph in a file")
    command.set_defaults(run=_solve)
    add = command.add_argument
    add("file", metavar="FILE", help="MULTICUT text or .npz, gzipped or not")
    add("-o", "--output", metavar="LABELS", help="write the labels: .npy, .npz, or text")
    add("--json", nargs="?", const="-", metavar="FILE", help="summary as JSON (default: stdout)")
    add("--device", default="auto", help="auto, cpu, gpu or gpu:N (default: auto)")
    add("--time-limit", type=_at_least_0(float), metavar="SECONDS", help="stop after this time")
    add(
        "--gap", type=_at_least_0(float), default=0.0, help="stop at this relative gap (default: 0)"
    )
    add("--seed", type=_at_least_0(int), default=0, help="of everything random (default: 0)")
    add("--paper", action="store_true", help="run the paper to the letter: Options.paper()")
    absent = argparse.SUPPRESS  # so that Options' own defaults hold
    add("--engine", default=absent, help="auto, packing, device_packing, reference or pdlp")
    add("--tau", type=_tau, default=absent, help="Magnanti-Wong rows: in (0, 1), or 'none'")
    add("--max-rounds", type=int, default=absent, metavar="N", help="stop after N rounds")
    add("--quiet", action="store_true", help="no progress and no summary")
    add("--force", action="store_true", help="overwrite existing files")

    command = commands.add_parser("demo", help="segment a picture, and write the result as PNG")
    command.set_defaults(run=_demo)
    add = command.add_argument
    add("--picture", choices=PICTURES, default="coffee", help="(default: coffee)")
    add("--segments", type=int, default=1000, metavar="N", help="superpixels (default: 1000)")
    add("--force", action="store_true", help="overwrite an existing PNG")

    command = commands.add_parser("version", help="versions and devices, for bug reports")
    command.set_defaults(run=_version)
    return parser


@contextmanager
def _bad_input() -> Iterator[None]:
    """Turn what the user can mend into one line; anything else is a bug and keeps its traceback."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        print(f"bdcc-jax: {' '.join(_message(error).split())}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None


def _message(error: Exception) -> str:
    # str() of what the system raises starts with a number that helps nobody.
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _check_outputs(arguments: argparse.Namespace) -> None:
    taken = {Path(arguments.file).resolve()}
    for path in (arguments.output, arguments.json):
        if path is None or path == "-":
            continue
        target = Path(path)
        if target.resolve() in taken:
            raise ValueError(f"{path} is named twice; input and outputs must be different files")
        taken.add(target.resolve())
        check_target(target, force=arguments.force)


def _exit_code(result: Result) -> int:
    return INTERRUPTED if result.status is Status.INTERRUPTED else 0


def _as_json(result: Result) -> str:
    return json.dumps(_finite(result.to_dict()), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Replace infinities (an open gap at objective 0), which JSON has no word for, by null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _free_name(path: Path) -> Path:
    number = 2
    free = path
    while free.exists():
        free = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return free


def _at_least_0(kind: type[int] | type[float]) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = -1
        if not value >= 0:
            raise argparse.ArgumentTypeError(f"expected {kind.__name__} >= 0, not {text!r}")
        return value

    return parse


def _tau(text: str) -> float | None:
    try:
        return None if text.lower() == "none" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or 'none', not {text!r}") from None
