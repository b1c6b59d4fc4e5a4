"""A check-up of this machine: every device program timed, and solves that must agree."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..base import compilation_cache
from ..base.environment import environment
from ..base.records import Status
from ..options import Options
from ..result import Result
from ..solve import solve
from .kernels import Call, planar, tour
from .model import Span, of_program
from .program import Program

NODES = 16_384
"""Of the instance that programs are timed on."""

REPEATS = 3
"""Of which the quickest counts."""

STREAM = 2**26
"""Numbers in float32 that are copied to find out how fast a device reads and writes."""

SAME = 1e-9
"""How far apart two optimal objectives may be, in units of the sum of all weights."""

SOLVES = {
    "default": (8000, 0.01, Options()),
    "pdlp, split rows": (400, 0.0, Options(engine="pdlp", presolve=False)),
    "pdlp, as in the paper": (200, 0.0, Options.paper(0.5, engine="pdlp")),
    "dual ascent": (400, 0.0, Options(dual_ascent=True, presolve=False)),
}
"""Nodes, gap and options: large where small instances are the host's, and then not to the end."""


@dataclass(frozen=True)
class Timing:
    """A program on a device: seconds with compilation and without, and by the model."""

    name: str
    first: float
    seconds: float
    model: Span | None
    kernels: int


def check_up(nodes: int = NODES) -> Iterator[str]:
    """Lines of the report, as they come; a last line that says whether all is well."""
    compilation_cache.enable()
    yield from (f"{name:<15}{value}" for name, value in environment().items())
    yield f"{'cache':<15}{_cache()}"
    devices = [jax.local_devices(backend="cpu")[0]]
    gpus = [device for device in jax.local_devices() if device.platform != "cpu"]
    if not gpus:
        yield f"{'GPU':<15}none found by JAX: only the CPU is checked"
    for device in [*devices, *gpus]:
        yield ""
        yield from _programs(device, nodes)
    yield ""
    wrong = 0
    for device in [*devices, *gpus]:
        for line, good in _solves(device):
            yield line
            wrong += not good
    yield f"{wrong} solves disagree with the engine of the host" if wrong else "all is well"


def _cache() -> str:
    folder: Path | None = compilation_cache.cache_folder()
    if folder is None:
        return "none: programs are compiled in every process"
    if not folder.is_dir():
        return f"{folder}, which cannot be made: programs are compiled in every process"
    return f"{folder}, {sum(1 for _ in folder.iterdir())} files"


def _programs(device: jax.Device, nodes: int) -> Iterator[str]:
    bandwidth = measured_bandwidth(device)
    yield f"{device} ({device.device_kind}), {bandwidth / 1e9:.3g} GB/s in a copy"
    modelled = device.platform != "cpu"
    heading = f"{'by the model':>22}{'kernels':>10}" if modelled else ""
    yield f"{'program':<28}{'first call s':>14}{'ms a call':>12}{heading}"
    for timing in time_programs(device, nodes, bandwidth if modelled else None):
        model = "" if timing.model is None else f"{timing.model!s:>22}{timing.kernels:>10}"
        yield f"{timing.name:<28}{timing.first:>14.2f}{1e3 * timing.seconds:>12.3f}{model}"


def measured_bandwidth(device: jax.Device) -> float:
    """Bytes a second that a device reads and writes in the simplest of all programs."""
    add = jax.jit(lambda array: array + 1.0)
    array = jax.device_put(np.zeros(STREAM, np.float32), device)
    return 2.0 * STREAM * 4 / _quickest(lambda: add(array))[1]


def time_programs(device: jax.Device, nodes: int, bandwidth: float | None) -> list[Timing]:
    """Run and time every program of the package, beside the model for a bandwidth."""
    timings = []

    def visit(call: Call) -> Any:
        results: list[Any] = []

        def prepare() -> Any:
            return jax.device_put(call.arguments, device)

        def run(arguments: Any) -> Any:
            results[:] = [call.function(*arguments, **call.statics)]
            return results[0]

        with jax.enable_x64(call.x64):
            first, seconds = _quickest(run, prepare)
            model, kernels = None, 0
            if bandwidth is not None:
                lowered = call.function.lower(*prepare(), **call.statics)
                whole = Program(lowered.compile().as_text()).whole
                model = of_program(whole, call.turns, bandwidth)
                kernels = sum(loop.turn.kernels for loop in (whole, *whole.loops))
        timings.append(Timing(call.name, first, seconds, model, kernels))
        return results[0]

    tour(visit, device, nodes)
    return timings


def _quickest(run: Any, prepare: Any = None) -> tuple[float, float]:
    """Seconds of the first call, and of the quickest of some more."""
    seconds = []
    for _ in range(1 + REPEATS):
        arguments = [] if prepare is None else [prepare()]
        jax.block_until_ready(arguments)  # type: ignore[no-untyped-call]
        begin = time.perf_counter()
        jax.block_until_ready(run(*arguments))  # type: ignore[no-untyped-call]
        seconds.append(time.perf_counter() - begin)
    return seconds[0], min(seconds[1:])


def _solves(device: jax.Device) -> Iterator[tuple[str, bool]]:
    """Every kind of solve on a device against one that uses none."""
    on_host = Options(engine="packing", dual_ascent=False)
    for name, (nodes, gap, options) in SOLVES.items():
        graph = planar(nodes)
        near = SAME * float(np.abs(graph.weights).sum())
        expected = solve(graph, options=on_host, device="cpu", gap=gap)
        result: Result = solve(graph, options=options, device=device, gap=gap)
        # No bound of one may contradict the clustering of the other.
        good = {result.status, expected.status} <= {Status.OPTIMAL, Status.GAP}
        good = good and result.lower_bound <= expected.objective + near
        good = good and expected.lower_bound <= result.objective + near
        good = good and result.gap <= gap * abs(result.objective) + near
        calls = sum(record.device_calls for record in result.history)
        seconds = sum(record.device_seconds for record in result.history)
        yield (
            f"{device!s:<16}{name:<24}{result.status!s:<10}{result.objective:>16.9f}"
            f"{result.timings['total']:>9.2f} s, {calls} calls of the device "
            f"in {seconds:.2f} s{'' if good else ', NOT THE SAME AS ON THE HOST'}",
            good,
        )
