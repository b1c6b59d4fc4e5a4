"""The command ``bdcc-jax``: one module a subcommand, with HELP, ``add_arguments`` and ``run``."""

from collections.abc import Sequence

from ..base.environment import package_version
from ..base.interpreted import interpreted_while
from ..base.interrupts import is_interrupt
from . import (
    batch,
    certify,
    cluster,
    completion,
    convert,
    demo,
    doctor,
    info,
    large,
    solve,
    verify,
    version,
    volume,
)
from .common import INTERRUPTED, Parser, complain
from .first_use import Compilers
from .logs import logged
from .signals import SIGNALS

COMMANDS = (
    solve,
    cluster,
    batch,
    large,
    volume,
    certify,
    verify,
    info,
    convert,
    demo,
    doctor,
    completion,
    version,
)
"""The subcommands, in the order of ``bdcc-jax --help``."""


def main(argv: Sequence[str] | None = None, *, loading: float = 0.0) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if not given.
    loading : float
        Seconds that the process has spent on imports, for the summaries.

    Returns
    -------
    int
        0: there is an answer, 1: a certificate is rejected, a clustering is not as good as asked
        for, or a device disagrees, 2: bad input (this may also leave by SystemExit), 130 or 143:
        interrupted by SIGINT (Ctrl-C) or SIGTERM; the best answer so far has been written.

    Examples
    --------
    >>> main(["version"])  # doctest: +ELLIPSIS
    python ...
    0
    """
    parser = Parser(
        prog="bdcc-jax", description="Exact correlation clustering (minimum cost multicut)."
    )
    parser.add_argument("--version", action="version", version=f"bdcc-jax {package_version()}")
    parser.set_defaults(loading=loading, commands=_add_subcommands(parser))
    arguments = parser.parse_args(argv)
    arguments.compilers = compilers = Compilers(quiet=getattr(arguments, "quiet", False))
    log = logged(getattr(arguments, "log_level", None))
    with SIGNALS.minded(), log, interpreted_while(compilers.at_work):
        try:
            code = int(arguments.run(arguments))
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            complain("interrupted")
            code = INTERRUPTED
        return SIGNALS.exit_code or code


def _add_subcommands(parser: Parser) -> dict[str, Parser]:
    """Add all subcommands; returns their parsers by name."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    parsers = {}
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        parsers[name] = commands.add_parser(name, help=command.HELP)
        command.add_arguments(parsers[name])
        parsers[name].set_defaults(run=command.run)
    return parsers
