"""Smaller flow LPs with the same optimum, and the way back to the original ones.

Seen as a flow from a terminal T to the root S, a supply at v is an edge from T to v. With R the
largest reward it costs R - reward_v, and every unit that leaves T earns R. This is an undirected
graph with prices >= 0, and nothing is lost by these rules:

- an edge that lies on no path from T to S cheaper than R carries nothing;
- nor does the edge of a node that has no other edge;
- two edges in series are one: prices add up, the narrower counts;
- parallel edges of the same price are one: capacities add up;
- an edge without a price that is as wide as the other edges of one of its ends together, or as
  all that can flow at all, joins its ends into one node;
- an edge from T to S that pays is full.

In the first rounds of the method nearly all prices are zero, and little is left to be solved. With
an activity row an edge has two prices, and what is said of prices must hold for both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.arrays import FloatArray, IntArray
from ...base.clock import Clock
from .flow_network import FlowNetwork, flow_network, shrink_all, undo
from .flow_problems import Activity, FlowProblems

NEGLIGIBLE = 1e-9
"""Prices below this part of the largest reward count as zero."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """What is left of some flow LPs.

    Attributes
    ----------
    problems : FlowProblems
        What is left to solve.
    members : (problems left,) ints
        Which of the original problems these are. The others are solved.
    value : (original problems,) floats
        What is earned on edges from T to S.
    """

    problems: FlowProblems
    members: IntArray
    value: FloatArray
    _original: FlowProblems
    # Of all edges: the original ones, then one for the supply of every node, then one for none.
    _flow: FloatArray
    _edges: IntArray
    _supplies: IntArray
    _signs: FloatArray
    _log: IntArray
    _beside: FloatArray

    def restore(self, flow: FloatArray, supply: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Flows and supplies of the original problems, given those of what is left."""
        original = self._original
        every = self._flow.copy()
        every[self._edges] = flow
        every[self._supplies] = self._signs * supply
        undo(self._log, self._beside, every)
        along, sent = np.split(every[:-1], [len(original.cost)])
        return (
            np.clip(along, -original.capacity, original.capacity),
            np.clip(sent, 0.0, original.supply),
        )


def reduce_flows(problems: FlowProblems, clock: Clock | None = None) -> Reduction:
    """Apply the rules until none applies, or until the time of the clock is up."""
    count, m, n = len(problems), len(problems.cost), len(problems.supply)
    of_node = np.repeat(np.arange(count), np.diff(problems.nodes))
    of_edge = np.repeat(np.arange(count), np.diff(problems.edges))
    owner, offset = np.concatenate([of_edge, of_node]), problems.nodes[of_edge]
    activity = problems.activity
    second = (np.zeros(m), np.zeros(n)) if activity is None else (activity.cost, activity.reward)
    earned, price = np.zeros((2, count)), np.zeros((2, m + n))
    for k, (cost, reward) in enumerate([(problems.cost, problems.reward), second]):
        np.maximum.at(earned[k], of_node, np.where(problems.supply > 0.0, reward, 0.0))
        price[k] = np.concatenate([cost, earned[k][of_node] - reward])
        price[k, price[k] <= NEGLIGIBLE * earned[k][owner]] = 0.0
    network = flow_network(
        np.concatenate([problems.tail + offset, n + of_node]),
        np.concatenate([problems.head + offset, np.arange(n)]),
        price,
        np.concatenate([problems.capacity, problems.supply]),
        n + count,
    )
    # With a row, no path is worth more than it is at the largest multiplier.
    total, most_earned = price[0], earned[0]
    if activity is not None:
        with np.errstate(invalid="ignore"):  # an infinite multiplier: nothing is pruned
            total = price[0] + activity.largest[owner] * price[1]
            most_earned = activity.largest * earned[1]
    with (clock or Clock(None)).alarm() as stop:
        steps = shrink_all(
            network, problems.nodes, earned[0], total, most_earned, activity is not None, stop
        )
    return _what_is_left(problems, network, earned, *steps)


def _what_is_left(
    problems: FlowProblems,
    net: FlowNetwork,
    earned: FloatArray,
    value: FloatArray,
    flow: FloatArray,
    log: IntArray,
    beside: FloatArray,
) -> Reduction:
    """Number the nodes and edges that are left.

    A node has one supply. A further edge from T to it, or one from T to S, gets a node in between.
    """
    count, n = len(problems), len(problems.supply)
    edge = np.flatnonzero(net.at[::2] >= 0)
    u, v = net.at[2 * edge], net.at[2 * edge + 1]
    sign = np.where(u >= n, 1.0, -1.0)
    outer, inner, terminal = np.minimum(u, v), np.maximum(u, v) < n, np.maximum(u, v) - n
    of_node = np.repeat(np.arange(count), np.diff(problems.nodes))
    owner = of_node[outer]

    # Supplies: the first at every node but the roots is its own; the rest gets nodes of its own.
    supply = np.flatnonzero(~inner)
    _, first = np.unique(outer[supply], return_index=True)
    own = np.zeros(len(supply), bool)
    own[first] = True
    own &= outer[supply] != problems.nodes[terminal[supply]]
    between = n + np.arange(np.sum(~own))
    members = np.unique(owner[supply])
    inner &= np.isin(owner, members)
    at = outer[supply]
    at[~own] = between

    node = np.unique(np.concatenate([problems.nodes[members], u[inner], v[inner], outer[supply]]))
    node = np.concatenate([node, between])
    node_owner = np.concatenate([of_node, owner[supply[~own]]])[node]
    order = np.argsort(node_owner, kind="stable")
    node, node_owner = node[order], node_owner[order]
    starts = np.searchsorted(node_owner, np.append(members, count))
    place = np.zeros(n + len(between), np.int64)
    place[node] = np.arange(len(node)) - starts[np.searchsorted(members, node_owner)]
    number = np.zeros(n + len(between), np.int64)
    number[node] = np.arange(len(node))

    # Edges: those between nodes, and those from the nodes in between, problem by problem.
    extra = supply[~own]
    edge_owner = np.concatenate([owner[inner], owner[extra]])
    order = np.argsort(edge_owner, kind="stable")
    tail = np.concatenate([u[inner], between])[order]
    head = np.concatenate([v[inner], outer[extra]])[order]
    name = np.concatenate([edge[inner], np.full(len(extra), len(net.width))])[order]
    width = np.concatenate([net.width[edge[inner]], net.width[edge[extra]]])[order]
    price = np.concatenate([net.price[:, edge[inner]], np.zeros((2, len(extra)))], 1)[:, order]

    supplies = np.full(len(node), len(net.width))
    signs, amount, reward = np.zeros(len(node)), np.zeros(len(node)), np.zeros((2, len(node)))
    position, chosen = number[at], edge[supply]
    supplies[position], signs[position] = chosen, sign[supply]
    amount[position] = net.width[chosen]
    reward[:, position] = earned[:, terminal[supply]] - net.price[:, chosen]
    activity = problems.activity
    if activity is not None:
        activity = Activity(price[1], reward[1], activity.level[members], activity.largest[members])
    left = FlowProblems(
        nodes=starts,
        edges=np.searchsorted(edge_owner[order], np.append(members, count)),
        tail=place[tail],
        head=place[head],
        cost=price[0],
        capacity=width,
        reward=reward[0],
        supply=amount,
        activity=activity,
    )
    return Reduction(left, members, value, problems, flow, name, supplies, signs, log, beside)
