"""Instance files on the command line: how they are named, and read."""

import argparse
import sys
import warnings
from typing import Any

from ..instance.graph import Graph
from ..io import FORMATS, decoded, load
from ..io.constraints import read_groups, read_pairs, read_unaries
from ..io.files import inflated
from ..weights import suspicion
from .common import Parser, complain

STANDARD_INPUT = "-"
"""As the name of a file."""

FORMS = (
    "MULTICUT text, triples, a signed edge list, .gr, HDF5, GraphML, GML or .npz; "
    "gzipped or not; - for the standard input"
)


def add_instance(command: Parser, name: str = "file") -> None:
    """Add the argument for an instance file to read."""
    command.add_argument(name, metavar=name.upper(), help=FORMS)


def add_format(command: Parser, flag: str = "--format", what: str = "FILE") -> None:
    """Add the flag for the format of a file."""
    command.add_argument(
        flag,
        choices=FORMATS,
        metavar="NAME",
        help=f"the format of {what}, if it is not to be told by itself: {', '.join(FORMATS)}",
    )


def shown(path: str) -> str:
    """A file name to print: what is no text in it becomes question marks."""
    return path.encode("utf-8", "replace").decode()


def read_instance(path: str, form: str | None) -> tuple[Graph, str]:
    """Read an instance and the name of its format; warnings become lines on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if path == STANDARD_INPUT:
            graph, form = decoded(_standard_input(), called(path), form)
        else:
            graph, form = load(path, form)
    for warning in caught:
        complain(f"{called(path)}: {warning.message}")
    return graph, form


def called(path: str) -> str:
    """What messages call a file."""
    return "standard input" if path == STANDARD_INPUT else path


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input: the process was started without one")
    return inflated(sys.stdin.buffer.read(), called(STANDARD_INPUT))


def complain_if_suspicious(graph: Graph, path: str) -> None:
    """Say in a line if weights look like something else, so that the answer says nothing."""
    if (why := suspicion(graph)) is not None:
        complain(f"{called(path)}: {why}")


def add_constraints(command: Parser) -> None:
    """Add the flags for constraints, and for classes."""
    add = command.add_argument
    add("--must-link", metavar="FILE", help="pairs of nodes that must be in one cluster")
    add("--cannot-link", metavar="FILE", help="pairs of nodes that cannot be in one cluster")
    add("--groups", metavar="FILE", help="nodes and groups: no two of a group in one cluster")
    add("--min-clusters", type=int, metavar="K", help="at least so many clusters")
    add("--max-clusters", type=int, metavar="K", help="at most so many clusters")
    add("--unaries", metavar="FILE", help="what every class costs every node: .npy, or text")


def constrained(graph: Graph, arguments: argparse.Namespace) -> Graph:
    """The instance with the constraints and the classes that the command line names."""
    pairs: dict[str, Any] = {
        key: read_pairs(path, graph)
        for key in ("must_link", "cannot_link")
        if (path := getattr(arguments, key)) is not None
    }
    groups = None if arguments.groups is None else read_groups(arguments.groups, graph)
    numbers = {key: getattr(arguments, key) for key in ("min_clusters", "max_clusters")}
    if pairs or groups is not None or any(value is not None for value in numbers.values()):
        graph = graph.constrained(**pairs, groups=groups, **numbers)
    if arguments.unaries is not None:
        graph = graph.classified(read_unaries(arguments.unaries, graph))
    return graph
