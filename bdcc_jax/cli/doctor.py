"""``bdcc-jax doctor``."""

import argparse

from ..doctor.checkup import NODES, check_up
from .common import Parser, bad_input, say

DISAGREES = 1

HELP = "run and time every device program here, and compare solves: a block for reports"

ABOUT = """Runs every program that a device runs in a solve, on the CPU and on every GPU, and
compares whole solves. On a GPU the times stand beside those of a model. Exit code 1 if a solve
disagrees."""


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    command.description = ABOUT
    command.add_argument(
        "--nodes", type=int, default=NODES, metavar="N", help=f"of the instance (default: {NODES})"
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    with bad_input():
        if arguments.nodes < 4:
            raise ValueError(f"--nodes must be at least 4, not {arguments.nodes}")
    last = ""
    say("```")
    for last in check_up(arguments.nodes):
        say(last)
    say("```")
    return 0 if last == "all is well" else DISAGREES
