"""Magnanti-Wong problems on the few edges that matter.

Every edge has a price of its own in such a problem, so that the rules of :mod:`.reduction` find
little. But a flow that keeps the value is known, and cheaper ones take cheap paths: on the edges of
the known flow and of one cheapest path from every supply, the best price is a few percent from that
on all edges, and leaves and series make the rest a quarter as large (benchmarks/RESULTS.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...base.arrays import BoolArray, FloatArray, IntArray
from ...base.clock import Clock
from ...base.compiled import compiled
from .flow_network import FlowNetwork, distances, flow_network
from .flow_problems import FlowProblems

CARRIES = 1e-9
"""An edge carries flow if it carries more than this share of its capacity."""


def restrict(problems: FlowProblems, flow: FloatArray, clock: Clock | None = None) -> FlowProblems:
    """Close the edges that neither carry a known flow nor lie on a cheapest path to the root.

    Parameters
    ----------
    problems : FlowProblems
        Without an activity row: the price of an edge is its cost.
    flow : (edges,) floats
        A feasible flow; it stays feasible.
    clock : Clock, optional
        When its time is up, no more cheapest paths are looked for.
    """
    offset = np.repeat(problems.nodes[:-1], np.diff(problems.edges))
    network = flow_network(
        problems.tail + offset,
        problems.head + offset,
        problems.cost[None],
        problems.capacity,
        len(problems.supply),
    )
    used = np.abs(flow) > CARRIES * problems.capacity
    with (clock or Clock(None)).alarm() as stop:
        _add_cheapest_paths(network, problems.nodes, problems.supply, used, stop)
    return replace(problems, capacity=np.where(used, problems.capacity, 0.0))


@compiled
def _add_cheapest_paths(
    net: FlowNetwork, nodes: IntArray, supply: FloatArray, used: BoolArray, stop: BoolArray
) -> None:
    near, via = np.full(len(net.first), np.inf), np.full(len(net.first), -1)
    for root in nodes[:-1]:
        if stop[0]:
            break
        distances(net, root, net.price[0], near, via)
    for v in range(len(supply)):
        u = v if supply[v] > 0.0 else -1
        while u >= 0 and via[u] >= 0:
            half = via[u]
            used[half >> 1], via[u] = True, -1  # what was walked once is not walked again
            u = net.at[half]
