"""Small flow LPs, laid end to end: what the batched solver solves.

One LP lives on an undirected graph whose local node 0 is the root:

    minimise    sum_e cost_e |f_e|  -  sum_v reward_v g_v
    subject to  (net flow out of v) = g_v            for every node v but the root
                |f_e| <= capacity_e,   0 <= g_v <= supply_v
                sum_v r_v g_v - sum_e c_e |f_e| >= level         (only with an `Activity`)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ...base.arrays import FloatArray as Floats
from ...base.arrays import IntArray as Ints

MULTIPLIER_SLACK = 1.25
"""The bound on the multiplier of an activity row is widened by this: values are inexact."""


@dataclass(frozen=True)
class Activity:
    """The row ``sum_v reward_v g_v - sum_e cost_e |f_e| >= level``, one to a problem.

    Parameters
    ----------
    cost : (edges,) floats, >= 0
    reward : (nodes,) floats
    level : (problems,) floats
    largest : (problems,) floats
        No larger multiplier of the row is needed; ``inf`` where nothing is known.
    """

    cost: Floats
    reward: Floats
    level: Floats
    largest: Floats


@dataclass(frozen=True)
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
    roots : (problems,) ints, optional
        The root of every problem, if it is not node 0. All problems must then have the same nodes
        and edges, in the same order, and node 0 must be isolated: they share one preconditioner.

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
    roots: Ints | None = None

    def __len__(self) -> int:
        return len(self.nodes) - 1

    @staticmethod
    def concatenate(parts: Sequence[FlowProblems]) -> FlowProblems:
        """Lay batches end to end; all or none with an activity row, and none on a shared graph."""

        def joined(name: str, of: Sequence[Any] = parts) -> Any:
            return np.concatenate([getattr(part, name) for part in of])

        def starts(name: str) -> Ints:
            counts = np.concatenate([np.diff(getattr(part, name)) for part in parts])
            return np.concatenate([[0], np.cumsum(counts)])

        rows = [part.activity for part in parts if part.activity is not None]
        columns = ("tail", "head", "cost", "capacity", "reward", "supply")
        return FlowProblems(
            nodes=starts("nodes"),
            edges=starts("edges"),
            **{name: joined(name) for name in columns},
            activity=Activity(*(joined(f.name, rows) for f in fields(Activity))) if rows else None,
        )


def magnanti_wong(
    problems: FlowProblems,
    value: Floats,
    spent: Floats,
    cost: Floats,
    charge: Floats,
    tau: float,
) -> FlowProblems:
    """The cheapest flow that keeps at least `tau` of the value of every problem.

    Parameters
    ----------
    problems : FlowProblems
    value : (problems,) floats, >= 0
        The value reached before, ``-Solution.objective``.
    spent : (problems,) floats, > 0
        The new price of the flows that reached the values.
    cost : (edges,) floats, > 0
        New price of a unit of flow.
    charge : (nodes,) floats, > 0
        New price of a unit of supply.
    tau : float
        Strictly between 0 and 1.
    """
    if not 0.0 < tau < 1.0:
        raise ValueError(f"tau is {tau}, but must lie strictly between 0 and 1")
    value = np.asarray(value, float)
    # The least price of a flow is convex in its value, and it is at most `spent` at `value`.
    largest = spent / np.maximum((1.0 - tau) * value, 1e-100)
    activity = Activity(problems.cost, problems.reward, tau * value, MULTIPLIER_SLACK * largest)
    return replace(problems, cost=cost, reward=-np.asarray(charge, float), activity=activity)


def magnanti_wong_by_price(
    problems: FlowProblems,
    value: Floats,
    spent: Floats,
    cost: Floats,
    charge: Floats,
    tau: float,
) -> FlowProblems:
    """The same trade-off without a row: the new prices are added at a rate that keeps `tau`.

    With h the value of a flow and p its price, a maximiser of h - rate * p satisfies

        h >= value - rate * (spent - p) >= tau * value    for   rate = (1 - tau) * value / spent,

    and it is the cheapest flow of its value: a solution of the problem with the row, for its own
    h / value >= tau. It converges like the problems without a row.

    Parameters
    ----------
    problems, value, spent, cost, charge, tau
        As for :func:`magnanti_wong`.
    """
    if not 0.0 < tau < 1.0:
        raise ValueError(f"tau is {tau}, but must lie strictly between 0 and 1")
    rate = (1.0 - tau) * np.maximum(value, 0.0) / np.where(spent > 0.0, spent, 1.0)
    on_edges = np.repeat(rate, np.diff(problems.edges))
    on_nodes = np.repeat(rate, np.diff(problems.nodes))
    return replace(
        problems,
        cost=problems.cost + on_edges * cost,
        reward=problems.reward - on_nodes * charge,
    )
