"""A proof that no set of nodes has more surplus than so much: for one node after another.

The nodes have an order, and every set has a first one, its *anchor*: so there is a small problem
for every node, which is inside, with others that come later. Where an anchor's sets have a surplus
of up to b, its price goes up by b, and none of them has. Most anchors have none at once; the sets
of others are divided by whether they have a node.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

import numpy as np

from ..base import workers
from ..base.arrays import BoolArray, FloatArray
from ..base.blas import one_thread
from ..base.clock import Clock
from ..base.sums import sum_down
from ..proofs.price_leaf import PriceLeaf, SetFork, SetTree
from .best_set import BestSet
from .exhaustive import tried
from .worth import Worth, anchors, core

FIRST = 12
"""Rounds for all sets together, from which those of anchors start."""

RISE = 0.7
"""The share of the slack by which all prices rise before anything is proven; the rest is for the
sets that have a surplus in spite of that."""

ROUNDS, PAYS, PATIENCE = 3, 0.3, 3
"""Sets are divided if in the last rounds, after so many, their bound has not come nearer to the
target by this share."""

TOGETHER = 4
"""So many anchors are looked at side by side; the next ones have what these leave of the slack."""

TRIES, TRIES_EXCLUSIVE, WORK = 300, 10_000, 1e-2
"""All sets of a part are tried if that takes no more steps, or, where nodes exclude each other, so
many; a step in units of the clock's work."""

MOST_PARTS = 80
"""An anchor's sets are divided into so many parts at most."""


class Sets(NamedTuple):
    """What pairs are worth to sets, which of them exclude each other, and what nodes cost."""

    worth: FloatArray
    exclusive: BoolArray
    prices: FloatArray

    @property
    def tries(self) -> int:
        """How many steps it may take to try all sets of a part."""
        return TRIES_EXCLUSIVE if self.exclusive.any() else TRIES


class Anchored(NamedTuple):
    """A node, and those that its sets may have beside it."""

    node: int
    later: BoolArray


class Surplus(NamedTuple):
    """What some sets have at most, why, and one that has a surplus, if one was seen.

    It is ``finished`` unless more effort would prove less.
    """

    most: float
    tree: SetTree
    seen: BoolArray
    finished: bool = True


class Begun(NamedTuple):
    """The anchors of a proof that were finished, with these prices."""

    prices: FloatArray
    done: Mapping[int, Surplus]


class Priced(NamedTuple):
    """A bound by prices, why it holds, and sets with a surplus that were seen, as rows.

    Where the slack was not enough there is no bound, but a proof that is begun.
    """

    bound: float
    why: PriceLeaf | None
    seen: BoolArray
    begun: Begun


class _Part:
    """Sets that have some nodes, and may have others."""

    divided: tuple[int, _Part, _Part] | None = None

    def __init__(
        self, inside: list[int], others: BoolArray, bound: float, why: BestSet | SetTree
    ) -> None:
        self.inside, self.others, self.bound, self.why = inside, others, bound, why

    def tree(self) -> SetTree:
        if self.divided is not None:
            node, with_it, without = self.divided
            return SetFork(node, with_it.tree(), without.tree())
        return self.why.leaf if isinstance(self.why, BestSet) else self.why


