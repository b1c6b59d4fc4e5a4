"""An instance with classes as the columns of an LP: a further node for every class.

Node v and class l are a pair ``(v, n + l)``, whose variable is 1 if v has the class l, and whose
weight is what that costs. Classes that a node cannot have are no pairs. All other variables are
the edges, 1 for cut; so a clustering costs the weights of its variables, as it does without
classes. The labels of the class nodes mean nothing.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import BoolArray, FloatArray, IntArray
from ..base.labels import canonical_labels
from .classes import best_classes, costs_of_clusters
from .graph import Graph


class TerminalGraph(Graph):
    """A graph, and a node for every class behind its own nodes.

    Attributes
    ----------
    n_classes : int
        How many classes there are.

    Examples
    --------
    >>> plain = Graph(2, [(0, 1)], [1.0])
    >>> graph = TerminalGraph.of(plain, np.array([[0.0, 4.0], [2.0, np.inf]]))
    >>> graph.n, graph.edges.tolist(), graph.weights.tolist()
    (4, [[0, 1], [0, 2], [0, 3], [1, 2]], [1.0, 0.0, 4.0, 2.0])
    >>> graph.cut([0, 0, 1, 2]).tolist(), graph.objective([0, 0, 1, 2])
    ([False, True, False, True], 2.0)
    """

    n_classes: int

    @classmethod
    def of(cls, graph: Graph, costs: FloatArray) -> TerminalGraph:
        """Add the classes to an instance; costs has one row a node, one column a class."""
        v, label = np.nonzero(np.isfinite(costs))
        pairs = np.column_stack([v, graph.n + label])
        made = cls._trusted(
            graph.n + costs.shape[1],
            np.concatenate([graph.edges, pairs]).astype(np.int64),
            np.concatenate([graph.weights, costs[v, label]]),
        )
        assert isinstance(made, TerminalGraph)
        object.__setattr__(made, "n_classes", costs.shape[1])
        return made

    @cached_property
    def ordinary(self) -> Graph:
        """The graph without the classes."""
        inside = self.edges[:, 1] < self.n - self.n_classes
        return Graph._trusted(self.n - self.n_classes, self.edges[inside], self.weights[inside])

    @cached_property
    def column(self) -> IntArray:
        """The variable of every node and class; -1 where a node cannot have a class."""
        m = self.ordinary.m
        column = np.full((self.ordinary.n, self.n_classes), -1)
        v, label = self.edges[m:].T
        column[v, label - self.ordinary.n] = np.arange(m, self.m)
        return column

    @cached_property
    def class_costs(self) -> FloatArray:
        """What every class costs every node."""
        if self.m == 0:
            return np.full(self.column.shape, np.inf)
        return np.where(self.column >= 0, self.weights[self.column], np.inf)

    def cut(self, labels: ArrayLike) -> BoolArray:
        """Which variables are 1: edges between clusters, and the class of every node."""
        plain = self.ordinary
        own = canonical_labels(self._one_a_node(labels)[: plain.n])
        columns = self.column[np.arange(plain.n), best_classes(self.class_costs, own)]
        if (columns < 0).any():
            raise ValueError(f"the cluster of node {int(np.argmin(columns))} can have no class")
        chosen = np.zeros(self.m, dtype=bool)
        chosen[: plain.m] = plain.cut(own)
        chosen[columns] = True
        return chosen

    def refined(self, labels: IntArray) -> tuple[IntArray, BoolArray]:
        """Split clusters that E+ does not hold together, and those that can have no class.

        Of the latter, every node first takes the class that is best for it alone.
        """
        own = canonical_labels(self._one_a_node(labels)[: self.ordinary.n])
        impossible: BoolArray = np.isinf(costs_of_clusters(self.class_costs, own)).min(axis=1)
        if impossible.any():
            apart = np.where(impossible[own], self.class_costs.argmin(axis=1), 0)
            own = own * self.n_classes + apart
        finer = self.extended(self.ordinary.refined(own)[0])
        return finer, self.cut(finer)

    def extended(self, labels: IntArray) -> IntArray:
        """Labels of all nodes, from those of the nodes that are no classes."""
        return np.concatenate([labels, labels.max() + 1 + np.arange(self.n_classes)])
