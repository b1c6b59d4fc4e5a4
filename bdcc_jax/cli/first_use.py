"""The first use on a machine: loops are compiled by two processes at the same time, and kept.

numba compiles one function after another, however many threads there are. So one process runs
presolve and the rows of the LP, the other one a solve without presolve; what both need is compiled
by the one that comes to it first. They leave machine code on disk, where this process finds it.
Small instances do not wait for it: their loops run as Python meanwhile (``base/interpreted.py``),
and if they are done first, the two processes finish in the background, for the next use.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from ..base.clock import Clock
from ..base.compilation_cache import cache_folder
from ..base.compiled import is_missing, kept
from ..base.interpreted import SMALL
from ..base.streams import is_terminal, show
from ..instance.graph import Graph
from ..options import Options
from ..presolve import presolve
from ..presolve.reduction import reduced
from ..primal import moved
from ..primal.evolution import Evolution, fused
from ..solve import solve

LONGEST = (reduced, fused)
"""What the two processes are busy with for most of the time: if it is on disk, so is the rest."""

SIDE = 7
"""Of the grid that is solved: large enough for every loop of a default solve to be needed."""

SEARCHED = 1_000_000
"""Arcs that a search reads until it has done everything that it does at all."""

ABOUT = 30
"""Seconds that are foretold: what the longer half takes of a processor (benchmarks.cold_start)."""

FEW_EDGES = SMALL // 10
"""Instances with so many do not wait: their largest arrays together have ten numbers an edge."""

DENSE = 8
"""Graphs whose nodes have so many edges in the mean are dense."""

NICE = 19
"""Who is at work comes first."""


def example() -> Graph:
    """A small instance on which a solve uses every part of itself."""
    node = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    pairs = (node[:, :-1], node[:, 1:]), (node[:-1], node[1:]), (node[:-1, :-1], node[1:, 1:])
    u, v = (np.concatenate([pair[end].ravel() for pair in pairs]) for end in (0, 1))
    return Graph.from_edges(u, v, np.random.default_rng(0).normal(0.2, 1.0, len(u)))


class Compilers:
    """The processes that compile."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Compile what a solve needs, unless an earlier use has left it on disk."""
        if any(is_missing(loop) for loop in LONGEST):
            self._running = [_compile(part) for part in PARTS]

    def at_work(self) -> bool:
        """Whether there is machine code yet to come."""
        self._running = [process for process in self._running if process.poll() is None]
        return bool(self._running)

    def wait_for(self, graph: Graph | None, time_limit: float | None = None) -> float:
        """Wait until an instance, or for None any, can be solved; the seconds that it took.

        Few edges can be at once, unless there is a limit, which is meant for machine code, or the
        graph is dense: its rows take Python too long, and ties among them other turns.
        """
        if not self.at_work():
            return 0.0
        if graph is not None and time_limit is None and _is_quick(graph):
            self._show(
                f"loops are compiled in the background, once, about {ABOUT} s: no need to wait"
            )
            return 0.0
        self._show(f"compiling loops for the first time, about {ABOUT} s, once")
        start = time.perf_counter()
        counted = not self._quiet and is_terminal(sys.stderr)
        while self.at_work():  # whatever became of them, what is missing is compiled in the solve
            time.sleep(0.1)
            if counted:
                print(f"\r{kept()} loops", end="", file=sys.stderr, flush=True)
        if counted:
            print("\r" + " " * 20 + "\r", end="", file=sys.stderr, flush=True)
        return time.perf_counter() - start

    def _show(self, line: str) -> None:
        if not self._quiet:
            show(line, sys.stderr)


def _is_quick(graph: Graph) -> bool:
    return graph.m <= FEW_EDGES and 2 * graph.m < DENSE * graph.n


def _compile(part: str) -> subprocess.Popen[bytes]:
    """Start a process that goes on when this one has ended."""
    # The same package as here, not one that happens to lie in the current folder.
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, part],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _reductions_and_rows() -> None:
    graph = example()
    small = presolve(graph)
    small.lift(np.arange(small.graph.n))
    solve(graph, options=Options(presolve=False, heuristics=False, rounding=()))


def _all_but_presolve() -> None:
    graph = example()
    single = np.arange(graph.n)
    moved(graph, single, seed=0, clock=Clock(None))  # it is solved without this, and without
    Evolution(graph, single, seed=0).run(SEARCHED)  # most of this
    solve(graph, options=Options(presolve=False))


PARTS = {"reductions-and-rows": _reductions_and_rows, "all-but-presolve": _all_but_presolve}


@contextmanager
def _alone(part: str) -> Iterator[None]:
    """Wait until no other process compiles this part: most is on disk then."""
    folder = cache_folder()
    try:
        import fcntl

        assert folder is not None
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f"compiling-{part}").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    except (ImportError, AssertionError, OSError):  # not everywhere; work done twice does no harm
        yield
        return
    with lock:
        yield


if __name__ == "__main__":
    with suppress(AttributeError, OSError):
        os.nice(NICE)
    with _alone(sys.argv[1]):
        PARTS[sys.argv[1]]()
