"""One run: passes over the blocks until the gap is as asked for, and what is kept in between."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from ..attempt import solve_graph
from ..base.environment import package_version
from ..base.records import Status, Stop, relative_gap
from ..base.sums import common_unit, sum_up
from ..options import Options
from ..search.bounds import MOST, TOLERANCE
from .ascent import Effort
from .budget import Budget
from .levels import Keep, Labelling, Ladder, Summaries, costs, label, proofs
from .result import BlockProgress, Callback, LargeResult, Step
from .runners import LATE, Here, Punctual, Runner
from .store import BlockStore
from .tasks import CLUSTERS, PRICES, Level, labels_of, write_labels

WORTH = 0.02
"""A further pass has to close this share of the gap, or prices are as good as they get."""


ELSEWHERE = ("threads", "memory")
"""Options that say by what means, and change no result."""


@dataclass(frozen=True)
class Wish:
    """What is asked for; all of it has been checked.

    Attributes
    ----------
    gap : float
        The relative gap.
    passes : int
        Over all blocks, at most, to improve prices.
    prove : bool
        Whether the ordinary solve proves bounds of blocks where passes leave a gap.
    seed : int
        Of the ordinary solve.
    options : Options
        Of the ordinary solve.
    budget : Budget
        Memory and processes.
    time_limit : float
        Seconds.
    """

    gap: float
    passes: int
    prove: bool
    seed: int
    options: Options
    budget: Budget
    time_limit: float

    @property
    def effort(self) -> Effort:
        """For every block."""
        return Effort(rise=min(1e-3, max(1e-5, self.gap / 20)))

    def key(self, store: BlockStore) -> str:
        """A name for all that results of blocks depend on."""
        content = {
            "version": package_version(),
            "store": store.digest,
            "effort": asdict(self.effort),
            "gap": self.gap,
            "seed": self.seed,
            "options": {k: x for k, x in asdict(self.options).items() if k not in ELSEWHERE},
        }
        text = json.dumps(content, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


class Run:
    """A solve of a store with several blocks."""

    def __init__(
        self, store: BlockStore, folder: Path, wish: Wish, runner: Runner, told: Callback | None
    ) -> None:
        self._store, self._wish, self._runner, self._told = store, wish, runner, told
        self._folder = folder / wish.key(store)
        self._start, self._deadline = time.monotonic(), time.time() + wish.time_limit
        self._stopping = False
        self._pass, self._lower, self._upper = 1, -inf, inf
        self._history: list[Step] = []
        self._labelling: Labelling | None = None
        self._prices, self._clusters = self._ladder(PRICES, "1"), self._ladder(CLUSTERS, "1")
        self._allowed = 0.0

    def result(self) -> LargeResult:
        """Solve; a limit and Ctrl-C leave what has been found."""
        try:
            status = self._solve()
        except Stop as stop:
            status = stop.status
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        # What follows is short, and has to be done; workers may be busy with what nobody needs.
        self._stopping, self._runner = True, Here() if self._labelling is None else self._runner
        if self._labelling is None:
            self._cost(label(self._clusters, self._run))
        self._raise(self._prices.lower_bound)
        self._note("end", 0)
        assert self._labelling is not None
        level, kind = self._labelling.level, self._labelling.kind
        return LargeResult(
            store=self._store,
            folder=self._folder,
            objective=self._upper,
            lower_bound=min(self._lower, self._upper),
            status=self._verdict or status,
            n_clusters=self._labelling.n_clusters,
            history=tuple(self._history),
            seconds=self._seconds,
            read_labels=partial(labels_of, level, kind),
        )

    def _solve(self) -> Status:
        wish = self._wish
        self._prices.first(together_with=self._clusters)
        self._raise(self._prices.lower_bound)
        self._clusters.climb()
        self._cost(label(self._clusters, self._run))
        self._prices.climb()
        self._raise(self._prices.lower_bound)
        while self._verdict is None and self._pass < wish.passes:
            before, gap = self._lower, self._upper - self._lower
            self._pass += 1
            ladder = self._ladder(
                PRICES, f"{self._pass}-{self._prices.tag(len(self._prices.levels))}"
            )
            ladder.first(before=self._prices.levels)
            ladder.climb()
            if ladder.lower_bound <= before:
                break
            self._prices = ladder
            self._raise(ladder.lower_bound)
            if self._lower - before < WORTH * gap:
                break
        if self._verdict is None and wish.prove:
            found = proofs(
                self._prices,
                self._run,
                wish.budget,
                self._deadline,
                options=wish.options,
                gap=wish.gap / 4,
                seed=wish.seed,
            )
            self._raise(self._prices.proven_bound(found))
        return self._verdict or Status.MAX_ROUNDS

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._start

    @property
    def _verdict(self) -> Status | None:
        """Whether the bounds have met, or are as close as asked for."""
        if self._upper - self._lower <= self._allowed:
            return Status.OPTIMAL
        return Status.GAP if relative_gap(self._upper, self._lower) <= self._wish.gap else None

    def _ladder(self, kind: str, pass_: str) -> Ladder:
        wish, folder = self._wish, self._folder / f"pass-{pass_}"
        return Ladder(
            kind, self._store, folder, wish.effort, self._run, wish.budget, self._deadline
        )

    def _raise(self, bound: float) -> None:
        self._lower = max(self._lower, bound)

    def _cost(self, labelling: Labelling) -> None:
        """Add up what a clustering costs, from all edges."""
        found = costs(labelling, self._store.n_blocks, self._run)
        self._upper = sum_up(
            [x for each in found.values() for x in (each["cost"], each["cost_low"])]
        )
        self._allowed = _allowed(found)
        self._labelling = labelling

    def _run(
        self,
        name: str,
        function: Callable[[int], Any],
        numbers: Sequence[int],
        keep: Keep | None = None,
        at_once: int | None = None,
    ) -> None:
        done = 0
        for number, found in self._runner.run(Punctual(function), numbers, self._check, at_once):
            if found == LATE:
                raise Stop(Status.TIME_LIMIT)
            done += 1
            if keep is not None:
                keep(number, found)
            if self._told is not None:
                state = BlockProgress(
                    name, done, len(numbers), self._seconds, self._lower, self._upper
                )
                if self._told(state) and not self._stopping:
                    raise Stop(Status.STOPPED)
        self._note(name, done)

    def _note(self, stage: str, blocks: int) -> None:
        step = Step(stage, self._pass, blocks, self._seconds, self._lower, self._upper)
        self._history.append(step)

    def _check(self) -> None:
        if not self._stopping and time.time() >= self._deadline:
            raise Stop(Status.TIME_LIMIT)


def _allowed(found: Summaries) -> float:
    """What a clustering that is called optimal may cost more, as for any other instance."""
    filled = [each for each in found.values() if each["m"]]
    if not filled:
        return 0.0
    smallest = min(each["smallest"] for each in filled)
    allowed = min(TOLERANCE * smallest, MOST * sum(each["sum"] for each in filled))
    units = np.array([each["unit"] for each in filled])
    unit = common_unit(units) if units.all() else 0.0
    return min(allowed, unit / 2) if unit else allowed


def solve_whole(store: BlockStore, folder: Path, wish: Wish, told: Callback | None) -> LargeResult:
    """The ordinary solve of a store with one block."""
    start = time.monotonic()
    place = folder / wish.key(store)
    place.mkdir(parents=True, exist_ok=True)

    def observe(state: Any) -> bool:
        if told is None:
            return False
        now = state.round
        seen = BlockProgress("solve", 0, 1, now.seconds, now.lower_bound, now.upper_bound)
        return bool(told(seen))

    found = solve_graph(
        store.block(0),
        time_limit=None if wish.time_limit == inf else wish.time_limit,
        gap=wish.gap,
        seed=wish.seed,
        options=wish.options,
        callback=observe,
        checkpoint=place / "checkpoint.npz",
    )
    level, kind = Level(str(store.folder), str(place)), "labels-whole"
    write_labels(level, kind, 0, found.labels)
    seconds = time.monotonic() - start
    return LargeResult(
        store=store,
        folder=place,
        objective=found.objective,
        lower_bound=found.lower_bound,
        status=found.status,
        n_clusters=found.n_clusters,
        history=(Step("solve", 1, 1, seconds, found.lower_bound, found.objective),),
        seconds=seconds,
        read_labels=partial(labels_of, level, kind),
    )
