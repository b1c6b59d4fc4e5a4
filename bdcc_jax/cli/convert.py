"""``bdcc-jax convert``."""

import argparse
from pathlib import Path

from ..instance.graph import Graph
from ..io import write
from ..io.files import check_target
from ..io.formats import format_of_name
from .common import Parser, bad_input, say
from .instance import add_format, add_instance, read_instance, shown

HELP = "write the graph in a file to another file, in another format"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add_instance(command, "source")
    add = command.add_argument
    add("target", metavar="TARGET", help="the suffix tells the format; a final .gz compresses")
    add_format(command, "--from", "SOURCE")
    add_format(command, "--to", "TARGET")
    add("--drop-names", action="store_true", help="number the nodes 0, 1, ... in place of names")
    add("--force", action="store_true", help="overwrite an existing file")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    source, target = Path(arguments.source), Path(arguments.target)
    with bad_input():
        if source.resolve() == target.resolve():
            raise ValueError(f"{target} is named twice; write to another file")
        form = arguments.to or format_of_name(target)
        check_target(target, force=arguments.force)
        graph, _ = read_instance(arguments.source, getattr(arguments, "from"))
        if arguments.drop_names:
            graph = Graph(graph.n, graph.edges, graph.weights, lifted=graph.lifted)
        write(graph, target, force=arguments.force, format=form)
    say(f"{shown(arguments.target)}: {form}, {graph.n} nodes, {graph.m} edges")
    return 0
