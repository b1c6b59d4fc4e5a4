"""Figures without a display."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter


def grid(
    rows: int, columns: int, *, width: float = 4.2, height: float = 3.2
) -> tuple[Figure, np.ndarray]:
    """A figure with so many axes, as a two-dimensional array."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Figure, path: Path) -> str:
    """Write a PNG; returns the Markdown that shows it."""
    figure.savefig(path, dpi=90)
    return f"![{path.stem}]({path.name})"


def seconds_axis(axes: Axes) -> None:
    """Whole decades of seconds, and labels at these only."""
    low, high = axes.dataLim.intervalx
    axes.set(xscale="log", xlabel="seconds")
    axes.set_xlim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def shares(axes: Axes, times: list[float | None], limit: float, **style: object) -> None:
    """The share of instances that are done, over time; None: never."""
    done = sorted(time for time in times if time is not None)
    levels = np.arange(1, len(done) + 1) / max(1, len(times))
    if done:
        ends = [*done, max(limit, done[-1])]
        axes.step(ends, [*levels, levels[-1]], where="post", **style)
    else:
        axes.plot([], [], **style)
