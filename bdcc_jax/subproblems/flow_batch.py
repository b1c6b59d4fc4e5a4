"""Batches of small flow LPs: the ragged host layout and the padded device layout.

One LP lives on an undirected graph whose local node 0 is the root:

    minimise    sum_e cost_e |f_e|  -  sum_v reward_v g_v
    subject to  (net flow out of v) = g_v            for every node v but the root
                |f_e| <= capacity_e,   0 <= g_v <= supply_v
                sum_v r_v g_v - sum_e c_e |f_e| >= level         (only with an `Activity`)

Padded layout.  The flow out of v along its incident edges sits in *slots*, `width` of them to a
row; a node of larger degree owns several rows that share one potential.  An edge has one slot at
each end, holding f and -f, so that the divergence is a sum over the last axis and the potential
difference needs a single gather.  The root needs no slots: nothing is conserved there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WIDTHS = (8, 32)
"""Slots to a row: sparse (images) and dense (social, modularity) graphs."""

_SLOT_COST = 20
"""One slot costs about as much time as this many entries of the dense preconditioner (measured)."""


class Activity(NamedTuple):
    """The row ``sum_v reward_v g_v - sum_e cost_e |f_e| >= level``, one to a problem.

    Parameters
    ----------
    cost : (edges,) floats, >= 0
    reward : (nodes,) floats
    level : (problems,) floats
    """

    cost: Floats
    reward: Floats
    level: Floats


@dataclass(frozen=True, eq=False)
class FlowProblems:
    """Independent flow LPs, laid end to end.

    Parameters
    ----------
    nodes, edges : (problems + 1,) ints
        Problem b owns nodes ``nodes[b]:nodes[b + 1]`` and edges ``edges[b]:edges[b + 1]``.
    tail, head : (edges,) ints
        Local node numbers, 0 is the root.  No loops.
    cost, capacity : (edges,) floats
        Price and limit of one unit of flow, the same in both directions.
    reward, supply : (nodes,) floats
        Gain and limit of one unit injected at a node.
    activity : Activity, optional

    Examples
    --------
    One edge from node 1 to the root:

    >>> import numpy as np
    >>> problems = FlowProblems(
    ...     nodes=np.array([0, 2]), edges=np.array([0, 1]), tail=np.array([1]), head=np.array([0]),
    ...     cost=np.array([0.25]), capacity=np.array([2.0]),
    ...     reward=np.array([0.0, 1.0]), supply=np.array([0.0, 3.0]))
    >>> len(problems)
    1
    """

    nodes: Ints
    edges: Ints
    tail: Ints
    head: Ints
    cost: Floats
    capacity: Floats
    reward: Floats
    supply: Floats
    activity: Activity | None = None

    def __len__(self) -> int:
        return len(self.nodes) - 1


def magnanti_wong(
    problems: FlowProblems, value: Floats, cost: Floats, charge: Floats, tau: float
) -> FlowProblems:
    """The cheapest flow that keeps at least `tau` of the value of every problem.

    Parameters
    ----------
    problems : FlowProblems
    value : (problems,) floats, >= 0
        The value reached before, ``-Solution.objective``.
    cost : (edges,) floats, > 0
        New price of a unit of flow.
    charge : (nodes,) floats, > 0
        New price of a unit of supply.
    tau : float
        Strictly between 0 and 1.
    """
    if not 0.0 < tau < 1.0:
        raise ValueError(f"tau is {tau}, but must lie strictly between 0 and 1")
    activity = Activity(problems.cost, problems.reward, tau * np.asarray(value, float))
    return replace(problems, cost=cost, reward=-np.asarray(charge, float), activity=activity)


class Padded(NamedTuple):
    """Problems of one shape, scaled to unit flow and unit price (arrays of the host).

    Attributes
    ----------
    neighbor : (B, R, W) int32
        First row of the node at the other end of a slot; the own row where there is no edge.
    owner : (B, R) int32
        First row of the node that a row belongs to.
    cost, capacity, active_cost : (B, R, W)
    reward, supply, active_reward : (B, R)
        Non-zero in first rows only.
    level : (B,)
        ``-inf`` for problems without an activity row.
    """

    neighbor: NDArray[np.int32]
    owner: NDArray[np.int32]
    cost: Floats
    capacity: Floats
    reward: Floats
    supply: Floats
    active_cost: Floats
    active_reward: Floats
    level: Floats


class Layout(NamedTuple):
    """Where the ragged entries of some problems sit in their padded arrays.

    Attributes
    ----------
    index : (B,) ints
        The problems, by number in the whole batch.
    node, row : (nodes of the group,) ints
        Their nodes in the ragged arrays, and the flat row of each in (B, R).
    edge, slot, sign : (edge ends of the group,)
        Their edges in the ragged arrays, the flat slot of each end in (B, R, W), and whether flow
        from tail to head leaves (1) or enters (-1) there.
    flow_unit, price_unit, active_unit : (B,) floats
        What the padded amounts, prices, and prices of the activity row were divided by.
    padded : Padded
    """

    index: Ints
    node: Ints
    row: Ints
    edge: Ints
    slot: Ints
    sign: Floats
    flow_unit: Floats
    price_unit: Floats
    active_unit: Floats
    padded: Padded


class _Sizes(NamedTuple):
    """Per-node and per-problem quantities of the whole ragged batch."""

    problem_of_node: Ints
    problem_of_edge: Ints
    tail: Ints
    head: Ints
    degree: Ints
    is_root: NDArray[np.bool_]


def _sizes(problems: FlowProblems) -> _Sizes:
    count = len(problems)
    problem_of_node = np.repeat(np.arange(count), np.diff(problems.nodes))
    problem_of_edge = np.repeat(np.arange(count), np.diff(problems.edges))
    tail = problems.nodes[problem_of_edge] + problems.tail
    head = problems.nodes[problem_of_edge] + problems.head
    is_root = np.zeros(len(problem_of_node), bool)
    is_root[problems.nodes[:-1]] = True
    degree = np.bincount(np.concatenate([tail, head]), minlength=len(is_root))
    return _Sizes(
        problem_of_node, problem_of_edge, tail, head, np.where(is_root, 0, degree), is_root
    )


def row_bucket(rows: Ints) -> Ints:
    """The next size of 16, 32, 48, 64, 96, 128, 192, ... (at most a third is padding)."""
    power = 2 ** np.ceil(np.log2(np.maximum(rows, 16))).astype(np.int64)
    return np.where((power >= 64) & (rows <= power * 3 // 4), power * 3 // 4, power)


def layouts(problems: FlowProblems, entries: int) -> list[Layout]:
    """Sort problems by shape and pad them, at most `entries` of the preconditioners to a group."""
    sizes = _sizes(problems)
    flow, price, active = _units(problems, sizes)
    rows = np.stack(
        [
            np.bincount(
                sizes.problem_of_node, np.maximum(1, -(-sizes.degree // width)), len(problems)
            )
            for width in WIDTHS
        ]
    ).astype(np.int64)
    widths = np.array(WIDTHS)[:, None]
    choice = np.argmin(rows**2 + _SLOT_COST * rows * widths, axis=0)
    bucket = row_bucket(rows[choice, np.arange(len(problems))])
    groups = []
    for width, size in np.unique(np.stack([np.array(WIDTHS)[choice], bucket], 1), axis=0):
        members = np.flatnonzero((np.array(WIDTHS)[choice] == width) & (bucket == size))
        most = max(8, entries // int(size) ** 2)
        for start in range(0, len(members), most):
            index = members[start : start + most]
            groups.append(
                _layout(problems, sizes, index, int(width), int(size), flow, price, active)
            )
    return groups


def _units(problems: FlowProblems, sizes: _Sizes) -> tuple[Floats, Floats, Floats]:
    """Units that make the largest possible throughput, and the typical price, equal to 1.

    No flow exceeds what the supplies, the edges at the supplies, or the edges at the root can
    carry: the smallest of the three is the unit of flow, and capacities are clipped to it.
    """
    count, nodes = len(problems), len(sizes.is_root)
    ends = np.concatenate([sizes.tail, sizes.head])
    reach = np.bincount(ends, np.tile(problems.capacity, 2), nodes)
    inflow = np.bincount(sizes.problem_of_node, np.minimum(problems.supply, reach), count)
    flow = np.minimum(inflow, reach[problems.nodes[:-1]])
    flow = np.where(flow > 0, flow, 1.0)

    offered = problems.supply > 0
    best = np.zeros(count)
    reward = problems.reward if problems.activity is None else problems.activity.reward
    np.maximum.at(best, sizes.problem_of_node[offered], np.abs(reward[offered]))
    best = np.where(best > 0, best, 1.0)
    if problems.activity is None:
        return flow, best, best
    capacity = np.minimum(problems.capacity, flow[sizes.problem_of_edge])
    total = np.bincount(sizes.problem_of_edge, capacity, count)
    paid = np.bincount(sizes.problem_of_edge, capacity * problems.cost, count)
    price = np.where(paid > 0, paid / np.where(total > 0, total, 1.0), 1.0)
    return flow, price, best


def _layout(
    problems: FlowProblems,
    sizes: _Sizes,
    index: Ints,
    width: int,
    size: int,
    flow: Floats,
    price: Floats,
    active: Floats,
) -> Layout:
    batch = len(index)
    place = np.full(len(problems), -1)
    place[index] = np.arange(batch)
    node = np.flatnonzero(place[sizes.problem_of_node] >= 0)
    edge = np.flatnonzero(place[sizes.problem_of_edge] >= 0)
    node_place = place[sizes.problem_of_node[node]]

    # First flat row of every node: the rows of one problem are consecutive, the root's first.
    owned = np.maximum(1, -(-sizes.degree[node] // width))
    before = np.cumsum(owned) - owned
    first = before[np.searchsorted(node_place, np.arange(batch))]
    row = before - first[node_place] + node_place * size
    row_of = np.zeros(len(sizes.is_root), np.int64)
    row_of[node] = row

    # Both ends of every edge, roots left out, numbered along each node.
    here = np.concatenate([sizes.tail[edge], sizes.head[edge]])
    there = np.concatenate([sizes.head[edge], sizes.tail[edge]])
    end_edge = np.tile(edge, 2)
    order = np.argsort(here, kind="stable")
    order = order[~sizes.is_root[here[order]]]
    here, there, end_edge = here[order], there[order], end_edge[order]
    rank = np.arange(len(here)) - np.searchsorted(here, here)
    end_slot = row_of[here] * width + rank
    sign = np.where(here == sizes.tail[end_edge], 1.0, -1.0)

    def on_slots(values: Floats, unit: Floats) -> Floats:
        padded = np.zeros(batch * size * width)
        padded[end_slot] = values[end_edge] / unit[sizes.problem_of_edge[end_edge]]
        return padded.reshape(batch, size, width)

    def on_rows(values: Floats, unit: Floats) -> Floats:
        padded = np.zeros(batch * size)
        padded[row] = values[node] / unit[sizes.problem_of_node[node]]
        return padded.reshape(batch, size)

    owner = np.arange(batch * size)
    owner[np.repeat(row, owned) + np.arange(owned.sum()) - np.repeat(before, owned)] = np.repeat(
        row, owned
    )
    neighbor = np.repeat(owner, width)
    neighbor[end_slot] = row_of[there]
    offset = np.arange(batch)[:, None] * size
    activity = problems.activity
    if activity is None:
        activity = Activity(problems.cost, problems.reward, np.full(len(problems), -np.inf))
    reach = np.minimum(problems.capacity, flow[sizes.problem_of_edge])
    offer = np.minimum(problems.supply, flow[sizes.problem_of_node]) * ~sizes.is_root
    padded = Padded(
        neighbor=(neighbor.reshape(batch, size, width) - offset[:, :, None]).astype(np.int32),
        owner=(owner.reshape(batch, size) - offset).astype(np.int32),
        cost=on_slots(problems.cost, price),
        capacity=on_slots(reach, flow),
        reward=on_rows(problems.reward, price),
        supply=on_rows(offer, flow),
        active_cost=on_slots(activity.cost, active),
        active_reward=on_rows(activity.reward, active),
        level=activity.level[index] / (active * flow)[index],
    )
    return Layout(
        index, node, row, end_edge, end_slot, sign, flow[index], price[index], active[index], padded
    )
