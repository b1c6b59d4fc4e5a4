"""Table 1 of the paper: the share of instances whose duality gap is small after some time."""

from __future__ import annotations

from pathlib import Path

from .instances import Instance
from .markdown import table
from .methods import DEFAULT, paper, paper_name
from .runs import Clock, Job, Point, trace
from .store import Record

GAPS = (0.1, 1.0, 10.0)
TIMES = (1, 10, 50, 100)
TITLE = "Table 1: share of instances with a duality gap of at most epsilon"

PAPER: dict[tuple[float, str, Clock], tuple[float, ...]] = {
    (0.1, "0.5", "serial"): (0.149, 0.372, 0.585, 0.894),
    (0.1, "none", "serial"): (0.0106, 0.0532, 0.0745, 0.106),
    (0.1, "0.5", "parallel"): (0.266, 0.777, 0.904, 0.968),
    (0.1, "none", "parallel"): (0.0426, 0.0745, 0.0745, 0.138),
    (1.0, "0.5", "serial"): (0.149, 0.394, 0.606, 0.904),
    (1.0, "none", "serial"): (0.0106, 0.0638, 0.0745, 0.16),
    (1.0, "0.5", "parallel"): (0.319, 0.819, 0.947, 0.979),
    (1.0, "none", "parallel"): (0.0532, 0.0745, 0.106, 0.17),
    (10.0, "0.5", "serial"): (0.202, 0.426, 0.628, 0.915),
    (10.0, "none", "serial"): (0.0532, 0.0957, 0.128, 0.223),
    (10.0, "0.5", "parallel"): (0.447, 0.936, 0.979, 0.989),
    (10.0, "none", "parallel"): (0.0638, 0.128, 0.181, 0.287),
}
"""The published shares after 10, 50, 100 and 300 s, the last of which is not in the table here;
none: no Magnanti-Wong rows."""

ROWS: tuple[tuple[str, str, str, Clock], ...] = (
    ("0.5", "0", paper_name(0.5), "serial"),
    ("none", "0", paper_name(None), "serial"),
    ("0.5", "1, simulated", paper_name(0.5), "parallel"),
    ("none", "1, simulated", paper_name(None), "parallel"),
    ("0.5", "0, wall clock", paper_name(0.5), "wall"),
    ("none", "0, wall clock", paper_name(None), "wall"),
    ("0.5", "batched, wall clock", paper_name(0.5, batched=True), "wall"),
    ("none", "batched, wall clock", paper_name(None, batched=True), "wall"),
    ("default", "wall clock", DEFAULT.name, "wall"),
)
"""Tau, parallelism, method and clock."""

NOTE = """\
Each cell: measured (published, for BSDS with the models of OpenGM2 and CPLEX). Simulated
parallelism counts of every round the master and the slowest root; these rows and those above them
leave out the rounding, as the paper does. On the wall clock it is included; "batched" solves all
subproblems of a round together on the device. ">=": some runs were stopped before that time."""


def jobs(instances: list[Instance]) -> list[Job]:
    """All that the table needs."""
    methods = [paper(tau, **engine) for engine in ({}, {"engine": "pdlp"}) for tau in (0.5, None)]
    return [(each, method) for method in [*methods, DEFAULT] for each in instances]


def share(traces: list[list[Point]], gap: float, seconds: float) -> str:
    """The share of the runs with at most this gap by this time; '>=' where not all got so far."""
    done = unknown = 0
    for points in traces:
        reached = any(p.gap <= gap and p.seconds <= seconds for p in points)
        done += reached
        unknown += not reached and points[-1].seconds < seconds
    return (">= " if unknown else "") + f"{done / len(traces):.3g}"


def report(runs: list[Record], out: Path) -> str:
    """The table in Markdown, over the instances that all of its methods were run on."""
    by_method: dict[str, dict[str, Record]] = {method: {} for _, _, method, _ in ROWS}
    for run in runs:
        if run["method"] in by_method:
            by_method[run["method"]][run["instance"]] = run
    common = set.intersection(*(set(found) for found in by_method.values()))
    if not common:
        return "No runs of the paper's method in all settings are stored."
    lines = []
    for gap in GAPS:
        for tau, parallelism, method, clock in ROWS:
            traces = [trace(by_method[method][name], clock) for name in common]
            published = PAPER.get((gap, tau, clock))
            cells = [share(traces, gap, seconds) for seconds in TIMES]
            if published:
                there = ["", *(f" ({value:.3g})" for value in published)]
                cells = [cell + value for cell, value in zip(cells, there, strict=False)]
            lines.append([f"{gap:g}", tau, parallelism, *cells])
    headings = ["epsilon", "tau", "par", *(f"{seconds} s" for seconds in TIMES)]
    return f"{len(common)} instances. {NOTE}\n\n{table(headings, lines)}"
