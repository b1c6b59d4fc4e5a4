"""Batched first-order LPs against HiGHS, OR-tools and MPAX on subproblems of real instances.

    python -m benchmarks.subproblems [--data DIR] [--batch 64 512 4096] [--mpax 64] [--device gpu]

DIR holds ``family/name.txt.gz`` (MULTICUT text); without it the instances are superpixel graphs of
scikit-image's pictures. Figures are LPs a second by the clock, and all figures of a row come from
one run: ratios mean more than speeds. Ours include the way to the device and back and the
decomposition into paths, and use all cores; HiGHS and OR-tools solve one LP after another on one.
The columns "model" are no measurement: see :mod:`.card_model`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from bdcc_jax import PDLPOptions
from bdcc_jax.base import compilation_cache
from bdcc_jax.separation.device.balls import ROWS, WIDTH
from bdcc_jax.separation.device.batched import Settings, solve_batch
from bdcc_jax.separation.device.devices import resolve
from bdcc_jax.separation.device.flow_lps import INNER, Problems
from bdcc_jax.separation.device.paths_of_flow import UNITS

from . import lp_solvers
from .card_model import CARD_NAMES
from .devices import modelled
from .markdown import print_header, print_row
from .pool import pool, some

FAMILIES = {
    "image": ("bsds300test-rf255ucm", "opengm-knott3d-stitched", "opengm-imageseg-stitched"),
    "dense": ("modularity", "signed-network", "pace2021-exact"),
}
HEADINGS = (
    "LPs", "batch", "ours", "with variant by row", "with variant by price", "HiGHS", "OR-tools",
    "MPAX (solved; ours on the same)", *(f"{card}, model" for card in CARD_NAMES.values()),
    "ours / HiGHS", "value in paths, 5 % / median / mean", "compile s",
)  # fmt: skip


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """Compile time, run time (best of 3), and the answer."""
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        answer = function()
        times.append(time.perf_counter() - begin)
    return times[0] - min(times[1:]), min(times[1:]), answer


def values(problems: Problems, slot: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """What the paths of every lane earn in its subproblem."""
    earned = np.zeros(len(slot))
    for b, p, t in zip(*np.nonzero(amount > 0), strict=True):
        at, gain = t, problems.reward[b, t]
        while at != 0:
            place = np.unravel_index(slot[b, p, at], (WIDTH, ROWS))
            gain, at = gain - problems.cost[b][place], problems.neighbor[b][place]
        earned[b] += gain * amount[b, p, t] / UNITS
    return earned


def report(name: str, problems: Problems, mpax: int, device: tuple[jax.Device, ...]) -> None:
    count = len(problems.supply)
    checks = PDLPOptions().iterations // INNER

    def ours(given: Problems, kinds: int, by_row: bool) -> Callable[[], Any]:
        return lambda: solve_batch(given, Settings(kinds, 0.5, by_row, checks), device, 2**31)

    compiling, seconds, chains = timed(ours(problems, 1, False))
    by_row, by_price = (timed(ours(problems, 2, row))[1] for row in (True, False))
    plain = lp_solvers.FlowLPs.of(problems)
    highs_seconds, optimum = lp_solvers.highs(plain)
    ortools_seconds = lp_solvers.ortools(plain)
    earned = values(problems, chains.slot[0], chains.amount[0])
    share = earned[optimum > 0] / optimum[optimum > 0]
    shares = (*np.percentile(share, [5, 50]), share.mean())
    against_mpax = "-"
    if mpax:
        few = some(problems, slice(mpax))
        mine = timed(ours(few, 1, False))[1]
        other = lp_solvers.mpax(lp_solvers.FlowLPs.of(few), 1e-3)
        against_mpax = "not installed"
        if other is not None:
            against_mpax = f"{mpax / other[0]:,.0f} ({other[1]:.0%}; {mpax / mine:,.0f})"
    print_row(
        name, count, *(f"{count / s:,.0f}" for s in (seconds, by_row, by_price, highs_seconds)),
        f"{count / ortools_seconds:,.0f}" if ortools_seconds else "not installed", against_mpax,
        *(f"{count / modelled(count, card).most:,.0f}" for card in CARD_NAMES),
        f"{highs_seconds / seconds:.2f}", " / ".join(f"{s:.3f}" for s in shares),
        f"{compiling:.1f}",
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kind", choices=FAMILIES, nargs="+", default=["image"])
    parser.add_argument("--batch", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--mpax", type=int, default=0, help="how many LPs to give to MPAX as well")
    parser.add_argument("--device", default="auto", help="where ours run (default: %(default)s)")
    parser.add_argument("--instances", type=int, default=12, help="of each family, at most")
    arguments = parser.parse_args()
    compilation_cache.enable()
    device = (resolve(arguments.device),)
    print_header(HEADINGS)
    for kind in arguments.kind:
        problems = pool(arguments.data, FAMILIES[kind], arguments.instances)
        for batch in arguments.batch:
            report(kind, some(problems, slice(batch)), arguments.mpax, device)


if __name__ == "__main__":
    main()
