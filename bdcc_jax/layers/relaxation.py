"""The smoothed relaxation and its derivative, in NumPy.

For weights w the relaxed edge labels x minimise ``w . x + smoothing / 2 * |x - 1/2|^2`` over
``0 <= x <= 1`` and all cycle inequalities of the graph, whatever the signs of the weights. That is,
x is the point of this polytope next to ``1/2 - w / smoothing``: unique, and Lipschitz continuous
in w. The inequalities are found as in a solve: by exact detection, until x violates none.
"""

from dataclasses import dataclass
from threading import Lock

import numpy as np

from ..base.arrays import FloatArray
from ..base.clock import Clock
from ..instance.cover import vertex_cover
from ..instance.graph import Graph
from ..lp.rows import Rows
from ..options import as_amount, as_count
from ..search.cutting_planes import cutting_planes
from ..separation.packing import PackingEngine
from ..separation.paper.ball import VIOLATION
from ..separation.separation import Separation
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
        A row that was slack in more than this number of calls, one after another, is dropped when
        others come.

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
        as_count("keep", self.keep, at_least=0)


class SmoothedRelaxation:
    """The relaxation of one graph; remembers the rows that were needed lately.

    What it returns does not depend on what it remembers, but for the tolerances: rows that are
    missing are found, and others do not cut anything off.
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
            if any(len(self._violated(each)) > 0 for each in x):  # the rows of other weights
                self._solve(weights)
                _, gradient = self._program.pull_back(weights, g)
            return gradient

    def _solve(self, weights: FloatArray) -> FloatArray:
        batch = _BatchProgram(self, weights)
        for _ in cutting_planes(batch, [batch.separate], Clock(None)):
            pass
        self._grow_old(batch.x)
        return batch.x

    def _violated(self, x: FloatArray) -> Rows:
        rows = self._engine.separate(np.concatenate([x, x]), Clock(None)).rows
        return Rows(rows.starts, rows.indices % np.int32(self._m), rows.values, rows.upper)

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


class _BatchProgram:
    """The relaxation at several weights at once, as the loop of cutting planes asks for it."""

    def __init__(self, relaxation: SmoothedRelaxation, weights: FloatArray) -> None:
        self._relaxation, self._weights = relaxation, weights
        self.x = np.empty_like(weights)
        self._todo = np.arange(len(weights))  # whose x may violate rows that are missing

    def solve(self, _: Clock) -> FloatArray:
        self.x[self._todo] = self._relaxation._program.solve(self._weights[self._todo])
        return self.x

    def separate(self, x: FloatArray, _: Clock) -> Separation:
        found = [self._relaxation._violated(x[i]) for i in self._todo]
        self._todo = self._todo[[len(rows) > 0 for rows in found]]
        rows = Rows.concatenate(found)
        return Separation(rows, violated_roots=0, fallbacks=0, satisfied=len(rows) == 0)

    def has(self, rows: Rows) -> bool:
        return _cycles(rows) <= self._relaxation._age.keys()

    def refine(self) -> bool:
        return False

    def add(self, rows: Rows) -> None:
        self._relaxation._refresh(_cycles(rows) - self._relaxation._age.keys())


def _cycles(rows: Rows) -> set[bytes]:
    """The different cycles: of each the edge that the others bound, then those in order."""
    cycles = np.split(rows.indices, rows.starts[1:-1]) if len(rows) > 0 else []
    return {np.append(cycle[:1], np.sort(cycle[1:])).tobytes() for cycle in cycles}


def _all_cycles(edges: Edges, violation: float) -> PackingEngine:
    """An engine for all cycle inequalities, not only those with one edge in E-.

    Every edge comes twice: edge e to be walked along, and edge m + e to be bounded by a path.
    """
    pairs = np.sort(edges.pairs, axis=1)
    signed = Graph._trusted(
        edges.n, np.concatenate([pairs, pairs]), np.repeat([1.0, -1.0], edges.m)
    )
    return PackingEngine(signed, vertex_cover(signed, "greedy"), reach=None, violation=violation)
