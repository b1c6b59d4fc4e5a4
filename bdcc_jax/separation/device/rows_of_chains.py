"""From what the device returns to rows that hold for every clustering, whatever that was.

A chain of slots becomes a path only if it leads, edge by edge of E+, from the far end of a violated
edge of E- to its root; that is checked against the instance itself. Each path closes a cycle, and
the cycle inequality ``x_sv <= sum of x_e on the path`` holds for every clustering. A Benders row is
the sum of such inequalities, each times a whole number.
"""

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import BoolArray, FloatArray, IntArray
from ...base.compiled import compiled
from ...instance.graph import Graph
from ...lp.rows import Rows
from ...options import RowKind
from ..paper.ball import VIOLATION
from ..paper.paths import LARGEST_AMOUNT, SMALLEST_SHARE
from .balls import NODES, Balls


def rows_of_chains(
    graph: Graph,
    balls: Balls,
    slot: NDArray[np.int16],
    amount: NDArray[np.float32],
    x: FloatArray,
    kind: RowKind,
) -> tuple[Rows, IntArray]:
    """Rows that x violates, and the lane that each comes from.

    Parameters
    ----------
    graph : Graph
        The instance.
    balls : Balls
        What was solved.
    slot, amount : (lanes, passes, NODES) arrays
        See :class:`.paths_of_flow.Chains`; anything at all may be in there.
    x : ndarray
        The solution of the master.
    kind : {'split', 'aggregated'}
        A row for every path, or one a lane.
    """
    paths = _paths(graph.edges, graph.positive, balls, slot, amount, x)
    lane, target, starts, edges, share = paths
    if kind == "split":
        key = lane * NODES + target
        largest = np.zeros(len(balls) * NODES)
        np.maximum.at(largest, key, share)
        wide = share >= SMALLEST_SHARE * largest[key]
        rows, lane = Rows.of_cycles(starts, edges).take(wide), lane[wide]
        once = np.zeros(len(rows), bool)
        once[np.unique(rows.keys(), return_index=True)[1]] = True
        return rows.take(once), lane[once]
    rows, lane = _sums(graph.m, lane, starts, edges, share)
    kept = rows.violation(x) > VIOLATION
    return rows.take(kept), lane[kept]


@compiled
def _paths(
    ends: IntArray,
    positive: BoolArray,
    balls: Balls,
    slot: NDArray[np.int16],
    amount: NDArray[np.float32],
    x: FloatArray,
) -> tuple[IntArray, IntArray, IntArray, NDArray[np.int32], FloatArray]:
    """The violated cycles, the edge of E- first: lane, target, where each starts, edges, amount."""
    lanes, passes = slot.shape[:2]
    slots = balls.edge.shape[1] * balls.edge.shape[2]
    lane, target = [0 for _ in range(0)], [0 for _ in range(0)]
    starts, edges, amounts = [0], [np.int32(0) for _ in range(0)], [0.0 for _ in range(0)]
    for b in range(lanes):
        root, edge_of = balls.nodes[b, 0], balls.edge[b].ravel()
        neighbor = balls.neighbor[b].ravel()
        for p in range(passes):
            for t in range(1, NODES):
                if not 0.0 < amount[b, p, t] < np.inf or balls.target[b, t] < 0:
                    continue
                negative, at = balls.target[b, t], t
                node, far = balls.nodes[b, t], ends[negative].sum() - root
                length, begin = 0.0, len(edges)
                edges.append(np.int32(negative))
                if node != far or (ends[negative, 0] != root and ends[negative, 1] != root):
                    node = root - 1  # no path begins here
                for _ in range(NODES):
                    s = slot[b, p, at]
                    if node == root or s < 0 or s >= slots or edge_of[s] < 0:
                        break
                    e = edge_of[s]
                    if not positive[e] or (ends[e, 0] != node and ends[e, 1] != node):
                        break
                    edges.append(e)
                    length += x[e]
                    node, at = ends[e].sum() - node, neighbor[s]
                if node == root and x[negative] - length > VIOLATION:
                    lane.append(b)
                    target.append(t)
                    starts.append(len(edges))
                    amounts.append(np.float64(amount[b, p, t]))
                else:
                    del edges[begin:]
    return (
        np.array(lane, dtype=np.int64),
        np.array(target, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        np.array(edges, dtype=np.int32),
        np.array(amounts),
    )


def _sums(
    m: int, lane: IntArray, starts: IntArray, edges: NDArray[np.int32], amount: FloatArray
) -> tuple[Rows, IntArray]:
    """The sum of the cycle inequalities of every lane, each times its amount; and the lanes.

    Amounts are rounded to whole numbers up to LARGEST_AMOUNT, which changes how much each
    inequality counts, not that they all hold; see :mod:`..paper.paths`.
    """
    lanes, row = np.unique(lane, return_inverse=True)
    largest = np.zeros(len(lanes))
    np.maximum.at(largest, row, amount)
    whole = np.rint(amount * (LARGEST_AMOUNT / largest[row]))
    value = np.repeat(-whole, np.diff(starts))
    value[starts[:-1]] = whole
    keys = np.repeat(row, np.diff(starts)) * m + edges
    keys, first, entry = np.unique(keys, return_index=True, return_inverse=True)
    omega = np.bincount(entry, value, len(keys))
    order = np.argsort(first)
    order = order[omega[order] != 0.0]
    rows = np.searchsorted(keys[order] // m, np.arange(len(lanes) + 1))
    indices = (keys[order] % m).astype(np.int32)
    return Rows(rows, indices, omega[order], np.zeros(len(lanes))), lanes
