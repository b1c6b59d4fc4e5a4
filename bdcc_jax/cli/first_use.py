"""The first use on a machine: loops are compiled, by two processes at the same time, and kept.

numba compiles one function after another, however many threads there are. So a second process
solves a small instance without presolve, while this one runs presolve alone. Both leave machine
code on disk, where the solve that follows finds it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numba.core import event

from ..base.compiled import is_missing
from ..base.interrupts import interruptible
from ..base.streams import is_terminal, show
from ..instance.graph import Graph
from ..options import Options
from ..presolve import presolve
from ..presolve.reduction import reduced
from ..solve import solve

SIDE = 7
"""Of the grid that is solved: large enough for every loop of a default solve to be needed."""

ABOUT = 30
"""Seconds that are foretold: what the longer half takes of a processor (benchmarks.cold_start)."""


def example() -> Graph:
    """A small instance on which a solve uses every part of itself."""
    node = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    pairs = (node[:, :-1], node[:, 1:]), (node[:-1], node[1:]), (node[:-1, :-1], node[1:, 1:])
    u, v = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    return Graph.from_edges(u, v, np.random.default_rng(0).normal(0.2, 1.0, len(u)))


def compile_first(*, quiet: bool = False) -> float:
    """Compile what a solve needs, unless an earlier process has; the seconds that it took."""
    if not is_missing(reduced):
        return 0.0
    start = time.perf_counter()
    if not quiet:
        show(f"compiling loops for the first time, about {ABOUT} s, once", sys.stderr)
    # The same package as here, not one that happens to lie in the current folder.
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    other = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with interruptible(), _counted(shown=not quiet and is_terminal(sys.stderr)):
            small = presolve(example())
            small.lift(np.arange(small.graph.n))
            other.wait()  # whatever became of it, what is missing is compiled in the solve
    finally:
        other.kill()
        other.wait()
    return time.perf_counter() - start


@contextmanager
def _counted(*, shown: bool) -> Iterator[None]:
    """A line that counts the functions which this process has compiled, on a terminal."""
    if not shown:
        yield
        return

    class Counter(event.Listener):  # type: ignore[misc]
        count = 0

        def on_start(self, _: event.Event) -> None:
            pass

        def on_end(self, _: event.Event) -> None:
            self.count += 1
            print(f"\r{self.count} functions", end="", file=sys.stderr, flush=True)

    with event.install_listener("numba:compile", Counter()):
        yield
    print("\r" + " " * 20 + "\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    solve(example(), options=Options(presolve=False))
