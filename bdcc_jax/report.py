"""One run as a web page: a single file that loads nothing, runs nothing, and can be mailed."""

import io
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from html import escape
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base.environment import environment
from .base.records import Round
from .options import Options
from .result import Result, Status
from .show.columns import HEADINGS, cells
from .show.html import table
from .show.plots import (
    BAR_COLOUR,
    LOWER_COLOUR,
    UPPER_COLOUR,
    plot_bounds,
    plot_cluster_sizes,
    plot_matrix,
    plot_segmentation,
    plot_timings,
    require_matplotlib,
)

LARGEST, MEMBERS, LONGEST_NAME = 10, 8, 40
"""The report lists the LARGEST clusters with MEMBERS nodes each; names are cut after LONGEST_NAME
characters."""

MOST_ROUNDS = 100
"""Of more rounds only every second, third, ... is listed."""

# Whatever might slip through: a browser that obeys this runs no script and loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

LARGE_GAP = 0.01
"""With a relative gap above this, the page says what may help."""

PARTS = {
    "presolve": "rules that make the instance smaller",
    "rounding": "search for clusterings",
    "cover": "choice of the roots",
    "master": "the LP, by HiGHS",
    "detection": "which roots are violated",
    "subproblems": "rows for the LP",
    "ascent": "a lower bound by dual ascent, without an LP",
    "compiling": "loops that this machine or this process had not used before; no limit counts it",
    "other": "what lies between these: setting up, bookkeeping, the proof",
}
"""What the bars of the timings mean."""

INK = "#0a0b0c"
"""The colour of text in plots, which is found nowhere else."""

FOLLOWING = {
    INK: "currentColor",
    BAR_COLOUR: "var(--bar)",
    UPPER_COLOUR: "var(--upper)",
    LOWER_COLOUR: "var(--lower)",
}
"""Colours in plots that follow the page, which may be dark."""

STYLE = """
:root { color-scheme: light dark; --ink: #1e293b; --page: #f1f5f9; --box: #fff; --line: #e2e8f0;
  --soft: #64748b; --bar: #475569; --advice: #fef3c7; --upper: #c2410c; --lower: #1d4ed8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e2e8f0; --page: #0f172a; --box: #1e293b;
  --line: #334155; --soft: #94a3b8; --bar: #94a3b8;
  --advice: #422006; --upper: #fb923c; --lower: #60a5fa; } }
@media print { :root { --ink: #000; --page: #fff; --box: #fff; } section { break-inside: avoid; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  margin: 0; }
main { max-width: 1000px; margin: 0 auto; padding: 24px 20px 40px; }
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 12px; }
p { margin: 0; }
section { background: var(--box); border: 1px solid var(--line); border-radius: 8px;
  padding: 18px 20px; margin-top: 16px; overflow-x: auto; }
.status { display: inline-block; color: #fff; background: #b45309; border-radius: 4px;
  padding: 1px 10px; font-weight: 600; margin-right: 8px; }
.status.optimal { background: #15803d; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(115px, 1fr)); gap: 14px; }
.figures b { display: block; font-size: 18px; font-variant-numeric: tabular-nums; }
.figures span, .note { color: var(--soft); font-size: 13px; }
.advice { background: var(--advice); }
.advice ul { margin: 4px 0 0; padding-left: 20px; }
.picture svg { max-width: 620px; margin: 0 auto; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr));
  gap: 0 16px; }
.columns > section { min-width: 0; }
svg { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 3px 14px 3px 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
tr:last-child > * { border-bottom: 0; }
th { font-weight: 500; color: var(--soft); white-space: nowrap; width: 1%; }
.rounds th, .rounds td { text-align: right; white-space: nowrap; width: auto;
  font-variant-numeric: tabular-nums; }
.changed td { font-weight: 600; }
summary { cursor: pointer; font-weight: 600; }
"""


