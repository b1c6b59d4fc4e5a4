"""'packing' and 'pdlp' until the LP has converged: rounds, rows, and what a card would change.

    python -m benchmarks.engines [--data DIR] [NAME ...]

Every engine runs once to compile and once more for the figures, without presolve and heuristics.
Seconds are those of the processor, of all threads. What the host does for the rows is measured:
all of 'packing', and balls, checks and rows of 'pdlp'. Its LPs, which run on the CPU here, are
replaced by a model of an A100 from compiled programs (:mod:`.card_model`), and its sweeps of
detection by nothing at all. The rule of 'auto' on a GPU rests on this.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

import jax

from bdcc_jax import Graph, Options
from bdcc_jax.base import compilation_cache
from bdcc_jax.base.arrays import FloatArray
from bdcc_jax.base.clock import Clock, TimeLimitReached
from bdcc_jax.instance.cover import vertex_cover
from bdcc_jax.lp.master import Master
from bdcc_jax.search.cutting_planes import cutting_planes
from bdcc_jax.separation.device.batched import LANES
from bdcc_jax.separation.device.devices import Devices
from bdcc_jax.separation.engine import Engine, make_engine
from bdcc_jax.separation.separation import Separation

from .card_model import lp_seconds
from .instances import add_data_option, instance
from .markdown import print_header, print_row

NAMES = (
    "opengm-imageseg-stitched/image-seg-piece06",
    "bsds300test-rf255ucm/126007",
    "bsds300test-rf255ucm/148026",
    "opengm-knott3d-stitched/knott-3d-450-piece00",
    "opengm-knott3d-stitched/knott-3d-150-piece06",
    "planar/5000",
    "planar/20000",
    "em-superpixel/CREMI-C-train",
    "modularity/adjnoun",
)
ENGINES = ("packing", "pdlp")
HEADINGS = (
    "instance", "engine", "rounds", "violated roots, first round", "rows", "master s",
    "host, first round ms", "us a root", "host, all rounds ms", "A100 model, first round ms",
    "A100 model, all rounds ms", "all s, with the model",
)  # fmt: skip


class ProcessorClock(Clock):
    """Also counts the seconds of the processor inside of calls of the device."""

    in_calls = 0.0

    @contextmanager
    def device_call(self) -> Iterator[None]:
        """As the clock does."""
        begin = time.process_time()
        with super().device_call():
            yield
        self.in_calls += time.process_time() - begin


class Measured:
    """An engine, and per round: violated roots, and seconds of the host beside the device."""

    def __init__(self, engine: Engine, clock: ProcessorClock) -> None:
        self._engine, self._clock = engine, clock
        self.rounds: list[tuple[int, float]] = []

    def separate(self, x: FloatArray, clock: Clock) -> Separation:
        """As the engine does."""
        begin = time.process_time() - self._clock.in_calls
        found = self._engine.separate(x, clock)
        seconds = time.process_time() - self._clock.in_calls - begin
        if not found.satisfied:
            self.rounds.append((found.violated_roots, seconds))
        return found


def pdlp_model(roots: int) -> float:
    """Seconds that the LPs of a round take on an A100 by the model, at most; a ball a root."""
    lanes = LANES["gpu"][-1]
    batches = [min(lanes, roots - first) / lanes for first in range(0, roots, lanes)]
    return sum(lp_seconds(share=share).most for share in batches)


def report(name: str, graph: Graph, kind: str, limit: float) -> None:
    cover, options = vertex_cover(graph, "greedy"), Options(engine=kind)  # type: ignore[arg-type]
    where = Devices((jax.devices("cpu")[0],))
    for _ in range(2):
        clock, master = ProcessorClock(limit), Master(graph.weights)
        engine = make_engine(graph, cover, options, 0, where)
        measured, begin = Measured(engine, clock), time.process_time()
        try:
            for _ in cutting_planes(master, [measured.separate], clock):
                pass
        except TimeLimitReached:
            print_row(name, kind, f"not within {limit:.0f} s", *[""] * (len(HEADINGS) - 3))
            return
        total = time.process_time() - begin - clock.in_calls
    rounds = measured.rounds
    roots, first = rounds[0]
    host = sum(seconds for _, seconds in rounds)
    card = [pdlp_model(violated) if kind == "pdlp" else 0.0 for violated, _ in rounds]
    print_row(
        name.split("/")[-1], kind, len(rounds), roots, master.n_rows, f"{total - host:.3f}",
        f"{1e3 * first:.1f}", f"{1e6 * first / roots:.0f}", f"{1e3 * host:.1f}",
        *(f"{1e3 * s:.1f}" if s else "" for s in (card[0], sum(card))), f"{total + sum(card):.3f}",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_data_option(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help="(default: planar, and of DATA)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one convergence")
    arguments = parser.parse_args()
    compilation_cache.enable()
    print_header(HEADINGS)
    there = [name for name in NAMES if arguments.data or name.startswith("planar/")]
    for name in arguments.names or there:
        graph = instance(name, arguments.data).load()
        for kind in arguments.engines:
            report(name, graph, kind, arguments.limit)


if __name__ == "__main__":
    main()
