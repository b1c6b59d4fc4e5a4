"""How time and memory grow with the graph, and what is certified within a time limit.

    python -m benchmarks.scale --sizes 1000 10000 100000 1000000

Prints two Markdown tables: planar graphs, with the fitted exponents of time against size, and large
instances of the data folder, if one is given. Each solve has its own process, so that the peak
memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import bdcc_jax
from bdcc_jax import Result

from .instances import add_data_option, data_arguments, instance, planar
from .markdown import print_header, print_row

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
TIME_LIMIT = 900.0
DATA_TIME_LIMITS = {
    "em-superpixel/FIB25-train": 120.0,
    "em-superpixel/CREMI-C-train": 120.0,
    "em-superpixel/SNEMI3D-train": 120.0,
    "signed-network/slashdot090221": 300.0,
}
HEADINGS = (
    "instance", "nodes", "edges", "LP s", "total s", "status", "gap %",
    "objective", "peak memory GB", "before the solve GB",
)  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """One solve; ``lp_seconds`` is None if the LP bound did not converge in time."""

    name: str
    nodes: int
    edges: int
    lp_seconds: float | None
    seconds: float
    status: str
    objective: float
    gap: float
    memory: float
    memory_before: float


def solve_here(name: str, data: Path | None, time_limit: float) -> Figures:
    """Solve in this process, after a small solve that compiles what has to be compiled."""
    bdcc_jax.solve(planar(300))
    graph = instance(name, data).load()
    before = peak_memory()
    result = bdcc_jax.solve(graph, time_limit=time_limit)
    return Figures(
        name=name,
        nodes=graph.n,
        edges=graph.m,
        lp_seconds=lp_seconds(result),
        seconds=result.timings["total"],
        status=str(result.status),
        objective=result.objective,
        gap=result.relative_gap,
        memory=peak_memory(),
        memory_before=before,
    )


def solve_apart(name: str, data: Path | None, time_limit: float) -> Figures:
    """Solve in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, *data_arguments(data)]
    command += ["--one", name, "--time-limit", str(time_limit)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(answer.stdout))


def lp_seconds(result: Result) -> float | None:
    """When the last LP of the whole instance was solved, or else the optimum was proven."""
    if any(record.phase == "ilp" for record in result.history):
        return max(record.seconds for record in result.history if record.phase == "lp")
    return result.timings["total"] if result.status == "optimal" else None


def peak_memory() -> float:
    """The most memory that this process has held so far, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def exponent(times: list[tuple[int, float]]) -> str:
    """The slope of log seconds over log nodes."""
    if len(times) < 2:
        return "unknown"
    nodes, seconds = np.log(times).T
    return f"{np.polyfit(nodes, seconds, 1)[0]:.2f}"


def report(figures: Figures) -> None:
    """Print a row."""
    lp = "-" if figures.lp_seconds is None else f"{figures.lp_seconds:.2f}"
    print_row(
        figures.name, figures.nodes, figures.edges, lp, f"{figures.seconds:.2f}", figures.status,
        f"{100 * figures.gap:.5f}", f"{figures.objective:.4f}",
        f"{figures.memory:.2f}", f"{figures.memory_before:.2f}",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data_option(parser)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="nodes; none to skip")
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT, help="of the planar graphs")
    parser.add_argument(
        "--instances",
        nargs="*",
        choices=DATA_TIME_LIMITS,
        help="of the data folder, each with its own time limit (default: all; none to skip)",
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(asdict(solve_here(arguments.one, arguments.data, arguments.time_limit))))
        return
    names = arguments.instances
    if names is None:
        names = [] if arguments.data is None else list(DATA_TIME_LIMITS)
    for name in names:  # what is missing is better missed now than in an hour
        instance(name, arguments.data)
    if arguments.sizes:
        print_header(HEADINGS)
        done = []
        for size in arguments.sizes:
            done.append(solve_apart(f"planar/{size}", arguments.data, arguments.time_limit))
            report(done[-1])
        converged = [(f.nodes, f.lp_seconds) for f in done if f.lp_seconds is not None]
        proven = [(f.nodes, f.seconds) for f in done if f.status == "optimal"]
        print(
            f"\nExponent of time against nodes: {exponent(converged)} until the LP is done, "
            f"{exponent(proven)} until the optimum is proven.\n"
        )
    if names:
        print_header(HEADINGS)
        for name in names:
            report(solve_apart(name, arguments.data, DATA_TIME_LIMITS[name]))


if __name__ == "__main__":
    main()
