"""The padded device layout of :mod:`.flow_problems`.

The flow out of a node along its incident edges sits in *slots*, `width` of them to
a row.  The first rows are the nodes; a node of larger degree owns some of the extra rows behind
them.  An edge has one slot at each end, holding f and -f, so that the divergence is a sum over the
last axis and the potential difference needs a single gather.  The root needs no slots: nothing is
conserved there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray as Floats
from ...base.arrays import IntArray as Ints
from .flow_problems import Activity, FlowProblems

WIDTHS = (4, 32)
"""Slots to a row: sparse (images) and dense (social, modularity) graphs."""

_SLOT_COST = 20
"""One slot costs about as much time as this many entries of the dense preconditioner (measured)."""

FEW_NODES = 24
"""Problems with fewer nodes have less of a choice of shapes."""

UNIFORM = 32
"""Problems in every call on a CPU, a multiple of the chunks that they are solved in: one number
for all, as every other would be compiled for every shape."""

_SHARED_ENTRIES = 0.25
"""A slot of problems that share a preconditioner counts as this many entries of one: the product
of two matrices wants many columns."""


class Padded(NamedTuple):
    """Problems of one shape, scaled to unit flow and unit price (arrays of the host).

    N nodes, X extra rows, R = N + X rows of W slots; 0 wherever there is nothing.

    Attributes
    ----------
    neighbor : (B, R, W) int32
        The node at the other end of a slot; the row's own node where there is no edge.
    owner : (B, X) int32
        The node that an extra row belongs to.
    cost, capacity, active_cost : (B, R, W)
    reward, supply, active_reward : (B, N)
    level : (B,)
        ``-inf`` for problems without an activity row.
    root : (B,) int32, optional
        For problems on one graph: the root of each. `neighbor` and `owner` then have B = 1.
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
    root: NDArray[np.int32] | None = None


class Layout(NamedTuple):
    """Where the ragged entries of some problems sit in their padded arrays.

    Attributes
    ----------
    members : (B,) ints
        The problems, by number in the whole batch.
    node, row : (nodes of the group,) ints
        Their nodes in the ragged arrays, and the flat place of each in (B, N).
    edge, slot, sign : (edge ends of the group,)
        Their edges in the ragged arrays, the flat slot of each end in (B, R, W), and whether flow
        from tail to head leaves (1) or enters (-1) there.
    flow_unit, price_unit, active_unit : (B,) floats
        What the padded amounts, prices, and prices of the activity row were divided by.
    padded : Padded
    batch : int
        Problems in a call on each device, with empty ones to fill up.
    """

    members: Ints
    node: Ints
    row: Ints
    edge: Ints
    slot: Ints
    sign: Floats
    flow_unit: Floats
    price_unit: Floats
    active_unit: Floats
    padded: Padded
    batch: int

    @property
    def bytes(self) -> int:
        """Memory that the group takes at most on each device."""
        (_, rows, width), size = self.padded.cost.shape, self.padded.supply.shape[1]
        return self.batch * problem_bytes(width, size, rows - size)


def _concatenate(pointer: Ints, index: Ints) -> tuple[Ints, Ints, Ints]:
    """Entries of the chosen problems: their numbers, their problems' places, the new pointer."""
    counts = np.diff(pointer)[index]
    fresh = np.concatenate([[0], np.cumsum(counts)])
    place = np.repeat(np.arange(len(index)), counts)
    return pointer[index][place] + np.arange(len(place)) - fresh[place], place, fresh


def _degrees(problems: FlowProblems) -> Ints:
    """Number of slots that every node needs: none at the roots."""
    edge_offset = np.repeat(problems.nodes[:-1], np.diff(problems.edges))
    ends = np.concatenate([problems.tail + edge_offset, problems.head + edge_offset])
    degree = np.bincount(ends, minlength=problems.nodes[-1])
    degree[problems.nodes[:-1]] = 0
    return degree


