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

Minimum cuts in place of the single nodes join hardly anything more, so there are none.

A rule must hold exactly, not up to rounding: beside a weight of 1e13 the rounding errors of float64
are as large as other weights. Sums of float64 decide where their error bound lets them. A near tie
is decided by sums of pairs (``sums.py``) for the rules in which ties are common, and else left as
it is. Sums of whole numbers are exact anyway.
"""

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..base.compiled import borrowing, inlined
from ..base.components import find
from ..base.sums import add
from .multigraph import NONE, Multigraph, drop, join, push, rounded_down, tidy
from .steps import DOMINANT, SECLUDED, SIMILAR, WEAKENED, Log, record, with_room

ALWAYS_COMPARED = 64
"""A node is compared with a neighbour of at most this degree, or of at most its own degree."""

COMPARED_EDGES, COMPARED_SHARE = 20_000_000, 100
"""Pairs of neighbours are no longer compared once COMPARED_EDGES edges have been read for that, or
COMPARED_SHARE times the number of edges if this is more: far more than sparse graphs need, and
about a second on complete ones."""

HALVINGS = 10
"""How often the search for the best t halves the interval that holds it."""


@borrowing
def _weaken(graph: Multigraph, x: int, log: Log) -> None:
    """Weaken the negative edges of x to its positive weight, and sum up what is left."""
    positive, negative, largest = 0.0, 0.0, 0.0
    h = graph.first[x]
    while h != NONE:
        w = graph.weight[h >> 1]
        if w > 0.0:
            positive += w
        else:
            negative -= w
            largest = max(largest, -w)
        h = graph.after[h]
    graph.total[x], graph.positive[x] = positive + negative, positive
    if largest > positive - graph.rounding * graph.degree[x] * positive:
        _weaken_to(graph, x, log)


@borrowing
def _weaken_to(graph: Multigraph, x: int, log: Log) -> None:
    """The same where an edge may be weakened: exactly, by sums of pairs."""
    positive, low, lost = 0.0, 0.0, 0.0
    h = graph.first[x]
    while h != NONE:
        if graph.weight[h >> 1] > 0.0:
            positive, low, off = add(positive, low, graph.weight[h >> 1], graph.low[h >> 1])
            lost += off
        h = graph.after[h]
    if lost > 0.0:  # any weight that is not above minus the positive one will do
        low = np.nextafter(low + 2.0 * lost, np.inf)
    total = positive
    h = graph.first[x]
    while h != NONE:
        e = h >> 1
        w, w_low, _ = add(graph.weight[e], graph.low[e], positive, low)
        if w < 0.0:
            record(log, WEAKENED, x, graph.head[h], rounded_down(w, w_low))
            graph.weight[e], graph.low[e] = -positive, -low
            if positive == 0.0:
                drop(graph, x, h)
            else:
                push(graph, graph.head[h])
        total += max(-graph.weight[e], 0.0)
        h = graph.after[h]
    graph.total[x], graph.positive[x] = total, positive


@borrowing
def _outweighs_all(graph: Multigraph, x: int, e: int) -> bool:
    """Whether edge e of x weighs no less than all its other edges together, whatever their sign."""
    rest, low, lost = -graph.weight[e], -graph.low[e], 0.0
    h = graph.first[x]
    while h != NONE:
        other = h >> 1
        if other != e:
            sign = 1.0 if graph.weight[other] > 0.0 else -1.0
            rest, low, off = add(rest, low, sign * graph.weight[other], sign * graph.low[other])
            lost += off
        h = graph.after[h]
    return _at_most_zero(rest, low, lost)


@borrowing
def _secludes(graph: Multigraph, x: int, y: int) -> bool:
    """Whether the edge xy weighs no less than what attracts x or y elsewhere."""
    e = graph.seen[y] >> 1
    rest, low, lost = -graph.weight[e], -graph.low[e], 0.0
    h = graph.first[x]
    while h != NONE:
        other = h >> 1
        if other != e and graph.weight[other] > 0.0:
            rest, low, off = add(rest, low, graph.weight[other], graph.low[other])
            lost += off
        h = graph.after[h]
    h = graph.first[y]
    while h != NONE:
        z, other = find(graph.parent, graph.head[h]), h >> 1
        if z != x and graph.weight[other] > 0.0:
            more, more_low = graph.weight[other], graph.low[other]
            if graph.seen[z] != NONE and graph.weight[graph.seen[z] >> 1] > 0.0:
                common = graph.seen[z] >> 1  # counted with x
                more, more_low, off = add(more, more_low, -graph.weight[common], -graph.low[common])
                lost += off
            if more > 0.0:
                rest, low, off = add(rest, low, more, more_low)
                lost += off
        h = graph.after[h]
    return _at_most_zero(rest, low, lost)


@borrowing
def _at_most_zero(high: float, low: float, lost: float) -> bool:
    """Whether a sum is surely not positive, though rounding has changed it by up to ``lost``."""
    high, low, off = add(high, low, 2.0 * lost, 0.0)
    return high < 0.0 or (high == 0.0 and off == 0.0)


@borrowing
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
    terms = graph.degree[x] + graph.degree[y] + 8
    off = graph.rounding * terms * (graph.total[x] + graph.total[y])
    if w >= outside + off or (w >= outside - off and _secludes(graph, x, y)):
        return SECLUDED
    similar = _similar(w - off, max(0.0, alone_x), alone_y, graph.pairs[:, :common])
    return SIMILAR if similar else NONE


@borrowing
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


@borrowing
def _partner(graph: Multigraph, x: int) -> tuple[int, int]:
    """Find a neighbour to join x with, and by which rule; NONE if there is none."""
    off = graph.rounding * (graph.degree[x] + 2) * graph.total[x]
    h = graph.first[x]
    while h != NONE:
        more = 2.0 * graph.weight[h >> 1] - graph.total[x]
        if more >= off or (more >= -off and _outweighs_all(graph, x, h >> 1)):
            return graph.head[h], DOMINANT
        h = graph.after[h]
    h = graph.first[x]
    while h != NONE:
        y = graph.head[h]
        if (
            graph.weight[h >> 1] > 0.0
            and not graph.queued[y]  # else it is not tidy, and its own visit will compare the two
            and graph.degree[y] <= max(ALWAYS_COMPARED, graph.degree[x])
            and graph.limits[2] > 0
        ):
            graph.limits[2] -= graph.degree[y]
            rule = _rule_of_two(graph, x, y)
            if rule != NONE:
                return y, rule
        h = graph.after[h]
    return NONE, NONE


@inlined
def dominate(graph: Multigraph, log: Log, stop: BoolArray) -> Log:
    """Weaken and join, in place, until nothing more can be; returns the log with the steps.

    Another thread may set ``stop``: then no further node is visited.
    """
    graph.limits[2] = max(COMPARED_EDGES, COMPARED_SHARE * len(graph.weight))
    while graph.limits[1] > 0 and not stop[0]:
        x = graph.queue[graph.limits[0]]
        graph.limits[0] = (graph.limits[0] + 1) % len(graph.queue)
        graph.limits[1] -= 1
        graph.queued[x] = False
        if graph.parent[x] != x:
            continue
        log = with_room(log, graph.degree[x] + 1, 0)
        tidy(graph, x, log)
        _weaken(graph, x, log)
        partner, rule = _partner(graph, x)
        h = graph.first[x]
        while h != NONE:
            graph.seen[graph.head[h]] = NONE
            h = graph.after[h]
        if partner != NONE:
            record(log, rule, x, partner, 0.0)
            join(graph, x, partner)
    log.off[0] += graph.off[0]
    return log