def prove(
    worth: Worth,
    prices: FloatArray,
    slack: float,
    clock: Clock,
    effort: int = 1,
    begun: Begun | None = None,
) -> Priced:
    """What every clustering costs at least, by prices of its nodes.

    Parameters
    ----------
    worth : Worth
        The instance.
    prices : ndarray, shape (n,)
        At least 0; few sets of nodes are worth more, and not much.
    slack : float
        How much the prices may go up, together: the less the longer it takes.
    clock : Clock
        Holds the deadline.
    effort : int
        How often as many parts as usual an anchor's sets are divided into before that is given up.
    begun : Begun, optional
        A proof that was given up: if its prices are the same it goes on.
    """
    # A set has as many shares of what all prices rise by as it has nodes.
    rise, slack = RISE * slack, (1.0 - RISE) * slack
    prices = prices + rise / worth.n
    sets = Sets(worth.matrix(prices), worth.exclusive(prices), prices)
    order, n = anchors(sets.worth, prices), worth.n
    nothing, everything = np.empty(0, dtype=np.int64), np.arange(n)
    together = BestSet(sets.worth, prices, nothing, everything, nothing)
    later = np.ones(n, dtype=bool)
    tasks: list[Anchored] = []
    for node in order.tolist():
        later[node] = False
        tasks.append(Anchored(node, later.copy()))

    same = begun is not None and np.array_equal(begun.prices, prices)
    done: dict[int, Surplus] = dict(begun.done) if begun is not None and same else {}
    above = float(sum(max(0.0, surplus.most) for surplus in done.values()))
    for task in tasks:
        if task.node in done:
            continue
        clock.check()
        if (quick := _tried(sets, [task.node], task.later, 0.0)) is not None:
            done[task.node] = quick
            above += max(0.0, quick.most)
    clock.work += WORK * n * sets.tries
    hard = [task for task in tasks if task.node not in done]
    if hard:
        with one_thread():
            for _ in range(FIRST):
                together.improve(clock)
            for k in range(0, len(hard), TOGETHER):
                target = (slack - above) / (len(hard) - k)

                def largest(task: Anchored, own: Clock, target: float = target) -> Surplus:
                    return _largest(sets, task, target, slack, together, own, effort)

                some = hard[k : k + TOGETHER]
                for task, surplus in zip(some, workers.map(largest, some, clock), strict=True):
                    done[task.node] = surplus
                    above += max(0.0, surplus.most)
                if above > slack:
                    finished = {node: known for node, known in done.items() if known.finished}
                    return Priced(-np.inf, None, _seen(done), Begun(prices, finished))
    raised = [max(0.0, done[task.node].most) for task in tasks]
    last = np.append(np.negative(raised), -2.0 * worth.off)
    terms = [worth.weights[worth.pairs], -prices, last]
    trees = tuple((task.node, done[task.node].tree) for task in tasks)
    heaviest = float(worth.gains(prices).max(initial=0.0))  # as in the matrix
    bound = sum_down(np.concatenate(terms))
    return Priced(bound, PriceLeaf(prices, heaviest, trees), _seen(done), Begun(prices, done))


def _seen(done: dict[int, Surplus]) -> BoolArray:
    seen = np.array([surplus.seen for surplus in done.values()])
    found: BoolArray = seen[seen.any(axis=1)]
    return found


def _tried(sets: Sets, inside: list[int], others: BoolArray, target: float) -> Surplus | None:
    """All sets of a part, if that are not too many."""
    nodes = np.array(inside, dtype=np.int64)
    proof = tried(sets.worth, sets.exclusive, sets.prices, nodes, others, target, sets.tries)
    return None if proof is None else Surplus(proof[1], proof[0], proof[2])


def _largest(
    sets: Sets,
    task: Anchored,
    target: float,
    slack: float,
    like: BestSet,
    clock: Clock,
    effort: int,
) -> Surplus:
    """Bound the surplus of an anchor's sets, dividing them where it is too large."""
    worth, prices = sets.worth, sets.prices
    numbers, seen = count(), np.zeros(len(prices), dtype=bool)

    def bounded(inside: list[int], others: BoolArray, like: BestSet) -> _Part:
        nonlocal target, seen
        if (all_tried := _tried(sets, inside, others, target)) is not None:
            if all_tried.most > target:
                target, seen = all_tried.most, all_tried.seen
            return _Part(inside, others, all_tried.most, all_tried.tree)
        kept, gone = core(worth, prices, np.array(inside, dtype=np.int64), others)
        problem = BestSet(sets.worth, prices, np.array(inside), kept, gone, like)
        history = [problem.bound]
        while problem.bound > target and len(kept):
            clock.check()
            problem.improve(clock)
            if (value := problem.rounded()) > target:  # nothing better can be proven
                target, seen = value, np.zeros(len(prices), dtype=bool)
                seen[[*inside, *kept[problem.sides > 0.5].tolist()]] = True
            history.append(problem.bound)
            far = problem.bound - target
            if len(history) > ROUNDS and history[-1 - PATIENCE] - problem.bound < PAYS * far:
                break
        return _Part(inside, others, problem.bound, problem)

    first = bounded([task.node], task.later, like)
    parts = [(-first.bound, next(numbers), first)]
    while -parts[0][0] > target and len(parts) < MOST_PARTS * effort:
        part = parts[0][2]
        near = part.why
        if not isinstance(near, BestSet) or len(near.others) == 0:
            break
        node = int(near.others[np.argmin(np.abs(near.sides - 0.5))])
        rest = part.others.copy()
        rest[node] = False
        halves = bounded([*part.inside, node], rest, near), bounded(part.inside, rest, near)
        part.divided = (node, *halves)
        heapq.heappop(parts)
        for half in halves:
            heapq.heappush(parts, (-half.bound, next(numbers), half))
    return Surplus(-parts[0][0], first.tree(), seen, -parts[0][0] <= target)
