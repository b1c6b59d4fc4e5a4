"""Stored runs, and how their bounds close over time.

There are three clocks. ``wall`` is the time that passed. The paper's two leave out the rounding
(clusterings are made on demand) and share only the master: ``serial`` counts detection and
subproblems of all roots, ``parallel`` of each round those of the slowest root only, as if every
root had a processor of its own. All leave out compilation by XLA, once for each shape.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import Literal

from bdcc_jax import Graph
from bdcc_jax.result import relative_gap

from .instances import Instance, fingerprint, planar
from .machine import commit, machine, versions
from .methods import Method
from .store import Record, Store, key

Clock = Literal["wall", "serial", "parallel"]
Job = tuple[Instance, Method]


@dataclass(frozen=True)
class Point:
    """The bounds at a time."""

    seconds: float
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """The duality gap."""
        return max(0.0, self.upper - self.lower)

    @property
    def relative_gap(self) -> float:
        """The gap over the best clustering's cost."""
        return relative_gap(self.upper, self.lower)


class Runner:
    """Runs what is not stored yet.

    Parameters
    ----------
    store : Store
        Keeps the runs.
    time_limit : float
        Seconds for each of them.
    """

    def __init__(self, store: Store, time_limit: float) -> None:
        self._store, self._limit = store, time_limit
        self._graphs: dict[Instance, Graph] = {}
        self._warm: set[str] = set()

    def run(self, job: Job) -> Record | None:
        """Run and store; None if the very same run is stored already."""
        each, method = job
        if each not in self._graphs:
            self._graphs[each] = each.load()
        graph = self._graphs[each]
        asked = {
            "instance": str(each),
            "fingerprint": fingerprint(graph),
            "method": method.name,
            "settings": method.settings,
            "time_limit": self._limit,
            "versions": versions(),
            "machine": machine(),
        }
        if (name := key(asked)) in self._store:
            return None
        if method.warm_up and method.name not in self._warm:
            method.run(planar(60), self._limit)
            self._warm.add(method.name)
        begin = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        outcome = method.run(graph, self._limit)
        if outcome.get("status") == "interrupted":
            raise KeyboardInterrupt
        size = {"family": each.family, "n": graph.n, "m": graph.m}
        record = {"key": name, "date": begin, "commit": commit(), **asked, **size, **outcome}
        self._store.append(record)
        return record


def trace(run: Record, clock: Clock = "wall") -> list[Point]:
    """The bounds after every round and at the end, on one of the three clocks."""
    points, saved = [], 0.0
    unfinished = run.get("compile_seconds", 0.0)  # what no round of the history accounts for
    for record in run["history"]:
        saved += record.get("compile_seconds", 0.0)
        unfinished -= record.get("compile_seconds", 0.0)
        if clock != "wall":
            saved += record["rounding_seconds"]
        if clock == "parallel":
            saved += record["detection_seconds"] + record["subproblem_seconds"]
            saved -= record["slowest_root_seconds"]
        bounds = record["lower_bound"], record["upper_bound"]
        points.append(Point(record["seconds"] - saved, *bounds))
    lower = -inf if run["lower_bound"] is None else run["lower_bound"]
    upper = inf if run["objective"] is None else run["objective"]
    end = run["seconds"] - saved - unfinished
    if clock == "parallel" and run["status"] != "optimal":
        # How long the slowest root of a round that was cut short would take is not known.
        end = points[-1].seconds if points else 0.0
    return [*points, Point(end, lower, upper)]


def reached(points: list[Point], *, gap: float = inf, relative: float = inf) -> float | None:
    """The first time at which both gaps are at most this; None if that never happened."""
    for point in points:
        if point.gap <= gap and point.relative_gap <= relative:
            return point.seconds
    return None
