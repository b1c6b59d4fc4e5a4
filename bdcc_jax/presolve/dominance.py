r"""Decisions that the edges at one node, or at the two ends of an edge, force.

Write ``w(a, S)`` for the weight between a node and a set, ``A`` and ``B`` for the clusters of the
nodes ``a`` and ``b`` in some clustering.

**Weakening.** Let ``P`` be the positive weight at ``a``, and ``w_ab < -P``. If ``a`` and ``b`` are
together, making ``a`` a cluster of its own gains ``|w_ab| >= P`` and costs at most ``P``: some
optimum cuts ``ab``. For a clustering that does, the weight ``-P`` and the constant ``w_ab + P`` say
the same, and with the weight ``-P`` the argument still holds, so the optimum is the same. (Dropping
the edge would be wrong: nothing else might keep its ends apart.) With ``P = 0`` all edges at ``a``
vanish; a node of degree 2 can then always be contracted.

**Joining.** Let ``w_ab > 0``. If ``a`` and ``b`` are apart, moving ``a`` to ``B`` changes the
objective by ``-w_ab + w(a, A) - w(a, B - b)``, and moving ``b`` to ``A`` by
``-w_ab + w(b, B) - w(b, A - a)``. Mix the two in the proportions ``t`` and ``1 - t``: another node
``x`` adds ``t w_ax - (1 - t) w_bx`` if it is in ``A``, the negative of that if it is in ``B``, and
else 0. So if

    w_ab >= sum over x of |t w_ax - (1 - t) w_bx|        for some t in [0, 1]

then one of the two moves costs nothing, and ``a`` and ``b`` are together in some optimum. ``t = 1``
and ``t = 0`` are the edge criterion of Lange, Karrenbauer and Andres (ICML 2018): an edge that
outweighs the rest of one end (*dominant*). Between them, nodes that see the others alike are joined
(*similar*).

A third move makes ``{a, b}`` a cluster of its own, which changes the objective by
``-w_ab + w(a, A) + w(b, B)``. It costs nothing (*secluded*) if

    w_ab >= sum over x of max(0, w_ax, w_bx).

Minimum cuts in place of the single nodes join hardly anything more, so there are none. Sums are
of float64; a tie is decided with their rounding error, which is that of the objective itself. Sums
of integers are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, FloatArray, IntArray
from ..compiled import compiled
from .steps import DOMINANT, SECLUDED, SIMILAR, WEAKENED, find

ALWAYS_COMPARED = 64
"""Neighbours of up to this degree are always compared; larger ones with larger nodes only."""

HALVINGS = 10
"""How often the search for the best t halves the interval that holds it."""

NONE = -1


class Multigraph(NamedTuple):
    """A graph under contraction: linked lists of half-edges; joined lists are tidied on a visit.

    Half-edges ``2 e`` and ``2 e + 1`` are the two directions of edge ``e``. A half-edge is in the
    list of the node that it leaves, and ``head`` is the node that it entered when last looked at.
    """

    parent: IntArray  # union-find forest of the nodes
    first: IntArray  # half-edge in the list of each node
    last: IntArray
    before: IntArray  # in the list of each half-edge
    after: IntArray
    head: IntArray
    weight: FloatArray  # of each edge
    degree: IntArray  # length of the list
    total: FloatArray  # sum of the absolute weights, as of the last visit
    positive: FloatArray  # sum of the positive weights, likewise
    queue: IntArray  # a ring of nodes to visit
    queued: BoolArray
    limits: IntArray  # where the queue begins, and how long it is
    seen: IntArray  # scratch: the half-edge to each neighbour of the node that is being visited
    pairs: FloatArray  # scratch: weights from two nodes to their common neighbours


class Log(NamedTuple):
    """Steps in local node numbers; ``used`` holds how many there are."""

    kind: IntArray
    a: IntArray
    b: IntArray
    cost: FloatArray
    used: IntArray

    def trimmed(self) -> Log:
        """Copy what is used."""
        kind, a, b, cost, (n,) = self
        return Log(kind[:n].copy(), a[:n].copy(), b[:n].copy(), cost[:n].copy(), self.used)


def multigraph(u: IntArray, v: IntArray, w: FloatArray, changed: BoolArray) -> Multigraph:
    """Build the lists of a graph; the nodes that have ``changed`` set are to be visited."""
    n, m = len(changed), len(w)
    visits = np.flatnonzero(changed)
    queue = np.empty(n, dtype=np.int64)
    queue[: len(visits)] = visits
    half = np.full((3, 2 * m), NONE, dtype=np.int64)
    half[2, 0::2], half[2, 1::2] = v, u
    node = np.full((3, n), NONE, dtype=np.int64)
    graph = Multigraph(
        parent=np.arange(n),
        first=node[0],
        last=node[1],
        before=half[0],
        after=half[1],
        head=half[2],
        weight=w.copy(),
        degree=np.zeros(n, dtype=np.int64),
        total=np.zeros(n),
        positive=np.zeros(n),
        queue=queue,
        queued=changed.copy(),
        limits=np.array([0, len(visits)]),
        seen=node[2],
        pairs=np.empty((2, n)),
    )
    _link_all(graph)
    return graph


def dominate(graph: Multigraph) -> list[Log]:
    """Weaken and join, in place, until nothing more can be; return the steps in order."""
    logs = []
    size = 2 * len(graph.weight) + len(graph.parent)  # one visit always fits
    while graph.limits[1]:
        ends = np.empty((3, size), dtype=np.int64)
        log = Log(ends[0], ends[1], ends[2], np.empty(size), np.zeros(1, dtype=np.int64))
        _dominate(graph, log)
        logs.append(log.trimmed())
    return logs


@compiled
def rest(graph: Multigraph) -> tuple[IntArray, IntArray, FloatArray]:
    """List the edges that are left: their ends and their weights."""
    m = len(graph.weight)
    u, v = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    w = np.empty(m)
    k = 0
    for x in range(len(graph.first)):
        if graph.parent[x] != x:
            continue
        h = graph.first[x]
        while h != NONE:
            y = find(graph.parent, graph.head[h])
            if x < y:
                u[k], v[k], w[k] = x, y, graph.weight[h >> 1]
                k += 1
            h = graph.after[h]
    return u[:k], v[:k], w[:k]


@compiled
def _link_all(graph: Multigraph) -> None:
    for h in range(len(graph.head)):
        x = graph.head[h ^ 1]
        if graph.last[x] == NONE:
            graph.first[x] = h
        else:
            graph.after[graph.last[x]] = h
            graph.before[h] = graph.last[x]
        graph.last[x] = h
        graph.degree[x] += 1
        graph.total[x] += abs(graph.weight[h >> 1])
        graph.positive[x] += max(graph.weight[h >> 1], 0.0)


@compiled
def _unlink(graph: Multigraph, x: int, h: int) -> None:
    """Take a half-edge out of the list of x."""
    before, after = graph.before[h], graph.after[h]
    if before == NONE:
        graph.first[x] = after
    else:
        graph.after[before] = after
    if after == NONE:
        graph.last[x] = before
    else:
        graph.before[after] = before
    graph.degree[x] -= 1


@compiled
def _push(graph: Multigraph, x: int) -> None:
    """Queue a node whose edges have changed."""
    if not graph.queued[x]:
        graph.queued[x] = True
        graph.queue[(graph.limits[0] + graph.limits[1]) % len(graph.queue)] = x
        graph.limits[1] += 1


@compiled
def _record(log: Log, kind: int, a: int, b: int, cost: float) -> None:
    i = log.used[0]
    log.kind[i], log.a[i], log.b[i], log.cost[i] = kind, a, b, cost
    log.used[0] = i + 1


@compiled
def _tidy(graph: Multigraph, x: int) -> None:
    """Sum parallel edges of x, drop its loops and zeros, and note its neighbours in ``seen``."""
    h = graph.first[x]
    while h != NONE:
        following = graph.after[h]
        y = find(graph.parent, graph.head[h])
        graph.head[h] = y
        if y == x:
            _unlink(graph, x, h)  # the loop's other half-edge is in this list too
        elif graph.seen[y] == NONE:
            graph.seen[y] = h
        else:
            graph.weight[graph.seen[y] >> 1] += graph.weight[h >> 1]
            _unlink(graph, x, h)
            _unlink(graph, y, h ^ 1)
            _push(graph, y)
        h = following
    h = graph.first[x]
    while h != NONE:
        if graph.weight[h >> 1] == 0.0:
            _drop(graph, x, h)
        h = graph.after[h]


@compiled
def _drop(graph: Multigraph, x: int, h: int) -> None:
    """Drop the edge of a half-edge of x."""
    y = graph.head[h]
    graph.seen[y] = NONE
    _unlink(graph, x, h)
    _unlink(graph, y, h ^ 1)
    _push(graph, y)


@compiled
def _weaken(graph: Multigraph, x: int, log: Log) -> None:
    """Weaken the negative edges of x to its positive weight, and sum up what is left."""
    positive = 0.0
    h = graph.first[x]
    while h != NONE:
        positive += max(graph.weight[h >> 1], 0.0)
        h = graph.after[h]
    total = positive
    h = graph.first[x]
    while h != NONE:
        w = graph.weight[h >> 1]
        if w < -positive:
            _record(log, WEAKENED, x, graph.head[h], w + positive)
            w = graph.weight[h >> 1] = -positive
            if positive == 0.0:
                _drop(graph, x, h)
            else:
                _push(graph, graph.head[h])
        total += max(-w, 0.0)
        h = graph.after[h]
    graph.total[x], graph.positive[x] = total, positive


@compiled
def _rule_of_two(graph: Multigraph, x: int, y: int) -> int:
    """Which rule, if any, joins x with its neighbour y; both are tidy, and x is being visited."""
    w = graph.weight[graph.seen[y] >> 1]
    alone_x = graph.total[x] - w  # weight to nodes that are not neighbours of both
    alone_y = 0.0
    outside = graph.positive[x] - w  # what secluding the two costs
    common = 0
    h = graph.first[y]
    while h != NONE:
        z = find(graph.parent, graph.head[h])
        w_y = graph.weight[h >> 1]
        if graph.seen[z] != NONE:
            w_x = graph.weight[graph.seen[z] >> 1]
            alone_x -= abs(w_x)
            outside += max(0.0, w_y - max(0.0, w_x))
            graph.pairs[0, common], graph.pairs[1, common] = w_x, w_y
            common += 1
        elif z != x:
            alone_y += abs(w_y)
            outside += max(0.0, w_y)
        h = graph.after[h]
    if w >= outside:
        return SECLUDED
    return SIMILAR if _similar(w, alone_x, alone_y, graph.pairs[:, :common]) else NONE


@compiled
def _similar(w: float, alone_x: float, alone_y: float, pairs: FloatArray) -> bool:
    """Whether some t has ``w >= g(t)``, the sum over z of ``|t w_xz - (1 - t) w_yz|``.

    As g is convex, its value and slope in the middle of an interval bound it from below there,
    and tell which half holds the minimum.
    """
    t, width = 0.5, 0.5
    for _ in range(HALVINGS):
        value = t * alone_x + (1.0 - t) * alone_y
        slope = alone_x - alone_y
        for i in range(pairs.shape[1]):
            term = t * pairs[0, i] - (1.0 - t) * pairs[1, i]
            value += abs(term)
            slope += np.sign(term) * (pairs[0, i] + pairs[1, i])
        if value <= w:
            return True
        if value - abs(slope) * width > w:
            return False
        width /= 2.0
        t += -width if slope > 0.0 else width
    return False


@compiled
def _partner(graph: Multigraph, x: int) -> tuple[int, int]:
    """Find a neighbour to join x with, and by which rule; NONE if there is none."""
    h = graph.first[x]
    while h != NONE:
        if 2.0 * graph.weight[h >> 1] >= graph.total[x]:
            return graph.head[h], DOMINANT
        h = graph.after[h]
    h = graph.first[x]
    while h != NONE:
        y = graph.head[h]
        if (
            graph.weight[h >> 1] > 0.0
            and not graph.queued[y]  # else it is not tidy, and its own visit will compare the two
            and graph.degree[y] <= max(ALWAYS_COMPARED, graph.degree[x])
        ):
            rule = _rule_of_two(graph, x, y)
            if rule != NONE:
                return y, rule
        h = graph.after[h]
    return NONE, NONE


@compiled
def _join(graph: Multigraph, x: int, y: int) -> None:
    """Contract x into y; the lists are joined in constant time, and tidied later."""
    small = x if graph.degree[x] < graph.degree[y] else y
    h = graph.first[small]
    while h != NONE:  # common neighbours have parallel edges now
        _push(graph, find(graph.parent, graph.head[h]))
        h = graph.after[h]
    graph.parent[x] = y
    _push(graph, y)
    graph.after[graph.last[y]] = graph.first[x]
    graph.before[graph.first[x]] = graph.last[y]
    graph.last[y] = graph.last[x]
    graph.first[x] = graph.last[x] = NONE
    graph.degree[y] += graph.degree[x]


@compiled
def _dominate(graph: Multigraph, log: Log) -> None:
    """Visit nodes until the queue is empty, or the log might not hold the next visit."""
    while graph.limits[1] > 0:
        x = graph.queue[graph.limits[0]]
        if log.used[0] + graph.degree[x] + 1 > len(log.kind):
            return
        graph.limits[0] = (graph.limits[0] + 1) % len(graph.queue)
        graph.limits[1] -= 1
        graph.queued[x] = False
        if graph.parent[x] != x:
            continue
        _tidy(graph, x)
        _weaken(graph, x, log)
        partner, rule = _partner(graph, x)
        h = graph.first[x]
        while h != NONE:
            graph.seen[graph.head[h]] = NONE
            h = graph.after[h]
        if partner != NONE:
            _record(log, rule, x, partner, 0.0)
            _join(graph, x, partner)
