"""An instance with constraints as one without: must-links contract, cannot-links are edges.

Let ``p(u)`` be the sum of the positive weights at a node u, and let the edge uv weigh no more than
``-p(u)``. Of a clustering that keeps u and v together, the one where u is alone costs no more: what
u gains apart from v is at least what it loses apart from all others. So with ``a`` taken off the
weight of every pair that cannot be together, ``a = w + min(p(u), p(v))`` where that is positive,

    cost of a clustering that has them all apart  =  its cost in the new instance  +  sum of a,

and there is such a one among the optima of the new instance. No weight is larger than others at
the same node together, so that nothing drowns beside it, as it would beside a weight of 1e9.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.labels import canonical_labels
from ..base.sums import exact_sum, exact_unit, sum_down, sum_up
from .constraints import pairs_within
from .contraction import contract, sum_parallel
from .graph import Graph

ROUNDING = 1e-12
"""Sums of positive weights are rounded up by this share, where float64 does not hold them."""

RESIDUE = 1e-9
"""What is left where weights cancel is no weight if it is less than this share of the smallest."""

MOST_PAIRS = 50_000_000
"""Groups that mean more pairs than this are refused, rather than run out of memory."""


@dataclass(frozen=True, eq=False)
class Unconstrained:
    """An instance without constraints that is solved in place of one with them.

    Attributes
    ----------
    original, graph : Graph
        The instance with constraints, and the one without.
    constant : float
        What clusterings of ``original`` cost more than those of ``graph``, rounded down.
    off : float
        What rounding has changed about the weights of ``graph``, in all.
    pairs, amounts : ndarray of int, shape (k, 2), and of float, shape (k,)
        What was taken off the weights of which pairs of nodes of ``original``.
    node_map : ndarray of int, shape (original.n,)
        The node of ``graph`` that each has become.

    With classes, ``graph`` has unaries, too: those of nodes that become one are added up. A node
    that leaves its cluster keeps its class, so what is said above holds.
    """

    original: Graph
    graph: Graph
    constant: float
    off: float
    pairs: IntArray
    amounts: FloatArray
    node_map: IntArray
    _leaver: IntArray  # which end of each pair of nodes of ``graph`` is alone for no more

    def lift(self, labels: IntArray) -> IntArray:
        """Labels of the original that have all constraints, and cost no more."""
        if len(self.pairs) == 0:  # and then the number of clusters is the same
            return canonical_labels(labels[self.node_map])
        finer, _ = self.graph.refined(labels)
        finer = finer.copy()
        u, v = self.node_map[self.pairs].T
        for at in np.flatnonzero(finer[u] == finer[v]).tolist():
            if finer[u[at]] == finer[v[at]]:
                finer[self._leaver[at]] = self.graph.n + at
        return canonical_labels(finer[self.node_map])

    def drop(self, labels: IntArray) -> IntArray:
        """Labels of ``graph``: of every node that of the first one that it stands for."""
        first = np.unique(self.node_map, return_index=True)[1]
        return labels[first]


def unconstrained(graph: Graph) -> Unconstrained:
    """Turn an instance with constraints into one without.

    Examples
    --------
    >>> graph = Graph(3, [(0, 1), (1, 2)], [3.0, 2.0]).constrained(cannot_link=[(0, 2)])
    >>> instead = unconstrained(graph)
    >>> instead.graph.edges.tolist(), instead.graph.weights.tolist(), instead.constant
    ([[0, 1], [0, 2], [1, 2]], [3.0, -2.0, 2.0], 2.0)
    >>> instead.lift(np.array([0, 0, 0])).tolist()
    [0, 0, 1]
    """
    merged = contract(graph, graph.constraints.joined(graph.n))
    small, node_map = merged.graph, merged.node_map
    pairs = _apart(graph, small, node_map)
    attraction = _attraction(small)
    u, v = node_map[pairs].T
    reach = np.minimum(attraction[u], attraction[v])
    amounts = np.maximum(0.0, _weights_of(small, u, v) + reach)
    used = reach > 0.0  # a node without positive edges is alone
    pairs, amounts, u, v = pairs[used], amounts[used], u[used], v[used]
    ends, weights = small.edges, small.weights
    instead, off = sum_parallel(
        small.n,
        np.concatenate([ends[:, 0], u]),
        np.concatenate([ends[:, 1], v]),
        np.concatenate([weights, -amounts]),
    )
    with np.errstate(over="ignore"):  # that is what is asked
        total = np.abs(instead.weights).sum()
    if not np.isfinite(total):
        raise ValueError("with constraints the weights add up to more than a float64 can hold")
    if graph.unaries is not None:
        costs, lost = _joined_costs(graph.unaries, node_map)
        instead, off = instead._with(unaries=costs), sum_up([off, lost])
    residue = np.abs(instead.weights) < RESIDUE * _smallest(graph.weights)
    left_over = instead.weights[residue]
    if len(left_over):
        kept = {"edges": instead.edges[~residue], "weights": instead.weights[~residue]}
        instead = instead._with(**kept)
    return Unconstrained(
        original=graph,
        graph=instead,
        constant=sum_down(amounts),
        off=sum_up([merged.off, off, *np.abs(left_over).tolist()]),
        pairs=pairs,
        amounts=amounts,
        node_map=node_map,
        _leaver=np.where(attraction[u] <= attraction[v], u, v),
    )


def _apart(graph: Graph, small: Graph, node_map: IntArray) -> IntArray:
    """Pairs that cannot be together, one for every two nodes of the small graph.

    Those that positive edges do not join are left out: such clusters are split anyway.
    """
    parts = small.components(small.positive)[node_map]
    pairs, groups = graph.constraints.cannot_link, graph.constraints.groups
    if groups is not None:
        keys = np.column_stack([groups, parts])[groups >= 0]
        _, sizes = np.unique(keys, axis=0, return_counts=True)
        if (count := int((sizes * (sizes - 1) // 2).sum())) > MOST_PAIRS:
            raise ValueError(
                f"groups: {count} pairs within a group hang together by positive weights; "
                f"at most {MOST_PAIRS} are possible"
            )
        pairs = np.concatenate([pairs, pairs_within(groups, parts)])
    pairs = pairs[parts[pairs[:, 0]] == parts[pairs[:, 1]]]
    ends = np.sort(node_map[pairs], axis=1)
    _, first = np.unique(ends[:, 0] * small.n + ends[:, 1], return_index=True)
    once: IntArray = pairs[first]
    return once


def _joined_costs(costs: FloatArray, node_map: IntArray) -> tuple[FloatArray, float]:
    """What classes cost nodes that have become one, and how much of it float64 has lost."""
    joined, lost = np.zeros((int(node_map.max()) + 1, costs.shape[1])), [0.0]
    order = np.argsort(node_map, kind="stable")
    starts = np.searchsorted(node_map[order], np.arange(len(joined) + 1))
    for node, (start, end) in enumerate(pairwise(starts.tolist())):
        rows = costs[order[start:end]]
        if len(rows) == 1:
            joined[node] = rows[0]
            continue
        for label in range(costs.shape[1]):
            if np.isfinite(rows[:, label]).all():
                joined[node, label], low = exact_sum(rows[:, label].copy())
                lost.append(abs(low))
            else:
                joined[node, label] = np.inf
    return joined, sum_up(lost)


def _smallest(weights: FloatArray) -> float:
    return float(np.abs(weights).min(initial=np.inf)) if len(weights) else 0.0


def _attraction(graph: Graph) -> FloatArray:
    """The sum of the positive weights at every node, or a little more."""
    ids = np.flatnonzero(graph.positive)
    ends, weights = graph.edges[ids].T.ravel(), np.tile(graph.weights[ids], 2)
    total: FloatArray = np.bincount(ends, weights, minlength=graph.n).astype(np.float64)
    return total if exact_unit(graph.weights) else total * (1.0 + ROUNDING)


def _weights_of(graph: Graph, u: IntArray, v: IntArray) -> FloatArray:
    """The weight of every pair; 0 where there is no edge."""
    keys = graph.edges[:, 0] * graph.n + graph.edges[:, 1]
    wanted = np.minimum(u, v) * graph.n + np.maximum(u, v)
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    if len(keys) == 0:
        return np.zeros(len(u))
    return np.where(keys[at] == wanted, graph.weights[at], 0.0)
