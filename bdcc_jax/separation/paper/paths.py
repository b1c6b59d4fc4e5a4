"""From a subproblem's flow to rows that are valid whatever the flow looks like.

A flow is taken apart into paths from the far ends of negative edges to the root. Each path closes
a cycle with its negative edge, and the cycle inequality ``x_sv <= sum of x_e on the path`` holds
for every clustering. The paper's Benders row is the sum of these inequalities, each times the
amount of flow on its path:

    omega_sv = sum of the amounts from v,    omega_e = -(sum of the amounts through e).

So nothing is assumed about the flow. What a target sends but does not reach the root (the flow is
only nearly conserved) goes along the target's shortest path instead; circulations, which weaken a
row, vanish.
"""

from dataclasses import dataclass

import numpy as np

from ...base.adjacency import adjacency
from ...base.arrays import FloatArray, IntArray
from ...base.compiled import compiled
from ...lp.rows import Rows
from .ball import VIOLATION, Ball

GRAIN = 2.0**-20
"""Flows are taken apart in whole multiples of this share of the largest."""

LARGEST_AMOUNT = 64
"""Aggregated rows have whole coefficients, the largest amount being this. Sums are then exact, an
integral x that violates a row does so by 1 at least, and HiGHS' branch and bound stays sound: with
coefficients six orders of magnitude apart its presolve was seen to cut off optimal solutions."""

SMALLEST_SHARE = 0.2
"""A path makes a row of its own if it carries this share of what the largest path of its target
does. Flows of a first-order solver spread over many paths: this leaves out two thirds of the rows
and costs no rounds."""


