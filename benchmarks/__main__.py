"""The paper's experiments and more, by one command: ``python -m benchmarks``.

Table 1 and Figure 1 of the paper, the comparison of methods, the ablation, the phases of a run and
the devices, on superpixel graphs of scikit-image's pictures or on any
folder of instances. Every run is a line of OUT/runs.jsonl; what is there already is not run again,
so a run that was stopped goes on where it was. OUT/report.md and the PNGs beside it are made from
all lines of that file (with --family: of these families).

    python -m benchmarks --quick                                # tiny pictures, a minute
    python -m benchmarks --data DIR --sample 10 --out results   # ten instances of each subfolder
    python -m benchmarks --report --out results                 # only the report, nothing is run
    python -m benchmarks --only table1 figure1

The paper's instances are the 100 "image-seg" models of the OpenGM benchmark (Kappes et al.), on the
pages of OpenGM at http://hciweb2.iwr.uni-heidelberg.de/opengm.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from bdcc_jax import FormatError
from bdcc_jax.image import PICTURES

from . import ablation, comparison, devices, figure1, phases, table1
from .instances import Instance, folder, instance, spread
from .machine import commit, machine, versions
from .runs import Job, Runner
from .store import Record, Store, newest

EXPERIMENTS: dict[str, ModuleType] = {
    "table1": table1,
    "figure1": figure1,
    "comparison": comparison,
    "ablation": ablation,
    "phases": phases,
    "devices": devices,
}
SEGMENTS = (100, 300, 800)
TIME_LIMIT = 600.0
"""Seconds for each run, as in the paper."""

QUICK_PICTURES = ("pictures/coins-20", "pictures/coffee-30")
DEVICE_GRAPH, QUICK_DEVICE_GRAPH = "planar/5000", "planar/30"
"""Large enough that a device has something to do."""


def pictures() -> list[Instance]:
    """Superpixel graphs, the small ones first."""
    names = [f"pictures/{picture}-{count}" for count in SEGMENTS for picture in PICTURES]
    return [instance(name) for name in names]


def chosen(arguments: argparse.Namespace) -> list[Instance]:
    """The instances that are asked for, smaller ones first within a family."""
    if arguments.data is None:
        found = {"pictures": pictures()}
        if arguments.quick:
            found = {"pictures": [instance(name) for name in QUICK_PICTURES]}
    else:
        found = folder(arguments.data)
    for family in arguments.family or ():
        if family not in found:
            raise SystemExit(f"no family {family!r}; there are {', '.join(found)}")
    wanted = arguments.family or found
    return [each for family in wanted for each in spread(found[family], arguments.sample)]


def jobs(arguments: argparse.Namespace) -> list[Job]:
    """Everything that the wanted experiments need, each once.

    All methods on one instance before the next: what is compared is measured within minutes.
    """
    instances = chosen(arguments)
    graph = instance(QUICK_DEVICE_GRAPH if arguments.quick else DEVICE_GRAPH)
    found: dict[tuple[str, str], Job] = {}
    for name in arguments.only:
        on = [graph] if name == "devices" else instances
        for each, method in EXPERIMENTS[name].jobs(on):
            found.setdefault((str(each), method.name), (each, method))
    order = list(dict.fromkeys(name for name, _ in found))
    return sorted(found.values(), key=lambda job: order.index(str(job[0])))


def run_all(wanted: list[Job], runner: Runner) -> None:
    """Run them one after another; instances that cannot be read are named and left out."""
    unreadable: set[Instance] = set()
    for number, (each, method) in enumerate(wanted, 1):
        if each in unreadable:
            continue
        try:
            record = runner.run((each, method))
        except FormatError as error:
            say(f"left out: {error}")
            unreadable.add(each)
            continue
        outcome = "stored" if record is None else f"{record['seconds']:.3f} s, {record['status']}"
        say(f"[{number}/{len(wanted)}] {each}, {method.name}: {outcome}")


def say(line: str) -> None:
    """Progress goes to the standard error stream, the report to the standard output."""
    print(line, file=sys.stderr, flush=True)


def make_report(records: list[Record], arguments: argparse.Namespace, command: str) -> str:
    """Everything in one Markdown text, which is also written."""
    here = machine()
    lines = [
        "# Benchmark report",
        f"{time.strftime('%Y-%m-%d')}, {here['processor']}, {here['cores']} cores, "
        f"{', '.join(here['devices'])}; "
        + ", ".join(f"{name} {version}" for name, version in versions().items())
        + (f"; commit {commit()}" if commit() else ""),
        f"`{command}`",
    ]
    runs = newest(records)
    of_families = [r for r in runs if arguments.family is None or r["family"] in arguments.family]
    for name in arguments.only:
        experiment = EXPERIMENTS[name]
        about = runs if name == "devices" else of_families
        lines += [f"## {experiment.TITLE}", experiment.report(about, arguments.out)]
    text = "\n\n".join(lines) + "\n"
    (arguments.out / "report.md").write_text(text, encoding="utf-8")
    return text


def open_folder(out: Path) -> Store:
    """Refuse folders that hold something else."""
    runs = out / "runs.jsonl"
    if out.exists() and not runs.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SystemExit(f"{out} exists and is not a folder of benchmark results; choose another")
    out.mkdir(parents=True, exist_ok=True)
    runs.touch()
    return Store(runs)


def parse(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="a folder of instances (default: pictures)")
    parser.add_argument("--family", nargs="+", help="which subfolders of it (default: all)")
    parser.add_argument(
        "--sample", type=int, default=10**9, metavar="N", help="so many of each, of all sizes"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"), help="%(default)s")
    parser.add_argument("--time-limit", type=float, help=f"of each run (default: {TIME_LIMIT:g} s)")
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--quick", action="store_true", help="tiny pictures, for a smoke test")
    parser.add_argument("--report", action="store_true", help="from what is stored; run nothing")
    arguments = parser.parse_args(given)
    if arguments.sample < 1:
        parser.error(f"--sample must be at least 1, not {arguments.sample}")
    if arguments.time_limit is not None and not arguments.time_limit > 0:
        parser.error(f"--time-limit must be positive, not {arguments.time_limit}")
    return arguments


def main(given: Sequence[str] | None = None) -> int:
    arguments = parse(given)
    wanted = [] if arguments.report else jobs(arguments)
    store = open_folder(arguments.out)
    code = 0
    try:
        run_all(wanted, Runner(store, arguments.time_limit or TIME_LIMIT))
    except KeyboardInterrupt:
        say("interrupted: the same command goes on from here; a report of what there is:")
        code = 130
    command = shlex.join(
        ["python", "-m", "benchmarks", *(sys.argv[1:] if given is None else given)]
    )
    print(make_report(store.records, arguments, command))
    return code


if __name__ == "__main__":
    sys.exit(main())
