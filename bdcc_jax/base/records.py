"""What a solve says about itself: why it stopped, and what happened in every round."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from .arrays import IntArray

Phase = Literal["start", "ascent", "search", "lp", "ilp"]
"""What a record is of: the first clustering, a round of dual ascent before the LP, a better
clustering that was found while an LP ran, a round of the LP, a round of what comes after it."""


class Status(StrEnum):
    """Why a solve stopped. Only ``OPTIMAL`` claims a proof of optimality."""

    OPTIMAL = "optimal"
    GAP = "gap"
    TIME_LIMIT = "time_limit"
    MAX_ROUNDS = "max_rounds"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    NUMERICAL = "numerical"
    ERROR = "error"

    @property
    def explanation(self) -> str:
        """What it means, and what to do about it."""
        return _EXPLANATIONS[self]


_EXPLANATIONS = {
    Status.OPTIMAL: (
        "in every piece that presolve leaves open, the clustering costs at most a thousandth of "
        "the smallest |w| of that piece more than an optimum; with whole weights (or multiples of "
        "a common unit) it is exactly optimal"
    ),
    Status.GAP: "the bounds are as close as asked for; ask for a smaller gap to go on",
    Status.TIME_LIMIT: "the time limit was reached; raise time_limit to go on",
    Status.MAX_ROUNDS: "the round limit was reached; raise Options.max_rounds to go on",
    Status.INTERRUPTED: "interrupted (Ctrl-C or SIGTERM); the best clustering so far is returned",
    Status.STOPPED: "the callback asked to stop; the best clustering so far is returned",
    Status.NUMERICAL: (
        "the weights are too far apart for float64 and the LP solver; both bounds hold, but they "
        "could not be brought together: `tolerance` is what is proven"
    ),
    Status.ERROR: "the instance could not be read or solved; its error says why",
}


class Stop(Exception):
    """Ends a solve, or an inner one: raised wherever that is found out, and says why."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True)
class Round:
    """One round of Algorithm 1 ('lp'), one division of branch and bound ('ilp').

    There are three more phases: 'start' is the first clustering, before any bound; 'ascent' a round
    of dual ascent before the LP, whose ``rows`` are triangles, with the sweeps in
    ``master_seconds``; 'search' a better clustering that was found while an LP took its time. When
    those of the last kind come depends on the machine; a solve that is not cut short by time goes
    on as if they had not been told yet.

    ``seconds`` is the time since the start; the ``*_seconds`` fields say where this round's time
    went. Bounds are in the unit of ``Result.objective``. ``fallbacks`` counts the subproblems that
    gave nothing useful, on a device or because HiGHS failed: the shortest violated cycles became
    their rows. ``slowest_root_seconds`` is what is left of detection and subproblems with a
    processor for every root: the longest search, the longest LPs and the longest row; None where an
    engine takes all roots at once. ``device_calls`` says how often JAX' device (the CPU too) was
    handed work since the last record, ``device_seconds`` how long until the results were back, with
    transfers and, the first time, compilation; these seconds are also in the parts above.
    """

    number: int
    phase: Phase
    seconds: float
    lower_bound: float
    upper_bound: float
    rows: int
    new_rows: int
    violated_roots: int
    fallbacks: int
    master_seconds: float
    detection_seconds: float
    subproblem_seconds: float
    rounding_seconds: float
    slowest_root_seconds: float | None = None
    device_calls: int = 0
    device_seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Progress:
    """What a callback sees after every round; ``labels`` is the best clustering so far."""

    round: Round
    labels: IntArray
    improved: bool


@dataclass(frozen=True, eq=False)
class Failure:
    """What :func:`bdcc_jax.solve_batch` has in place of the result of a bad instance.

    Examples
    --------
    >>> failure = Failure(ValueError("weights must be finite: entry 0 is nan"))
    >>> failure.status == "error", failure.message
    (True, 'weights must be finite: entry 0 is nan')
    """

    error: Exception

    @property
    def status(self) -> Status:
        """Always ``Status.ERROR``."""
        return Status.ERROR

    @property
    def message(self) -> str:
        """What is wrong, in one line."""
        return message_of(self.error)

    def to_dict(self) -> dict[str, Any]:
        """The status and the message, ready for JSON."""
        return {"status": str(self.status), "message": self.message}


def message_of(error: Exception) -> str:
    """What an error says, in one line."""
    # str() of what the system raises starts with a number that helps nobody.
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    unsaid = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    return " ".join(str(error).split()) or unsaid


def relative_gap(upper: float, lower: float) -> float:
    """The gap in units of ``|upper|``; 0 when closed, infinite at ``upper == 0`` otherwise."""
    if upper <= lower:
        return 0.0
    return (upper - lower) / abs(upper) if upper else float("inf")
