"""All methods side by side: time to a gap of 1 %, time to the proof, final gap, by family."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median

from bdcc_jax.result import relative_gap

from .instances import Instance
from .markdown import table
from .methods import CLASSIC, DEFAULT, GAEC, KLJ, bioimage, paper, paper_name
from .plots import grid, save, seconds_axis, shares
from .runs import Job, reached, trace
from .store import Record

TITLE = "Methods"
CLOSE = 0.01
EXACT = (DEFAULT.name, paper_name(0.5), CLASSIC.name)
MOST_FAMILIES = 6
"""So many rows are drawn, of the families with the most instances."""

NOTE = """\
Median seconds over those instances that got there, and how many did. Relative gaps. Methods
without a lower bound (marked *) are measured against the best bound that any method found, which
they do not know themselves. Families with fewer instances for a method: the others were not run.
The worst final gap is over all instances; "-" without any clustering."""


@dataclass(frozen=True)
class Outcome:
    """One run as it is compared."""

    close: float | None
    proven: float | None
    gap: float


def jobs(instances: list[Instance]) -> list[Job]:
    """All methods on all instances; those of bioimage-cpp where it is installed."""
    methods = [DEFAULT, paper(0.5), CLASSIC, GAEC, KLJ, *bioimage()]
    return [(each, method) for method in methods for each in instances]


def outcomes(runs: list[Record]) -> dict[tuple[str, str], list[Outcome]]:
    """Everything by family and method."""
    best: dict[str, float] = defaultdict(lambda: -inf)
    for run in runs:
        if run["lower_bound"] is not None:
            best[run["instance"]] = max(best[run["instance"]], run["lower_bound"])
    found: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for run in runs:
        points = trace(run)
        proven = points[-1].seconds if run["status"] == "optimal" else None
        close, gap = None, inf
        if run["lower_bound"] is not None:
            close, gap = reached(points, relative=CLOSE), points[-1].relative_gap
        elif run["objective"] is not None:
            gap = relative_gap(run["objective"], best[run["instance"]])
            close = run["seconds"] if gap <= CLOSE else None
        found[run["family"], run["method"]].append(Outcome(close, proven, gap))
    return found


def report(runs: list[Record], out: Path) -> str:
    """Table and figure."""
    names = [DEFAULT.name, paper_name(0.5), CLASSIC.name, GAEC.name, KLJ.name]
    theirs = sorted({r["method"] for r in runs if r["method"].startswith("bioimage")})
    names += theirs
    found = outcomes([run for run in runs if run["method"] in names])
    if not found:
        return "No runs are stored."
    families = list(dict.fromkeys(family for family, _ in found))
    lines = []
    for family in families:
        for method in names:
            if group := found.get((family, method)):
                lines.append([family, method + ("" if method in EXACT else " *"), *_cells(group)])
    headings = ["family", "method", "instances", "gap <= 1 % s", "proven s", "worst final gap %"]
    note = NOTE if theirs else NOTE + " bioimage-cpp is not installed (pip install bioimage-cpp)."
    limit = max(run["seconds"] for run in runs if run["method"] in names)
    return "\n\n".join([note, table(headings, lines), draw(found, families, names, limit, out)])


def _cells(group: list[Outcome]) -> list[str]:
    cells = [str(len(group))]
    for times in ([o.close for o in group], [o.proven for o in group]):
        done = [seconds for seconds in times if seconds is not None]
        cells.append(f"{median(done):.4f} ({len(done)})" if done else "-")
    worst = max(o.gap for o in group)
    return [*cells, "-" if worst == inf else f"{100 * worst:.4f}"]


def draw(
    found: dict[tuple[str, str], list[Outcome]],
    families: list[str],
    names: list[str],
    limit: float,
    out: Path,
) -> str:
    """The share of instances within 1 %, and of those that are proven, over time."""
    count = {family: max(len(found.get((family, n), ())) for n in names) for family in families}
    shown = sorted(families, key=lambda family: -count[family])[:MOST_FAMILIES]
    figure, axes = grid(len(shown), 2, width=4.6, height=2.8)
    for family, (close, proven) in zip(shown, axes, strict=True):
        for i, method in enumerate(names):
            group = found.get((family, method), [])
            style = {"color": f"C{i}", "label": method, "linewidth": 1.8, "marker": ".", "ms": 4}
            shares(close, [o.close for o in group], limit, **style)
            if method in EXACT:
                shares(proven, [o.proven for o in group], limit, **style)
        for panel, what in ((close, "gap ≤ 1 %"), (proven, "proven optimal")):
            panel.set(ylim=(0, 1.05), ylabel="share of instances")
            seconds_axis(panel)
            panel.set_title(f"{family} ({count[family]}): {what}", fontsize=10)
            panel.grid(alpha=0.3)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    return save(figure, out / "methods.png")
