"""``bdcc-jax version``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..base.environment import versions
from .common import say

if TYPE_CHECKING:
    from .common import Commands


def register(commands: Commands) -> None:
    """Add the subcommand."""
    command = commands.add_parser("version", help="versions and devices, for bug reports")
    command.set_defaults(run=_run)


def _run(_: argparse.Namespace) -> int:
    say(versions())
    return 0
