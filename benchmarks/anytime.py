"""Upper bounds at equal times: ``python -m benchmarks.anytime --out FILE``.

What the best clustering costs after 0.1, 1, 5 and 20 seconds: of ``solve``, which proves bounds
meanwhile, and of bioimage-cpp and leidenalg, which do not. A peer counts with the best of all its
solvers' runs that take no longer than that. Every method has a process of its own; what is stored
in FILE, of the same instance and method, is not run again. Once ``solve`` has proven its clustering
to be optimal nobody can be better, and the peers are run for the shorter times only.

With --clock cpu the time limits of ``solve`` are seconds of the processor, of all its threads
together: then other work on the machine changes nothing for either side.

The peers are optional: ``pip install bioimage-cpp leidenalg``, here or in another environment whose
Python is named with --peers-python.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import bdcc_jax
from bdcc_jax import Graph
from bdcc_jax.base import clock as clock_module
from bdcc_jax.base import working_time

from .anytime_peers import PEERS
from .instances import Instance, add_data_option, data_arguments, families, fingerprint, spread
from .machine import commit, machine, versions
from .markdown import table
from .store import Record, Store, key

TIMES = (0.1, 1.0, 5.0, 20.0)
FAMILIES = (
    "planted",
    "signed-network",
    "modularity",
    "cp-lib",
    "bsds300test-rf255ucm",
    "em-superpixel",
    "planar",
)
OURS = "bdcc_jax"
BEHIND = 1e-3
"""The share of the cost that counts as far behind."""

WARM_UP = 5.0
"""Seconds of a solve that is not counted: it loads or compiles what the counted ones call."""

SLACK = 1.1
"""Nobody can end in time to the millisecond."""

GRACE = 4.0
"""A peer is ended after this many times the longest time."""

PACKAGES = {"bioimage-cpp": "bioimage_cpp", "leidenalg": "leidenalg"}


def ours(name: str, data: Path | None, limits: Sequence[float], clock: str) -> Iterator[Record]:
    """A solve for every time limit, in this process, and every improvement that it told."""
    if clock == "cpu":
        clock_module.time = working_time.time = _ProcessorTime  # type: ignore[attr-defined, assignment]
    graph = next(each for each in _all(data) if str(each) == name).load()
    bdcc_jax.solve(graph, time_limit=WARM_UP)
    for limit in limits:
        wall, cpu, found = time.perf_counter(), time.process_time(), []

        def note(cost: float, wall: float = wall, cpu: float = cpu, to: list = found) -> None:
            took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
            to.append({**took, "cost": cost})

        def told(progress: bdcc_jax.Progress, note: Any = note) -> None:
            note(progress.round.upper_bound)

        result = bdcc_jax.solve(graph, time_limit=limit, callback=told)
        note(result.objective)
        found[-1]["optimal"] = result.status == "optimal"
        yield from found


class _ProcessorTime:
    """In place of the module ``time`` for clocks and alarms of solves."""

    perf_counter = staticmethod(time.process_time)


def unproven(runs: Sequence[Record], times: Sequence[float], clock: str) -> list[float]:
    """Those of the times after which nothing was proven to be optimal yet.

    Examples
    --------
    >>> runs = [{"cpu": 0.1, "optimal": False}, {"cpu": 0.7, "optimal": True}]
    >>> unproven(runs, (0.1, 1.0, 5.0), "cpu")
    [0.1]
    """
    proven = min((run[clock] for run in runs if run.get("optimal")), default=float("inf"))
    return [seconds for seconds in times if seconds < proven]


def at(runs: Sequence[Record], seconds: float, clock: str) -> float:
    """The best of all that was there after so many seconds.

    Examples
    --------
    >>> runs = [{"cpu": 0.5, "cost": -3.0}, {"cpu": 2.0, "cost": -4.0}]
    >>> at(runs, 0.1, "cpu"), at(runs, 1.0, "cpu"), at(runs, 5.0, "cpu")
    (inf, -3.0, -4.0)
    """
    there = (run["cost"] for run in runs if run[clock] <= SLACK * seconds)
    return min(there, default=float("inf"))


def measure(
    method: str, each: Instance, graph: Graph, limit: float, arguments: argparse.Namespace
) -> Record:
    """All runs of one method, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if method == OURS:
            command = [sys.executable, "-m", __spec__.name, *data_arguments(arguments.data)]
            command += ["--one", str(each), "--clock", arguments.clock]
            command += ["--times", *map(str, arguments.times)]
        else:
            file = Path(folder) / "graph.npz"
            np.savez(file, n=graph.n, edges=graph.edges, weights=graph.weights)
            script = Path(__file__).with_name("anytime_peers.py")
            command = [arguments.peers_python, str(script), method, str(file), str(limit)]
        most = None if method == OURS else GRACE * limit + 10.0
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, timeout=most).stdout
        except subprocess.TimeoutExpired as late:
            done = late.stdout or b""
    whole = done[: done.rfind(b"\n") + 1]
    return {"runs": [json.loads(line) for line in whole.splitlines()]}


