"""``bdcc-jax doctor``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..doctor.checkup import NODES, check_up
from .common import Parser, bad_input, say

if TYPE_CHECKING:
    from .common import Commands

DISAGREES = 1


def register(commands: Commands) -> None:
    """Add the subcommand."""
    command: Parser = commands.add_parser(
        "doctor",
        help="run and time every device program here, and compare solves: a block for reports",
        description="Runs every program that a device runs in a solve, on the CPU and on every "
        "GPU, and compares whole solves. On a GPU the times stand beside those of a model. Exit "
        "code 1 if a solve disagrees.",
    )
    command.set_defaults(run=_run)
    command.add_argument(
        "--nodes", type=int, default=NODES, metavar="N", help=f"of the instance (default: {NODES})"
    )


def _run(arguments: argparse.Namespace) -> int:
    with bad_input():
        if arguments.nodes < 4:
            raise ValueError(f"--nodes must be at least 4, not {arguments.nodes}")
    last = ""
    say("```")
    for last in check_up(arguments.nodes):
        say(last)
    say("```")
    return 0 if last == "all is well" else DISAGREES
