"""What every part of the method is worth: one change at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean

from bdcc_jax import Options

from .instances import Instance
from .markdown import table
from .methods import DEFAULT, bdcc
from .runs import Job
from .store import Record

TITLE = "Ablation: one change at a time"
BASE = DEFAULT.name
ALONE = "rows of every root by themselves"

_alone = Options(engine="reference")
CHANGES: dict[str, tuple[str, Options]] = {
    "no presolve": (BASE, Options(presolve=False)),
    "no primal heuristics": (BASE, Options(heuristics=False, rounding=())),
    "no odd wheels": (BASE, Options(odd_wheels=False)),
    "one ILP instead of pieces": (BASE, Options(integer="whole")),
    ALONE: (BASE, _alone),
    "aggregated rows": (ALONE, replace(_alone, rows="aggregated")),
    "Magnanti-Wong rows, tau 0.5": (ALONE, replace(_alone, tau=0.5)),
    "aggregated and Magnanti-Wong rows": (ALONE, replace(_alone, rows="aggregated", tau=0.5)),
}
"""What a change is compared with, and the options that make it."""

NOTE = f"""\
"{BASE}" shares the capacities of a round among all roots (engine `packing`); "{ALONE}"
solves one LP for every root instead (engine `reference`), on which the lines below it change one
thing more. The ratio is the geometric mean over the instances of its seconds over those of what it
is compared with, both at least 1 ms: above 1 the change makes it slower. Sums over the instances
that both ran; ">=" where runs ended at the time limit."""


def jobs(instances: list[Instance]) -> list[Job]:
    """The default and every change, on all instances."""
    methods = [DEFAULT, *(bdcc(name, options) for name, (_, options) in CHANGES.items())]
    return [(each, method) for method in methods for each in instances]


def report(runs: list[Record], out: Path) -> str:
    """The table."""
    by_method: dict[str, dict[str, Record]] = {}
    for run in runs:
        by_method.setdefault(run["method"], {})[run["instance"]] = run
    lines = []
    for name, base in [(BASE, BASE), *((name, base) for name, (base, _) in CHANGES.items())]:
        here, there = by_method.get(name, {}), by_method.get(base, {})
        both = sorted(set(here) & set(there) & set(by_method.get(ALONE, {})))
        if not both:
            continue
        ratio = geometric_mean(
            max(1e-3, here[i]["seconds"]) / max(1e-3, there[i]["seconds"]) for i in both
        )
        optimal = sum(here[i]["status"] == "optimal" for i in both)
        sign = ">= " if optimal < len(both) else ""
        lines.append(
            [
                name,
                "" if name == base else base,
                f"{sign}{sum(here[i]['seconds'] for i in both):.3f}",
                "" if name == base else f"{sign}{ratio:.2f}",
                sum(len(here[i]["history"]) for i in both),
                sum(here[i]["history"][-1]["rows"] for i in both if here[i]["history"]),
                f"{optimal} of {len(both)}",
            ]
        )
    if not lines:
        return "No runs are stored."
    headings = ["setting", "compared with", "seconds", "ratio", "rounds", "rows", "proven"]
    return f"{NOTE}\n\n{table(headings, lines)}"
