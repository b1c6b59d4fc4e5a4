"""A model of an A100 from compiled programs: nothing here was measured on a card.

    python -m benchmarks.card_model                     # seconds by program, LPs a second
    python -m benchmarks.card_model --ascent 1000000    # and a planar instance to a gap of 1 %

Kernels and bytes are those of XLA's compiler (:mod:`.gpu_compiler`), for planar instances of two
sizes; for others the bytes are taken in proportion. ``bdcc_jax.doctor.model`` has the formula, and
two figures for everything: with a perfect cache, and with none for what is gathered and scattered.

The ascent is run on the CPU, and every program that ran on JAX' device is replaced by the model;
what the host did counts as measured.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from bdcc_jax.base import compilation_cache
from bdcc_jax.base.clock import Clock
from bdcc_jax.doctor.model import Span, of_program, of_turn
from bdcc_jax.doctor.program import Cost, Loop
from bdcc_jax.lp.dual_ascent import DualAscent, batched_cycles, kernels
from bdcc_jax.options import PDLPOptions
from bdcc_jax.primal.greedy_additive import greedy_additive
from bdcc_jax.separation.device.batched import LANES
from bdcc_jax.separation.device.flow_lps import INNER

from .instances import planar
from .markdown import print_header, print_row

FILE = Path(__file__).with_name("gpu_programs.json")
"""What the compiler said, and of which version of JAX it is."""

BANDWIDTH = {"sm_80": 2.04e12, "sm_90": 3.35e12}
"""Bytes a second: an A100 and an H100 with 80 GB."""

CARD_NAMES = {"sm_80": "A100", "sm_90": "H100"}
CARD = "sm_80"
LARGE = "1000000"
TRIANGLES = 2**21
"""Of the planar instance with a million nodes, padding included."""

TURNS = ("ascent: sweep", "ascent: first-order step", "detection: sweep")
"""Programs of one loop, a turn of which is worth knowing."""

GAP = 0.01


def stored() -> dict[str, Any]:
    """What the compiler said when it was last asked: by nodes, card and name of the program.

    Examples
    --------
    >>> sorted(stored()["programs"]["1000000"])
    ['sm_80', 'sm_90']
    """
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def program(name: str, nodes: str = LARGE, card: str = CARD) -> Loop:
    """A compiled program.

    Examples
    --------
    >>> program("ascent: sweep").loops[0].turn.sorts
    0
    """
    return loop_of(stored()["programs"][nodes][card][name]["program"])


def loop_of(record: dict[str, Any]) -> Loop:
    """A loop from JSON.

    Examples
    --------
    >>> loop_of({"turns": None, "turn": {"kernels": 1}, "inner": []}).turn.kernels
    1
    """
    inner = tuple(loop_of(each) for each in record["inner"])
    return Loop(record["turns"], Cost(**record["turn"]), inner)


def scaled(loop: Loop, factor: float) -> Loop:
    """The same kernels with so many times the bytes."""
    turn = loop.turn
    cost = Cost(turn.kernels, int(factor * turn.moved), int(factor * turn.sectors), turn.sorts)
    return Loop(loop.turns, cost, tuple(scaled(inner, factor) for inner in loop.inner))


def turn_seconds(name: str, factor: float = 1.0, card: str = CARD) -> Span:
    """One turn of the first loop of a program, on an instance so many times as large."""
    return of_turn(scaled(program(name, card=card).loops[0], factor).turn, BANDWIDTH[card])


def lp_seconds(kinds: int = 1, share: float = 1.0, card: str = CARD) -> Span:
    """A batch of the LPs of 'pdlp', full or a share of it, without the way to the card and back."""
    checks = -(-PDLPOptions().iterations // INNER)
    whole = scaled(program("subproblems: 16 iterations", card=card), share)
    return of_program(whole, (kinds, checks), BANDWIDTH[card])


class Replaced:
    """Seconds by the model of all that the ascent has run on JAX' device."""

    def __init__(self, card: str) -> None:
        self.seconds, self._card = Span(0.0, 0.0), card
        self.search_seconds = 0.0
        self.turns = {"ascent: sweep": 0, "ascent: first-order step": 0, "ascent: cycles": 0}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Inside the block every call of a program counts."""
        before = kernels.sweep, kernels.polish, batched_cycles._search
        kernels.sweep = self._ascent("ascent: sweep", before[0])
        kernels.polish = self._ascent("ascent: first-order step", before[1])
        batched_cycles._search = self._search(before[2])
        try:
            yield
        finally:
            kernels.sweep, kernels.polish, batched_cycles._search = before

    def _ascent(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(state: kernels.State, *rest: Any) -> Any:
            self._add(name, rest[-1], len(state.y[0]) / TRIANGLES)
            return function(state, *rest)

        return run

    def _search(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(u: Any, *rest: Any) -> Any:
            whole = scaled(program("ascent: cycles", card=self._card), len(u) / (1.5 * TRIANGLES))
            self.seconds += of_program(whole, (), BANDWIDTH[self._card])
            self.turns["ascent: cycles"] += 1
            begin = time.perf_counter()
            found = jax.block_until_ready(function(u, *rest))
            self.search_seconds += time.perf_counter() - begin
            return found

        return run

    def _add(self, name: str, turns: int, factor: float) -> None:
        whole = scaled(program(name, card=self._card), factor)
        bandwidth = BANDWIDTH[self._card]
        self.seconds += of_turn(whole.turn, bandwidth)
        self.seconds += of_turn(whole.loops[0].turn, bandwidth) * turns
        self.turns[name] += turns


def ascend(nodes: int, seconds: float) -> None:
    """A planar instance, until bound and clustering are within GAP, or the time is over."""
    graph, clock, replaced = planar(nodes), Clock(None), Replaced(CARD)
    for _ in DualAscent(planar(1000), batched=True).run():  # compiles loops of the host
        break
    print_header(
        ("nodes", "round", "triangles", "sweeps, steps, searches", "gap %", "s on the CPU",
         "JAX' device", "cycles on the host", "greedy", "rest of the host", "A100 model: device",
         "A100 model: all")
    )  # fmt: skip
    begin, greedy = time.perf_counter(), 0.0
    with replaced.listening():
        for number, relaxed in enumerate(DualAscent(graph, batched=True, clock=clock).run(), 1):
            start = time.perf_counter()
            labels = greedy_additive(graph, relaxed.reduced[: graph.m] + 0.1 * graph.weights)
            upper = graph.objective(labels)
            greedy += time.perf_counter() - start
            gap, spent = (upper - relaxed.bound) / abs(upper), time.perf_counter() - begin
            device, model = clock.device_seconds, replaced.seconds
            cycles = clock.spent["detection"] - replaced.search_seconds
            host = spent - device
            print_row(
                nodes, number, relaxed.triangles.shape[1],
                ", ".join(map(str, replaced.turns.values())), f"{100 * gap:.3f}",
                *(f"{s:.1f}" for s in (spent, device, cycles, greedy, host - cycles - greedy)),
                f"{model.least:.3f} to {model.most:.3f} s",
                f"{host + model.least:.1f} to {host + model.most:.1f} s",
            )  # fmt: skip
            if gap <= GAP or spent > seconds:
                return


def print_programs() -> None:
    found = stored()
    print(f"A model from programs that XLA of jax {found['jax']} compiled; no card has run them.\n")
    print_header(("program, planar 1,000,000", *(f"{card}, a turn" for card in BANDWIDTH)))
    for name in TURNS:
        print_row(name, *(turn_seconds(name, card=card) for card in BANDWIDTH))
    lanes, iterations = LANES["gpu"][-1], PDLPOptions().iterations
    step = "subproblems: 16 iterations"
    turns = [of_turn(program(step, card=c).loops[3].turn, BANDWIDTH[c]) for c in BANDWIDTH]
    print_row(f"iteration of PDHG, {lanes} LPs", *turns)
    batches = [lp_seconds(card=card) for card in BANDWIDTH]
    print_row(f"{lanes} LPs, {iterations} iterations", *batches)
    speeds = [f"{lanes / b.most:,.0f} to {lanes / b.least:,.0f}" for b in batches]
    print_row("LPs a second", *speeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ascent", type=int, nargs="+", default=[], metavar="NODES")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each (%(default)s)")
    arguments = parser.parse_args()
    compilation_cache.enable()
    print_programs()
    for nodes in arguments.ascent:
        print()
        ascend(nodes, arguments.seconds)


if __name__ == "__main__":
    main()
