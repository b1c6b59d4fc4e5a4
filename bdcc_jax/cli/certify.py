"""``bdcc-jax certify``: how much better than a given clustering any other can be."""

import argparse
import json
from math import inf

from ..attempt import solve_graph
from ..base.records import Progress, relative_gap
from ..io import read_labels
from ..result import Result, Status
from ..search.arguments import check_initial
from ..separation.device import devices
from .common import Parser, at_least_0, bad_input, finite, say
from .instance import (
    add_constraints,
    add_format,
    add_instance,
    complain_if_suspicious,
    constrained,
    read_instance,
)
from .options import add_options, read_device, read_options
from .signals import SIGNALS

NOT_PROVEN = 1

HELP = "how much could a clustering be improved at most"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add_instance(command)
    add = command.add_argument
    add("labels", metavar="LABELS", help="the clustering: .npy, .npz, .h5, or text")
    add_format(command)
    add_constraints(command)
    add_options(command)
    add("--time-limit", type=at_least_0(float), metavar="SECONDS", help="stop after this time")
    add("--json", action="store_true", help="the answer as JSON")
    add("--quiet", action="store_true", help="only the exit code: 0 proven, 1 not proven")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    with bad_input():
        options, device = read_options(arguments), read_device(arguments)
        devices.place(device, options.engine)
        arguments.compilers.start()
        graph = constrained(read_instance(arguments.file, arguments.format)[0], arguments)
        complain_if_suspicious(graph, arguments.file)
        labels = check_initial(graph, read_labels(arguments.labels, names=graph.names))
        if wrong := graph.constraints.violated(labels):
            pair = graph.name(wrong[1]), graph.name(wrong[2])
            raise ValueError(f"{arguments.labels} violates {wrong[0]}: see nodes {pair}")
        if wrong_number := graph.constraints.wrong_number(labels):
            raise ValueError(f"{arguments.labels} has {wrong_number}")
        if graph.objective(labels) == inf:
            raise ValueError(f"{arguments.labels} has a cluster that can have no class")
        if graph.lifted is not None and graph.refined(labels)[0].max() > labels.max():
            raise ValueError(f"{arguments.labels} has a cluster that ordinary edges do not connect")
    arguments.compilers.wait_for(graph, arguments.time_limit)
    given, gap = graph.objective(labels), arguments.gap

    def answered(progress: Progress) -> bool:
        """Whether the gap is proven, or a clustering is known that disproves it."""
        lower, upper = progress.round.lower_bound, progress.round.upper_bound
        known = relative_gap(given, lower) <= gap or given - upper > gap * abs(given)
        return (known and gap > 0.0) or SIGNALS.stop(progress)

    result = SIGNALS.last(
        lambda: solve_graph(
            graph,
            device=device,
            time_limit=arguments.time_limit,
            seed=arguments.seed,
            options=options,
            callback=answered,
            initial=labels,
        )
    )
    optimal = result.status is Status.OPTIMAL and given <= result.objective
    proven = optimal or 0.0 < (result.initial_gap or 0.0) <= gap * abs(given)
    if arguments.json:
        say(json.dumps(finite(_facts(result, proven)), indent=2, allow_nan=False))
    elif not arguments.quiet:
        say(_text(result, proven, gap))
    return 0 if proven else NOT_PROVEN


def _facts(result: Result, proven: bool) -> dict[str, object]:
    return {
        "objective": result.initial_objective,
        "lower_bound": result.lower_bound,
        "at_most": result.initial_gap,
        "at_least": (result.initial_objective or 0.0) - result.objective,
        "proven": proven,
        "seconds": result.timings["total"],
    }


def _text(result: Result, proven: bool, gap: float) -> str:
    given, at_most = result.initial_objective or 0.0, result.initial_gap or 0.0
    percent = 100 * relative_gap(given, given - at_most)
    asked = "that it is optimal" if gap == 0.0 else f"a gap of {100 * gap:.3g} %"
    facts = {
        "objective": f"{given:.10g}",
        "lower bound": f"{result.lower_bound:.10g}",
        "improvable": f"by at most {at_most:.3g} ({percent:.3g} %)",
        "found": f"a clustering that costs {given - result.objective:.3g} less"
        if result.objective < given
        else "none that costs less",
        "proven": asked if proven else f"not {asked}",
        "seconds": f"{result.timings['total']:.2f}",
    }
    return "\n".join(f"{name:<13} {value}" for name, value in facts.items())
