"""``bdcc-jax batch``: a folder of instances to a folder of results, again and again if need be.

Every instance NAME has two files in the output folder: ``NAME.labels.npy``, and ``NAME.json`` with
the summary, which is written last and in one go; ``summary.csv`` has a line for each. An instance
is finished if its summary is there and says so, for the same content and the same settings;
anything else is done (again). Only what the time limit of an instance ended depends on that limit:
it is done again if there is more time now.
"""

import argparse
import csv
import hashlib
import io
import json
import sys
from dataclasses import asdict
from fnmatch import fnmatchcase
from math import inf
from pathlib import Path
from typing import Any, TypeGuard

from ..base.streams import show
from ..batch import BatchProgress, solve_batch
from ..io import FormatError, write_labels
from ..io.files import write_bytes
from ..options import Options
from ..result import Failure, Result, Status
from ..search.arguments import check_arguments
from ..show.batch_progress import BatchPrinter
from .common import (
    BAD_INPUT,
    INTERRUPTED,
    Parser,
    at_least_0,
    bad_input,
    complain,
    finite,
    say,
    warnings_as_lines,
)
from .options import add_options, read_device, read_options

COLUMNS = (
    "file", "status", "objective", "lower_bound", "relative_gap", "n", "m", "n_clusters", "seconds",
    "message",
)  # fmt: skip
"""Of ``summary.csv``: the file, and what its summary says; a message is there for errors only."""

HELP = "cluster all graphs in a folder; what is finished is not done again"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add = command.add_argument
    add("folder", metavar="DIR", help="its files, whatever 'solve' reads; no subfolders")
    add("--out", required=True, metavar="DIR", help="NAME.json, NAME.labels.npy; summary.csv")
    add("--glob", metavar="PATTERN", help="only such names; of these, what is no graph is skipped")
    add("--workers", type=int, metavar="N", help="instances in work at the same time")
    add_options(command)
    add("--time-limit", type=at_least_0(float), metavar="SECONDS", help="stop all after this time")
    add("--time-limit-each", type=at_least_0(float), metavar="SECONDS", help="for one instance")
    add("--quiet", action="store_true", help="no progress and no summary")
    add("--force", action="store_true", help="do again, and overwrite, results of other settings")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    with bad_input():
        options, device = read_options(arguments), read_device(arguments)
        check_arguments(device, arguments.time_limit, arguments.gap, arguments.seed, options, None)
        files = _files(Path(arguments.folder), arguments.glob)
        if Path(arguments.out).resolve() == Path(arguments.folder).resolve():
            raise ValueError(
                f"--out must be another folder than {arguments.folder}: results would be taken for "
                "instances the next time"
            )
        out = _Results(Path(arguments.out), _settings(arguments, options))
        left = [file for file in files if not out.finished(file, force=arguments.force)]
        if arguments.workers is not None and arguments.workers < 1:
            raise ValueError(f"--workers must be at least 1, not {arguments.workers}")
    printer = BatchPrinter(len(left), names=[file.name for file in left])

    def observe(state: BatchProgress) -> None:
        if arguments.glob is not None and _is_no_graph(state.result):
            complain(f"skipped {state.result.message}")
            return
        out.write(left[state.index], state)
        if not arguments.quiet:
            printer(state)

    if not arguments.quiet and len(left) < len(files):
        show(f"{len(files) - len(left)} of {len(files)} are finished already", sys.stderr)
    if left:
        arguments.compilers.start()
        arguments.compilers.wait_for(None)
    with bad_input(), warnings_as_lines():
        results = solve_batch(
            left,
            device=device,
            time_limit=arguments.time_limit,
            time_limit_each=arguments.time_limit_each,
            gap=arguments.gap,
            seed=arguments.seed,
            options=options,
            workers=arguments.workers,
            callback=observe,
        )
    with bad_input():
        out.write_table(files)
    counts: dict[str, int] = {}
    for result in results:
        skipped = arguments.glob is not None and _is_no_graph(result)
        outcome = "skipped" if skipped else str(result.status)
        counts[outcome] = counts.get(outcome, 0) + 1
    if not arguments.quiet:
        listed = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        say(f"{len(results)} of {len(files)} done now: {listed or 'nothing left to do'}")
    if Status.INTERRUPTED in counts:
        return INTERRUPTED
    return BAD_INPUT if Status.ERROR in counts else 0


