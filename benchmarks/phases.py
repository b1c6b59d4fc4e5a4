"""Where a run's time goes: to the first good clustering, to the LP's optimum, and after it."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from .instances import Instance
from .markdown import table
from .methods import DEFAULT, paper, paper_name
from .runs import Job
from .store import Record

TITLE = "Phases of a run"
GOOD = 0.01

NOTE = """\
Runs to the proven optimum. "Without LP": presolve alone closed it; the other columns are about the
rest. The history knows clusterings from the first round on, which ends after presolve, local search
and the first LP. "First record": when that was, in per cent of the run (median), and how far its
clustering was above the optimum (median, worst). "At a tenth": the instances with a record by then,
and of these the ones whose clustering is within 1 % of the optimum. The LP's optimum: the first
round without violated rows; sums of the seconds up to it and after it."""

HEADINGS = (
    "family", "method", "instances", "without LP", "seconds", "first record at %",
    "above the optimum %", "at a tenth: known, within 1 %", "until the LP's optimum s",
    "after it s", "after / until",
)  # fmt: skip


def jobs(instances: list[Instance]) -> list[Job]:
    """The default, and the paper's method."""
    return [(each, method) for method in (DEFAULT, paper(0.5)) for each in instances]


def lp_seconds(run: Record) -> float:
    """When the LP had converged; all of the time where the proof came before."""
    for record in run["history"]:
        if record["phase"] == "lp" and record["violated_roots"] == 0:
            return record["seconds"]
    return run["seconds"]


def excess(run: Record, record: Record) -> float:
    """How far the clustering of a round is above the optimum, in its units."""
    optimum = run["objective"]
    return (record["upper_bound"] - optimum) / abs(optimum) if optimum else 0.0


def report(runs: list[Record], out: Path) -> str:
    """The table."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for run in runs:
        if run["method"] in (DEFAULT.name, paper_name(0.5)) and run["status"] == "optimal":
            groups.setdefault((run["family"], run["method"]), []).append(run)
    lines = [[*names, *_cells(group)] for names, group in sorted(groups.items())]
    if not lines:
        return "No runs are stored that ended with a proof."
    return f"{NOTE}\n\n{table(HEADINGS, lines)}"


def _cells(group: list[Record]) -> list[object]:
    rest = [run for run in group if run["history"]]
    cells: list[object] = [len(group), len(group) - len(rest)]
    if not rest:
        return cells + ["-"] * (len(HEADINGS) - 4)
    first = [100 * run["history"][0]["seconds"] / run["seconds"] for run in rest]
    above = [100 * excess(run, run["history"][0]) for run in rest]
    known = good = 0
    for run in rest:
        early = [r for r in run["history"] if r["seconds"] <= 0.1 * run["seconds"]]
        known += bool(early)
        good += bool(early) and excess(run, early[-1]) <= GOOD
    until = sum(lp_seconds(run) for run in rest)
    total = sum(run["seconds"] for run in rest)
    return [
        *cells,
        f"{total:.3f}",
        f"{median(first):.0f}",
        f"{median(above):.3g}, {max(above):.3g}",
        f"{known}, {good}",
        f"{until:.3f}",
        f"{total - until:.3f}",
        f"{(total - until) / until:.3f}",
    ]
