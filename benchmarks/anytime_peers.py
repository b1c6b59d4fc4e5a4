"""A heuristic of somebody else on one instance: ``python anytime_peers.py NAME FILE SECONDS``.

Run by ``benchmarks.anytime``, perhaps with another Python that has these packages; needs numpy and
the package only. FILE is an .npz with ``n``, ``edges`` and ``weights``. Prints one line of JSON for
every run: CPU seconds, seconds, and what its clustering costs. Where a heuristic can go on, it is
run again and again, twice as long or with another seed, each time from the beginning, until all
runs together took twice SECONDS. Time excludes the construction of the graph objects.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

Run = Callable[[], Any]


def bioimage(solvers: Callable[[Any], Iterator[Any]]) -> Callable[..., Iterator[Run]]:
    """Runs of solvers of bioimage-cpp, which are made from its module."""

    def runs(n: int, edges: Any, weights: Any) -> Iterator[Run]:
        from bioimage_cpp.graph import UndirectedGraph, multicut

        graph = UndirectedGraph.from_edges(n, edges.astype(np.uint64))
        for solver in solvers(multicut):
            yield lambda solver=solver: solver.optimize(multicut.MulticutObjective(graph, weights))

    return runs


def fusion(proposals: str, sub_solver: str) -> Callable[[Any], Iterator[Any]]:
    """Fusion moves, ever more."""

    def solvers(multicut: Any) -> Iterator[Any]:
        for doubling in count(2):
            yield multicut.FusionMoveMulticut(
                proposal_generator=getattr(multicut, proposals)(),
                sub_solver=getattr(multicut, sub_solver)(),
                number_of_iterations=2**doubling,
                stop_if_no_improvement=2**doubling,
            )

    return solvers


def leiden(n: int, edges: Any, weights: Any) -> Iterator[Run]:
    """leidenalg: the constant Potts model at resolution 0 is correlation clustering."""
    import igraph
    import leidenalg

    graph = igraph.Graph(n=n, edges=edges)

    def run(iterations: int, seed: int) -> Run:
        return lambda: (
            leidenalg.find_partition(
                graph,
                leidenalg.CPMVertexPartition,
                weights=weights.tolist(),
                resolution_parameter=0.0,
                n_iterations=iterations,
                seed=seed,
            ).membership
        )

    for seed in count():
        yield run(2, seed)
        yield run(-1, seed)


GREEDY, KERNIGHAN_LIN = "GreedyAdditiveMulticut", "KernighanLinMulticut"
BY_GREEDY, BY_WATERSHED = "GreedyAdditiveProposalGenerator", "WatershedProposalGenerator"
PEERS: dict[str, Callable[..., Iterator[Run]]] = {
    "bioimage-cpp greedy": bioimage(lambda m: iter([m.GreedyAdditiveMulticut()])),
    "bioimage-cpp fixation": bioimage(lambda m: iter([m.GreedyFixationMulticut()])),
    "bioimage-cpp KL": bioimage(lambda m: iter([m.KernighanLinMulticut()])),
    "bioimage-cpp fusion": bioimage(fusion(BY_GREEDY, GREEDY)),
    "bioimage-cpp fusion + KL": bioimage(fusion(BY_GREEDY, KERNIGHAN_LIN)),
    "bioimage-cpp watersheds": bioimage(fusion(BY_WATERSHED, GREEDY)),
    "bioimage-cpp watersheds + KL": bioimage(fusion(BY_WATERSHED, KERNIGHAN_LIN)),
    "leidenalg": leiden,
}


def main(peer: str, path: str, seconds: str) -> None:
    arrays = np.load(path)
    n, edges, weights = int(arrays["n"]), arrays["edges"], arrays["weights"]
    begin = time.perf_counter()
    for run in PEERS[peer](n, edges, weights):
        wall, cpu = time.perf_counter(), time.process_time()
        labels = np.asarray(run())
        took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        cost = float(weights[labels[edges[:, 0]] != labels[edges[:, 1]]].sum())
        print(json.dumps({**took, "cost": cost}), flush=True)
        if time.perf_counter() - begin > 2.0 * float(seconds):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
