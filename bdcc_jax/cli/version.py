"""``bdcc-jax version``."""

import argparse

from ..base.environment import versions
from .common import Parser, say

HELP = "versions and devices, for bug reports"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""


def run(_: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    say(versions())
    return 0
