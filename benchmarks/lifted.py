"""Lifted multicut beside bioimage-cpp: certified gaps and CPU seconds.

    python -m benchmarks.lifted --size 2d 3d --time-limit 60

The instances are made here, of the sizes of the published ones: superpixels of a synthetic picture
(756) and of a synthetic volume (18,000) of cells whose boundaries have gaps. Affinities of
neighbouring pixels make the ordinary edges, those of pixels further apart the lifted ones.

bioimage-cpp's solvers find clusterings only. The gap of all of them is that to the lower bound
that we prove. ``--verify`` checks the certificate, which takes minutes for the volume.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from bdcc_jax import Graph, Progress, solve, verify
from bdcc_jax.base.records import relative_gap
from bdcc_jax.image import graph_from_affinities

from .markdown import print_header, print_row

HEADINGS = ("instance", "method", "value", "gap %", "s", "CPU s")


@dataclass(frozen=True)
class Kind:
    """What a picture is made of."""

    shape: tuple[int, ...]
    superpixels: int
    cells: int
    units: tuple[float, ...]  # size of a pixel along every axis
    near: tuple[tuple[int, ...], ...]
    far: tuple[tuple[int, ...], ...]


KINDS = {
    "2d": Kind(
        (256, 256),
        superpixels=756,
        cells=40,
        units=(1.0, 1.0),
        near=((-1, 0), (0, -1)),
        far=((-9, 0), (0, -9), (-9, -9), (9, -9), (-9, -4), (9, -4), (-27, 0), (0, -27)),
    ),
    "3d": Kind(
        (30, 300, 300),
        superpixels=18_000,
        cells=400,
        units=(1.0, 0.3, 0.3),
        near=((-1, 0, 0), (0, -1, 0), (0, 0, -1)),
        far=((-3, 0, 0), (0, -9, 0), (0, 0, -9)),
    ),
}

SIGNAL, BLUR, NOISE = 1.6, 2.0, 1.0
"""Log-odds of an affinity: what it says, and the deviations of noise in patches and by pixel."""


def instance(size: str, seed: int = 0) -> Graph:
    """Superpixels of cells, with noisy affinities."""
    kind, rng = KINDS[size], np.random.default_rng(seed)
    shape, axes = kind.shape, len(kind.shape)
    pixels = np.indices(shape).reshape(axes, -1).T * kind.units
    warp = np.stack([gaussian_filter(rng.normal(size=shape), 6) for _ in shape], -1)
    warped = pixels + 60 * warp.reshape(-1, axes) * kind.units

    def voronoi(count: int, at: np.ndarray) -> np.ndarray:
        centres = rng.uniform(size=(count, axes)) * shape * kind.units
        return cKDTree(centres).query(at)[1].reshape(shape)

    truth = voronoi(kind.cells, warped)
    pieces = np.unique(voronoi(kind.superpixels, pixels) * kind.cells + truth, return_inverse=True)[
        1
    ].ravel()
    # Superpixels end where cells do, as watersheds do, unless that makes them too small.
    sizes = np.bincount(pieces)
    centres = np.column_stack([np.bincount(pieces, axis) / sizes for axis in pixels.T])
    large = np.sort(np.argsort(-sizes, kind="stable")[: kind.superpixels])
    goes_to = cKDTree(centres[large]).query(centres)[1]
    goes_to[large] = np.arange(len(large))
    affinities = []
    for offset in (*kind.near, *kind.far):
        there = tuple(
            np.clip(place + step, 0, length - 1)
            for place, step, length in zip(np.indices(shape), offset, shape, strict=True)
        )
        blur = gaussian_filter(rng.normal(size=shape), 4)
        odds = np.where(truth == truth[there], SIGNAL, -SIGNAL) + BLUR * blur / blur.std()
        odds += NOISE * rng.normal(size=shape)
        affinities.append((1.0 / (1.0 + np.exp(-odds))).astype(np.float32))
    return graph_from_affinities(
        np.array(affinities),
        [*kind.near, *kind.far],
        labels=goes_to[pieces].reshape(shape),
        long_range="lifted",
    )[0]


def peers(graph: Graph) -> dict[str, Callable[[], np.ndarray]]:
    """Solvers of bioimage-cpp, each a function that returns labels."""
    from bioimage_cpp.graph import UndirectedGraph, lifted_multicut

    assert graph.lifted is not None
    ordinary, lifted = ~graph.lifted, graph.lifted
    greedy = lifted_multicut.LiftedGreedyAdditiveMulticut()
    local = lifted_multicut.LiftedKernighanLinMulticut()
    proposals = lifted_multicut.GreedyAdditiveProposalGenerator()

    def fusion(iterations: int) -> object:
        return lifted_multicut.FusionMoveLiftedMulticut(
            proposal_generator=proposals,
            sub_solver=local,
            number_of_iterations=iterations,
            stop_if_no_improvement=iterations,
        )

    def run(*solvers: object) -> Callable[[], np.ndarray]:
        def labels() -> np.ndarray:
            base = UndirectedGraph.from_edges(graph.n, graph.edges[ordinary].astype(np.uint64))
            objective = lifted_multicut.LiftedMulticutObjective(
                base,
                graph.weights[ordinary],
                lifted_uvs=graph.edges[lifted].astype(np.uint64),
                lifted_costs=graph.weights[lifted],
            )
            found = lifted_multicut.LiftedChainedSolvers(list(solvers)).optimize(objective)
            return np.asarray(found).astype(np.int64)

        return labels

    return {
        "bioimage-cpp, greedy": run(greedy),
        "bioimage-cpp, greedy and Kernighan-Lin": run(greedy, local),
        "bioimage-cpp, these and 10 fusion moves": run(greedy, local, fusion(10)),
        "bioimage-cpp, these and 100 fusion moves": run(greedy, local, fusion(100)),
    }


def timed(work: Callable[[], object]) -> tuple[object, float, float]:
    """What comes of it, wall seconds and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - wall, time.process_time() - cpu


