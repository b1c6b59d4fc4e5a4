"""Which pair of nodes divides a leaf best: what the LP over clusters says of both halves.

Clusterings that keep a pair have clusters with both of its nodes or neither, those that cut it have
no cluster with both. Of the clusters that are known the LP has fewer then, and its bound rises by
some amount on either side. The pair whose two gains have the largest product is taken ("strong
branching", Applegate, Bixby, Chvatal and Cook, 1995). In the form

    max  sum of w(S) l_S    subject to    sum of l_S over S with v  <= 1  for every node v,  l >= 0

clusters go by an upper limit of 0, and the dual simplex method starts from the last basis.
"""

from __future__ import annotations

import highspy
import numpy as np

from ..base.arrays import BoolArray, IntArray
from ..base.clock import Clock
from ..base.highs import OPTIMAL, run
from ..lp.master import STARTING, MasterFailed, power_of_two
from .clusters import Clusters

CANDIDATES = 12
"""So many pairs are tried."""

SLIGHT = 1e-6
"""Pairs that are together by less than this, or apart, are decided."""

LEAST = 1e-3
"""No gain counts as less than this share of the gap: half a gain is better than none."""


def dividing_pair(clusters: Clusters, gap: float, clock: Clock) -> tuple[int, int]:
    """The nodes of the pair whose decision gains most; there is one that is not decided.

    Parameters
    ----------
    clusters : Clusters
        The LP, solved.
    gap : float
        What closes a half; more than that is no gain.
    clock : Clock
        Holds the deadline; counts the work.
    """
    worth = clusters.worth
    u, v = worth.pairs
    z = np.where(worth.apart[u, v], 0.0, clusters.together()[u, v])
    undecided, sizes = np.minimum(z, 1.0 - z), np.abs(worth.weights[u, v])
    if undecided.max(initial=0.0) <= SLIGHT:
        left = int(np.argmin(worth.apart[u, v]))
        return int(u[left]), int(v[left])
    order = np.argsort(-undecided * (sizes + sizes.mean()), kind="stable")[:CANDIDATES]
    order = order[undecided[order] > SLIGHT]
    if len(order) == 1 or gap <= 0.0:
        return int(u[order[0]]), int(v[order[0]])
    packing = _Packing(clusters)
    whole = packing.most(np.zeros(len(clusters.sets), dtype=bool), clock)
    scores: list[float] = []
    for pair in order:
        one, other = clusters.sets[:, u[pair]], clusters.sets[:, v[pair]]
        gains = [whole - packing.most(gone, clock) for gone in (one != other, one & other)]
        # Shares of the gap: a product of two gains may be more than float64 has.
        scores.append(float(np.prod(np.clip(np.divide(gains, gap), LEAST, 1.0))))
    best = order[int(np.argmax(scores))]
    return int(u[best]), int(v[best])


class _Packing:
    """What clusters without common nodes are worth together at most, as an LP."""

    def __init__(self, clusters: Clusters) -> None:
        sets, worth = clusters.sets, clusters.worth_of
        (k, n), self._columns = sets.shape, np.arange(len(sets), dtype=np.int32)
        self._size = k + n
        self._scale = power_of_two(float(np.abs(worth).mean()))
        self._highs = highs = highspy.Highs()
        highs.silent()
        for option, value in {"threads": 1, "presolve": "off", "solver": "simplex"}.items():
            highs.setOptionValue(option, value)
        nothing: IntArray = np.empty(0, dtype=np.int32)
        highs.addRows(n, np.full(n, -highspy.kHighsInf), np.ones(n), 0, nothing, nothing, nothing)
        starts = np.concatenate([[0], np.cumsum(sets.sum(axis=1))[:-1]]).astype(np.int32)
        nodes = np.nonzero(sets)[1].astype(np.int32)
        highs.addCols(
            k, -worth / self._scale, np.zeros(k), np.ones(k),
            len(nodes), starts, nodes, np.ones(len(nodes)),
        )  # fmt: skip
        self._basis: highspy.HighsBasis | None = None

    def most(self, gone: BoolArray, clock: Clock) -> float:
        """The same without some clusters."""
        clock.check()
        highs, k = self._highs, len(gone)
        highs.changeColsBounds(k, self._columns, np.zeros(k), np.where(gone, 0.0, 1.0))
        if self._basis is not None:
            highs.setBasis(self._basis)
        status = run(highs)
        if status != OPTIMAL:
            raise MasterFailed(highs.modelStatusToString(status))
        if self._basis is None:
            self._basis = highs.getBasis()
        info = highs.getInfo()
        clock.work += (STARTING + max(0, info.simplex_iteration_count)) * self._size
        return -self._scale * float(info.objective_function_value)