def _files(folder: Path, pattern: str | None) -> list[Path]:
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    files = sorted(f for f in folder.iterdir() if f.is_file() and not f.name.startswith("."))
    if pattern is not None:
        files = [file for file in files if fnmatchcase(file.name, pattern)]
    if not files:
        which = "" if pattern is None else f" whose names are like {pattern!r}"
        raise ValueError(f"{folder}: there are no files{which}")
    return files


def _is_no_graph(result: Result | Failure) -> TypeGuard[Failure]:
    """Whether a file was read, and is no instance in any format."""
    return isinstance(result, Failure) and isinstance(result.error, FormatError)


def _settings(arguments: argparse.Namespace, options: Options) -> dict[str, Any]:
    """What a result depends on; not where it was computed, nor by how many workers."""
    settings = {
        "gap": arguments.gap,
        "seed": arguments.seed,
        "time_limit_each": arguments.time_limit_each,
        "options": {k: v for k, v in asdict(options).items() if k not in ("memory", "threads")},
    }
    through_json: dict[str, Any] = json.loads(json.dumps(finite(settings)))
    return through_json


class _Results:
    """The output folder."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._settings = folder, settings
        self._table = folder / "summary.csv"
        if self._table.exists():
            with self._table.open("rb") as file:
                if file.readline().strip() != ",".join(COLUMNS).encode():
                    raise FileExistsError(
                        f"{self._table} exists and is no summary of a batch; choose another folder"
                    )

    def finished(self, file: Path, *, force: bool) -> bool:
        """Whether there is a result for this content and these settings; refuses other settings."""
        summary = self._folder / f"{file.name}.json"
        if not summary.exists():
            return False
        try:
            known = json.loads(summary.read_bytes())
            complete, digest = bool(known["finished"]), known["source"]["sha256"]
            same = digest == _digest(file) and _but_for_time(known["settings"]) == _but_for_time(
                self._settings
            )
            if known["status"] == Status.TIME_LIMIT:
                before, now = (_seconds(s) for s in (known["settings"], self._settings))
                complete = complete and (before == now if force else before >= now)
        except (ValueError, KeyError, TypeError, AttributeError):
            known, complete, same = None, False, False
        if same and complete and (self._folder / f"{file.name}.labels.npy").is_file():
            return True
        if not same and not force:
            why = "is not a result" if known is None else "is of another file or other settings"
            raise FileExistsError(
                f"{summary} {why}; choose another folder, or --force to overwrite"
            )
        return False

    def write(self, file: Path, state: BatchProgress) -> None:
        """Write what came out: the labels first, so that the summary vouches for them."""
        result, summary = state.result, self._folder / f"{file.name}.json"
        complete = self._complete(result)
        if not complete and summary.exists():
            return  # an earlier run may have come further
        record = {
            "source": {"file": file.name, "sha256": _digest(file)},
            "settings": self._settings,
            "finished": complete,
            **result.to_dict(),
        }
        if not isinstance(result, Failure):
            labels = self._folder / f"{file.name}.labels.npy"
            write_labels(result.labels, labels, force=True)
        text = json.dumps(finite(record), indent=2, allow_nan=False) + "\n"
        write_bytes(summary, text.encode(), force=True)

    def write_table(self, files: list[Path]) -> None:
        """Write a line for every instance that has a summary, of this run or an earlier one."""
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(COLUMNS)
        for file in files:
            try:
                known = json.loads((self._folder / f"{file.name}.json").read_bytes())
                values = {**known, "seconds": known.get("timings", {}).get("total")}
            except (OSError, ValueError, AttributeError):  # not begun, or not ours
                continue
            writer.writerow([file.name, *(values.get(name) for name in COLUMNS[1:])])
        table = lines.getvalue().encode(errors="backslashreplace")
        if not self._table.exists() or self._table.read_bytes() != table:
            write_bytes(self._table, table, force=True)

    def _complete(self, result: Result | Failure) -> bool:
        """Whether another run would do no better: this one was not stopped from outside."""
        if isinstance(result, Failure) or result.status in (Status.INTERRUPTED, Status.STOPPED):
            return False
        each = self._settings["time_limit_each"]
        worked = result.timings["total"] - result.timings.get("compiling", 0.0)
        late = each is not None and worked >= each
        return result.status is not Status.TIME_LIMIT or late


def _but_for_time(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "time_limit_each"}


def _seconds(settings: dict[str, Any]) -> float:
    limit = settings["time_limit_each"]
    return inf if limit is None else float(limit)


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"