class Watch:
    """Sees what a solve has after how long, wall and CPU: before any bound, and at small gaps."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        self.seen: dict[str, tuple[float, float, float]] = {}

    def __call__(self, state: Progress) -> None:
        """A round is over."""
        record = state.round
        at = time.perf_counter() - self._wall, time.process_time() - self._cpu
        if record.phase == "start":
            self.seen["before any bound"] = (record.upper_bound, *at)
        for share in (0.01, 0.001):
            if relative_gap(record.upper_bound, record.lower_bound) < share:
                self.seen.setdefault(f"gap proven below {share:.1%}", (record.upper_bound, *at))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--verify", action="store_true", help="check the certificates")
    arguments = parser.parse_args()
    compare = find_spec("bioimage_cpp") is not None
    if not compare:
        print("bioimage-cpp is missing (pip install bioimage-cpp): without it", file=sys.stderr)
    solve(instance("2d", seed=1), gap=1e-3)  # compiles
    print_header(HEADINGS)
    for size in arguments.size:
        graph = instance(size, arguments.seed)
        watch = Watch()
        result, *seconds = timed(
            lambda graph=graph, watch=watch: solve(
                graph, time_limit=arguments.time_limit, callback=watch
            )
        )
        bound = result.lower_bound
        name = f"{size}: {graph.n} nodes, {graph.m} edges, {int(graph.lifted.sum())} of them lifted"
        rows = [(f"ours ({result.status})", result.objective, *seconds)]
        for what, seen in watch.seen.items():
            rows.insert(-1, (f"ours, {what}", *seen))
        for method, work in (peers(graph) if compare else {}).items():
            labels, *seconds = timed(work)
            value = graph.objective(labels)
            rows.append((method, value, *seconds))
        for method, value, wall, cpu in rows:
            gap = f"{100 * (value - bound) / abs(value):.3f}"
            print_row(name, method, f"{value:.2f}", gap, f"{wall:.1f}", f"{cpu:.1f}")
        print_row(name, "our lower bound", f"{bound:.2f}", "", "", "")
        if arguments.verify:
            print(verify(graph, result.certificate))


if __name__ == "__main__":
    main()
