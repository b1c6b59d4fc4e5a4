"""Which edge divides a leaf of branch and bound: by trials, and by what former ones have shown.

Deciding an edge raises the bound, more so the further x is from the decision: by about
``psi_0 x`` where the edge is kept and by ``psi_1 (1 - x)`` where it is cut. The means of what was
seen of an edge so far are its psi (its pseudo-costs); of an edge that has not been tried they are
guessed from its weight. The edges that promise most are tried, by a few iterations of the LP, until
some in a row are no better than the best one; those that were tried often are believed instead.
"""

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..base.clock import Clock
from ..instance.graph import Graph
from ..lp.master import Master
from ..lp.rough_master import RoughMaster

FRACTIONAL = 1e-6
"""A value of x this far from 0 and 1 is fractional."""

TRIALS, IN_VAIN = 12, 4
"""So many edges are tried at most, and so many in a row that are no better than the best one."""

RELIABLE = 4
"""An edge that was tried so often, either way, is believed."""

NO_GAIN = 1e-3
"""The bound of a half rises at least by this share of the gap: then the other half counts."""


class BranchingRule:
    """Chooses edges to divide leaves by, and learns from every trial.

    Parameters
    ----------
    graph : Graph
        The instance.
    master : Master or RoughMaster
        Its LP; only a rough one is quick enough for trials.
    clock : Clock
        Holds the deadline; collects the timings.
    """

    def __init__(self, graph: Graph, master: Master | RoughMaster, clock: Clock) -> None:
        self._master, self._clock = master, clock
        weights = np.abs(graph.weights)
        self._size = weights + weights.mean()
        self._total, self._seen = np.zeros((2, graph.m)), np.zeros((2, graph.m), dtype=np.int64)

    def choose(self, x: FloatArray, decided: BoolArray, bound: float, cutoff: float) -> int:
        """An edge that is not decided yet and raises the bounds of both halves, to ``cutoff``."""
        fractional = np.minimum(x, 1.0 - x)
        if fractional.max() <= FRACTIONAL:  # a clustering, and a bound that is short by rounding
            return int(np.argmax(np.where(decided, -1.0, self._size)))
        plain = np.where(decided, -1.0, fractional * self._size)
        if not isinstance(self._master, RoughMaster):
            return int(np.argmax(plain))
        gap, far = cutoff - bound, np.stack([x, 1.0 - x])
        promise = self._score(self._rates() * far, gap) if self._seen.any() else plain
        promise = np.where(decided | (fractional <= FRACTIONAL), -1.0, promise)
        best, most, in_vain = int(np.argmax(promise)), -1.0, 0
        with self._clock.measure("master"):
            for edge in np.argsort(-promise, kind="stable")[:TRIALS].tolist():
                if promise[edge] < 0.0 or in_vain >= IN_VAIN:
                    break
                score = promise[edge]
                if self._seen[:, edge].min() < RELIABLE:
                    rises = self._try(self._master, edge, far[:, edge], bound)
                    score = self._score(rises, gap)
                in_vain += 1
                if score > most:
                    best, most, in_vain = edge, score, 0
        return best

    def _try(self, master: RoughMaster, edge: int, far: FloatArray, bound: float) -> FloatArray:
        """By how much the bound rises if an edge is kept, and if it is cut."""
        rises = np.array([master.probe(edge, way, self._clock) - bound for way in (0.0, 1.0)])
        self._total[:, edge] += np.maximum(0.0, rises) / far
        self._seen[:, edge] += 1
        return rises

    def _rates(self) -> FloatArray:
        """Of every edge psi_0 and psi_1, by what was seen, or by its weight and all that was."""
        usual = self._total.sum() / (self._seen * self._size).sum()
        return np.where(self._seen > 0, self._total / np.maximum(1, self._seen), usual * self._size)

    def _score(self, rises: FloatArray, gap: float) -> FloatArray:
        """How good it is that the two bounds rise by so much; more than the gap is no gain."""
        score: FloatArray = np.clip(rises, NO_GAIN * gap, gap).prod(axis=0)
        return score