def _extra_rows(degree: Ints, width: int) -> Ints:
    return np.maximum(0, -(-degree // width) - 1)


def node_bucket(nodes: Ints, coarse: bool) -> Ints:
    """The next size of 4, 8, 16, 24, 32, 48, 64, 96, ..., or of 16, 32, 64, ..."""
    power = 2 ** np.ceil(np.log2(np.maximum(nodes, 16 if coarse else 4))).astype(np.int64)
    between = (power >= 32) & (nodes <= power * 3 // 4) & (not coarse)
    return np.where(between, power * 3 // 4, power)


def extra_bucket(rows: Ints, nodes: Ints, coarse: bool) -> Ints:
    """The next size of 0, 1/4, 1/2, 1, ... times the number of nodes; or of 1/2, 2, ...

    Few nodes have 1/4, 1, ... times as many, or 2, ...: shapes are compiled, and these are cheap.
    """
    few = (nodes > WIDTHS[0]) & (nodes < FEW_NODES)
    least = np.where(few, 2.0, 0.5) if coarse else 0.25
    doublings = np.ceil(np.log2(np.maximum(rows / (least * nodes), 1.0)))
    doublings += np.where(few | coarse, doublings % 2, 0)
    return np.where((rows > 0) | few | coarse, least * nodes * 2**doublings, 0).astype(np.int64)


def batch_bucket(count: int) -> int:
    """The next size of 8, 32, 128, ..."""
    size = 8
    while size < count:
        size *= 4
    return size


def batch_size(count: int, most: int) -> int:
    """How many of `count` problems to take at once: a bucket at least three quarters full."""
    size = batch_bucket(count)
    while size > 8 and (size > most or 3 * size > 4 * count):
        size //= 4
    return size


def problem_bytes(width: int, size: int, spare: int) -> int:
    """Device memory that one problem of a shape takes at most, in float64 and while it is prepared.

    Its matrix as it is inverted, and its inverse; and what lives on slots: the data, the iterates,
    and what is in flight.
    """
    rows = size + spare
    return 8 * (6 * size * rows + 24 * rows * width)


def layouts(
    problems: FlowProblems,
    entries: int,
    *,
    members: Ints | None = None,
    uniform: bool = False,
    coarse: bool = False,
    memory: float = np.inf,
    shards: int = 1,
) -> Iterator[Layout]:
    """Sort problems by shape and pad them, group by group as they are asked for.

    Parameters
    ----------
    problems : FlowProblems
    entries : int
        Of the preconditioners of a group, at most, in each shard.
    members : ints, optional
        Those that are meant, by number. Default: all.
    uniform : bool
        Whether the batches of a shape are all of the same size, ``UNIFORM`` if that fits.
    coarse : bool
        Few shapes, for few problems: padding costs less than compiling.
    memory : float
        Bytes that a group may take, in each shard; but 8 problems are always taken.
    shards : int
        Parts that a group will be divided into.
    """
    meant = np.arange(len(problems)) if members is None else members
    shapes = _shapes(problems, coarse)[meant]
    for shape in np.unique(shapes, axis=0):
        members = meant[(shapes == shape).all(1)]
        width, size, spare = (int(n) for n in shape)
        # What a problem holds for itself: its preconditioner, or its slots if that is shared.
        alone = problems.roots is None
        share = (size + spare) * (size if alone else _SHARED_ENTRIES * width)
        most = int(min(entries / share, memory / problem_bytes(width, size, spare)))
        while len(members):
            each = -(-len(members) // shards)
            batch = batch_size(UNIFORM if uniform else each, most)
            chosen, members = np.split(members, [shards * batch])
            padded_to = batch if uniform else batch_bucket(-(-len(chosen) // shards))
            yield _layout(problems, chosen, width, size, spare)._replace(batch=padded_to)


def _shapes(problems: FlowProblems, coarse: bool) -> Ints:
    """(width, nodes, extra rows) for every problem: the cheapest, whatever the others are.

    The order of sums follows the shape: a problem has one answer, in any company.
    """
    count, size, degree = len(problems), np.diff(problems.nodes), _degrees(problems)
    owner = np.repeat(np.arange(count), size)
    extra = np.stack([np.bincount(owner, _extra_rows(degree, w), count) for w in WIDTHS])
    # No extra rows for the smallest problems: those that need some are not so small.
    nodes = node_bucket(np.where(extra[0] > 0, np.maximum(size, WIDTHS[0] + 1), size), coarse)
    extra = extra_bucket(extra, nodes, coarse)
    widths = np.array(WIDTHS)[:, None]
    choice = np.argmin((nodes + extra) * (nodes + _SLOT_COST * widths), axis=0)
    return np.stack([widths[choice, 0], nodes, extra[choice, np.arange(count)]], 1)


def _units(
    problems: FlowProblems,
    index: Ints,
    node: Ints,
    edge: Ints,
    place: Ints,
    edge_place: Ints,
    ends: Ints,
) -> tuple[Floats, Floats, Floats, Floats]:
    """The most that can flow, and units that make flows and prices about 1.

    No flow exceeds what the supplies, the edges at the supplies, or the edges at the root can
    carry.  That is the unit of flow, unless a low level of activity asks for much less.
    """
    count = place[-1] + 1
    capacity, supply = problems.capacity[edge], problems.supply[node]
    reach = np.bincount(ends, np.tile(capacity, 2), len(node))
    root = np.searchsorted(place, np.arange(count))
    if problems.roots is not None:
        root = root + problems.roots[index]
    inflow = np.bincount(place, np.minimum(supply, reach), count)
    flow = np.minimum(inflow, reach[root])
    flow = np.where(flow > 0, flow, 1.0)

    reward = problems.reward if problems.activity is None else problems.activity.reward
    best = np.zeros(count)
    np.maximum.at(best, place, np.where(supply > 0, np.abs(reward[node]), 0.0))
    best = np.where(best > 0, best, 1.0)
    if problems.activity is None:
        return flow, flow, best, best
    carried = np.minimum(capacity, flow[edge_place])
    paid = np.bincount(edge_place, carried * problems.cost[edge], count)
    price = paid / np.maximum(np.bincount(edge_place, carried, count), 1e-300)
    needed = problems.activity.level[index] / best
    unit = np.where(needed > 0, np.minimum(flow, needed), flow)
    return flow, unit, np.where(price > 0, price, 1.0), best


def _layout(problems: FlowProblems, index: Ints, width: int, size: int, spare: int) -> Layout:
    batch, rows = len(index), size + spare
    node, place, pointer = _concatenate(problems.nodes, index)
    edge, edge_place, _ = _concatenate(problems.edges, index)
    local = np.arange(len(node)) - pointer[place]
    tail = problems.tail[edge] + pointer[edge_place]
    head = problems.head[edge] + pointer[edge_place]
    most, flow, price, active = _units(
        problems, index, node, edge, place, edge_place, np.concatenate([tail, head])
    )

    # Both ends of every edge, roots left out, numbered along each node.
    here, there = np.concatenate([tail, head]), np.concatenate([head, tail])
    order = np.argsort(here, kind="stable")
    order = order[local[here[order]] > 0]
    sign = np.where(order < len(edge), 1.0, -1.0)
    here, there, ends = here[order], there[order], np.tile(np.arange(len(edge)), 2)[order]

    # The extra rows of every node follow each other behind the nodes' own rows.
    more = _extra_rows(np.bincount(here, minlength=len(node)), width)
    before = np.cumsum(more) - more
    first_extra = size + before - before[pointer[:-1]][place]
    owning = np.repeat(np.arange(len(node)), more)
    owner = np.zeros((batch, spare), np.int32)
    nth = np.arange(len(owning)) - before[owning]
    owner[place[owning], first_extra[owning] - size + nth] = local[owning]

    row_rank, slot = np.divmod(np.arange(len(here)) - np.searchsorted(here, here), width)
    row = np.where(row_rank == 0, local[here], first_extra[here] + row_rank - 1)
    slot += (place[here] * rows + row) * width
    own = np.concatenate([np.tile(np.arange(size, dtype=np.int32), (batch, 1)), owner], 1)
    neighbor = np.repeat(own.reshape(-1), width)
    neighbor[slot] = local[there]

    def on_slots(values: Floats, unit: Floats) -> Floats:
        padded = np.zeros(batch * rows * width)
        padded[slot] = (values / unit[edge_place])[ends]
        return padded.reshape(batch, rows, width)

    def on_nodes(values: Floats, unit: Floats) -> Floats:
        padded = np.zeros((batch, size))
        padded[place, local] = values / unit[place]
        return padded

    activity = problems.activity
    if activity is None:
        none = np.full(len(problems), np.inf)
        activity = Activity(problems.cost, problems.reward, -none, none)
    common = problems.roots is not None
    padded = Padded(
        neighbor=neighbor.reshape(batch, rows, width)[: 1 if common else batch],
        owner=owner[: 1 if common else batch],
        cost=on_slots(problems.cost[edge], price),
        capacity=on_slots(np.minimum(problems.capacity[edge], most[edge_place]), flow),
        reward=on_nodes(problems.reward[node], price),
        supply=on_nodes(np.minimum(problems.supply[node], most[place]) * (local > 0), flow),
        active_cost=on_slots(activity.cost[edge], active),
        active_reward=on_nodes(activity.reward[node], active),
        level=activity.level[index] / (active * flow),
        root=None if problems.roots is None else problems.roots[index].astype(np.int32),
    )
    return Layout(
        index, node, place * size + local, edge[ends], slot, sign, flow, price, active, padded,
        batch_bucket(batch),
    )  # fmt: skip
