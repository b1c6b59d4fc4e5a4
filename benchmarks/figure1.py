"""Figure 1 of the paper: the gap over time for several tau, and what parallelism gains."""

from __future__ import annotations

from pathlib import Path

from .instances import Instance, spread
from .methods import TAUS, paper, paper_name
from .plots import grid, save, seconds_axis
from .runs import Clock, Job, trace
from .store import Record

TITLE = "Figure 1: gap over time, and total against parallel time"
PANELS = 6
COLOURS = {0.5: "red", 0.99: "green", 0.01: "blue", None: "black"}
LINES: dict[Clock, str] = {"serial": "-", "parallel": ":"}
SMALLEST = 1e-3
"""Gaps below are drawn as this: the axis is logarithmic."""

NOTE = """\
Left: solid lines count all subproblems, dotted lines of every round the slowest root only; the
rounding is in neither. Right: every instance once for each setting, until the last round that was
finished; points below the line gain from parallelism."""


def jobs(instances: list[Instance]) -> list[Job]:
    """Two settings everywhere, all of them on instances of rising difficulty."""
    everywhere = [(each, paper(tau)) for tau in (0.5, None) for each in instances]
    return everywhere + [(each, paper(tau)) for tau in TAUS for each in spread(instances, PANELS)]


def report(runs: list[Record], out: Path) -> str:
    """Draw both halves."""
    by_method = {
        tau: {run["instance"]: run for run in runs if run["method"] == paper_name(tau)}
        for tau in TAUS
    }
    complete = set.intersection(*(set(found) for found in by_method.values()))
    if not complete:
        return "No runs of the paper's method with all settings are stored."
    return "\n\n".join([NOTE, left(by_method, complete, out), right(by_method, out)])


def left(by_method: dict[float | None, dict[str, Record]], names: set[str], out: Path) -> str:
    """The gap over time on the instances that were run with all settings."""
    size = {name: run["m"] for name, run in by_method[0.5].items()}
    ranked = sorted(size, key=lambda name: size[name])
    shown = spread(sorted(names, key=lambda name: size[name]), PANELS)
    columns = min(2, len(shown))
    figure, axes = grid(-(-len(shown) // columns), columns)
    for panel in axes.flat[len(shown) :]:
        panel.remove()
    for name, panel in zip(shown, axes.flat, strict=False):
        for tau, colour in COLOURS.items():
            for clock, style in LINES.items():
                # The last point repeats the last round where the run was not cut short.
                points = trace(by_method[tau][name], clock)
                panel.plot(
                    [max(p.seconds, 1e-3) for p in points],
                    [max(p.gap, SMALLEST) for p in points],
                    style,
                    color=colour,
                    linewidth=1.4,
                    drawstyle="steps-post",
                    label=f"{'no MW rows' if tau is None else f'τ = {tau}'}, "
                    f"{'parallel' if clock == 'parallel' else 'serial'}",
                )
        panel.set(yscale="log", ylabel="duality gap")
        seconds_axis(panel)
        panel.set_title(
            f"{name.rpartition('/')[2]}: {size[name]:,} edges, "
            f"rank {ranked.index(name) + 1} of {len(ranked)}",
            fontsize=10,
        )
        panel.grid(alpha=0.3)
    figure.legend(
        *axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    return save(figure, out / "figure1_left.png")


def right(by_method: dict[float | None, dict[str, Record]], out: Path) -> str:
    """Total against parallel time, every instance a point."""
    figure, axes = grid(1, 1, width=5.6, height=4.8)
    panel = axes[0, 0]
    ends = []
    for tau, label in ((None, "no MW rows"), (0.5, "τ = 0.5")):
        for proven, fill in ((True, COLOURS[tau]), (False, "none")):
            both = [
                [trace(run, clock)[-2].seconds for clock in ("serial", "parallel")]
                for run in by_method[tau].values()
                if run["history"] and (run["status"] == "optimal") == proven
            ]
            if both:
                ends += [seconds for pair in both for seconds in pair]
                style = {"s": 26, "facecolors": fill, "edgecolors": COLOURS[tau], "alpha": 0.75}
                stopped = "" if proven else ", stopped at the time limit"
                panel.scatter(*zip(*both, strict=True), label=label + stopped, **style)
    limits = [min(ends) / 1.5, max(ends) * 1.5]
    panel.plot(limits, limits, color="magenta", label="slope 1")
    panel.set(
        xscale="log",
        yscale="log",
        xlim=limits,
        ylim=limits,
        aspect="equal",
        xlabel="total seconds",
        ylabel="seconds with a processor for every root",
    )
    panel.grid(alpha=0.3)
    panel.legend(loc="upper left")
    return save(figure, out / "figure1_right.png")
