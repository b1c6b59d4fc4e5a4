"""The methods that are compared, by name; each turns a graph into an outcome ready for JSON."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from math import isfinite
from typing import Any

import jax

import bdcc_jax
from bdcc_jax import Graph, Options
from bdcc_jax.base.environment import package_version
from bdcc_jax.cli.common import finite
from bdcc_jax.primal import greedy_additive, kernighan_lin

from .baselines import classic
from .heuristics import THEIRS, bioimage_outcomes

Outcome = dict[str, Any]
"""``status``, ``objective``, ``lower_bound`` (None without one), ``seconds`` and ``history``."""

TAUS = (0.5, 0.99, 0.01, None)
"""The settings of the paper; None: without Magnanti-Wong rows."""


@dataclass(frozen=True)
class Method:
    """A way to solve an instance.

    Parameters
    ----------
    name : str
        For tables.
    run : callable
        Solves a graph within a time limit.
    settings : dict
        Tells this method from others of the same name.
    warm_up : bool
        Solve something small first, so that loops compiled on first use do not count.
    """

    name: str
    run: Callable[[Graph, float], Outcome]
    settings: dict[str, Any] = field(default_factory=dict, compare=False)
    warm_up: bool = True


def bdcc(name: str, options: Options, device: str | jax.Device = "auto") -> Method:
    """``bdcc_jax.solve`` with some options on some device."""

    def run(graph: Graph, time_limit: float) -> Outcome:
        compiled = [_compiler.seconds]
        result = bdcc_jax.solve(
            graph,
            options=options,
            device=device,
            time_limit=time_limit,
            callback=lambda _: compiled.append(_compiler.seconds),
        )
        outcome = result.to_dict()
        for i, record in enumerate(outcome["history"]):
            record["compile_seconds"] = compiled[i + 1] - compiled[i]
        spent = _compiler.seconds - compiled[0]
        return {
            **outcome,
            "lower_bound": result.lower_bound if isfinite(result.lower_bound) else None,
            "seconds": result.timings["total"],
            "compile_seconds": spent,
        }

    return Method(name, run, {"options": finite(asdict(options)), "device": str(device)})


def paper(tau: float | None, **changes: Any) -> Method:
    """The paper to the letter, one root after another with HiGHS unless the changes say more."""
    batched = changes.get("engine") == "pdlp"
    options = Options.paper(tau, **({"engine": "reference"} | changes))
    # What XLA compiles is left out anyway, and depends on the sizes of the instance.
    return replace(bdcc(paper_name(tau, batched=batched), options), warm_up=not batched)


def paper_name(tau: float | None, *, batched: bool = False) -> str:
    """What the paper's method is called in tables."""
    rows = "no MW rows" if tau is None else f"tau {tau}"
    return f"paper, {rows}" + (", batched" if batched else "")


def _classic(graph: Graph, time_limit: float) -> Outcome:
    result = classic.solve(graph, time_limit)
    fields = ("seconds", "lower_bound", "upper_bound")
    return {
        "status": result.status,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "seconds": result.seconds["total"],
        "timings": result.seconds,
        "history": [dict(zip(fields, point, strict=True)) for point in result.history],
    }


def _upper_bound(objective: float | None, seconds: float) -> Outcome:
    return {
        "status": "no bound" if objective is not None else "time_limit",
        "objective": objective,
        "lower_bound": None,
        "seconds": seconds,
        "history": [],
    }


def _heuristic(search: Callable[[Graph], Any]) -> Callable[[Graph, float], Outcome]:
    def run(graph: Graph, time_limit: float) -> Outcome:
        begin = time.perf_counter()
        labels = search(graph)
        return _upper_bound(graph.objective(labels), time.perf_counter() - begin)

    return run


def _bioimage(number: int) -> Callable[[Graph, float], Outcome]:
    def run(graph: Graph, time_limit: float) -> Outcome:
        objective, seconds = bioimage_outcomes(graph, repeats=1, limit=time_limit)[number]
        return _upper_bound(*((objective, seconds) if isfinite(objective) else (None, time_limit)))

    return run


DEFAULT = bdcc("bdcc_jax", Options())
CLASSIC = Method("classic cutting plane", _classic)
GAEC = Method("GAEC", _heuristic(greedy_additive))
KLJ = Method("GAEC + KLj", _heuristic(lambda graph: kernighan_lin(graph, greedy_additive(graph))))


def bioimage() -> list[Method]:
    """GAEC and Kernighan-Lin of bioimage-cpp; none where it is not installed."""
    if find_spec("bioimage_cpp") is None:
        return []
    version = {"bioimage-cpp": package_version("bioimage-cpp")}
    return [Method(name, _bioimage(i), version) for i, name in enumerate(THEIRS)]


class _CompileTimer:
    """The seconds that XLA has spent compiling in this process."""

    def __init__(self) -> None:
        self.seconds = 0.0
        jax.monitoring.register_event_duration_secs_listener(self._hear)

    def _hear(self, event: str, duration: float, **_: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            self.seconds += duration


_compiler = _CompileTimer()