def report(records: Sequence[Record], clock: str, times: Sequence[float] = TIMES) -> str:
    """A table of all instances, and how often we are behind."""
    by_instance: dict[str, dict[str, Record]] = {}
    for record in records:
        by_instance.setdefault(record["instance"], {})[record["method"]] = record
    rows, counts = [], {seconds: [0, 0, 0] for seconds in times}
    for name, methods in by_instance.items():
        if OURS not in methods:
            continue
        cells = []
        for seconds in times:
            own = at(methods[OURS]["runs"], seconds, clock)
            peers = {
                peer: at(record["runs"], seconds, clock)
                for peer, record in methods.items()
                if peer != OURS
            }
            if seconds not in unproven(methods[OURS]["runs"], times, clock):
                peers = {}  # which were not run for so long: nobody can be better
            best = min(peers.values(), default=float("inf"))
            who = next((peer for peer, cost in peers.items() if cost == best < float("inf")), "")
            cells.append(f"{own:,.2f}, {best:,.2f} {who}")
            counts[seconds][0] += 1
            counts[seconds][1] += own > best + 1e-9 * abs(best)
            counts[seconds][2] += own > best + BEHIND * abs(best)
        rows.append([name, methods[OURS]["n"], methods[OURS]["m"], *cells])
    headings = ["instance", "nodes", "edges", *(f"{s:g} s: ours, best other" for s in times)]
    lines = [table(headings, rows), ""]
    for seconds, (total, behind, far) in counts.items():
        share = f"{100 * BEHIND:g} %"
        lines.append(f"{seconds:g} s: behind on {behind} of {total}, by more than {share} on {far}")
    return "\n".join(lines)


def _all(data: Path | None) -> list[Instance]:
    found = families(data)
    return [each for family in FAMILIES for each in found.get(family, [])]


def _installed(python: str) -> list[str]:
    """The peers that another Python has; says how to get the others."""
    there = []
    for package, module in PACKAGES.items():
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
            print(f"{package} is missing (pip install {package}): without it", file=sys.stderr)
        else:
            there += [peer for peer in PEERS if peer.startswith(package)]
    return there


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--out", type=Path, default=Path("anytime.jsonl"), help="%(default)s")
    parser.add_argument("--peers-python", default=sys.executable, help="that has the peers")
    parser.add_argument("--only", default="", help="a part of the names of the instances")
    parser.add_argument("--sample", type=int, default=10**9, help="so many of each family")
    parser.add_argument(
        "--clock", choices=["wall", "cpu"], default="wall", help="of solves and the table"
    )
    parser.add_argument("--report", action="store_true", help="from what is stored; run nothing")
    parser.add_argument("--times", type=float, nargs="+", default=TIMES, help="in seconds")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        for run in ours(arguments.one, arguments.data, arguments.times, arguments.clock):
            print(json.dumps(run), flush=True)
        return
    store = Store(arguments.out)
    if not arguments.report:
        methods = [OURS, *_installed(arguments.peers_python)]
        found = families(arguments.data)
        for family in FAMILIES:
            for each in spread(found.get(family, []), arguments.sample):
                if arguments.only in str(each):
                    _run_all(methods, each, store, arguments)
    print(report(store.records, arguments.clock, arguments.times))


def _run_all(
    methods: Sequence[str], each: Instance, store: Store, arguments: argparse.Namespace
) -> None:
    graph, limit = each.load(), max(arguments.times)
    for method in methods:
        asked = {
            "instance": str(each),
            "fingerprint": fingerprint(graph),
            "method": method,
            "seconds": limit,
            "versions": versions(),
            "commit": commit() if method == OURS else None,
            "machine": machine(),
        }
        # Files that differ from the commit may differ from those of the last run, too.
        changed = str(asked["commit"]).endswith("+")
        if (name := key(asked)) in store and not changed:
            outcome = next(record for record in store.records if record["key"] == name)
        else:
            print(f"{each}: {method}, {limit:g} s", file=sys.stderr)
            outcome = measure(method, each, graph, limit, arguments)
            store.append({"key": name, **asked, "n": graph.n, "m": graph.m, **outcome})
        if method == OURS:
            limit = max(unproven(outcome["runs"], arguments.times, arguments.clock), default=0.0)
        if limit == 0.0:
            return


if __name__ == "__main__":
    main()
