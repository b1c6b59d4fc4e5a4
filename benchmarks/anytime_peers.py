"""A heuristic of somebody else on one instance: ``python anytime_peers.py NAME FILE SECONDS``.

Run by ``benchmarks.anytime``, perhaps with another Python that has these packages; needs numpy and
the package only. FILE is an .npz with ``n``, ``edges`` and ``weights``. Prints one line of JSON for
every run: CPU seconds, seconds, and what its clustering costs. Where a heuristic can go on, it is
run again and again, until all runs together took twice SECONDS: fusion moves with twice as many
iterations each time, from the beginning, so that every run counts with its own seconds; leidenalg
with another seed, so that a run counts with the seconds of all runs so far. Time excludes the
construction of the graph objects.
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
CLOCKS = {"cpu": time.process_time, "wall": time.perf_counter}


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


def leiden(iterations: int) -> Callable[..., Iterator[Run]]:
    """leidenalg: the constant Potts model at resolution 0 is correlation clustering.

    So many iterations with every seed; -1: until one does not change anything.
    """

    def runs(n: int, edges: Any, weights: Any) -> Iterator[Run]:
        import igraph
        import leidenalg

        graph = igraph.Graph(n=n, edges=edges)
        for seed in count():
            yield (
                lambda seed=seed: (
                    leidenalg.find_partition(
                        graph,
                        leidenalg.CPMVertexPartition,
                        weights=weights.tolist(),
                        resolution_parameter=0.0,
                        n_iterations=iterations,
                        seed=seed,
                    ).membership
                )
            )

    return runs


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
    "leidenalg": leiden(2),
    "leidenalg until stable": leiden(-1),
}


def main(peer: str, path: str, seconds: str) -> None:
    arrays = np.load(path)
    n, edges, weights = int(arrays["n"]), arrays["edges"], arrays["weights"]
    other_seeds = peer.startswith("leidenalg")
    spent = dict.fromkeys(CLOCKS, 0.0)
    for run in PEERS[peer](n, edges, weights):
        begin = {name: now() for name, now in CLOCKS.items()}
        labels = np.asarray(run())
        took = {name: now() - begin[name] for name, now in CLOCKS.items()}
        spent = {name: spent[name] + took[name] for name in CLOCKS}
        cost = float(weights[labels[edges[:, 0]] != labels[edges[:, 1]]].sum())
        print(json.dumps({**(spent if other_seeds else took), "cost": cost}), flush=True)
        if spent["cpu"] > 2.0 * float(seconds):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
