"""The command ``bdcc-jax``: one module a subcommand, with HELP, ``add_arguments`` and ``run``."""

from collections.abc import Sequence

from ..base.environment import package_version
from ..base.interrupts import is_interrupt
from . import batch, certify, cluster, convert, demo, doctor, info, solve, verify, version
from .common import INTERRUPTED, Parser, complain
from .signals import SIGNALS

COMMANDS = (solve, cluster, batch, certify, verify, info, convert, demo, doctor, version)
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
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        added = commands.add_parser(command.__name__.rpartition(".")[2], help=command.HELP)
        command.add_arguments(added)
        added.set_defaults(run=command.run)
    arguments = parser.parse_args(argv)
    arguments.loading = loading
    with SIGNALS.minded():
        try:
            code = int(arguments.run(arguments))
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            complain("interrupted")
            code = INTERRUPTED
        return SIGNALS.exit_code or code
