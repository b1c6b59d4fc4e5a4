"""Whether an optimal clustering is the only one, and what another decision would cost.

Let x0 be an optimal clustering, as the edges that it cuts, and h(x) the number of edges on which x
differs from it. Consider ``F(x) = w x - e h(x)`` for a small e, which is an instance again: edges
that x0 cuts get the weight ``w + e``, the others ``w - e``. If a bound says ``F(x) >= w x0 - t``
for all x, then ``w x >= w x0 - t + e h(x)``: with e > t every other clustering costs more, and x0
is the only optimum. If not, there is an x with ``F(x) < w x0``; with e small enough that is another
optimum, as different from x0 as they come. An edge on which the two differ then divides the
clusterings into those that decide as x0 does and those that decide as x does, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Protocol, overload

import numpy as np

from .base.arrays import FloatArray, IntArray
from .base.sums import EXACT, exact_unit, sum_down
from .instance.graph import Graph

FIRST, LAST, LESS = 0.25, 2.0**-9, 4
"""Shares of the smallest |w| that e is tried at, one after another: from, to, and by which factor.
Smaller ones are less than what an optimal clustering may cost too much."""


class Outcome(Protocol):
    """What a solve has found."""

    @property
    def labels(self) -> IntArray:
        """The best clustering."""

    @property
    def lower_bound(self) -> float:
        """What every clustering costs at least."""


Again = Callable[[Graph, IntArray], Outcome]
"""Solves an instance, from a clustering to start from."""


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Other optimal clusterings, and whether these are all.

    Attributes
    ----------
    clusterings : tuple of ndarray
        Labels; each cuts other edges than all the rest, and costs as much as the result's.
    complete : bool
        Whether it is proven that there are no others.
    """

    clusterings: tuple[IntArray, ...]
    complete: bool

    @property
    def unique(self) -> bool:
        """Whether the clustering of the result is proven to be the only optimal one."""
        return self.complete and not self.clusterings

    def __len__(self) -> int:
        return len(self.clusterings)

    def __iter__(self) -> Iterator[IntArray]:
        return iter(self.clusterings)

    @overload
    def __getitem__(self, at: int) -> IntArray: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[IntArray, ...]: ...
    def __getitem__(self, at: int | slice) -> IntArray | tuple[IntArray, ...]:
        return self.clusterings[at]


def alternatives(graph: Graph, labels: IntArray, limit: int, again: Again) -> Alternatives:
    """Find other optimal clusterings than a given one, at most ``limit``."""
    found: list[IntArray] = []
    complete = True
    todo = [(graph, labels)]
    while todo and len(found) < limit:
        part, known = todo.pop()
        other = _other(part, known, again)
        if other is None:
            continue
        if len(other) == 0:
            complete = False
            continue
        found.append(other)
        edge = int(np.flatnonzero(graph.cut(known) != graph.cut(other))[0])
        pair = graph.edges[edge : edge + 1]
        for one in (known, other):
            way = "cannot_link" if graph.cut(one)[edge] else "must_link"
            todo.append((part.constrained_by_id(**{way: pair}), one))  # type: ignore[arg-type]
    return Alternatives(tuple(found), complete and not todo)


def _other(graph: Graph, known: IntArray, again: Again) -> IntArray | None:
    """Another optimum, None if it is proven that there is none, no labels if nobody knows."""
    cut = graph.cut(known)
    cost = graph.objective(known)
    costs = np.empty(0) if graph.unaries is None else graph.unaries[np.isfinite(graph.unaries)]
    for scale, amount in _amounts(np.concatenate([graph.weights, costs[costs != 0.0]])):
        weights = scale * graph.weights + np.where(cut, amount, -amount)
        away = graph._with_weights(weights)
        if graph.unaries is not None:
            away = away._with(unaries=scale * graph.unaries)
        outcome = again(away, known)
        differs = bool((graph.cut(outcome.labels) != cut).any())
        if differs and graph.objective(outcome.labels) <= cost:
            return outcome.labels
        if not differs and sum_down([away.objective(known), -outcome.lower_bound]) < amount:
            return None
    return known[:0]


def _amounts(weights: FloatArray) -> Iterator[tuple[float, float]]:
    """What to multiply the weights by, and e for those: one that tells all apart, if there is."""
    unit = exact_unit(weights)
    scale = 2.0 * (len(weights) + 1)
    if unit and scale * float(np.abs(weights).sum()) <= EXACT / 4 * unit:
        yield scale, unit  # all that differs in cost differs by more than all e together
        return
    share = FIRST
    while share >= LAST:
        yield 1.0, share * float(np.abs(weights).min(initial=inf))
        share /= LESS


def margin(graph: Graph, labels: IntArray, pair: tuple[int, int], again: Again) -> float:
    """At least how much more clusterings cost that decide otherwise on a pair of nodes."""
    u, v = pair
    way = "cannot_link" if labels[u] == labels[v] else "must_link"
    try:
        otherwise = graph.constrained_by_id(**{way: np.array([pair])})  # type: ignore[arg-type]
    except ValueError:  # constraints leave no choice
        return inf
    costs = graph.costs(labels)
    return max(0.0, sum_down([again(otherwise, labels).lower_bound, *(-costs).tolist()]))
