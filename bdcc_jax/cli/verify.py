"""``bdcc-jax verify``."""

import argparse
import json
import sys
from fractions import Fraction
from math import inf, nextafter
from pathlib import Path
from typing import Any

from ..io import FormatError
from ..io.files import read_bytes
from ..proofs.checker.reading import Rejected
from ..proofs.checker.verify import Verdict, verify
from .common import Parser, bad_input, complain, say
from .instance import add_constraints, add_format, add_instance, constrained, read_instance

REJECTED = 1

HELP = "prove the bounds of a certificate anew, exactly"


def add_arguments(command: Parser) -> None:
    """What may be said on the command line."""
    add_instance(command, "instance")
    add = command.add_argument
    add("certificate", metavar="CERTIFICATE", help="what solve --certificate wrote")
    add_format(command, what="INSTANCE")
    add_constraints(command)
    add(
        "--strict",
        action="store_true",
        help="reject also bounds that rest on HiGHS' branch and bound",
    )
    add("--quiet", action="store_true", help="only the exit code: 0 accepted, 1 rejected")


def run(arguments: argparse.Namespace) -> int:
    """Do it; returns the exit code."""
    with bad_input():
        graph = constrained(read_instance(arguments.instance, arguments.format)[0], arguments)
        certificate = _read(Path(arguments.certificate))
    try:
        verdict = verify(graph, certificate)
    except Rejected as error:
        complain(f"rejected: {_escaped(str(error))}")
        return REJECTED
    if not arguments.quiet:
        say("\n".join(map(_escaped, _describe(certificate, verdict))))
    if arguments.strict and verdict.claims:
        complain("rejected: not everything is proven")
        return REJECTED
    return 0


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: not a certificate, which is JSON ({error})") from None
    if not isinstance(content, dict):
        raise FormatError(f"{path}: not a certificate, which is a JSON object")
    return content


def _describe(certificate: dict[str, Any], verdict: Verdict) -> list[str]:
    upper, lower = verdict.upper_bound, verdict.lower_bound
    rows = {
        "status": certificate["status"],
        "objective": f"{_below(upper)!r} (recomputed from the labels)",
        "lower bound": f"{_below(lower)!r} (proven in exact arithmetic)",
        "gap": _exactly(upper - lower),
    }
    lines = [f"{name:<13} {value}" for name, value in rows.items()]
    if not verdict.claims:
        return [*lines, "accepted: everything is proven"]
    said = certificate["lower_bound"]
    lines.append(f"accepted: the lower bound {said!r} rests on HiGHS' branch and bound, or on an")
    lines.append("earlier run that was killed, for")
    return lines + [f"  {claim}" for claim in verdict.claims]


def _escaped(line: str) -> str:
    """A line that does nothing to a terminal, whatever came from a file."""
    return "".join(c if c.isascii() and c.isprintable() else ascii(c)[1:-1] for c in line)


def _exactly(number: Fraction) -> str:
    """Three digits, and all of them if these are not enough; denominators are powers of two."""
    short = f"{_below(number):.3g}"
    if number == 0 or (short != "inf" and Fraction(short) == number):
        return short
    halvings = number.denominator.bit_length() - 1
    return f"{short} (exactly {number.numerator}{f' / 2^{halvings}' if halvings else ''})"


def _below(number: Fraction) -> float:
    """The largest float that is not above a number."""
    try:
        rounded = float(number)
    except OverflowError:
        return sys.float_info.max if number > 0 else -inf
    return rounded if rounded <= number else nextafter(rounded, -inf)
