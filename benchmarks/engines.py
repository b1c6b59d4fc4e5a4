"""The engines on the CPU backend: rounds, rows and time until the LP has converged.

    python -m benchmarks.engines [--data DIR] [NAME ...]

Every engine runs once to compile and once more for the figures. The last two columns are a model
of an A100 in place of the device at hand, from compiled programs and not measured: see
:mod:`.card_model`. The master, detection and what stays on the host are as measured (for 'pdlp'
the master and detection only).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from bdcc_jax import Graph, Options
from bdcc_jax.base import compilation_cache
from bdcc_jax.base.arrays import FloatArray, IntArray
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.master import Master
from bdcc_jax.search.benders import make_engine
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.device import device_packing
from bdcc_jax.separation.device.arc_groups import arc_groups
from bdcc_jax.separation.device.batched import LANES
from bdcc_jax.separation.device.cell_packing import Packing
from bdcc_jax.separation.device.device_packing import DevicePackingEngine
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.engine import Engine

from .card_model import lp_seconds, packing_seconds
from .instances import add_data_option, instance
from .markdown import print_header, print_row

NAMES = (
    "opengm-imageseg-stitched/image-seg-piece06",
    "bsds300test-rf255ucm/126007",
    "bsds300test-rf255ucm/148026",
    "opengm-knott3d-stitched/knott-3d-450-piece00",
    "opengm-knott3d-stitched/knott-3d-150-piece06",
    "planar/5000",
    "modularity/adjnoun",
)
ENGINES = ("packing", "device_packing", "pdlp")
HEADINGS = (
    "instance", "engine", "rounds", "rows", "master s", "detection s", "subproblems s", "bound",
    "fallbacks", "passes, sweeps", "A100 model ms", "all s, with the model",
)  # fmt: skip

MATCHES = 4
"""Turns of the competition a pass, about."""


class CountingEngine(DevicePackingEngine):
    """Remembers what the model needs of every call, and the seconds on the device at hand."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.calls: list[tuple[int, int, int, int]] = []
        self.seconds = 0.0

    def pack(self, x: FloatArray, violated: IntArray, check: Callable[[], None]) -> Packing:
        """As the engine does."""
        begin = time.perf_counter()
        packing = super().pack(x, violated, check)
        counts = int(packing.passes), int(packing.sweeps)
        columns = self._columns(len(np.unique(self._root[violated])))
        self.calls.append((len(packing.left), columns, *counts))
        self.seconds += time.perf_counter() - begin
        return packing


@dataclass(frozen=True)
class Run:
    """The way to the converged LP."""

    violated_roots: list[int]
    rows: int
    seconds: dict[str, float]
    bound: float
    fallbacks: int


def packing_model(graph: Graph, calls: list[tuple[int, int, int, int]]) -> float:
    """Seconds that the calls of the device packing would take on the card, at most."""
    slots = arc_groups(graph).neighbour.size
    return sum(
        packing_seconds(slots, columns, targets, passes, sweeps, MATCHES).most
        for targets, columns, passes, sweeps in calls
    )


def pdlp_model(violated_roots: list[int], lanes: int = LANES["gpu"][-1]) -> float:
    """Seconds that the LPs of 'pdlp' would take on the card, at most; a ball a root."""
    batches = [
        min(lanes, roots - first) / lanes
        for roots in violated_roots
        for first in range(0, roots, lanes)
    ]
    return sum(lp_seconds(share=share).most for share in batches)


def converge(graph: Graph, engine: Engine, limit: float) -> Run:
    """Solve the LP over all cycle inequalities."""
    clock, master = Clock(limit), Master(graph.weights)
    violated, fallbacks = [], 0
    for cut in cutting_planes(master, [engine.separate], clock):
        fallbacks += cut.found.fallbacks
        if not cut.last:
            violated.append(cut.found.violated_roots)
    return Run(violated, master.n_rows, dict(clock.spent), master.proven_bound, fallbacks)


def report(name: str, graph: Graph, kind: str, limit: float) -> None:
    cpu = jax.devices("cpu")[0]
    cover, options = vertex_cover(graph, "greedy"), Options(engine=kind)
    for _ in range(2):
        engine: Engine = make_engine(
            graph, cover, options, np.random.default_rng(0), Devices((cpu,))
        )
        if kind == "device_packing":
            engine = CountingEngine(graph, cover, options.ball_size, cpu)
        try:
            run = converge(graph, engine, limit)
        except TimeLimitReached:
            print_row(name, kind, f"not within {limit:.0f} s", *[""] * (len(HEADINGS) - 3))
            return
    parts = [run.seconds.get(part, 0.0) for part in ("master", "detection", "subproblems")]
    counts, model, total = "", "", ""
    if isinstance(engine, CountingEngine):
        counts = ", ".join(str(sum(call[i] for call in engine.calls)) for i in (2, 3))
        seconds = packing_model(graph, engine.calls)
        model, total = f"{1e3 * seconds:.1f}", f"{sum(parts) - engine.seconds + seconds:.3f}"
    if kind == "pdlp":
        seconds = pdlp_model(run.violated_roots)
        model, total = f"{1e3 * seconds:.1f}", f"{parts[0] + parts[1] + seconds:.3f}"
    if kind == "packing":
        total = f"{sum(parts):.3f}"
    print_row(
        name, kind, len(run.violated_roots), run.rows, *(f"{s:.3f}" for s in parts),
        f"{run.bound:.4f}", run.fallbacks, counts, model, total,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_data_option(parser)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one convergence")
    parser.add_argument(
        "--few", type=int, default=0, help="leave fewer violated edges to the host (default: 0)"
    )
    arguments = parser.parse_args()
    device_packing.FEW = arguments.few
    compilation_cache.enable()
    print_header(HEADINGS)
    for name in arguments.names:
        graph = instance(name, arguments.data).load()
        for kind in arguments.engines:
            report(name, graph, kind, arguments.limit)


if __name__ == "__main__":
    main()
