"""Decisions that a solution of the LP allows: exact ones, and likely ones."""

from dataclasses import dataclass

import numpy as np

from ..base.arrays import BoolArray, FloatArray
from ..instance.contraction import Contraction, contract
from ..instance.graph import Graph

FRACTIONAL = 1e-6
"""A value of x this far from 0 and 1 is fractional."""


@dataclass(frozen=True, eq=False)
class Fixing:
    """Edges that are kept (``x = 0``) and edges that are cut (``x = 1``) by decision."""

    kept: BoolArray
    cut: BoolArray

    @property
    def share(self) -> float:
        """Share of the edges that are decided."""
        return float((self.kept | self.cut).mean())


def by_reduced_cost(lowest: FloatArray, highest: FloatArray, slack: float) -> Fixing:
    """What is the same in every clustering that costs less than a cutoff.

    ``lowest`` and ``highest`` are bounds on coefficients ``r``, and ``slack`` is the cutoff minus a
    bound that contains ``sum_e min(0, r_e)`` (see :class:`~bdcc_jax.lp.lagrangian.Lagrangian`).
    Cutting edge e raises that bound by ``max(0, r_e)``, keeping it by ``max(0, -r_e)``. Where this
    takes up the slack, the opposite is certain.
    """
    return Fixing(kept=lowest >= slack, cut=-highest >= slack)


def by_rounding(graph: Graph, x: FloatArray) -> Fixing:
    """Take x at its word wherever no fractional edge is near: good, but not certain."""
    near = np.zeros(graph.n, dtype=bool)
    near[graph.edges[np.minimum(x, 1.0 - x) > FRACTIONAL].ravel()] = True
    return outside(graph, x > 0.5, near)


def outside(graph: Graph, cut: BoolArray, region: BoolArray) -> Fixing:
    """Decide as in ``cut`` for every edge without an end in a region, a set of nodes."""
    far = ~region[graph.edges].any(axis=1)
    return Fixing(kept=far & ~cut, cut=far & cut)


def apply(graph: Graph, fixing: Fixing) -> Contraction | None:
    """The instance that is left; None if the decisions contradict each other.

    Kept edges are contracted and attractive cut edges removed. Repulsive cut edges stay, free to
    be kept: this only adds clusterings to choose from, all at their true cost or more, so the
    optimum of the rest is still right. So it is if the ends of a removed edge end up together:
    that clustering costs less than the rest says.
    """
    groups = graph.components(fixing.kept)
    inside = ~graph.cut(groups)
    if (fixing.cut & inside).any():
        return None
    return contract(graph, groups, fixing.cut & graph.positive)
