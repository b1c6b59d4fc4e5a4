"""What a solve returns, and how it is shown."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import isfinite
from typing import Any, Literal

from .arrays import BoolArray, IntArray
from .graph import Graph
from .options import Options
from .presolve import Removed

Phase = Literal["lp", "ilp"]


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
    Status.OPTIMAL: "no clustering is better; the bounds meet within the tolerance",
    Status.GAP: "the bounds are as close as asked for; ask for a smaller gap to go on",
    Status.TIME_LIMIT: "the time limit was reached; raise time_limit to go on",
    Status.MAX_ROUNDS: "the round limit was reached; raise Options.max_rounds to go on",
    Status.INTERRUPTED: "interrupted from the keyboard; the best clustering so far is returned",
    Status.STOPPED: "the callback asked to stop; the best clustering so far is returned",
    Status.NUMERICAL: (
        "the weights are too far apart for the LP solver's tolerances; both bounds hold, "
        "but they could not be brought together"
    ),
    Status.ERROR: "the instance could not be read or solved; its error says why",
}


@dataclass(frozen=True)
class Round:
    """One round of Algorithm 1.

    ``seconds`` is the time since the start; the ``*_seconds`` fields say where this round's time
    went. Bounds are in the unit of ``Result.objective``. ``fallbacks`` counts the subproblems that
    did not converge in the batch and were solved by the exact reference instead, and those that
    HiGHS itself failed on, whose shortest cycles became the rows.
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


@dataclass(frozen=True, eq=False)
class Progress:
    """What a callback sees after every round; ``labels`` is the best clustering so far."""

    round: Round
    labels: IntArray
    improved: bool


@dataclass(frozen=True, eq=False)
class Result:
    """The best clustering found, with a bound on how much better any other can be.

    Attributes
    ----------
    graph : Graph
        The instance as it was solved; ``cut`` is in the order of its edges.
    labels : ndarray of int, shape (n,)
        The cluster of every node, numbered by first appearance.
    objective : float
        Sum of the weights of the cut edges, recomputed from ``labels``.
    lower_bound : float
        No clustering has a smaller objective.
    status : Status
        Why the solve stopped; compares equal to its name, as in ``status == "optimal"``.
    tolerance : float
        'optimal' means that objective and lower bound differ by no more than this.
    history : tuple of Round
        One record a round.
    timings : dict
        Seconds spent in each part, and in total.
    removed : Removed or None
        What presolve took away; None if there was none.
    """

    graph: Graph
    labels: IntArray
    objective: float
    lower_bound: float
    status: Status
    tolerance: float
    history: tuple[Round, ...]
    timings: dict[str, float]
    options: Options
    device: str
    removed: Removed | None = None

    @property
    def cut(self) -> BoolArray:
        """Which edges of ``graph.edges`` are cut."""
        return self.graph.cut(self.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def disagreement(self) -> float:
        """The paper's CC_1 value: attractive weight cut plus repulsive weight kept."""
        return self.graph.disagreement(self.labels)

    @property
    def gap(self) -> float:
        """``objective - lower_bound``."""
        return self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """``gap`` over ``|objective|``; see :func:`relative_gap`."""
        return relative_gap(self.objective, self.lower_bound)

    @property
    def clusters(self) -> dict[Hashable, int]:
        """The cluster of every node by its name (its id where there are no names)."""
        names = self.graph.names or range(self.graph.n)
        return dict(zip(names, self.labels.tolist(), strict=True))

    def summary(self) -> str:
        """A few lines to print."""
        last = self.history[-1] if self.history else None
        rows = {
            "status": f"{self.status} ({self.status.explanation})",
            "objective": f"{self.objective:.10g}",
            "lower bound": f"{self.lower_bound:.10g}",
            "gap": f"{self.gap:.3g} ({100 * self.relative_gap:.3g} %)",
            "disagreement": f"{self.disagreement:.10g}",
            "clusters": f"{self.n_clusters} of {self.graph.n} nodes",
            "edges": f"{int(self.cut.sum())} of {self.graph.m} cut",
            "presolve": "none"
            if self.removed is None
            else f"{self.removed.nodes} nodes and {self.removed.edges} edges removed",
            "rounds": f"{len(self.history)}" + (f", {last.rows} rows" if last else ""),
            "seconds": f"{self.timings['total']:.2f} ("
            + ", ".join(f"{k} {v:.2f}" for k, v in self.timings.items() if k != "total")
            + f"; {self.device})",
        }
        return "\n".join(f"{name:<13} {value}" for name, value in rows.items())

    def to_dict(self) -> dict[str, Any]:
        """Everything but the graph and the labels, ready for JSON."""
        return {
            "status": str(self.status),
            "objective": self.objective,
            "disagreement": self.disagreement,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "relative_gap": self.relative_gap if isfinite(self.relative_gap) else None,
            "tolerance": self.tolerance,
            "n": self.graph.n,
            "m": self.graph.m,
            "n_clusters": self.n_clusters,
            "device": self.device,
            "options": asdict(self.options),
            "removed": None if self.removed is None else asdict(self.removed),
            "timings": dict(self.timings),
            "history": [asdict(record) for record in self.history],
        }


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
        error = self.error
        # str() of what the system raises starts with a number that helps nobody.
        if isinstance(error, OSError) and error.filename and error.strerror:
            return f"{error.filename}: {error.strerror}"
        return " ".join(str(error).split()) or type(error).__name__

    def to_dict(self) -> dict[str, Any]:
        """The status and the message, ready for JSON."""
        return {"status": str(self.status), "message": self.message}


def relative_gap(upper: float, lower: float) -> float:
    """The gap in units of ``|upper|``; 0 when closed, infinite at ``upper == 0`` otherwise."""
    if upper <= lower:
        return 0.0
    return (upper - lower) / abs(upper) if upper else float("inf")
