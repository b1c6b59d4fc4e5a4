"""One run as a web page: a single file that loads nothing, runs nothing, and can be mailed."""

import io
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from html import escape
from math import inf
from typing import Any

import numpy as np

from .base.environment import environment
from .base.records import Round
from .options import Options
from .result import Result
from .show.columns import HEADINGS, cells
from .show.html import table
from .show.plots import plot_bounds, plot_cluster_sizes, plot_timings, require_matplotlib

LARGEST, MEMBERS, LONGEST_NAME = 10, 8, 40
"""The report lists the LARGEST clusters with MEMBERS nodes each; names are cut after LONGEST_NAME
characters."""

MOST_ROUNDS = 100
"""Of more rounds only every second, third, ... is listed."""

# Whatever might slip through: a browser that obeys this runs no script and loads nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1e293b; background: #f1f5f9; margin: 0; }
main { max-width: 1000px; margin: 0 auto; padding: 24px 20px 40px; }
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 12px; }
p { margin: 0; }
section { background: #fff; border: 1px solid #e2e8f0; border-radius: 8px; padding: 18px 20px;
  margin-top: 16px; overflow-x: auto; }
.status { display: inline-block; color: #fff; background: #b45309; border-radius: 4px;
  padding: 1px 10px; font-weight: 600; margin-right: 8px; }
.status.optimal { background: #15803d; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(115px, 1fr)); gap: 14px; }
.figures b { display: block; font-size: 18px; font-variant-numeric: tabular-nums; }
.figures span, .note { color: #64748b; font-size: 13px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr));
  gap: 0 16px; }
.columns > section { min-width: 0; }
svg { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 3px 14px 3px 0;
  border-bottom: 1px solid #f1f5f9; overflow-wrap: anywhere; }
th { font-weight: 500; color: #64748b; white-space: nowrap; width: 1%; }
.rounds th, .rounds td { text-align: right; white-space: nowrap; width: auto;
  font-variant-numeric: tabular-nums; }
.changed td { font-weight: 600; }
summary { cursor: pointer; font-weight: 600; }
@media print { body { background: #fff; } section { break-inside: avoid; } }
"""


def html_report(
    result: Result, title: str = "bdcc_jax", settings: Mapping[str, object] | None = None
) -> str:
    """Return a page about one run: instance, bounds over time, timings, clusters, versions.

    Parameters
    ----------
    result : Result
        What :func:`bdcc_jax.solve` returned.
    title : str
        The heading, such as the name of the instance.
    settings : mapping, optional
        What else was asked for, such as the time limit; shown before the options.

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
<section class="figures">{_figures(result)}</section>
<section><h2>Bounds</h2>{_svg(plot_bounds, result, 10, 4)}</section>
<div class="columns">
<section><h2>Time</h2>{_svg(plot_timings, result, 5.6, 3.6)}</section>
<section><h2>Cluster sizes</h2>{_svg(plot_cluster_sizes, result, 5.6, 3.6)}</section>
</div>
<div class="columns">
<section><h2>Instance</h2>{table(_instance(result))}</section>
<section><h2>Result</h2>{table(result._facts())}</section>
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
        "nodes": f"{graph.n}",
        "edges": f"{graph.m}",
        "attractive": f"{positive} edges, together {graph.weights[graph.positive].sum():.6g}",
        "repulsive": f"{graph.m - positive} edges, together {graph.negative_sum:.6g}",
        "|weight|": f"{size.min():.3g} to {size.max():.3g}" if graph.m else "no edges",
        "named nodes": "yes" if graph.names else "no",
    }


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

    no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    # The ids inside a picture must differ from those in the others.
    style = {"svg.fonttype": "none", "svg.hashsalt": plot.__name__, "font.family": "sans-serif"}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        plot(result, figure.subplots())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata=no_metadata, transparent=True)
    drawing = buffer.getvalue()
    return drawing[drawing.index("<svg") :]