def html_report(
    result: Result,
    title: str = "bdcc_jax",
    settings: Mapping[str, object] | None = None,
    picture: tuple[ArrayLike, ArrayLike] | None = None,
) -> str:
    """Return a page about one run: the clustering, bounds over time, timings, clusters, versions.

    Parameters
    ----------
    result : Result
        What :func:`bdcc_jax.solve` returned.
    title : str
        The heading, such as the name of the instance.
    settings : mapping, optional
        What else was asked for, such as the time limit; shown before the options.
    picture : tuple, optional
        An image and the node of each of its pixels, as for
        :meth:`bdcc_jax.Result.plot_segmentation`: the clustering is shown as a segmentation.
        Without one it is shown as a matrix.

    Returns
    -------
    str
        HTML that needs no other file, no network and no script; all text in it is escaped.

    Examples
    --------
    >>> import bdcc_jax
    >>> from bdcc_jax.report import html_report
    >>> page = html_report(bdcc_jax.solve([[0, 1], [1, 0]]), "a < b")
    >>> "<title>a &lt; b</title>" in page
    True
    """
    require_matplotlib()
    status, heading = str(result.status), escape(title)
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    changed = [f.name for f in fields(Options) if _changed(result.options, f.name)]
    options = {f.name: getattr(result.options, f.name) for f in fields(Options)}
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{heading}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{heading}</h1>
<p><span class="status {status}">{status.replace("_", " ")}</span>
{escape(result.status.explanation)}</p>
{_advice(result)}<section class="figures">{_figures(result)}</section>
<section class="picture"><h2>Clustering</h2>{_clustering(result, picture)}</section>
<section><h2>Bounds</h2>{_svg(plot_bounds, result, 10, 4)}</section>
<div class="columns">
<section><h2>Time</h2>{_svg(plot_timings, result, 5.6, 3.6)}
<p class="note">{_parts(result)}</p></section>
<section><h2>Cluster sizes</h2>{_svg(plot_cluster_sizes, result, 5.6, 3.6)}</section>
</div>
<div class="columns">
<section><h2>Instance</h2>{table(_instance(result))}</section>
<section><h2>Result</h2>{table(_facts(result))}</section>
</div>
<section><h2>Largest clusters</h2>{_largest(result)}</section>
<section>{_rounds(result.history)}</section>
<div class="columns">
<section><h2>Options</h2>{table({**(settings or {}), **options}, bold=changed)}
<p class="note">Bold: not the default.</p></section>
<section><h2>Versions</h2>{table(environment())}</section>
</div>
<p class="note" style="margin-top: 16px">Written by bdcc_jax, {written}.</p>
</main>
</body>
</html>
"""


def _changed(options: Options, name: str) -> bool:
    return bool(getattr(options, name) != getattr(Options(), name))


def _figures(result: Result) -> str:
    figures = {
        "objective": f"{result.objective:.8g}",
        "lower bound": f"{result.lower_bound:.8g}",
        "gap": f"{100 * result.relative_gap:.3g} %",
        "clusters": f"{result.n_clusters:,}",
        "nodes": f"{result.graph.n:,}",
        "edges": f"{result.graph.m:,}",
        "seconds": f"{result.timings['total']:.3g}",
    }
    return "".join(
        f"<div><b>{escape(value)}</b><span>{name}</span></div>" for name, value in figures.items()
    )


def _instance(result: Result) -> dict[str, str]:
    graph = result.graph
    positive = int(graph.positive.sum())
    size = np.abs(graph.weights)
    return {
        "attractive": f"{positive} edges, together {graph.weights[graph.positive].sum():.6g}",
        "repulsive": f"{graph.m - positive} edges, together {graph.negative_sum:.6g}",
        "|weight|": f"{size.min():.3g} to {size.max():.3g}" if graph.m else "no edges",
        "named nodes": "yes" if graph.names else "no",
    }


def _facts(result: Result) -> dict[str, str]:
    """What the summary says, but for what the page has said before."""
    said = ("status", "objective", "lower bound", "gap", "clusters", "seconds")
    return {name: value for name, value in result._facts().items() if name not in said}


def _parts(result: Result) -> str:
    shown = [name for name in PARTS if name in result.timings or name == "other"]
    return "; ".join(f"<b>{name}</b>: {PARTS[name]}" for name in shown)


def _advice(result: Result) -> str:
    """What may help where much of the gap is left, by what happened last."""
    if result.status is Status.OPTIMAL or result.relative_gap <= LARGE_GAP:
        return ""
    late = 0.75 * result.timings["total"]
    before = [record for record in result.history if record.seconds <= late]
    tips = []
    if before and result.lower_bound > before[-1].lower_bound:
        tips.append("The lower bound was still rising: more time will close more of the gap.")
    if before and result.objective < min(record.upper_bound for record in before):
        tips.append("Better clusterings were still being found: more time may find others.")
    if not tips:
        tips.append("Neither bound has moved for a while: more time alone may not help.")
    pairs = result.graph.n * (result.graph.n - 1) / 2
    if result.graph.m > pairs / 4:
        tips.append(
            "The instance is dense. There bounds are weak, and the clustering is often much better "
            "than its gap says; weak pairs that are left out make it sparser."
        )
    tips.append(
        "Weights that are more decided (see docs/modelling.md), or pairs that must or cannot be "
        "together, make an instance easier. If the gap is good enough, ask for it: gap=..."
    )
    listed = "".join(f"<li>{tip}</li>" for tip in tips)
    gap = f"{100 * result.relative_gap:.3g} %" if result.relative_gap < inf else "without limit"
    return (
        f'<section class="advice"><b>The gap is {gap}: as far as is proven, another clustering '
        f"could cost that much less.</b><ul>{listed}</ul></section>\n"
    )


def _clustering(result: Result, picture: tuple[ArrayLike, ArrayLike] | None) -> str:
    if picture is None:
        note = (
            "The weight of every pair, nodes sorted by cluster: squares are clusters. Blue inside "
            "of them and red outside agrees with the clustering."
        )
        return f'{_svg(plot_matrix, result, 5.6, 5.6)}<p class="note">{note}</p>'
    height, width = np.asarray(picture[0]).shape[:2]
    return _svg(_segmentation(*picture), result, 7.0, 7.0 * height / width + 0.4)


def _segmentation(image: ArrayLike, superpixels: ArrayLike) -> Any:
    def segmentation(result: Result, ax: Any) -> None:
        plot_segmentation(result, image, superpixels, ax)

    return segmentation


def _largest(result: Result) -> str:
    """The largest clusters, with the names of some of their nodes."""
    sizes = np.bincount(result.labels)
    names = result.graph.names or range(result.graph.n)
    order = np.argsort(-sizes, kind="stable")[:LARGEST]
    rows = {}
    for cluster in order.tolist():
        nodes = np.flatnonzero(result.labels == cluster)
        shown = ", ".join(_short(str(names[node])) for node in nodes[:MEMBERS].tolist())
        rest = ", ..." if len(nodes) > MEMBERS else ""
        rows[f"cluster {cluster}, {len(nodes)} node{'s'[: len(nodes) > 1]}"] = shown + rest
    return table(rows)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _rounds(history: tuple[Round, ...]) -> str:
    if not history:
        return "<h2>Rounds</h2><p>None were needed.</p>"
    step = -(-len(history) // MOST_ROUNDS)
    shown = [*history[: len(history) - 1 : step], history[-1]]
    lines, best = [_row("th", HEADINGS)], inf
    for record in shown:
        lines.append(_row("td", cells(record, improved=record.upper_bound < best)))
        best = record.upper_bound
    note = "" if step == 1 else f"; one in {step} is listed"
    return (
        f"<details><summary>{len(history)} rounds{note}</summary>"
        f'<table class="rounds">{"".join(lines)}</table></details>'
    )


def _row(tag: str, texts: tuple[str, ...]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>\n"


def _svg(plot: Any, result: Result, width: float, height: float) -> str:
    """A plot as an element of the page, with its text as text."""
    import matplotlib
    from matplotlib.figure import Figure

    text = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    # The ids inside a picture must differ from those in the others.
    style = {"svg.fonttype": "none", "svg.hashsalt": plot.__name__, "font.family": "sans-serif"}
    with matplotlib.rc_context({**style, **dict.fromkeys(text, INK)}):
        figure = Figure(figsize=(width, height), layout="constrained")
        plot(result, figure.subplots())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata=no_metadata, transparent=True)
    drawing = buffer.getvalue()
    for colour, followed in FOLLOWING.items():
        drawing = drawing.replace(colour, followed)
    return drawing[drawing.index("<svg") :]
