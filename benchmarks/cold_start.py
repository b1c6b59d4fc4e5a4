"""What a first `solve` costs in a new process: import, compilation, solve.

    python -m benchmarks.cold_start

Prints a Markdown table with medians, once with empty caches of compiled code and once with those
that an earlier process left on disk. Below it, what the first use of the command line costs: the
whole `bdcc-jax demo`, which does not wait for the compiler, and the two processes that compile, for
which larger instances wait: by the clock, and in seconds of the processor of both together, which
other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import bdcc_jax

from .instances import planar
from .markdown import print_header, print_row

PARTS = ("import", "compile", "solve", "whole process")

# Compilation is what the first solve takes longer than the second one of the same graph.
CHILD = """
import json, sys, time
start = time.perf_counter()
import bdcc_jax
imported = time.perf_counter()
graph = bdcc_jax.read(sys.argv[1])
begin = time.perf_counter()
bdcc_jax.solve(graph)
first = time.perf_counter() - begin
begin = time.perf_counter()
bdcc_jax.solve(graph)
second = time.perf_counter() - begin
print(json.dumps({"import": imported - start, "compile": first - second, "solve": second}))
"""


FIRST_USE = """
import json, resource
from bdcc_jax.cli.first_use import FEW_EDGES, Compilers
compilers = Compilers(quiet=True)
compilers.start()
seconds = compilers.wait_for(FEW_EDGES + 1)
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([seconds, children.ru_utime + children.ru_stime]))
"""


def cold_solve(graph: Path, caches: Path) -> dict[str, float]:
    """Seconds of the parts, in a new process that keeps its compiled code in ``caches``."""
    start = time.perf_counter()
    parts: dict[str, float] = in_a_process(CHILD, caches, str(graph))
    whole = time.perf_counter() - start
    # From the start of Python to its end, as with one solve.
    return parts | {"whole process": whole - parts["solve"]}


def first_demo(caches: Path) -> float:
    """Seconds of the whole command ``bdcc-jax demo``, from empty caches."""
    caches.mkdir()
    command = [sys.executable, "-m", "bdcc_jax", "demo"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = time.perf_counter()
    subprocess.run(command, cwd=caches, env=environment(caches), check=True, **quiet)
    seconds = time.perf_counter() - start
    in_a_process(FIRST_USE, caches)  # until nothing is compiled in the background any more
    return seconds


def environment(caches: Path) -> dict[str, str]:
    """That of a process which keeps its compiled code in ``caches``."""
    kept = {**os.environ, "BDCC_JAX_CACHE": str(caches), "NUMBA_CACHE_DIR": str(caches)}
    kept.pop("JAX_COMPILATION_CACHE_DIR", None)  # it would win over ours
    return kept


def in_a_process(program: str, caches: Path, *arguments: str) -> Any:
    """What a program prints, in a new process that keeps its compiled code in ``caches``."""
    answer = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment(caches),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=500, help="of a planar graph")
    parser.add_argument("--repeat", type=int, default=3, help="processes to take the median of")
    arguments = parser.parse_args()
    print_header(["caches", *(f"{part} s" for part in PARTS)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.npz"
        bdcc_jax.write(planar(arguments.nodes), path)
        fresh = [Path(folder) / f"caches-{i}" for i in range(arguments.repeat)]
        for state, caches in (("empty", fresh), ("warm", fresh[:1] * arguments.repeat)):
            runs = [cold_solve(path, each) for each in caches]
            print_row(state, *(f"{median(run[part] for run in runs):.2f}" for part in PARTS))
        first = in_a_process(FIRST_USE, Path(folder) / "caches-of-the-command-line")
        demo = first_demo(Path(folder) / "caches-of-the-demo")
        print()
        print_header(["first use: demo s", "compiling s by the clock", "CPU s of both processes"])
        print_row(*(f"{seconds:.2f}" for seconds in (demo, *first)))


if __name__ == "__main__":
    main()
