"""One heuristic of somebody else on one instance: ``python anytime_peers.py PEER FILE SECONDS``.

Run by ``benchmarks.anytime``, perhaps with another Python that has these packages; needs numpy and
the package only. FILE is an .npz with ``n``, ``edges`` and ``weights``. Prints one line of JSON for
every run: CPU seconds, seconds, and what its clustering costs. Every solver is run again and again,
ever longer or with another seed, each time from the beginning. Time excludes the construction of
the graph objects.
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


def bioimage(n: int, edges: Any, weights: Any) -> Iterator[Run]:
    """All solvers of bioimage-cpp; each item is one run of one of them."""
    from bioimage_cpp.graph import UndirectedGraph, multicut

    graph = UndirectedGraph.from_edges(n, edges.astype(np.uint64))

    def run(solver: Any) -> Run:
        return lambda: solver.optimize(multicut.MulticutObjective(graph, weights))

    greedy, kernighan_lin = multicut.GreedyAdditiveMulticut(), multicut.KernighanLinMulticut()
    yield run(greedy)
    yield run(multicut.GreedyFixationMulticut())
    for doubling in count():
        times = 4 * 2**doubling
        for generator in (
            multicut.GreedyAdditiveProposalGenerator(),
            multicut.WatershedProposalGenerator(),
        ):
            for sub_solver in (greedy, kernighan_lin):
                yield run(
                    multicut.FusionMoveMulticut(
                        proposal_generator=generator,
                        sub_solver=sub_solver,
                        number_of_iterations=times,
                        stop_if_no_improvement=times,
                    )
                )
        if doubling == 0:
            yield run(kernighan_lin)


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


PEERS = {"bioimage-cpp": bioimage, "leidenalg": leiden}


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
        if time.perf_counter() - begin > float(seconds):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
