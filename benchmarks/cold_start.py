"""What a first `solve` costs in a new process: import, compilation, solve.

    python -m benchmarks.cold_start

Prints a Markdown table with medians, once with empty caches of compiled code and once with those
that an earlier process left on disk. Below it, what the first use of the command line costs, where
two processes share the compilation: seconds of the processor of each, which other work on the
machine changes less than the clock.
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
import json, resource, time
from bdcc_jax.cli.first_use import compile_first
seconds = compile_first(quiet=True)
child = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.process_time(), child.ru_utime + child.ru_stime, seconds]))
"""


def cold_solve(graph: Path, caches: Path) -> dict[str, float]:
    """Seconds of the parts, in a new process that keeps its compiled code in ``caches``."""
    start = time.perf_counter()
    parts: dict[str, float] = in_a_process(CHILD, caches, str(graph))
    whole = time.perf_counter() - start
    # From the start of Python to its end, as with one solve.
    return parts | {"whole process": whole - parts["solve"]}


def in_a_process(program: str, caches: Path, *arguments: str) -> Any:
    """What a program prints, in a new process that keeps its compiled code in ``caches``."""
    environment = {**os.environ, "BDCC_JAX_CACHE": str(caches), "NUMBA_CACHE_DIR": str(caches)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)  # it would win over ours
    answer = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
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
        print()
        print_header(["first use: CPU s of this process", "of the other one", "s by the clock"])
        print_row(*(f"{seconds:.2f}" for seconds in first))


if __name__ == "__main__":
    main()
