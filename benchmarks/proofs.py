"""Proofs instance by instance: value, bound, seconds and tree, beside what is published and HiGHS.

    python -m benchmarks.proofs --family cp-lib pace2021-exact modularity --time-limit 60

Prints a Markdown row for every instance: the bounds and the gap that are left, wall and CPU
seconds, the nodes of branch and bound in the certificate, the published optimum of the index, and
whether the checker accepts the certificate (--verify). With --highs, HiGHS' ILP solver gets the
same instance, starting from the same rows, with --highs-mip all triangles of the completed one; its
bound is its word. Fails if a bound exceeds a published optimum.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from bdcc_jax import Graph, Options, Result, solve, verify

from .baselines import triangle_mip
from .exact import AGREEMENT
from .instances import SUFFIX, Instance, add_data_option, correlations, families, index
from .markdown import print_header, print_row

HEADINGS = (
    "instance", "nodes", "edges", "value", "bound", "gap %", "s", "CPU s", "tree", "published",
)  # fmt: skip
HIGHS = Options(integer="whole")


def _verdict(note: str) -> str:
    """Whether an optimum is proven or an instance open, if a note says so."""
    if "no optimum on file" in note:
        return "open"
    return "proven" if "proven" in note else ""


def published(data: Path | None) -> dict[str, tuple[str, str]]:
    """The optimum of every instance of the index, if one is known, and what is said of it."""
    rows = index(data)
    known = ((row["known_opt"], _verdict(row["note"])) for row in rows)
    return dict(zip((row["name"].removesuffix(SUFFIX) for row in rows), known, strict=True))


def tree_nodes(proof: Any) -> int:
    """How many nodes the trees within a proof have.

    Examples
    --------
    >>> leaf = {"rule": "lp", "rows": []}
    >>> tree = {"rule": "branching", "nodes": [[0, 1], leaf, leaf]}
    >>> tree_nodes({"rule": "presolve", "steps": [], "nodes": [0, 1, 2], "proof": tree})
    3
    """
    if isinstance(proof, list):
        return sum(map(tree_nodes, proof))
    if not isinstance(proof, dict):
        return 0
    own = len(proof["nodes"]) if proof.get("rule") == "branching" else 0
    return own + sum(tree_nodes(value) for key, value in proof.items() if key != "rows")


def timed(graph: Graph, **how: Any) -> tuple[Result, float, float]:
    """A result, and the wall and CPU seconds that it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = solve(graph, **how)
    return result, time.perf_counter() - wall, time.process_time() - cpu


def check(name: str, graph: Graph, result: Result, optimum: str) -> None:
    """Raise where a bound and a published optimum contradict each other."""
    tolerance = AGREEMENT * float(np.abs(graph.weights).sum())
    if optimum and not (
        result.lower_bound - tolerance <= float(optimum) <= result.objective + tolerance
    ):
        raise AssertionError(f"{name}: {result.lower_bound} to {result.objective}, not {optimum}")


def run(each: Instance, known: tuple[str, str], arguments: argparse.Namespace) -> None:
    """Solve an instance and print its row."""
    graph = each.load()
    result, wall, cpu = timed(graph, time_limit=arguments.time_limit)
    check(str(each), graph, result, known[0])
    cells = [
        each, graph.n, graph.m, f"{result.objective:.10g}", f"{result.lower_bound:.10g}",
        f"{100 * result.relative_gap:.3f}", f"{wall:.2f}", f"{cpu:.2f}",
        tree_nodes(result.certificate["proof"]), " ".join(filter(None, known)),
    ]  # fmt: skip
    if arguments.highs:
        theirs, wall, _ = timed(graph, options=HIGHS, time_limit=arguments.time_limit)
        cells += [f"{theirs.objective:.10g}", f"{theirs.lower_bound:.10g}", f"{wall:.2f}"]
    if arguments.highs_mip:
        start = time.perf_counter()
        value, bound = triangle_mip.solve(graph, arguments.time_limit)
        cells += [f"{value:.10g}", f"{bound:.10g}", f"{time.perf_counter() - start:.2f}"]
    if arguments.verify:
        verify(graph, result.certificate)  # raises unless it is accepted
        cells.append("accepted")
    print_row(*cells)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_data_option(parser)
    parser.add_argument("--family", nargs="+", help="(default: cp-lib, or without data made ones)")
    parser.add_argument("--name", nargs="+", help="only instances whose name begins like this")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each solve")
    parser.add_argument("--highs", action="store_true", help="HiGHS' ILP solver beside it")
    parser.add_argument("--highs-mip", action="store_true", help="HiGHS' MIP over all triangles")
    parser.add_argument("--verify", action="store_true", help="check every certificate")
    arguments = parser.parse_args()
    known = published(arguments.data)
    more = ("HiGHS value", "its bound", "s") if arguments.highs else ()
    more += ("MIP value", "its bound", "s") if arguments.highs_mip else ()
    print_header((*HEADINGS, *more, *(("certificate",) if arguments.verify else ())))
    solve(correlations(40))  # what compiles on first use compiles now
    there = families(arguments.data)
    for family in arguments.family or ["correlations" if arguments.data is None else "cp-lib"]:
        if family not in there:
            parser.error(f"no family {family!r}; there are {', '.join(there)}")
        for each in there[family]:
            if not arguments.name or each.name.startswith(tuple(arguments.name)):
                run(each, known.get(str(each), ("", "")), arguments)


if __name__ == "__main__":
    main()
