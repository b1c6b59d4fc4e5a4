"""How to solve, said on the command line: the arguments that 'solve' and 'batch' share."""

import argparse
from typing import Any

from ..options import Options
from .common import Parser, at_least_0
from .logs import LEVELS

FIELDS = ("engine", "tau", "max_rounds", "threads", "memory")
"""The fields of Options that are arguments of the command line."""


def add_options(command: Parser) -> None:
    """Add the arguments."""
    add = command.add_argument
    add("--device", default="auto", help="auto, cpu, gpu, gpu:N, all, or a list: gpu:0,gpu:1")
    add("--gap", type=at_least_0(float), default=0.0, help="stop at this relative gap (default: 0)")
    add("--seed", type=at_least_0(int), default=0, help="of everything random (default: 0)")
    add("--log-level", choices=LEVELS, help="print what is logged, on standard error")
    add("--paper", action="store_true", help="run the paper to the letter: Options.paper()")
    absent = argparse.SUPPRESS  # so that Options' own defaults hold
    add("--engine", default=absent, help="auto, packing, reference or pdlp")
    add("--tau", type=_tau, default=absent, help="Magnanti-Wong rows: in (0, 1), or 'none'")
    add("--max-rounds", type=int, default=absent, metavar="N", help="stop after N rounds")
    add("--threads", type=int, default=absent, metavar="N", help="of a solve (default: all cores)")
    add("--memory", type=int, default=absent, metavar="BYTES", help="for batches on each device")


def read_options(arguments: argparse.Namespace) -> Options:
    """The options that are meant."""
    changes = {k: v for k, v in vars(arguments).items() if k in FIELDS}
    return Options.paper(**changes) if arguments.paper else Options(**changes)


def read_device(arguments: argparse.Namespace) -> Any:
    """The device that is meant, or a list of devices."""
    return arguments.device.split(",") if "," in arguments.device else arguments.device


def _tau(text: str) -> float | None:
    try:
        return None if text.lower() == "none" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or 'none', not {text!r}") from None
