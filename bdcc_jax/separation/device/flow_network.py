"""The rules by which flow LPs shrink; ``reduction.py`` says why nothing is lost by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.arrays import BoolArray, FloatArray, IntArray
from ...base.compiled import compiled

_MERGED, _IN_SERIES, _JOINED = 0, 1, 2


class FlowNetwork(NamedTuple):
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
def _link(net: FlowNetwork, h: int, node: int) -> None:
    head = net.first[node]
    net.at[h], net.after[h], net.before[h] = node, head, -1
    if head >= 0:
        net.before[head] = h
    net.first[node] = h


@compiled
def _unlink(net: FlowNetwork, h: int) -> None:
    after, before = net.after[h], net.before[h]
    if before >= 0:
        net.after[before] = after
    else:
        net.first[net.at[h]] = after
    if after >= 0:
        net.before[after] = before
    net.at[h] = -1


@compiled
def _remove(net: FlowNetwork, e: int) -> None:
    _unlink(net, 2 * e)
    _unlink(net, 2 * e + 1)


@compiled
def flow_network(
    tail: IntArray, head: IntArray, price: FloatArray, width: FloatArray, nodes: int
) -> FlowNetwork:
    """The edges that carry anything, as lists of halves at their nodes."""
    halves, first = 2 * len(tail), np.full(nodes, -1)
    at, after, before = np.full(halves, -1), np.full(halves, -1), np.full(halves, -1)
    net = FlowNetwork(at, first, after, before, price, width)
    for e in range(len(tail)):
        if width[e] > 0.0:
            _link(net, 2 * e, tail[e])
            _link(net, 2 * e + 1, head[e])
    return net


@compiled
def _total(net: FlowNetwork, node: int) -> float:
    """The width of all edges of a node."""
    total, h = 0.0, net.first[node]
    while h >= 0:
        total += net.width[h >> 1]
        h = net.after[h]
    return total


@compiled
def _fewer(net: FlowNetwork, node: int, edges: int) -> bool:
    """Whether a node has fewer than so many edges."""
    h = net.first[node]
    while h >= 0 and edges > 0:
        edges, h = edges - 1, net.after[h]
    return edges > 0


@compiled
def _merge(net: FlowNetwork, u: int, mark: IntArray, log: list[int], beside: FloatArray) -> None:
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
def _join(net: FlowNetwork, via: int, log: list[int]) -> None:
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
def _connect(net: FlowNetwork, g: int, h: int, log: list[int]) -> None:
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
    net: FlowNetwork,
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
def distances(
    net: FlowNetwork, source: int, price: FloatArray, distance: FloatArray, via: IntArray
) -> None:
    """Shortest distances from the source, by label correction; they are infinite before.

    The last edge of a shortest path is that of the half-edge ``via``, at its other end.
    """
    queue, i = [source], 0
    distance[source] = 0.0
    while i < len(queue):
        u = queue[i]
        i, h = i + 1, net.first[u]
        while h >= 0:
            v, length = net.at[h ^ 1], distance[u] + price[h >> 1]
            if length < distance[v]:
                distance[v], via[v] = length, h
                queue.append(v)
            h = net.after[h]


@compiled
def _prune(
    net: FlowNetwork,
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
def _fill(net: FlowNetwork, root: int, terminal: int, earned: float, flow: FloatArray) -> float:
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
def shrink_all(
    net: FlowNetwork,
    nodes: IntArray,
    earned: FloatArray,
    price: FloatArray,
    most_earned: FloatArray,
    with_activity: bool,
    stop: BoolArray,
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray]:
    """Shrink every problem: what it earns, flows on edges from T to S, and how to go back.

    Another thread may set ``stop``: the problems that are left then stay as they are.
    """
    value, edges = np.zeros(len(nodes) - 1), len(net.width)
    flow, beside, mark = np.zeros(edges + 1), np.zeros(edges), np.full(len(net.first), -1)
    near, far = np.zeros(len(net.first)), np.zeros(len(net.first))
    via = np.full(len(net.first), -1)
    log = [0 for _ in range(0)]
    for b in range(len(nodes) - 1):
        if stop[0]:
            break
        root, end, terminal = nodes[b], nodes[b + 1], nodes[-1] + b
        filled = -1.0
        while value[b] > filled:  # what is left may have fallen apart
            filled = value[b]
            if np.isfinite(most_earned[b]):
                near[root:end], far[root:end] = np.inf, np.inf
                near[terminal], far[terminal] = np.inf, np.inf
                distances(net, root, price, near, via)
                distances(net, terminal, price, far, via)
                _prune(net, root, end, price, most_earned[b], near, far)
            while _shrink(net, root, end, terminal, mark, log, beside):
                if not with_activity:
                    value[b] += _fill(net, root, terminal, earned[b], flow)
    return value, flow, np.array(log, dtype=np.int64), beside


@compiled
def undo(log: IntArray, beside: FloatArray, flow: FloatArray) -> None:
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
