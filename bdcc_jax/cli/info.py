"""``bdcc-jax info``."""

import argparse
import json
from dataclasses import asdict
from typing import Any

import numpy as np

from ..instance.graph import Graph
from ..presolve import Presolved, presolve
from ..primal import greedy_additive
from ..search.terms import Terms
from .common import Parser, bad_input, say
from .instance import add_format, add_instance, read_instance, shown

HELP = "size, weights, components, reductions and simple bounds of a file"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add_instance(command)
    add_format(command)
    command.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    with bad_input():
        graph, form = read_instance(arguments.file, arguments.format)
    report = {"file": shown(arguments.file), "format": form, **describe(graph)}
    say(json.dumps(report, indent=2, allow_nan=False) if arguments.json else _lines(report))
    return 0


def describe(graph: Graph) -> dict[str, Any]:
    """What can be said about an instance without solving it."""
    isolated = np.ones(graph.n, dtype=bool)
    isolated[graph.edges] = False
    everything = np.ones(graph.m, dtype=bool)
    lifted = 0 if graph.lifted is None else int(graph.lifted.sum())
    reduced = None if lifted else presolve(Terms.of(graph).graph)
    return {
        "nodes": graph.n,
        "named": graph.names is not None,
        "isolated": int(isolated.sum()),
        "edges": graph.m,
        "positive": int(graph.positive.sum()),
        "negative": int(graph.negative.sum()),
        "lifted": lifted,
        "weights": _span(graph.weights),
        "magnitudes": _span(np.abs(graph.weights)),
        "whole_weights": bool((graph.weights == np.rint(graph.weights)).all()),
        "components": int(graph.components(everything).max()) + 1,
        "positive_components": int(graph.components(graph.positive).max()) + 1,
        "presolve": None if reduced is None else asdict(reduced.removed),
        "left": None if reduced is None else _left(reduced),
        "lower_bound": graph.negative_sum,
        "upper_bound": graph.objective(greedy_additive(graph)),
    }


def _left(reduced: Presolved) -> dict[str, int]:
    """What presolve leaves; a graph needs a node even if all is decided."""
    graph, pieces = reduced.graph, reduced.n_pieces
    some = graph.m > 0
    return {"nodes": graph.n * some, "edges": graph.m, "pieces": pieces * some}


def _span(values: np.ndarray) -> list[float] | None:
    return [float(values.min()), float(values.max())] if values.size else None


def _lines(report: dict[str, Any]) -> str:
    rows = {
        "file": f"{report['file']} ({report['format']})",
        "nodes": f"{report['nodes']}, {report['isolated']} without edges"
        + (", named" if report["named"] else ""),
        "edges": f"{report['edges']}: {report['positive']} attract, {report['negative']} repel"
        + (f", {report['lifted']} are lifted" if report["lifted"] else ""),
        "weights": "none"
        if report["weights"] is None
        else "{:.6g} to {:.6g}".format(*report["weights"])
        + ", magnitudes {:.3g} to {:.3g}".format(*report["magnitudes"])
        + (", all whole" if report["whole_weights"] else ""),
        "components": f"{report['components']}; {report['positive_components']} if only "
        "attractive edges count",
        **_presolve_lines(report["presolve"], report["left"]),
        "lower bound": f"{report['lower_bound']:.10g} (sum of the negative weights)",
        "upper bound": f"{report['upper_bound']:.10g} (greedy contraction)",
    }
    return "\n".join(f"{name:<13} {value}" for name, value in rows.items())


def _presolve_lines(removed: dict[str, int] | None, left: dict[str, int] | None) -> dict[str, str]:
    if removed is None or left is None:
        return {"presolve": "none: with lifted edges it is not valid"}
    rules = {rule: number for rule, number in removed.items() if rule not in ("nodes", "edges")}
    applied = ", ".join(f"{rule} {number}" for rule, number in rules.items() if number)
    return {
        "presolve": f"leaves {left['nodes']} nodes and {left['edges']} edges"
        + (f" in {left['pieces']} piece(s)" if left["edges"] else ": all is decided"),
        "by rule": applied or "none applies",
    }
