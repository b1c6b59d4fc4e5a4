"""The smoothed relaxation and its derivative, in NumPy.

For weights w the relaxed edge labels x minimise ``w . x + smoothing / 2 * |x - 1/2|^2`` over
``0 <= x <= 1`` and all cycle inequalities of the graph, whatever the signs of the weights. That is,
x is the point of this polytope next to ``1/2 - w / smoothing``: unique, and Lipschitz continuous
in w. The inequalities are found as in a solve: by exact detection, until x violates none.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.cover import vertex_cover
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..options import as_amount
from ..separation.packing import PackingEngine
from ..separation.paper.ball import VIOLATION
from .cone_program import TIGHT, ConeProgram
from .edges import Edges


@dataclass(frozen=True)
class LayerOptions:
    """How smooth the relaxation is, and how stale its rows may get.

    Parameters
    ----------
    smoothing : float
        The factor of the quadratic term, in the unit of the weights. The smaller, the closer x is
        to the LP's solution, and the fewer edges have a gradient.
    violation : float
        New rows are looked for as long as a cycle inequality is violated by more than this. Larger
        values let the rows of earlier weights serve for longer.
    keep : int
        Rows that were slack in more than so many calls in a row are dropped when others come.

    Examples
    --------
    >>> LayerOptions(smoothing=0.1).keep
    10
    """

    smoothing: float = 1.0
    violation: float = VIOLATION
    keep: int = 10

    def __post_init__(self) -> None:
        for name in ("smoothing", "violation"):
            as_amount(name, getattr(self, name))
        if not 0 < self.smoothing < float("inf"):
            raise ValueError(f"smoothing must be positive and finite, not {self.smoothing}")
        if not VIOLATION <= self.violation < 1:
            raise ValueError(f"violation must lie in [{VIOLATION}, 1), not {self.violation}")
        if isinstance(self.keep, bool) or not isinstance(self.keep, int) or self.keep < 0:
            raise ValueError(f"keep must be an integer >= 0, not {self.keep!r}")


class SmoothedRelaxation:
    """The relaxation of one graph; remembers the rows that were needed lately.

    What it returns does not depend on what it remembers, but for the tolerances: rows that are
    missing are found, and others do not cut anything off.

    Parameters
    ----------
    edges : Edges
        The graph.
    options : LayerOptions
        Smoothing and staleness.
    """

    def __init__(self, edges: Edges, options: LayerOptions) -> None:
        self._m, self._options = edges.m, options
        self._engine = _all_cycles(edges, options.violation)
        self._age: dict[bytes, int] = {}  # by cycle: in how many calls it has been slack
        self._program = ConeProgram.of(edges.m, Rows.empty(), options.smoothing)
        self._lock = Lock()  # JAX may run several callbacks at once

    @property
    def n_rows(self) -> int:
        """Number of rows at present."""
        return len(self._age)

    def solve(self, weights: FloatArray) -> FloatArray:
        """The relaxed labels x for weights of shape (B, m)."""
        with self._lock:
            return self._solve(weights)

    def pull_back(self, weights: FloatArray, g: FloatArray) -> FloatArray:
        """The gradient in the weights of anything whose gradient in x is g, both (B, m)."""
        with self._lock:
            x, gradient = self._program.pull_back(weights, g)
            if any(self._violated(each) for each in x):  # these are the rows of other weights
                self._solve(weights)
                _, gradient = self._program.pull_back(weights, g)
            return gradient

    def _solve(self, weights: FloatArray) -> FloatArray:
        x = np.empty_like(weights)
        todo = np.arange(len(weights))
        while len(todo) > 0:
            x[todo] = self._program.solve(weights[todo])
            found = [self._violated(x[i]) for i in todo]
            new = {cycle for cycles in found for cycle in cycles} - self._age.keys()
            if not new:
                break
            self._refresh(new)
            todo = todo[[bool(cycles) for cycles in found]]
        self._grow_old(x)
        return x

    def _violated(self, x: FloatArray) -> list[bytes]:
        twice = np.concatenate([x, x])
        rows = self._engine.separate(twice, Clock(None)).rows
        cycles = np.split((rows.indices % self._m).astype(np.int32), rows.starts[1:-1])
        return [_key(cycle) for cycle in cycles] if len(rows) > 0 else []

    def _refresh(self, new: set[bytes]) -> None:
        """Add rows, drop old ones, and put the program together anew."""
        kept = {cycle: age for cycle, age in self._age.items() if age <= self._options.keep}
        self._age = kept | dict.fromkeys(sorted(new), 0)
        self._program = ConeProgram.of(self._m, self._rows(), self._options.smoothing)

    def _grow_old(self, x: FloatArray) -> None:
        rows = self._program.rows
        slack = np.all([rows.violation(each) < -TIGHT for each in x], axis=0)
        for cycle, unused in zip(self._age, slack, strict=True):
            self._age[cycle] = self._age[cycle] + 1 if unused else 0

    def _rows(self) -> Rows:
        return Rows.from_cycles([np.frombuffer(c, np.int32).astype(np.int64) for c in self._age])


def _key(cycle: Any) -> bytes:
    """A cycle inequality: its first edge, which the others bound, then those in order."""
    return bytes(np.append(cycle[:1], np.sort(cycle[1:])).tobytes())


def _all_cycles(edges: Edges, violation: float) -> PackingEngine:
    """Finds all cycle inequalities, not only those with one edge in E-, violated by so much.

    Every edge comes twice: edge e to be walked along, and edge m + e to be bounded by a path.
    """
    pairs = np.sort(edges.pairs, axis=1)
    signed = Graph._trusted(
        edges.n, np.concatenate([pairs, pairs]), np.repeat([1.0, -1.0], edges.m)
    )
    return PackingEngine(signed, vertex_cover(signed, "greedy"), reach=None, violation=violation)
