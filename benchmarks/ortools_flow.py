"""Time OR-tools' SimpleMinCostFlow on stored flow LPs: ``python ortools_flow.py lps.npz``.

A process of its own, because OR-tools and highspy each bring a HiGHS and cannot share a process.
"""

import sys
import time

import numpy as np
from ortools.graph.python import min_cost_flow


def main() -> None:
    lps, seconds = np.load(sys.argv[1]), 0.0
    nodes, edges = lps["nodes"], lps["edges"]
    for b in range(len(nodes) - 1):
        n, e = slice(nodes[b], nodes[b + 1]), slice(edges[b], edges[b + 1])
        tail, head, supply = lps["tail"][e], lps["head"][e], lps["supply"][n]
        cost, capacity, reward = lps["cost"][e], lps["capacity"][e], lps["reward"][n]
        target = np.flatnonzero(supply > 0)
        # A circulation in integers of about 20 bits: targets are fed from the root at a reward.
        amount = np.concatenate([capacity, capacity, supply[target]]) * 2**20 / supply.max()
        price = np.concatenate([cost, cost, -reward[target]]) * 2**20
        begin = time.perf_counter()
        solver = min_cost_flow.SimpleMinCostFlow()
        solver.add_arcs_with_capacity_and_unit_cost(
            np.concatenate([tail, head, np.zeros(len(target), int)]),
            np.concatenate([head, tail, target]),
            np.minimum(amount, 2**40).astype(np.int64),
            price.astype(np.int64),
        )
        solver.set_nodes_supplies(np.arange(len(supply)), np.zeros(len(supply), np.int64))
        solver.solve()
        seconds += time.perf_counter() - begin
    print(seconds)


if __name__ == "__main__":
    main()
