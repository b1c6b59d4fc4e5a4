"""The rules in turn, in one compiled loop: calls from Python would take longer than small ones."""

from typing import NamedTuple

import numpy as np

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.compiled import compiled, inlined
from ..base.components import connected_components
from ..base.sums import sum_parallel_pairs
from .biconnected import biconnected_blocks, split_cut_vertices
from .dominance import dominate
from .multigraph import multigraph, rest, rounded_down
from .steps import ATTRACTED, SEPARATED, SPLIT, TRIANGLE, Log, new_log, record, with_room
from .triangles import joined_triangles


class Rest(NamedTuple):
    """What is left while the rules run: edges between local nodes, and the slots of these."""

    u: IntArray
    v: IntArray
    w: FloatArray
    low: FloatArray  # what float64 cannot hold of w
    slots: IntArray
    changed: BoolArray  # nodes whose edges have changed since they were last looked at


class Pieces(NamedTuple):
    """What is left in the end, numbered piece by piece; see ``Presolved``."""

    edges: IntArray
    weights: FloatArray
    low: FloatArray
    starts: IntArray
    slots: IntArray
    nodes: IntArray


@compiled
def reduced(
    n: int, edges: IntArray, weights: FloatArray, residue: float, stop: BoolArray
) -> tuple[Pieces, Log]:
    """Apply all rules until none does anything: what is left then, and all steps.

    Another thread may set ``stop``: then no further rule is tried.
    """
    left = Rest(
        edges[:, 0].copy(),
        edges[:, 1].copy(),
        weights.copy(),
        np.zeros(len(weights)),
        np.arange(n),
        np.ones(n, np.bool_),
    )
    log = new_log(n)
    while True:
        left, log = separate(left, log)
        left, log = split(left, log)
        if not left.changed.any():
            left, log = join_triangles(left, log, stop)
        if stop[0] or not left.changed.any():
            return pieces(left, log), log
        left, log = weaken_and_join(left, log, residue, stop)


@inlined
def only(left: Rest, kept: BoolArray) -> Rest:
    """Drop the other edges, and the nodes without edges: they are decided."""
    u, v, w, low, slots, changed = left
    number = np.full(len(slots), -1)
    k = 0
    for e in range(len(u)):
        if kept[e]:
            u[k], v[k], w[k], low[k] = u[e], v[e], w[e], low[e]
            number[u[e]] = number[v[e]] = 0
            k += 1
    n = 0
    for x in range(len(slots)):
        if number[x] == 0:
            number[x], slots[n], changed[n] = n, slots[x], changed[x]
            n += 1
    for e in range(k):
        u[e], v[e] = number[u[e]], number[v[e]]
    return Rest(u[:k], v[:k], w[:k], low[:k], slots[:n], changed[:n])


@inlined
def separate(left: Rest, log: Log) -> tuple[Rest, Log]:
    """Cut the negative edges between components of E+.

    They are in no cycle with exactly one negative edge, so nothing forbids to cut them.
    """
    u, v, w, low, slots, changed = left
    component = connected_components(len(slots), u, v, w > 0.0)
    log = with_room(log, len(u), 0)
    kept = np.ones(len(u), np.bool_)
    for e in range(len(u)):
        if component[u[e]] != component[v[e]]:
            record(log, SEPARATED, slots[u[e]], slots[v[e]], rounded_down(w[e], low[e]))
            changed[u[e]] = changed[v[e]] = True
            kept[e] = False
    return only(left, kept), log


