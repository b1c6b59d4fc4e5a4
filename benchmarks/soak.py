"""Many small random instances against an independent exact method, and the memory they take.

``python -m benchmarks.soak`` solves 10,000 instances of up to 12 nodes, each with one of several
options, and compares with dynamic programming over sets of nodes in rational arithmetic, which
shares no code with the solver. Where heavy and light weights meet, a solve without presolve may end
without a proof if it states what is proven. Every certificate must be accepted, and one of an
optimum must prove everything. It ends with exit code 1 at any mismatch, or if the memory in use has
grown by more than 50 MB. (Memory in use: without what was freed, and glibc keeps for the next time;
``docs/troubleshooting.md`` says how to have it keep less.)
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bdcc_jax import Graph, Options, Rejected, Result, solve, verify
from bdcc_jax.presolve import presolve

from .exact_optimum import exact_cost, exact_optimum

OPTIONS = {
    "default": Options(),
    "no presolve": Options(presolve=False),
    "one ILP": Options(presolve=False, integer="whole", odd_wheels=False),
    "no heuristics": Options(presolve=False, heuristics=False, rounding=()),
    "paper": Options.paper(),
    "paper without Magnanti-Wong": Options.paper(tau=None),
    "reference, split rows": Options(engine="reference", presolve=False, tau=0.5),
    "pdlp": Options(engine="pdlp", presolve=False, heuristics=False),
    "paper, pdlp": Options.paper(engine="pdlp"),
}
ON_JAX = ("pdlp", "paper, pdlp")
"""They compile a kernel for every new shape, and keep it: that too is memory."""

HEAVY = ("heavy inside", "heavy beside", "two magnitudes", "cancelling", "smallest")
"""Weights that float64 cannot add up."""

FAMILIES = ("normal", "ties", "near ties", "wide", "sparse", "ring and hub", "parts", *HEAVY)
MOST_NODES = 12
PATIENCE, LEFT_OPEN = 5.0, ("numerical", "time_limit")
"""Seconds for heavy and light weights together without presolve, and how that may end."""

WARM_UP = 0.1
"""Share of the instances after which caches and compiled code are in place."""

MOST_GROWTH = 50.0
"""Megabytes."""


def random_instance(rng: np.random.Generator, family: str) -> Graph:
    n = int(rng.integers(3, MOST_NODES + 1 - 2 * (family in HEAVY)))
    u, v = np.triu_indices(n, 1)
    density = rng.uniform(0.15, 0.4) if family == "sparse" else rng.uniform(0.4, 1.0)
    kept = rng.random(len(u)) < density
    if family == "parts":
        kept &= (u % 3) == (v % 3)
    if family == "ring and hub":
        kept = (v == u + 1) | (v == n - 1) | ((u == 0) & (v == n - 2))
    u, v = u[kept], v[kept]
    w = rng.normal(rng.uniform(-0.3, 0.5), 1.0, len(u))
    if family == "ring and hub":
        w = np.where(v == n - 1, 1.0, -1.0) * rng.choice([0.5, 1.0, 1.5], len(u))
    elif family == "ties":
        w = rng.integers(-3, 4, len(u)).astype(float)
    elif family == "near ties":
        w = rng.choice([-1.0, 1.0], len(u)) + 10.0 ** rng.uniform(-9, -3) * rng.normal(size=len(u))
    elif family == "wide":
        w = w * 10.0 ** rng.uniform(-4, 4, len(u))
    elif family in HEAVY:
        u, v, w = with_heavy_weights(rng, family, u, v, w, n)
    return Graph.from_edges(u, v, w, n)


def with_heavy_weights(
    rng: np.random.Generator, family: str, u: np.ndarray, v: np.ndarray, w: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    much = rng.choice([-1.0, 1.0]) * (1 + rng.random()) * 10.0 ** rng.choice([6, 9, 13, 20, 300])
    at = rng.permutation(len(w))[:2]
    if family == "heavy inside":
        w[at] = much * rng.choice([-1.0, 1.0], len(at))
    elif family == "heavy beside":
        w = np.where(v == n - 1, np.where(u == 0, much, 0.0), w)
    elif family == "two magnitudes":
        w = np.where(u < n // 2, much * w, w) * ((u < n // 2) == (v < n // 2))
    elif family == "cancelling":
        w[at] += np.array([1.0, -1.0])[: len(at)] * min(abs(much), 1e15)
    elif family == "smallest":
        w = rng.integers(-3, 4, len(w)) * 5e-324
    return u, v, w


def mismatch(result: Result, truth: Fraction, family: str, presolved: bool) -> str | None:
    """What is wrong with a result, if anything is; in rational arithmetic."""
    graph, cost = result.graph, exact_cost(result.graph, result.labels)
    if result.objective != graph.objective(result.labels):
        return f"objective {result.objective!r}"
    if cost - truth > Fraction(result.tolerance):
        return f"{float(cost - truth)!r} too much, but {result.tolerance!r} proven"
    if Fraction(result.lower_bound) > truth:
        return f"lower bound {result.lower_bound!r}"
    left = presolve(graph).graph if presolved else graph
    least = np.abs((left if left.m else graph).weights).min(initial=np.inf)
    if result.status == "optimal" and 1000 * (cost - truth) > Fraction(least if graph.m else 0):
        return f"{float(cost - truth)!r} too much beside {least!r}"
    may_be_open = family in HEAVY and not presolved and result.status in LEFT_OPEN
    if result.status != "optimal" and not may_be_open:
        return f"status {result.status}"
    try:
        claims = verify(graph, result.certificate).claims
    except Rejected as error:
        return f"the certificate is rejected: {error}"
    return f"not proven: {claims}" if claims and family not in HEAVY else None


def resident() -> float:
    """Memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def keep_little() -> None:
    """Have glibc hand back what is freed at the end of a thread's memory, beyond 1 MB.

    It would keep up to 64 MB for each thread there, out of reach of ``malloc_trim``.
    """
    M_TRIM_THRESHOLD = -1
    ctypes.CDLL(None).mallopt(M_TRIM_THRESHOLD, 1 << 20)


