"""Whole solves to proven optimality: bdcc_jax against the classic cutting plane, in one run.

    python -m benchmarks.exact --family bsds300test-rf255ucm --min-nodes 1500 --repeat 3

Prints a Markdown row for every instance and family, with medians over the repetitions. The ratio is
baseline over bdcc_jax, so more is better; ">=" where the baseline, "<=" where bdcc_jax ran into the
time limit. Fails if the bounds of the two contradict each other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Protocol

import numpy as np

import bdcc_jax
from bdcc_jax import Graph

from .baselines import classic
from .instances import Instance, add_data_option, families, planar
from .markdown import print_header, print_row

AGREEMENT = 1e-8
"""Share of the sum of all |w| by which two optima may differ."""

HEADINGS = ("instance", "nodes", "edges", "bdcc_jax s", "baseline s", "ratio", "objective")
FIGURES = ("seconds", "status", "objective", "lower_bound")


class Answer(Protocol):
    """What both solvers return."""

    @property
    def objective(self) -> float:
        """What the best clustering costs."""

    @property
    def lower_bound(self) -> float:
        """What every clustering costs at least."""

    @property
    def status(self) -> str:
        """'optimal', or why it stopped."""


Solver = Callable[[Graph, float], Answer]


def bdcc(graph: Graph, time_limit: float) -> Answer:
    return bdcc_jax.solve(graph, time_limit=time_limit)


SOLVERS: dict[str, Solver] = {"bdcc_jax": bdcc, "baseline": classic.solve}


@dataclass(frozen=True)
class Measurement:
    """The median time of a solver on an instance, and its last answer."""

    seconds: float
    status: str
    objective: float
    lower_bound: float

    @property
    def optimal(self) -> bool:
        """Whether the solver proved its answer."""
        return self.status == "optimal"


@dataclass(frozen=True)
class Ratio:
    """Baseline over bdcc_jax; ``sign`` says what is known of it: '', '>=', '<=' or '?'."""

    value: float
    sign: str

    def __str__(self) -> str:
        return "?" if self.sign == "?" else f"{self.sign} {self.value:.2f}".strip()


def measure(solver: Solver, graph: Graph, time_limit: float, repeat: int) -> Measurement:
    """Solve up to ``repeat`` times, but not again once the time limit is used up."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < repeat and sum(seconds) < time_limit):
        start = time.perf_counter()
        answer = solver(graph, time_limit)
        seconds.append(time.perf_counter() - start)
    status = str(answer.status)
    return Measurement(median(seconds), status, answer.objective, answer.lower_bound)


def check_agreement(name: str, graph: Graph, ours: Measurement, theirs: Measurement) -> None:
    """Raise where a lower bound of one passes the clustering of the other."""
    tolerance = AGREEMENT * float(np.abs(graph.weights).sum())
    for one, other in ((ours, theirs), (theirs, ours)):
        if one.lower_bound > other.objective + tolerance:
            raise AssertionError(f"{name}: bdcc_jax found {ours}, the baseline {theirs}")


def ratio(ours: Measurement, theirs: Measurement) -> Ratio:
    """How many times faster bdcc_jax is, as far as the time limits let us know."""
    signs = {(1, 1): "", (1, 0): ">=", (0, 1): "<=", (0, 0): "?"}
    return Ratio(theirs.seconds / ours.seconds, signs[ours.optimal, theirs.optimal])


def mean_ratio(ratios: list[Ratio]) -> Ratio:
    """Geometric mean of the ratios that say something, with what is known of it."""
    known = [r for r in ratios if r.sign != "?"]
    signs = {r.sign for r in known} - {""}
    if not known or len(signs) > 1:
        return Ratio(float("nan"), "?")
    return Ratio(geometric_mean(r.value for r in known), signs.pop() if signs else "")


def cell(found: dict[str, Measurement], solver: str) -> str:
    """The time of a solver, marked if it is not one to a proven optimum."""
    if solver not in found:
        return ""
    mark = "" if found[solver].optimal else f" ({found[solver].status})"
    return f"{found[solver].seconds:.3f}{mark}"


def run_instance(name: str, graph: Graph, arguments: argparse.Namespace) -> dict[str, Measurement]:
    """Measure the chosen solvers, check that they agree, and keep the figures."""
    found = {
        solver: measure(SOLVERS[solver], graph, arguments.time_limit, arguments.repeat)
        for solver in arguments.solver
    }
    if len(found) == len(SOLVERS):
        check_agreement(name, graph, found["bdcc_jax"], found["baseline"])
    if arguments.tsv:
        append_tsv(arguments.tsv, name, found)
    return found


def run_family(family: str, instances: list[Instance], arguments: argparse.Namespace) -> None:
    """Measure and print all instances of a family, then its sums and geometric mean."""
    measured: list[dict[str, Measurement]] = []
    ratios: list[Ratio] = []
    for each in instances:
        graph, name = each.load(), f"{family}/{each.name}"
        if not arguments.min_nodes <= graph.n <= arguments.max_nodes:
            continue
        found = run_instance(name, graph, arguments)
        measured.append(found)
        if len(found) == len(SOLVERS):
            ratios.append(ratio(found["bdcc_jax"], found["baseline"]))
        times = [cell(found, solver) for solver in SOLVERS]
        best = min(m.objective for m in found.values())
        shown = str(ratios[-1]) if ratios else ""
        print_row(name, graph.n, graph.m, *times, shown, f"{best:.6f}")
    if measured:
        sums, proven = [], []
        for solver in SOLVERS:
            figures = [found[solver] for found in measured if solver in found]
            sums.append(f"{sum(f.seconds for f in figures):.3f}" if figures else "")
            proven.append(f"{solver} {sum(f.optimal for f in figures)}" if figures else "")
        note = f"of {len(measured)} optimal: " + ", ".join(filter(None, proven))
        mean = mean_ratio(ratios) if ratios else ""
        print_row(f"**{family}**: sum, geometric mean", "", "", *sums, mean, note)


def append_tsv(path: Path, name: str, found: dict[str, Measurement]) -> None:
    """Append one line for every solver, with a header if the file is new."""
    new = not path.exists()
    with path.open("a") as file:
        if new:
            print("name", "solver", *FIGURES, sep="\t", file=file)
        for solver, figures in found.items():
            values = (getattr(figures, field) for field in FIGURES)
            print(name, solver, *values, sep="\t", file=file)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data_option(parser)
    parser.add_argument("--family", nargs="+", help="which families (default: all)")
    parser.add_argument("--min-nodes", type=int, default=0, help="skip smaller instances")
    parser.add_argument("--max-nodes", type=int, default=10**9, help="skip larger instances")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for each solve")
    parser.add_argument("--repeat", type=int, default=1, help="solves to take the median of")
    parser.add_argument("--solver", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--tsv", type=Path, help="append all figures to this file")
    arguments = parser.parse_args()
    known = families(arguments.data)
    for family in arguments.family or known:
        if family not in known:
            parser.error(f"no family {family!r}; there are {', '.join(known)}")
    for solver in arguments.solver:  # what compiles on first use compiles now
        SOLVERS[solver](planar(300), arguments.time_limit)
    print_header(HEADINGS)
    for family in arguments.family or known:
        run_family(family, known[family], arguments)


if __name__ == "__main__":
    main()
