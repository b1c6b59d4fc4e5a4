"""Batched first-order LPs against HiGHS, OR-tools and MPAX on subproblems of real instances.

    python -m benchmarks.subproblems [--data DIR] [--nodes 32 64 128] [--batch 64 512 4096]

DIR holds ``family/name.txt.gz`` (MULTICUT text); without it the instances are superpixel graphs of
scikit-image's pictures. All figures of a row come from one run: ratios mean more than times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bdcc_jax import PDLPOptions
from bdcc_jax.base import compilation_cache
from bdcc_jax.separation.device.batched import Batch, loose
from bdcc_jax.separation.device.flow_batch import layouts
from bdcc_jax.separation.device.flow_problems import (
    FlowProblems,
    magnanti_wong,
    magnanti_wong_by_price,
)
from bdcc_jax.separation.device.flows import BLOCK_ENTRIES, Solution, solve_flows, solve_reduced
from bdcc_jax.separation.device.reduction import reduce_flows
from bdcc_jax.separation.device.restriction import restrict
from bdcc_jax.separation.paper.paths import Flow, decompose

from . import lp_solvers
from .pool import Subproblem, pool

FAMILIES = {
    "image": ("bsds300test-rf255ucm", "opengm-knott3d-stitched", "opengm-imageseg-stitched"),
    "dense": ("modularity", "signed-network", "pace2021-exact"),
}
HEADINGS = (
    "LPs", "batch", "iterations median / 95 % / max", "converged", "ms an LP", "HiGHS ms",
    "HiGHS / ours", "HiGHS / ours, not reduced", "solved by reduction", "OR-tools ms",
    "MPAX / ours (solved)", "value kept min / mean",
    "MW by price, tau .5: ms, over base, over base not reduced (converged)", "tau .99",
    "MW by row, tau .5", "tau .99", "compile s", "slots used",
)  # fmt: skip


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Compile time, run time (best of 3), and the answer."""
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        answer = function()
        times.append(time.perf_counter() - begin)
    return times[0] - min(times[1:]), min(times[1:]), answer


def kept(item: Subproblem, flow: Flow, optimum: float) -> float:
    """Share of the optimal violation that is left after the decomposition into paths."""
    ball, x, paths = item.ball, item.x, decompose(item.ball, flow)
    scale = max(np.abs(flow.edges).max(), flow.targets.max())
    lengths = np.array([x[ball.edges[p]].sum() for p in np.split(paths.edges, paths.starts[1:-1])])
    value = paths.amount @ (x[ball.target_edges[paths.target]] - lengths) * scale
    return float(value / optimum)


def flows(items: list[Subproblem], problems: FlowProblems, solution: Solution) -> list[Flow]:
    found = []
    for b, item in enumerate(items):
        nodes = slice(problems.nodes[b], problems.nodes[b + 1])
        edges = slice(problems.edges[b], problems.edges[b + 1])
        found.append(Flow(solution.flow[edges], solution.supply[nodes][item.ball.targets]))
    return found


def report(name: str, items: list[Subproblem], tolerance: float, mpax: int) -> None:
    problems = FlowProblems.concatenate(
        [Batch(item.graph, [item.ball], item.x).problems for item in items]
    )
    options, count = PDLPOptions(tolerance=tolerance), len(problems)
    compiling, seconds, base = timed(lambda: solve_reduced(problems, options))
    _, unreduced, _ = timed(lambda: solve_flows(problems, options))
    left = reduce_flows(problems).problems
    highs_seconds, optimum = lp_solvers.highs(problems)
    ortools_seconds = lp_solvers.ortools(problems)
    share = [kept(*z) for z in zip(items, flows(items, problems, base), optimum, strict=True)]
    rng = np.random.default_rng(0)
    cost, charge = rng.random(len(problems.cost)), rng.random(len(problems.supply))
    wong = []
    value = np.maximum(-base.objective, 0.0)
    spent = np.add.reduceat(cost * np.abs(base.flow), problems.edges[:-1])
    spent += np.add.reduceat(charge * base.supply, problems.nodes[:-1])
    known = problems, value, spent, cost, charge

    def by_price(tau: float) -> FlowProblems:
        return restrict(magnanti_wong_by_price(*known, tau), base.flow)

    def by_row(tau: float) -> FlowProblems:
        return magnanti_wong(*known, tau)

    for variant, tau in ((by_price, 0.5), (by_price, 0.99), (by_row, 0.5), (by_row, 0.99)):
        looser = PDLPOptions(tolerance=loose(tolerance, tau))
        _, wong_seconds, answer = timed(lambda v=variant, t=tau, o=looser: solve_reduced(v(t), o))
        wong.append(
            f"{1e3 * wong_seconds / count:.2f}, {wong_seconds / seconds:.1f}, "
            f"{wong_seconds / unreduced:.1f} ({answer.converged.mean():.1%})"
        )
    against_mpax = "-"
    if mpax:
        few = FlowProblems.concatenate(
            [Batch(i.graph, [i.ball], i.x).problems for i in items[:mpax]]
        )
        mine = timed(lambda: solve_reduced(few, options))[1]
        other = lp_solvers.mpax(few, tolerance)
        against_mpax = f"{other[0] / mine:.0f}x ({other[1]:.0%})" if other else "not installed"
    groups = list(layouts(left, BLOCK_ENTRIES[True], uniform=True))
    use = sum(len(g.slot) for g in groups) / max(1, sum(g.padded.cost.size for g in groups))
    it = base.iterations
    figures = [
        name, count, f"{np.median(it):.0f} / {np.percentile(it, 95):.0f} / {it.max()}",
        f"{base.converged.mean():.2%}", f"{1e3 * seconds / count:.3f}",
        f"{1e3 * highs_seconds / count:.3f}", f"{highs_seconds / seconds:.2f}",
        f"{highs_seconds / unreduced:.2f}", f"{1 - len(left) / count:.0%}",
        f"{1e3 * ortools_seconds / count:.3f}" if ortools_seconds else "not installed",
        against_mpax, f"{min(share):.4f} / {np.mean(share):.4f}", *wong,
        f"{compiling:.1f}", f"{use:.2f}",
    ]  # fmt: skip
    print("| " + " | ".join(str(figure) for figure in figures) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kind", choices=FAMILIES, nargs="+", default=["image"])
    parser.add_argument("--nodes", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--batch", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--mpax", type=int, default=0, help="how many LPs to give to MPAX as well")
    parser.add_argument("--instances", type=int, default=12, help="of each family, at most")
    arguments = parser.parse_args()
    compilation_cache.enable()
    print("| " + " | ".join(HEADINGS) + " |\n|" + "---|" * len(HEADINGS))
    for kind in arguments.kind:
        for size in arguments.nodes:
            items = pool(arguments.data, FAMILIES[kind], size, arguments.instances)
            for batch in arguments.batch:
                report(f"{kind} {size}", items[:batch], arguments.tolerance, arguments.mpax)


if __name__ == "__main__":
    main()
