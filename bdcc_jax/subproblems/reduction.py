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
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..compiled import compiled
from .flow_problems import Activity, FlowProblems

NEGLIGIBLE = 1e-9
"""Prices below this part of the largest reward count as zero."""

_MERGED, _IN_SERIES, _JOINED = 0, 1, 2


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
        _undo(self._log, self._beside, every)
        along, sent = np.split(every[:-1], [len(original.cost)])
        return (
            np.clip(along, -original.capacity, original.capacity),
            np.clip(sent, 0.0, original.supply),
        )


def reduce_flows(problems: FlowProblems) -> Reduction:
    """Apply the rules until none applies."""
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
    network = _network(
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
    steps = _reduce(network, problems.nodes, earned[0], total, most_earned, activity is not None)
    return _what_is_left(problems, network, earned, *steps)


class _Network(NamedTuple):
    """All problems while they shrink; behind the nodes of all of them come their terminals T.

    Edge e has the half-edges 2 e and 2 e + 1, one at each end. Half-edge h is in the doubly linked
    list of the node at[h]; at[h] < 0: the edge is gone.
    """

    at: IntArray
    first: IntArray
    after: IntArray
    before: IntArray
    price: FloatArray
    width: FloatArray


@compiled
def _link(net: _Network, h: int, node: int) -> None:
    head = net.first[node]
    net.at[h], net.after[h], net.before[h] = node, head, -1
    if head >= 0:
        net.before[head] = h
    net.first[node] = h


@compiled
def _unlink(net: _Network, h: int) -> None:
    after, before = net.after[h], net.before[h]
    if before >= 0:
        net.after[before] = after
    else:
        net.first[net.at[h]] = after
    if after >= 0:
        net.before[after] = before
    net.at[h] = -1


@compiled
def _remove(net: _Network, e: int) -> None:
    _unlink(net, 2 * e)
    _unlink(net, 2 * e + 1)


@compiled
def _network(
    tail: IntArray, head: IntArray, price: FloatArray, width: FloatArray, nodes: int
) -> _Network:
    halves, first = 2 * len(tail), np.full(nodes, -1)
    at, after, before = np.full(halves, -1), np.full(halves, -1), np.full(halves, -1)
    net = _Network(at, first, after, before, price, width)
    for e in range(len(tail)):
        if width[e] > 0.0:
            _link(net, 2 * e, tail[e])
            _link(net, 2 * e + 1, head[e])
    return net


@compiled
def _total(net: _Network, node: int) -> float:
    """The width of all edges of a node."""
    total, h = 0.0, net.first[node]
    while h >= 0:
        total += net.width[h >> 1]
        h = net.after[h]
    return total


@compiled
def _fewer(net: _Network, node: int, edges: int) -> bool:
    """Whether a node has fewer than so many edges."""
    h = net.first[node]
    while h >= 0 and edges > 0:
        edges, h = edges - 1, net.after[h]
    return edges > 0


@compiled
def _merge(net: _Network, u: int, mark: IntArray, log: list[int], beside: FloatArray) -> None:
    """Count parallel edges of a node as one; marks are half-edges seen before, if still true."""
    h = net.first[u]
    while h >= 0:
        e, other, following, twin = h >> 1, net.at[h ^ 1], net.after[h], mark[net.at[h ^ 1]]
        if (
            twin >= 0
            and twin != h
            and net.at[twin] == u
            and net.at[twin ^ 1] == other
            and net.price[0, twin >> 1] == net.price[0, e]
            and net.price[1, twin >> 1] == net.price[1, e]
        ):
            log.extend((h, twin, _MERGED))
            beside[e] = net.width[twin >> 1]
            net.width[twin >> 1] += net.width[e]
            _remove(net, e)
        else:
            mark[other] = h
        h = following


@compiled
def _join(net: _Network, via: int, log: list[int]) -> None:
    """Move all edges from the near end of a half-edge to the far one."""
    u, v = net.at[via], net.at[via ^ 1]
    _remove(net, via >> 1)
    count, h = 0, net.first[u]
    while h >= 0:
        following = net.after[h]
        if net.at[h ^ 1] == v:  # beside an edge without a price, one with a price is useless
            _remove(net, h >> 1)
        else:
            _unlink(net, h)
            _link(net, h, v)
            log.append(h)
            count += 1
        h = following
    log.extend((count, via, _JOINED))


@compiled
def _connect(net: _Network, g: int, h: int, log: list[int]) -> None:
    """Make one edge of the only two edges of a node."""
    log.extend((g, h, _IN_SERIES))
    other = net.at[h ^ 1]
    net.price[0, g >> 1] += net.price[0, h >> 1]
    net.price[1, g >> 1] += net.price[1, h >> 1]
    net.width[g >> 1] = min(net.width[g >> 1], net.width[h >> 1])
    _remove(net, h >> 1)
    _unlink(net, g)
    _link(net, g, other)


@compiled
def _shrink(
    net: _Network,
    root: int,
    end: int,
    terminal: int,
    mark: IntArray,
    log: list[int],
    beside: FloatArray,
) -> bool:
    """Apply the rules to every node between the root and `end`; whether one applied."""
    at_root, at_terminal, changed = _total(net, root), _total(net, terminal), False
    for u in range(root + 1, end):
        _merge(net, u, mark, log, beside)
        degree, total, widest, last, h = 0, 0.0, -1, -1, net.first[u]
        while h >= 0:
            e = h >> 1
            degree, total = degree + 1, total + net.width[e]
            free = net.price[0, e] == 0.0 and net.price[1, e] == 0.0
            if free and (widest < 0 or net.width[e] > net.width[widest >> 1]):
                widest = h
            last, h = h, net.after[h]
        if degree == 1 or (degree == 2 and net.at[net.first[u] ^ 1] == net.at[last ^ 1]):
            while net.first[u] >= 0:
                _remove(net, net.first[u] >> 1)
            changed = True
            continue
        if widest >= 0:
            # What flows is limited by the edges at T and at S, but not by this one once it is gone.
            other, width = net.at[widest ^ 1], net.width[widest >> 1]
            rest = total - width
            most = at_terminal if other == root else at_root
            if other not in (root, terminal):
                most = min(at_root, at_terminal)
            if width >= min(rest, most):
                if other == root:
                    at_root += max(0.0, rest - width)
                elif other == terminal:
                    at_terminal += max(0.0, rest - width)
                elif _fewer(net, other, degree):
                    widest ^= 1
                _join(net, widest, log)
                changed = True
                continue
        if degree == 2:
            _connect(net, net.first[u], last, log)
            changed = True
    return changed


@compiled
def _distances(net: _Network, source: int, price: FloatArray, distance: FloatArray) -> None:
    """Shortest distances from the source, by label correction; they are infinite before."""
    queue, i = [source], 0
    distance[source] = 0.0
    while i < len(queue):
        u = queue[i]
        i, h = i + 1, net.first[u]
        while h >= 0:
            v, length = net.at[h ^ 1], distance[u] + price[h >> 1]
            if length < distance[v]:
                distance[v] = length
                queue.append(v)
            h = net.after[h]


@compiled
def _prune(
    net: _Network,
    root: int,
    end: int,
    price: FloatArray,
    earned: float,
    near: FloatArray,
    far: FloatArray,
) -> None:
    """Remove the edges that lie on no path that pays, given the distances from S and from T."""
    for u in range(root, end):
        h = net.first[u]
        while h >= 0:
            v, following = net.at[h ^ 1], net.after[h]
            if min(near[u] + far[v], near[v] + far[u]) + price[h >> 1] >= earned:
                _remove(net, h >> 1)
            h = following


@compiled
def _fill(net: _Network, root: int, terminal: int, earned: float, flow: FloatArray) -> float:
    """Fill the edges from T to S that pay, and remove them; what this earns."""
    value, h = 0.0, net.first[terminal]
    while h >= 0:
        e, following = h >> 1, net.after[h]
        if net.at[h ^ 1] == root:
            if net.price[0, e] < earned:
                flow[e] = net.width[e] * (1.0 - 2.0 * (h & 1))
                value += (earned - net.price[0, e]) * net.width[e]
            _remove(net, e)
        h = following
    return value


@compiled
def _reduce(
    net: _Network,
    nodes: IntArray,
    earned: FloatArray,
    price: FloatArray,
    most_earned: FloatArray,
    with_activity: bool,
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Shrink every problem: what it earns, flows on edges from T to S, and how to go back."""
    value, edges = np.zeros(len(nodes) - 1), len(net.width)
    flow, beside, mark = np.zeros(edges + 1), np.zeros(edges), np.full(len(net.first), -1)
    near, far = np.zeros(len(net.first)), np.zeros(len(net.first))
    log = [0 for _ in range(0)]
    for b in range(len(nodes) - 1):
        root, end, terminal = nodes[b], nodes[b + 1], nodes[-1] + b
        filled = -1.0
        while value[b] > filled:  # what is left may have fallen apart
            filled = value[b]
            if np.isfinite(most_earned[b]):
                near[root:end], far[root:end] = np.inf, np.inf
                near[terminal], far[terminal] = np.inf, np.inf
                _distances(net, root, price, near)
                _distances(net, terminal, price, far)
                _prune(net, root, end, price, most_earned[b], near, far)
            while _shrink(net, root, end, terminal, mark, log, beside):
                if not with_activity:
                    value[b] += _fill(net, root, terminal, earned[b], flow)
    return value, flow, np.array(log), beside


@compiled
def _undo(log: IntArray, beside: FloatArray, flow: FloatArray) -> None:
    """Take the steps of a log back, the last one first."""
    i = len(log)
    while i > 0:
        g, h, kind = log[i - 3], log[i - 2], log[i - 1]
        i -= 3
        if kind == _JOINED:  # what the other g edges of the node send goes through that of h
            sent = 0.0
            for k in log[i - g : i]:
                sent += flow[k >> 1] * (1.0 - 2.0 * (k & 1))
            flow[h >> 1] = -sent * (1.0 - 2.0 * (h & 1))
            i -= g
            continue
        same = 1.0 - 2.0 * ((g ^ h) & 1)
        if kind == _IN_SERIES:
            flow[h >> 1] = -same * flow[g >> 1]
        else:
            kept = min(max(flow[h >> 1], -beside[g >> 1]), beside[g >> 1])
            flow[g >> 1] = same * (flow[h >> 1] - kept)
            flow[h >> 1] = kept


def _what_is_left(
    problems: FlowProblems,
    net: _Network,
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
