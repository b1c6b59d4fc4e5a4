"""How to solve: one frozen, validated object."""

from __future__ import annotations

import warnings
from dataclasses import InitVar, dataclass, field, fields
from math import inf
from typing import Any, Literal, get_args

import numpy as np

Engine = Literal["auto", "packing", "reference", "pdlp"]
RowKind = Literal["split", "aggregated"]
Direction = Literal["random", "inverse_weight"]
CoverMethod = Literal["greedy", "exact"]
ActivityKind = Literal["price", "row"]
Rounding = Literal["local", "parallel", "serial"]
Integer = Literal["pieces", "whole"]

LEAST_MEMORY = 2**20
"""Least memory budget in bytes: less does not hold the smallest batch of the smallest problems."""


@dataclass(frozen=True, kw_only=True)
class PDLPOptions:
    """How the engine 'pdlp' solves its LPs.

    Parameters
    ----------
    iterations : int
        Of every LP, rounded up to a multiple of 16. More make the rows better and a round longer;
        the rows are valid in any case.
    activity : {'price', 'row'}
        How a Magnanti-Wong problem keeps the share tau of the violation: by the price at which its
        objective enters the original one, or, as in the paper, by a row.
    tolerance, iteration_limit, single_iterations : deprecated
        Without effect: there is no test for convergence, and no second precision, any more.
    """

    iterations: int = 128
    activity: ActivityKind = "price"
    tolerance: InitVar[float | None] = None
    iteration_limit: InitVar[int | None] = None
    single_iterations: InitVar[int | None] = None

    def __post_init__(self, *deprecated: float | None) -> None:
        _check_choice("activity", self.activity, get_args(ActivityKind))
        _store(self, iterations=as_count("iterations", self.iterations, at_least=1))
        names = ("tolerance", "iteration_limit", "single_iterations")
        for name in (
            name for name, value in zip(names, deprecated, strict=True) if value is not None
        ):
            warnings.warn(
                f"PDLPOptions({name}=...) has no effect any more: 'pdlp' makes a fixed number of "
                "iterations in one precision; use iterations",
                DeprecationWarning,
                stacklevel=3,
            )


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the method does; when it stops is said in :func:`bdcc_jax.solve` itself.

    Parameters
    ----------
    engine : {'auto', 'packing', 'reference', 'pdlp'}
        Who finds violations and solves the Benders subproblems. 'packing': compiled searches that
        pack the violated paths of all roots into shared capacities, on the CPU; split rows only.
        'reference': Dijkstra and HiGHS, exactly, one root after another, on the CPU. 'pdlp':
        Bellman-Ford and a first-order LP solver in JAX, in batches, on any device. 'auto':
        'packing'; where tau or aggregated rows are asked for, 'reference' on a CPU and 'pdlp' on
        a GPU. ('device_packing' is deprecated and means 'packing'.)
    rows : {'split', 'aggregated'}
        'aggregated' adds one Benders row a subproblem solution, as the paper does; 'split' adds
        the violated cycle inequalities that this row is the sum of, which are stronger together.
    tau : float in (0, 1), optional
        Add a Magnanti-Wong row for every violated root, with at least this share of the optimal
        violation. None: no Magnanti-Wong rows.
    direction : {'random', 'inverse_weight'}
        The objective of the Magnanti-Wong problem: random, negative, of unit norm and fresh each
        time, or ``-1 / (.0001 + |w|)``.
    ball_size : int, optional
        Subproblems see this many nodes: those on the shortest path to every violated edge (all of
        them, even if they are more), then the nearest to the root. None: all that can matter.
        A search of 'packing' settles this many nodes at first, and more if too few rows come out;
        'pdlp' has no more than 64.
    cover : {'greedy', 'exact'}
        How the roots, a vertex cover of the negative edges, are chosen.
    cover_time_limit : float
        Seconds for the exact cover; the best cover found by then is used. Without a limit the
        search ends after an amount of work that is the same in every run, about ten seconds'.
    rounding : tuple of {'local', 'parallel', 'serial'}
        Where upper bounds come from besides the threshold of Sec. 4.1: greedy contraction guided
        by the LP with Kernighan-Lin and fusion (in rounds 16, 32, 64, ... and the last), the
        minimum cuts of Eq. (ezProcR), those of Algorithm 2.
    dual_ascent : {'auto', True, False}
        Pass messages on triangles before the LP, which gives the first lower bound and the first
        rows, in JAX on the device. 'auto': on instances with many edges after presolve that are not
        dense; where their LP is out of reach, until the time is up.
    odd_wheels : bool
        Once all cycle inequalities hold, add violated odd-wheel inequalities to the LP, and on
        dense instances 2-partition inequalities, and semidefinite programs where costs are
        multiples of a unit. Branch and bound, which comes after it, uses odd wheels in any case.
    presolve : bool
        Reduce the instance first, by rules that keep an optimum.
    heuristics : bool
        Look for a good clustering before the LP, and solve exactly what the LP leaves fractional
        with everything else as the LP has it.
    integer : {'pieces', 'whole'}
        After the LP, 'whole' gives the master to HiGHS as an ILP, as the paper does, and then
        proves what that finds; 'pieces' fixes what reduced costs decide, splits the rest into
        independent instances, and solves them by branch and bound over the LP.
    max_rounds : int, optional
        Stop after this many rounds.
    absolute_gap : float
        Stop when the upper and the lower bound differ by at most this.
    threads : int, optional
        Threads for the work of one solve: blocks, parts and pieces of an instance, in compiled code
        and in HiGHS. None: as many as there are cores that this process may use. Results are the
        same with any number.
    memory : int, optional
        Bytes that the batched calls of 'pdlp' may take on each device; what does not fit is done
        in chunks. None: half of what is free.
    pdlp : PDLPOptions
        How the engine 'pdlp' solves its LPs.

    Examples
    --------
    >>> Options(rows="aggregated", tau=0.5).tau
    0.5
    >>> Options.paper(tau=None).rows
    'aggregated'
    """

    engine: Engine = "auto"
    rows: RowKind = "split"
    tau: float | None = None
    direction: Direction = "random"
    ball_size: int | None = 64
    cover: CoverMethod = "greedy"
    cover_time_limit: float = inf
    rounding: tuple[Rounding, ...] = ("local",)
    dual_ascent: Literal["auto"] | bool = "auto"
    odd_wheels: bool = True
    presolve: bool = True
    heuristics: bool = True
    integer: Integer = "pieces"
    max_rounds: int | None = None
    absolute_gap: float = 0.0
    threads: int | None = None
    memory: int | None = None
    pdlp: PDLPOptions = field(default_factory=PDLPOptions)

    def __post_init__(self) -> None:
        if str(self.engine) == "device_packing":
            warnings.warn(
                "Options(engine='device_packing') is deprecated and will be an error in version "
                "0.3: 'packing', whose rows are of the same kind, takes its place",
                DeprecationWarning,
                stacklevel=3,
            )
            _store(self, engine="packing")
        _check_choice("engine", self.engine, get_args(Engine))
        _check_choice("rows", self.rows, get_args(RowKind))
        _check_choice("direction", self.direction, get_args(Direction))
        _check_choice("cover", self.cover, get_args(CoverMethod))
        _check_choice("integer", self.integer, get_args(Integer))
        _check_choice("dual_ascent", self.dual_ascent, ("auto", True, False))
        for name in ("odd_wheels", "presolve", "heuristics"):
            _check_choice(name, getattr(self, name), (True, False))
        if self.engine == "packing" and (self.tau is not None or self.rows == "aggregated"):
            raise ValueError(
                "engine 'packing' has split rows and no Magnanti-Wong problems: "
                "use 'reference' or 'pdlp' with tau or aggregated rows"
            )
        if not isinstance(self.rounding, tuple):
            raise ValueError(f"rounding must be a tuple of names, not {self.rounding!r}")
        for name in self.rounding:
            _check_choice("rounding", name, get_args(Rounding))
        if self.tau is not None and not 0 < as_number("tau", self.tau) < 1:
            raise ValueError(f"tau must lie strictly between 0 and 1, or be None, not {self.tau}")
        _store(
            self,
            tau=None if self.tau is None else float(self.tau),
            ball_size=_count_or_none("ball_size", self.ball_size, at_least=2),
            max_rounds=_count_or_none("max_rounds", self.max_rounds, at_least=1),
            threads=_count_or_none("threads", self.threads, at_least=1),
            memory=_count_or_none("memory", self.memory, at_least=LEAST_MEMORY),
            cover_time_limit=as_amount("cover_time_limit", self.cover_time_limit),
            absolute_gap=as_amount("absolute_gap", self.absolute_gap),
        )
        if not isinstance(self.pdlp, PDLPOptions):
            raise ValueError(f"pdlp must be a PDLPOptions object, not {self.pdlp!r}")

    @property
    def features(self) -> tuple[str, ...]:
        """'paper' where the paper's rows or HiGHS' ILP are asked for; see ``combinations``."""
        other_rows = self.tau is not None or self.rows == "aggregated"
        other_engine = self.engine in ("reference", "pdlp")
        return ("paper",) if other_rows or other_engine or self.integer == "whole" else ()

    @classmethod
    def paper(cls, tau: float | None = 0.5, **changes: Any) -> Options:
        """The paper to the letter.

        Aggregated rows over everything that can matter, one Magnanti-Wong row a violated root and
        round (``tau=None``: none), an exact minimum vertex cover, the rounding of Algorithm 2, one
        ILP at the end, and nothing before.
        """
        as_published: dict[str, Any] = {
            "rows": "aggregated",
            "tau": tau,
            "direction": "random",
            "ball_size": None,
            "cover": "exact",
            "rounding": ("serial",),
            "dual_ascent": False,
            "odd_wheels": False,
            "presolve": False,
            "heuristics": False,
            "integer": "whole",
            "pdlp": PDLPOptions(activity="row"),
        }
        unknown = set(changes) - {known.name for known in fields(cls)}
        if unknown:
            raise ValueError(f"unknown option {sorted(unknown)[0]!r}")
        return cls(**(as_published | changes))


def as_number(name: str, value: Any) -> float:
    """A number of Python or numpy as a float; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} must be a number that a float64 can hold") from None


def as_amount(name: str, value: Any) -> float:
    """A finite or infinite number that is at least 0; anything else is refused."""
    number = as_number(name, value)
    if not number >= 0:
        raise ValueError(f"{name} must be at least 0, not {value}")
    return number


def as_count(name: str, value: Any, *, at_least: int, what: str = "an integer") -> int:
    """An integer of Python or numpy as an int; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise ValueError(f"{name} must be {what} >= {at_least}, not {value!r}")
    return int(value)


def _count_or_none(name: str, value: Any, *, at_least: int) -> int | None:
    if value is None:
        return None
    return as_count(name, value, at_least=at_least, what="None or an integer")


def _store(options: object, **values: Any) -> None:
    """Replace fields of a frozen object by what they mean: plain numbers, which JSON can hold."""
    for name, value in values.items():
        object.__setattr__(options, name, value)


def _check_choice(name: str, value: Any, choices: tuple[object, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