@dataclass(frozen=True, eq=False)
class Flow:
    """A solution of one subproblem, exact or not.

    ``edges`` is the flow from ``tail`` to ``head`` of every edge of the ball (negative: the other
    way), ``targets`` what enters at each target, the paper's psi^-. ``fallback``: the solver gave
    up, the flow is zero, and the shortest cycles make the rows.
    """

    edges: FloatArray
    targets: FloatArray
    fallback: bool = False


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths of a ball: path p joins ``target[p]`` to the root over local edges and carries flow.

    ``edges[starts[p] : starts[p + 1]]`` are its edges, ``amount[p]`` is what it carries.
    """

    starts: IntArray
    edges: IntArray
    target: IntArray
    amount: FloatArray

    def __len__(self) -> int:
        return len(self.target)


def decompose(ball: Ball, flow: Flow) -> Paths:
    """Take a flow apart into paths from targets to the root."""
    amounts = np.concatenate([np.abs(flow.edges), flow.targets])
    scale = amounts[np.isfinite(amounts)].max(initial=0.0)
    if not scale > 0:
        return Paths(np.zeros(1, np.int64), *(np.empty(0, np.int64),) * 2, np.empty(0))

    def units(part: FloatArray) -> FloatArray:
        """Whole multiples of the grain, so that subtractions are exact and reach exactly zero."""
        whole: FloatArray = np.floor(np.nan_to_num(np.maximum(part, 0) / scale, posinf=0) / GRAIN)
        return whole

    starts, edges, target, amount = _walk(
        len(ball.nodes),
        ball.tail,
        ball.head,
        ball.tree,
        ball.targets,
        units(flow.edges),
        units(-flow.edges),
        units(flow.targets),
    )
    return Paths(starts, edges, target, amount * GRAIN)


def cycle_rows(ball: Ball, paths: Paths, x: FloatArray) -> Rows:
    """The violated cycle inequalities among the paths that matter, each once."""
    largest = np.zeros(len(ball.targets))
    np.maximum.at(largest, paths.target, paths.amount)
    cycles: dict[tuple[int, ...], IntArray] = {}
    for p in np.flatnonzero(paths.amount >= SMALLEST_SHARE * largest[paths.target]):
        edges = ball.edges[paths.edges[paths.starts[p] : paths.starts[p + 1]]]
        negative = ball.target_edges[paths.target[p]]
        if x[negative] - x[edges].sum() > VIOLATION:
            cycles[(negative, *np.sort(edges))] = np.append(negative, edges)
    return Rows.from_cycles(list(cycles.values()))


def aggregated_row(ball: Ball, paths: Paths) -> Rows:
    """The Benders row omega: the sum of the cycle inequalities, each times its amount.

    Amounts are rounded, which changes how much each inequality counts, not that they all hold.
    """
    amount = np.rint(paths.amount * (LARGEST_AMOUNT / paths.amount.max(initial=GRAIN)))
    per_edge = np.repeat(amount, np.diff(paths.starts))
    omega_positive = -np.bincount(paths.edges, per_edge, len(ball.edges))
    omega_negative = np.bincount(paths.target, amount, len(ball.targets))
    used, sent = np.flatnonzero(omega_positive), np.flatnonzero(omega_negative)
    indices = np.concatenate([ball.target_edges[sent], ball.edges[used]]).astype(np.int32)
    values = np.concatenate([omega_negative[sent], omega_positive[used]])
    return Rows(np.array([0, len(indices)], dtype=np.int64), indices, values, np.zeros(1))


def shortest_cycles(ball: Ball) -> Rows:
    """The shortest violated cycle of every target, straight from the search tree."""
    return Rows.from_cycles(
        [
            np.append(edge, ball.edges[ball.tree_path(node)])
            for node, edge in zip(ball.targets, ball.target_edges, strict=True)
        ]
    )


@compiled
def _walk(
    n: int,
    tail: IntArray,
    head: IntArray,
    tree: IntArray,
    targets: IntArray,
    forward: FloatArray,
    backward: FloatArray,
    supply: FloatArray,
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Follow the flow from every target until it reaches the root (node 0).

    All amounts are whole numbers. A walk that returns to one of its nodes has closed a circulation,
    which is taken out; one that gets stuck at a node has met flow that is not conserved, and the
    arc into that node is emptied. Each of these, and each path found, empties an arc or a supply,
    so the walk ends. A supply that is not used up goes along the shortest-path tree.
    """
    m = len(tail)
    # Arc e goes from tail to head, arc e + m from head to tail.
    at = adjacency(n, head, tail, np.arange(m))
    end = np.concatenate((head, tail))
    units = np.concatenate((forward, backward))

    path_starts, path_edges = [0], [0 for _ in range(0)]
    path_target, path_amount = [0 for _ in range(0)], [0.0 for _ in range(0)]
    depth = np.full(n, -1)  # where on the current walk a node is
    walk = [0 for _ in range(0)]
    for t in range(len(targets)):
        node = targets[t]
        depth[node] = 0
        while supply[t] > 0:
            if node == 0:
                amount = supply[t]
                for arc in walk:
                    amount = min(amount, units[arc])
                for arc in walk:
                    units[arc] -= amount
                    path_edges.append(arc % m)
                supply[t] -= amount
                path_starts.append(len(path_edges))
                path_target.append(t)
                path_amount.append(amount)
                for arc in walk:
                    depth[end[arc]] = -1
                walk.clear()
                node = targets[t]
                continue
            best = -1
            for k in range(at.starts[node], at.starts[node + 1]):
                arc = at.edges[k] + (0 if at.neighbours[k] == head[at.edges[k]] else m)
                if units[arc] > 0 and (best < 0 or units[arc] > units[best]):
                    best = arc
            if best < 0:  # stuck: step back over an emptied arc
                if len(walk) == 0:
                    break
                depth[node] = -1
                units[walk.pop()] = 0
                node = targets[t] if len(walk) == 0 else end[walk[-1]]
                continue
            node = end[best]
            walk.append(best)
            if depth[node] < 0:
                depth[node] = len(walk)
                continue
            cycle = walk[depth[node] :]
            amount = units[cycle[0]]
            for arc in cycle:
                amount = min(amount, units[arc])
            for arc in cycle:
                units[arc] -= amount
                if end[arc] != node:
                    depth[end[arc]] = -1
            for _ in range(len(cycle)):
                walk.pop()
        depth[targets[t]] = -1
        if supply[t] > 0:
            node = targets[t]
            while node != 0:
                path_edges.append(tree[node])
                node = tail[tree[node]] + head[tree[node]] - node
            path_starts.append(len(path_edges))
            path_target.append(t)
            path_amount.append(supply[t])
    return (
        np.array(path_starts, dtype=np.int64),
        np.array(path_edges, dtype=np.int64),
        np.array(path_target, dtype=np.int64),
        np.array(path_amount),
    )