class Memory(NamedTuple):
    """In MB: all that the process has, and without what was freed and glibc keeps."""

    resident: float
    in_use: float

    @staticmethod
    def now() -> Memory:
        """Look, then let glibc hand back what it keeps, and look again."""
        before = resident()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(ctypes.c_size_t(0))
        return Memory(before, resident())


def soak(
    count: int, seed: int, names: list[str], families: list[str]
) -> tuple[list[str], Memory, Memory]:
    """Solve; returns the mismatches, and the memory after the warm-up and at the end."""
    rng = np.random.default_rng(seed)
    wrong: list[str] = []
    solved: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    warm = Memory.now()
    for number in range(count):
        name = names[number % len(names)]
        family = families[number // len(names) % len(families)]
        graph = random_instance(rng, family)
        start = time.perf_counter()
        limit = None if OPTIONS[name].presolve or family not in HEAVY else PATIENCE
        result = solve(graph, options=OPTIONS[name], seed=number, time_limit=limit)
        seconds[name] += time.perf_counter() - start
        solved[name] += 1
        if what := mismatch(result, exact_optimum(graph), family, OPTIONS[name].presolve):
            wrong.append(f"{number} ({family}, {name}): {what}")
            print(wrong[-1], flush=True)
        if number == int(WARM_UP * count):
            warm = Memory.now()
        if (number + 1) % 1000 == 0:
            print(f"{number + 1} solved, {len(wrong)} wrong, {resident():.0f} MB", flush=True)
    for name in names:
        print(f"{name:<28} {solved[name]:>6} instances {seconds[name]:>8.1f} s")
    return wrong, warm, Memory.now()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--host", action="store_true", help="leave out the engines on JAX")
    arguments = parser.parse_args()
    keep_little()
    names = [name for name in OPTIONS if not (arguments.host and name in ON_JAX)]
    wrong, warm, end = soak(arguments.count, arguments.seed, names, arguments.families)
    print(f"{arguments.count} instances, {len(wrong)} mismatches")
    print("memory in MB           after a tenth   at the end   growth")
    for name, before, after in zip(Memory._fields, warm, end, strict=True):
        print(f"{name:<22} {before:>13.1f} {after:>12.1f} {after - before:>8.1f}")
    return int(bool(wrong) or end.in_use - warm.in_use > MOST_GROWTH)


if __name__ == "__main__":
    raise SystemExit(main())
