"""From level to level: blocks, then what they leave open at their faces, until one block is left.

The same way up serves both bounds. For the *lower* bound, blocks give away what their bounds do not
need of the weights near faces, and the rest is a graph of the nodes near faces with these weights
and those of the faces: its lower bound adds to theirs, because every weight is divided, not used
twice. For the *upper* bound, clusters far from faces are decided, and the rest is a graph of the
nodes near faces and of the clusters around them. A rest is much smaller than what it is left of;
several of them, and the faces between, are a block of the next store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..base.sums import sum_down
from ..options import Options
from .ascent import Effort
from .budget import PER_EDGE_SOLVE, Budget
from .store import BlockStore
from .store_writer import BlockWriter
from .tasks import (
    PRICES,
    Level,
    Task,
    cluster_block,
    cost_block,
    gather,
    label_block,
    prove_block,
    relax_and_cluster_block,
    relax_block,
    result,
    summary,
)

LEAST_CAPACITY = 100_000
"""Edges of a block on higher levels, if that fits: dividing less is not worth it."""

Keep = Callable[[int, Any], None]


class Stage(Protocol):
    """Runs a function for every number, and hands on what comes out."""

    def __call__(
        self,
        name: str,
        function: Callable[[int], Any],
        numbers: Sequence[int],
        keep: Keep | None = None,
        at_once: int | None = None,
    ) -> None:
        """Do it, no more than so many at once; the name is for those who watch."""


Summaries = dict[int, dict[str, float]]


class Ladder:
    """The levels of one pass, of one kind of results.

    Parameters
    ----------
    kind : {'prices', 'clusters'}
        Of which bound.
    store : BlockStore
        The graph.
    folder : path
        Where results and smaller stores go.
    effort : Effort
        How far to go with a block.
    run : callable
        Runs tasks.
    budget : Budget
        How many edges fit into memory, in how many blocks.
    deadline : float
        By ``time.time()``.
    """

    def __init__(
        self,
        kind: str,
        store: BlockStore,
        folder: Path,
        effort: Effort,
        run: Stage,
        budget: Budget,
        deadline: float,
    ) -> None:
        self._kind, self._folder, self.effort, self._run = kind, folder, effort, run
        self._budget, self._deadline = budget, deadline
        self._capacity = max(_largest(store), LEAST_CAPACITY)
        self.stores = [store]
        self.levels = [Level(str(store.folder), str(self._made(0)))]
        self.known: list[Summaries] = [{}]

    def first(self, together_with: Ladder | None = None, before: Sequence[Level] = ()) -> None:
        """Do the blocks of the store itself: alone, or, by one ascent, with the other ladder."""
        if together_with is None:
            self._do(before)
            return
        task = self._task()
        for ladder in (self, together_with):
            ladder._read()
        both = [self, together_with]
        left = [b for b in range(self.stores[0].n_blocks) if any(b not in x.known[0] for x in both)]

        def keep(block: int, found: dict[str, float]) -> None:
            for ladder in both:
                prefix = f"{ladder._kind} "
                ladder.known[0][block] = {
                    key.removeprefix(prefix): value
                    for key, value in found.items()
                    if key.startswith(prefix)
                }

        at_once = self._budget.at_once(_largest(self.stores[0]))
        self._run("blocks", partial(relax_and_cluster_block, task), left, keep, at_once)

    def climb(self) -> None:
        """Go up until one block is left, or a further level would have as many blocks."""
        while self.stores[-1].n_blocks > 1 and self._up():
            self._do()

    def _do(self, before: Sequence[Level] = ()) -> None:
        """Do the blocks of the highest level that are not done."""
        self._read()
        function = relax_block if self._kind == PRICES else cluster_block
        task, known = self._task(before), self.known[-1]
        left = [b for b in range(self.stores[-1].n_blocks) if b not in known]
        name = f"{self._kind}, level {len(self.levels) - 1}"
        at_once = self._budget.at_once(_largest(self.stores[-1]))
        self._run(name, partial(function, task), left, known.__setitem__, at_once)

    def _up(self) -> bool:
        """Write the store of the next level; whether there is one."""
        store, known = self.stores[-1], self.known[-1]
        sizes = [int(known[b]["m"]) for b in range(store.n_blocks)]
        groups = grouped(sizes, store.faces, min(self._capacity, self._budget.most_edges))
        self._capacity *= 2
        if len(groups) == store.n_blocks:
            return False
        level = self.levels[-1] = replace(self.levels[-1], groups=groups)
        number = len(self.levels)
        folder = self._made(number)
        target = folder / "store"
        if not (target / "store.json").exists():
            writer = BlockWriter(target)
            task = partial(gather, level, self._kind, str(target))
            self._run(f"{self._kind}, faces of level {number - 1}", task, range(len(groups)))
            writer.finish(len(groups))
        self.stores.append(BlockStore(target))
        self.levels.append(Level(str(target), str(folder)))
        self.known.append({})
        return True

    def _task(self, before: Sequence[Level] = ()) -> Task:
        return Task(self.levels[-1], self.effort, tuple(before), self._deadline)

    def _read(self) -> None:
        """Take up what an earlier run has finished."""
        level, known = self.levels[-1], self.known[-1]
        for block in range(self.stores[-1].n_blocks):
            if (there := summary(level, self._kind, block)) is not None:
                known[block] = there

    def _made(self, number: int) -> Path:
        # Blocks are done once for both bounds. What is above depends on the groups below and on
        # what came out there: if a damaged result is done again elsewhere, the old store above it
        # must not be taken up, for both together could count a weight twice.
        folder = self._folder / "blocks"
        if number:
            folder = self._folder / f"{self._kind}-{number}-{self.tag(number)}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def tag(self, number: int) -> str:
        """A short name for all that so many levels are made of, and what came out of them."""
        content = [known[b]["content"] for known in self.known[:number] for b in sorted(known)]
        return _short([[level.groups for level in self.levels[:number]], content])

    @property
    def lower_bound(self) -> float:
        """The best that the levels prove which are there, wholly or in part."""
        best, below = -np.inf, list[float]()
        for store, known in zip(self.stores, self.known, strict=True):
            blocks = range(store.n_blocks)
            end = [known[b]["full"] if b in known else store.negative_sum(b) for b in blocks]
            faces = [store.negative_sum(a, b) for a, b in store.faces]
            best = max(best, sum_down([*below, *end, *faces]))
            if len(known) < store.n_blocks:
                break
            below += [known[b]["kept"] for b in blocks]
        return float(best)

    def proven_bound(self, proofs: Sequence[Summaries]) -> float:
        """The same with what the ordinary solve has found of blocks; all levels must be there."""
        terms = []
        for number, (store, known, proof) in enumerate(
            zip(self.stores, self.known, proofs, strict=True)
        ):
            last = number == len(self.stores) - 1
            for b in range(store.n_blocks):
                mine = known[b]["full" if last else "kept"]
                terms.append(max(mine, proof[b]["bound"]) if b in proof else mine)
            if last:
                terms += [store.negative_sum(a, b) for a, b in store.faces]
        return sum_down(terms)

    @property
    def complete(self) -> bool:
        """Whether every block of the highest level is done."""
        return len(self.known[-1]) == self.stores[-1].n_blocks


def _largest(store: BlockStore) -> int:
    """Edges of the largest block."""
    return max(store.size(b)[1] for b in range(store.n_blocks))


def _short(content: Any) -> str:
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


def grouped(
    sizes: Sequence[int], faces: dict[tuple[int, int], int], capacity: int
) -> tuple[tuple[int, ...], ...]:
    """Put neighbouring blocks together, as long as what they are together fits.

    A group grows from the first block that is in none, each time by the neighbour with the most
    edges to it; where no neighbour fits, by the next block that does.

    Examples
    --------
    >>> grouped([5, 5, 5, 5], {(0, 2): 1, (1, 3): 1, (2, 3): 1}, 12)
    ((0, 2), (1, 3))
    """
    around: list[dict[int, int]] = [{} for _ in sizes]
    for (a, b), m in faces.items():
        around[a][b] = around[b][a] = m
    free, groups = set(range(len(sizes))), []
    for first in range(len(sizes)):
        if first not in free:
            continue
        group, size, edges = [first], sizes[first], dict(around[first])
        free.remove(first)
        while True:
            fitting = [
                (-m, b) for b, m in edges.items() if b in free and size + sizes[b] + m <= capacity
            ]
            if not fitting:
                break
            minus_m, b = min(fitting)
            group.append(b)
            size += sizes[b] - minus_m
            free.remove(b)
            for other, m in around[b].items():
                edges[other] = edges.get(other, 0) + m
        groups.append(tuple(sorted(group)))
    return tuple(_merged_small(groups, sizes, around, capacity))


def _merged_small(
    groups: list[tuple[int, ...]],
    sizes: Sequence[int],
    around: Sequence[dict[int, int]],
    capacity: int,
) -> list[tuple[int, ...]]:
    """Groups that are small, whose neighbours are in others, put together in order.

    ``around`` has the edges from every block to its neighbours: those between members count, too.
    """
    merged: list[set[int]] = []
    total = 0
    for group in groups:
        mine, before = set(group), merged[-1] if merged else set[int]()
        size = sum(sizes[b] for b in mine) + _edges_between(mine, mine, around) // 2
        across = _edges_between(mine, before, around)
        if merged and total + size + across <= capacity // 2:
            before |= mine
            total += size + across
        else:
            merged.append(mine)
            total = size
    return [tuple(sorted(members)) for members in merged]


def _edges_between(one: set[int], other: set[int], around: Sequence[dict[int, int]]) -> int:
    """Edges from blocks of one set to those of the other, counted from the first."""
    return sum(m for b in one for neighbour, m in around[b].items() if neighbour in other)


def label(ladder: Ladder, run: Stage) -> Labelling:
    """Number the clusters of the highest level that is complete, and then of all below it."""
    top = len(ladder.levels) - 1
    if not ladder.complete and top > 0:
        top -= 1
    whole = ladder.complete or top < len(ladder.levels) - 1
    kind = f"labels-{ladder.tag(top + 1)}" if whole else "labels-partial"
    above, count = None, 0
    for number in range(top, -1, -1):
        level, store, known = ladder.levels[number], ladder.stores[number], ladder.known[number]
        name = "clusters" if above is None else "decided"
        blocks = range(store.n_blocks)
        here = [int(known[b][name]) if b in known else min(1, store.size(b)[0]) for b in blocks]
        firsts = tuple((count + np.cumsum([0, *here])).tolist())
        left = [b for b in blocks if not whole or result(level, kind, b) is None]
        missing = frozenset(blocks) - frozenset(known)
        task = partial(label_block, level, kind, above, firsts, missing)
        run(f"labels, level {number}", task, left)
        above, count = level, firsts[-1]
    return Labelling(ladder.levels[0], kind, count)


class Labelling(NamedTuple):
    """A clustering in files: whose, of which name, and how many clusters."""

    level: Level
    kind: str
    n_clusters: int


def costs(labelling: Labelling, n_blocks: int, run: Stage) -> Summaries:
    """What a clustering costs in every block."""
    found: Summaries = {}
    task = partial(cost_block, labelling.level, labelling.kind)
    run("cost", task, range(n_blocks), found.__setitem__)
    return found


def proofs(
    ladder: Ladder,
    run: Stage,
    budget: Budget,
    deadline: float,
    *,
    options: Options,
    gap: float,
    seed: int,
) -> list[Summaries]:
    """Lower bounds of the blocks of all levels by the ordinary solve, of those that fit memory."""
    found: list[Summaries] = []
    for number, (level, store) in enumerate(zip(ladder.levels, ladder.stores, strict=True)):
        known: Summaries = {}
        found.append(known)
        for block in range(store.n_blocks):
            if (there := summary(level, level.proof, block)) is not None:
                known[block] = there
        sizes = {b: store.size(b)[1] for b in range(store.n_blocks) if b not in known}
        left = [b for b, edges in sizes.items() if budget.fits_whole(edges)]
        task = Task(level, ladder.effort, deadline=deadline)
        one = partial(prove_block, task, options, gap, seed)
        at_once = budget.at_once(max((sizes[b] for b in left), default=0), PER_EDGE_SOLVE)
        run(f"proofs, level {number}", one, left, known.__setitem__, at_once)
    return found