@inlined
def split(left: Rest, log: Log) -> tuple[Rest, Log]:
    """Make biconnected blocks independent, and join the nodes of those without negative edges.

    Every cycle is inside one block, so any clusterings of the blocks fit together: the clusters
    that hold the copies of a cut vertex become one.
    """
    u, v, w, low, slots, changed = left
    block, by_block, n_blocks = biconnected_blocks(len(slots), u, v)
    mixed = np.zeros(n_blocks, np.bool_)
    for e in range(len(u)):
        mixed[block[e]] |= w[e] < 0.0
    new_u, new_v = u.copy(), v.copy()
    copied = split_cut_vertices(len(slots), new_u, new_v, block, by_block, mixed)
    log = with_room(log, len(u) + len(copied), len(u))
    kept = np.ones(len(u), np.bool_)
    for e in range(len(u)):
        if not mixed[block[e]]:
            record(log, ATTRACTED, slots[u[e]], slots[v[e]], 0.0)
            changed[u[e]] = changed[v[e]] = True
            kept[e] = False
    n, n_copies = len(slots), len(copied)
    more_slots, more_changed = np.empty(n + n_copies, np.int64), np.ones(n + n_copies, np.bool_)
    for x in range(n):
        more_slots[x], more_changed[x] = slots[x], changed[x]
    for i in range(n_copies):
        more_slots[n + i] = log.used[2]
        more_changed[copied[i]] = True
        record(log, SPLIT, slots[copied[i]], log.used[2], 0.0)
        log.used[2] += 1
    for e in range(len(u)):
        if new_u[e] != u[e] or new_v[e] != v[e]:
            k = log.used[1]
            log.moved[k], log.moved[k + 1] = slots[u[e]], slots[v[e]]
            log.moved[k + 2], log.moved[k + 3] = more_slots[new_u[e]], more_slots[new_v[e]]
            log.used[1] += 4
    return only(Rest(new_u, new_v, w, low, more_slots, more_changed), kept), log


@inlined
def weaken_and_join(left: Rest, log: Log, residue: float, stop: BoolArray) -> tuple[Rest, Log]:
    """Weaken negative edges, and contract positive ones; see ``dominance.py``."""
    u, v, w, low, slots, changed = left
    lists = multigraph(u, v, w, low, changed, residue)
    first = log.used[0]
    log = dominate(lists, log, stop)
    for i in range(first, log.used[0]):
        log.a[i], log.b[i] = slots[log.a[i]], slots[log.b[i]]
    u, v, w, low = rest(lists)
    everything = np.ones(len(u), np.bool_)
    return only(Rest(u, v, w, low, slots, np.zeros(len(slots), np.bool_)), everything), log


@inlined
def join_triangles(left: Rest, log: Log, stop: BoolArray) -> tuple[Rest, Log]:
    """Contract triangles (see ``triangles.py``); their edges are added up at the next visit."""
    u, v, w, _, slots, changed = left
    triangles = joined_triangles(len(slots), u, v, w, stop)
    log = with_room(log, 2 * len(triangles), 0)
    node = np.arange(len(slots))
    joined = np.zeros(len(slots), np.bool_)
    for i in range(len(triangles)):
        a, b, c = triangles[i, 0], triangles[i, 1], triangles[i, 2]
        record(log, TRIANGLE, slots[b], slots[a], 0.0)
        record(log, TRIANGLE, slots[c], slots[a], 0.0)
        node[b] = node[c] = a
        joined[a] = True
        changed[a] = True
    for e in range(len(u)):
        u[e], v[e] = node[u[e]], node[v[e]]
        if joined[u[e]] or joined[v[e]]:
            changed[u[e]] = changed[v[e]] = True
    return left, log


@inlined
def pieces(left: Rest, log: Log) -> Pieces:
    """Number the nodes that are left piece by piece, and add up parallel edges."""
    u, v, w, low, slots, _ = left
    if len(slots) == 0:  # any one will do: it is the only one of its cluster until steps are undone
        slots = np.zeros(1, np.int64)
    n = len(slots)
    piece = connected_components(n, u, v, np.ones(len(u), np.bool_))
    starts = np.zeros(piece.max() + 2, np.int64)
    for x in range(n):
        starts[piece[x] + 1] += 1
    for p in range(len(starts) - 1):
        starts[p + 1] += starts[p]
    number, free, ordered = np.empty(n, np.int64), starts.copy(), np.empty(n, np.int64)
    for x in range(n):
        number[x] = free[piece[x]]
        ordered[number[x]] = slots[x]
        free[piece[x]] += 1
    for e in range(len(u)):
        u[e], v[e] = number[u[e]], number[v[e]]
    edges, weights, low, lost = sum_parallel_pairs(n, u, v, w, low)
    log.off[0] += lost
    origin = np.arange(log.used[2])  # the original node that each slot is, or is a copy of
    for i in range(log.used[0]):
        if log.kind[i] == SPLIT:
            origin[log.b[i]] = origin[log.a[i]]
    return Pieces(edges, weights, low, starts, ordered, origin[ordered])
